//! What an operation wants, and what it can be told.

use crate::{ClientConfig, Outcome, memory_of};
use moonquake_clock::{Clocks, Span};
use moonquake_faults::PhaseId;
use moonquake_protocol::{BufferDescriptor, ReplicaDescriptor, Request, Response};

/// The phases around one call; a call that is no phase has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallPhases {
    /// Before the request is sent.
    pub before: Option<PhaseId>,
    /// While it is on its way.
    pub sent: Option<PhaseId>,
    /// When the answer has arrived.
    pub response: Option<PhaseId>,
}

impl CallPhases {
    /// Around the start of a put or upsert, single or batch.
    pub const START: CallPhases = CallPhases {
        before: Some(PhaseId::PutStartBefore),
        sent: Some(PhaseId::PutStartSent),
        response: Some(PhaseId::PutStartResponse),
    };
    /// Around its end. The phase before it is that of the last payload.
    pub const END: CallPhases = CallPhases {
        before: None,
        sent: Some(PhaseId::PutEndSent),
        response: Some(PhaseId::PutEndResponse),
    };
    /// Around its revoke.
    pub const REVOKE: CallPhases = CallPhases {
        before: Some(PhaseId::RevokeBefore),
        sent: Some(PhaseId::RevokeSent),
        response: Some(PhaseId::RevokeResponse),
    };
    /// Around the query of a get.
    pub const QUERY: CallPhases = CallPhases {
        before: Some(PhaseId::GetQueryBefore),
        sent: Some(PhaseId::GetQuerySent),
        response: Some(PhaseId::GetQueryResponse),
    };
    /// Around the start of a copy or move.
    pub const COPY_START: CallPhases = CallPhases {
        before: Some(PhaseId::CopyStartBefore),
        sent: Some(PhaseId::CopyStartSent),
        response: Some(PhaseId::CopyStartResponse),
    };
    /// Around its end. The phase before it is that of the last payload.
    pub const COPY_END: CallPhases = CallPhases {
        before: None,
        sent: Some(PhaseId::CopyEndSent),
        response: Some(PhaseId::CopyEndResponse),
    };
}

/// A request to the master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is sent.
    pub request: Request,
    /// For PutEnd and PutRevoke: the id of the first replica that this attempt was given, for each key of the request in its
    /// order. The wire does not carry them; a master without the quirk `stale-put-end` asks for them.
    pub fences: Vec<Option<u64>>,
    /// Its phases.
    pub phases: CallPhases,
}

/// Where the bytes of a transfer are on the client's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Near {
    /// In the operation's buffer.
    Buffer,
    /// In a replica that lies in the client's own segment; of a write only. Mirrors the source of
    /// `client_service.cpp:ExecuteReplicaTransfer`.
    Own(BufferDescriptor),
}

/// Bytes to be moved between the client's memory and a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// To the replica (a put) or from it (a get).
    pub write: bool,
    /// Where the replica lies.
    pub replica: BufferDescriptor,
    /// The id of that replica. The data path does not carry it; an owner without the quirk `descriptor-outlives-range`
    /// asks for it.
    pub replica_id: u64,
    /// The client's side of it.
    pub near: Near,
    /// The byte of the operation's buffer that goes with the replica's first one; above 0 only in a batch read.
    pub at: u64,
    /// Whether the replica is the client's own, so that the bytes are copied within its process: no network is passed, and
    /// no limit is kept. Mirrors `transfer_task.cpp:LOCAL_MEMCPY`, which is the default with TCP.
    pub local: bool,
    /// The phase of each part that lands.
    pub part: PhaseId,
    /// The phase after the last one.
    pub done: PhaseId,
}

impl Move {
    /// A whole object to one of its replicas; `None` if that is no memory replica.
    pub(crate) fn to(config: &ClientConfig, replica: &ReplicaDescriptor) -> Option<Move> {
        let buffer = memory_of(replica)?;
        Some(Move {
            write: true,
            replica: buffer.clone(),
            replica_id: replica.id,
            near: Near::Buffer,
            at: 0,
            local: config.copies_itself(buffer),
            part: PhaseId::PutPayloadPart,
            done: PhaseId::PutPayloadDone,
        })
    }

