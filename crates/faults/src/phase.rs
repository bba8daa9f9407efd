//! Every named point inside an operation where a fault can strike.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A phase of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PhaseId {
    /// The put is about to send PutStart. Mirrors `client_service.cpp:Client::Put` before `PutStart`.
    PutStartBefore,
    /// PutStart is on its way, not handled. Mirrors the wire between `master_client.cpp:PutStart` and the master.
    PutStartSent,
    /// The answer to PutStart has arrived, not acted on. Mirrors the return of `master_client.cpp:PutStart`.
    PutStartResponse,
    /// The n-th part of the payload has landed at the owner. Mirrors `tcp_transport_session_impl.h` after a chunk.
    PutPayloadPart,
    /// All of the payload has landed and is acknowledged. Mirrors the return of `transfer_task.cpp:wait_for_completion`.
    PutPayloadDone,
    /// PutEnd is on its way, not handled. Mirrors the wire between `master_client.cpp:PutEnd` and the master.
    PutEndSent,
    /// The answer to PutEnd has arrived, not acted on. Mirrors the return of `master_client.cpp:PutEnd`.
    PutEndResponse,
    /// The get is about to send GetReplicaList. Mirrors `client_service.cpp:Client::Query` before the call.
    GetQueryBefore,
    /// GetReplicaList is on its way, not handled. Mirrors the wire behind `master_client.cpp:GetReplicaList`.
    GetQuerySent,
    /// The answer to GetReplicaList has arrived, not acted on. Mirrors the return of `master_client.cpp:GetReplicaList`.
    GetQueryResponse,
    /// The n-th part of the payload has landed in the reader's buffer. Mirrors `tcp_transport_session_impl.h` after a chunk.
    GetPayloadPart,
    /// All of the payload has landed. Mirrors the return of `transfer_task.cpp:wait_for_completion`.
    GetPayloadDone,
    /// A failed put is about to send PutRevoke. Mirrors `client_service.cpp:Client::Put` before `PutRevoke`.
    RevokeBefore,
    /// PutRevoke is on its way, not handled. Mirrors the wire behind `master_client.cpp:PutRevoke`.
    RevokeSent,
    /// The answer to PutRevoke has arrived, not acted on. Mirrors the return of `master_client.cpp:PutRevoke`.
    RevokeResponse,
    /// A removal is about to be sent. Mirrors `client_service.cpp:Client::Remove`, `RemoveByRegex`, `RemoveAll` and
    /// `BatchRemove` before the call.
    RemoveBefore,
    /// A removal is on its way, not handled. Mirrors the wire behind `master_client.cpp:Remove`.
    RemoveSent,
    /// The answer to a removal has arrived, not acted on. Mirrors the return of `master_client.cpp:Remove`.
    RemoveResponse,
    /// A segment is about to be mounted. Mirrors `client_service.cpp:MountSegment` before the call.
    MountBefore,
    /// MountSegment is on its way, not handled. Mirrors the wire behind `master_client.cpp:MountSegment`.
    MountSent,
    /// The answer to MountSegment has arrived, not acted on. Mirrors the return of `master_client.cpp:MountSegment`.
    MountResponse,
    /// A copy or move of a replica is about to send its start. Mirrors `client_service.cpp:Client::Copy` and `Client::Move`
    /// before the call.
    CopyStartBefore,
    /// CopyStart or MoveStart is on its way, not handled. Mirrors the wire behind `master_client.cpp:CopyStart`.
    CopyStartSent,
    /// The answer to it has arrived, not acted on. Mirrors the return of `master_client.cpp:CopyStart`.
    CopyStartResponse,
    /// The n-th part of the source has landed at the target. Mirrors `tcp_transport_session_impl.h` after a chunk.
    CopyPayloadPart,
    /// All of the source has landed at one target. Mirrors the return of `client_service.cpp:TransferWrite`.
    CopyPayloadDone,
    /// CopyEnd or MoveEnd is on its way, not handled. Mirrors the wire behind `master_client.cpp:CopyEnd`.
    CopyEndSent,
    /// The answer to it has arrived, not acted on. Mirrors the return of `master_client.cpp:CopyEnd`.
    CopyEndResponse,
}

/// The kind of moment a phase is, which decides which actions make sense there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Before a request is sent.
    Before,
    /// A request is on its way and not handled.
    Sent,
    /// A response has arrived and is not acted on.
    Response,
    /// A part of the payload has landed.
    Part,
    /// The whole payload has landed.
    Done,
}

/// One row of the catalogue.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Phase {
    /// Which phase.
    #[serde(skip)]
    pub id: PhaseId,
    /// Its name in scenarios.
    pub name: &'static str,
    /// The operation it belongs to: `put`, `get`, `revoke`, `remove`, `mount` or `copy`.
    pub operation: &'static str,
    /// The RPC it surrounds, where there is one.
    pub rpc: Option<&'static str>,
    /// The kind of moment.
    pub moment: Moment,
    /// What is true at this moment.
    pub meaning: &'static str,
}

macro_rules! phases {
    ($($id:ident $name:literal $op:literal $rpc:expr, $moment:ident, $meaning:literal;)*) => {
        /// The catalogue, in the order in which an operation passes through it.
        pub const PHASES: &[Phase] = &[$(Phase {
            id: PhaseId::$id, name: $name, operation: $op, rpc: $rpc, moment: Moment::$moment, meaning: $meaning,
        },)*];
    };
}

phases! {
    PutStartBefore "client.put.start_before" "put" Some("PutStart"), Before, "the put has begun, nothing is sent";
    PutStartSent "client.put.start_sent" "put" Some("PutStart"), Sent, "PutStart is on its way, not handled";
    PutStartResponse "client.put.start_response" "put" Some("PutStart"), Response, "PutStart is answered, no byte is written";
    PutPayloadPart "client.put.payload_part" "put" None, Part, "the n-th part of the payload has landed at the owner";
    PutPayloadDone "client.put.payload_done" "put" None, Done, "all bytes have landed, PutEnd is not sent";
    PutEndSent "client.put.end_sent" "put" Some("PutEnd"), Sent, "PutEnd is on its way, not handled";
    PutEndResponse "client.put.end_response" "put" Some("PutEnd"), Response, "PutEnd is answered, the put has not returned";
    GetQueryBefore "client.get.query_before" "get" Some("GetReplicaList"), Before, "the get has begun, nothing is sent";
    GetQuerySent "client.get.query_sent" "get" Some("GetReplicaList"), Sent, "GetReplicaList is on its way, not handled";
    GetQueryResponse "client.get.query_response" "get" Some("GetReplicaList"), Response, "the replica list is here, no byte is read";
    GetPayloadPart "client.get.payload_part" "get" None, Part, "the n-th part of the payload has landed in the buffer";
    GetPayloadDone "client.get.payload_done" "get" None, Done, "all bytes have landed, the lease is not checked";
    RevokeBefore "client.revoke.before" "revoke" Some("PutRevoke"), Before, "the transfer of a put has failed, nothing is sent";
    RevokeSent "client.revoke.sent" "revoke" Some("PutRevoke"), Sent, "PutRevoke is on its way, not handled";
    RevokeResponse "client.revoke.response" "revoke" Some("PutRevoke"), Response, "PutRevoke is answered, the put has not returned";
    RemoveBefore "client.remove.before" "remove" Some("Remove"), Before, "the removal has begun, nothing is sent";
    RemoveSent "client.remove.sent" "remove" Some("Remove"), Sent, "the removal is on its way, not handled";
    RemoveResponse "client.remove.response" "remove" Some("Remove"), Response, "the removal is answered, it has not returned";
    MountBefore "client.mount.before" "mount" Some("MountSegment"), Before, "the mount has begun, nothing is sent";
    MountSent "client.mount.sent" "mount" Some("MountSegment"), Sent, "MountSegment is on its way, not handled";
    MountResponse "client.mount.response" "mount" Some("MountSegment"), Response, "MountSegment is answered, the mount has not returned";
    CopyStartBefore "client.copy.start_before" "copy" Some("CopyStart"), Before, "the copy or move has begun, its start is not sent";
    CopyStartSent "client.copy.start_sent" "copy" Some("CopyStart"), Sent, "CopyStart or MoveStart is on its way, not handled";
    CopyStartResponse "client.copy.start_response" "copy" Some("CopyStart"), Response, "the start is answered, no byte is copied";
    CopyPayloadPart "client.copy.payload_part" "copy" None, Part, "the n-th part of the source has landed at a target";
    CopyPayloadDone "client.copy.payload_done" "copy" None, Done, "all bytes have landed at a target, the end is not sent";
    CopyEndSent "client.copy.end_sent" "copy" Some("CopyEnd"), Sent, "CopyEnd or MoveEnd is on its way, not handled";
    CopyEndResponse "client.copy.end_response" "copy" Some("CopyEnd"), Response, "the end is answered, the task is not reported";
}

impl PhaseId {
    /// The row of the catalogue.
    pub fn row(self) -> &'static Phase {
        PHASES.iter().find(|row| row.id == self).unwrap_or(&PHASES[0])
    }

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The phase of that name.
    pub fn from_name(name: &str) -> Option<PhaseId> {
        PHASES.iter().find(|row| row.name == name).map(|row| row.id)
    }

    /// The nearest name of the catalogue to a misspelt one.
    pub fn nearest(name: &str) -> &'static str {
        let distance = |row: &&Phase| strsim::damerau_levenshtein(row.name, name);
        PHASES.iter().min_by_key(distance).map_or("", |row| row.name)
    }
}

impl fmt::Display for PhaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for PhaseId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for PhaseId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        PhaseId::from_name(&name)
            .ok_or_else(|| serde::de::Error::custom(format!("no phase is called {name:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        for row in PHASES {
            assert_eq!(PhaseId::from_name(row.name), Some(row.id));
            assert_eq!(row.id.name(), row.name);
        }
        assert_eq!(
            PhaseId::nearest("client.put.start_respons"),
            "client.put.start_response"
        );
    }
}