    /// A whole replica in the client's own memory to another one; `None` if that is no memory replica.
    pub(crate) fn copy(
        config: &ClientConfig,
        source: &BufferDescriptor,
        target: &ReplicaDescriptor,
    ) -> Option<Move> {
        Some(Move {
            near: Near::Own(source.clone()),
            part: PhaseId::CopyPayloadPart,
            done: PhaseId::CopyPayloadDone,
            ..Move::to(config, target)?
        })
    }

    /// A whole replica into the operation's buffer, from byte `at` of it on.
    pub(crate) fn from(config: &ClientConfig, replica_id: u64, replica: &BufferDescriptor, at: u64) -> Move {
        Move {
            write: false,
            replica: replica.clone(),
            replica_id,
            near: Near::Buffer,
            at,
            local: config.copies_itself(replica),
            part: PhaseId::GetPayloadPart,
            done: PhaseId::GetPayloadDone,
        }
    }
}

/// What an operation wants next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "one value lives at a time")]
pub enum Want {
    /// Send this request and tell the answer.
    Call(Call),
    /// Move these bytes and tell when it is over.
    Move(Move),
    /// Move all of these beside each other and tell when the last one is over. Mirrors the submissions of
    /// `client_service.cpp:BatchPut` and `BatchGet`, which come before any wait.
    Moves(Vec<Move>),
    /// End the running transfer for good, so that it touches nothing any more, then go on with this. Mirrors nothing
    /// upstream, whose transfers go on.
    FenceThen(Box<Want>),
    /// Nothing for that long, then be told.
    Wait(Span),
    /// The result.
    Done(Outcome),
}

/// Why a call has no answer of the master. Mirrors `master_client.cpp`, which maps every failure to one of two codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RpcFailure {
    /// No answer in time: RPC_TIMEOUT.
    Timeout,
    /// Anything else: RPC_FAIL.
    Failed,
}

/// Why a transfer did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveFailure {
    /// The client's limit is over and the transfer is still running. Mirrors `transfer_task.cpp:wait_for_completion`.
    Limit,
    /// The transport has closed it; it touches nothing any more.
    Closed,
}

/// How one of several transfers ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// As of a single one.
    pub result: Result<(), MoveFailure>,
    /// The client's clocks at that moment.
    pub at: Clocks,
}

/// What an operation is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "one value lives at a time")]
pub enum Happened {
    /// The call was answered, or failed.
    Answered(Result<Response, RpcFailure>),
    /// The transfer ended, or was given up.
    Moved(Result<(), MoveFailure>),
    /// All transfers of a batch ended or were given up, in the order in which they were wanted.
    MovedAll(Vec<Moved>),
    /// The time to wait is over.
    Waited,
}

/// A state machine of the client.
pub trait Operation {
    /// The first want. `now` are the client's own clocks.
    fn begin(&mut self, now: Clocks) -> Want;

    /// The next want, after what happened.
    fn next(&mut self, now: Clocks, happened: Happened) -> Want;

    /// Descriptors that this operation was given for writing, in the master's order: of a put, an upsert, a copy or a move.
    fn granted(&self) -> &[ReplicaDescriptor] {
        &[]
    }

    /// The attempts to write that this operation was granted: each key with its replicas.
    fn attempts(&self) -> Vec<(String, Vec<moonquake_protocol::ReplicaDescriptor>)> {
        Vec::new()
    }

    /// Where in the operation's buffer the bytes of each entry of a batch read lie: first byte and length. None for an
    /// entry that brought none.
    fn places(&self) -> Vec<Option<(u64, u64)>> {
        Vec::new()
    }

    /// The task that this operation created, to be named by later steps.
    fn task(&self) -> Option<moonquake_protocol::Uuid> {
        None
    }

    /// A get session that this operation opened, to be kept for later reads.
    fn opened(&self) -> Option<crate::GetSession> {
        None
    }
}
