//! One RPC, with the master's own answer as the result.

use crate::{Call, CallPhases, Happened, Operation, Outcome, Want};
use moonquake_clock::Clocks;
use moonquake_faults::PhaseId;
use moonquake_protocol::{ErrorCode, ReplicaDescriptor, Request, Response};

/// A single call. Mirrors the thin methods of `client_service.cpp` (`IsExist`, `Remove`, ...) and raw RPCs.
#[derive(Clone, Debug)]
pub struct Single {
    request: Request,
    fence: Option<u64>,
    granted: Vec<ReplicaDescriptor>,
}

impl Single {
    /// A call of `request`. `fence` names the attempt of a PutEnd or PutRevoke, see [`Call`].
    pub fn new(request: Request, fence: Option<u64>) -> Single {
        Single {
            request,
            fence,
            granted: Vec::new(),
        }
    }
}

/// A put or get that is made of single calls passes through the same phases as a whole one.
fn phases_of(request: &Request) -> CallPhases {
    let [before, sent, response] = match request {
        Request::PutStart { .. } | Request::UpsertStart { .. } => [
            Some(PhaseId::PutStartBefore),
            Some(PhaseId::PutStartSent),
            Some(PhaseId::PutStartResponse),
        ],
        Request::PutEnd { .. } | Request::UpsertEnd { .. } => {
            [None, Some(PhaseId::PutEndSent), Some(PhaseId::PutEndResponse)]
        }
        Request::PutRevoke { .. } | Request::UpsertRevoke { .. } => [
            Some(PhaseId::RevokeBefore),
            Some(PhaseId::RevokeSent),
            Some(PhaseId::RevokeResponse),
        ],
        Request::GetReplicaList { .. } => [
            Some(PhaseId::GetQueryBefore),
            Some(PhaseId::GetQuerySent),
            Some(PhaseId::GetQueryResponse),
        ],
        Request::Remove { .. }
        | Request::BatchRemove { .. }
        | Request::RemoveByRegex { .. }
        | Request::RemoveAll { .. } => [
            Some(PhaseId::RemoveBefore),
            Some(PhaseId::RemoveSent),
            Some(PhaseId::RemoveResponse),
        ],
        Request::MountSegment { .. } => [
            Some(PhaseId::MountBefore),
            Some(PhaseId::MountSent),
            Some(PhaseId::MountResponse),
        ],
        _ => [None; 3],
    };
    CallPhases {
        before,
        sent,
        response,
    }
}

impl Operation for Single {
    fn begin(&mut self, _now: Clocks) -> Want {
        Want::Call(Call {
            request: self.request.clone(),
            fence: self.fence,
            phases: phases_of(&self.request),
        })
    }

    fn next(&mut self, _now: Clocks, happened: Happened) -> Want {
        let outcome = match happened {
            Happened::Answered(Err(failure)) => failure.into(),
            Happened::Answered(Ok(response)) => {
                if let Response::PutStart(Ok(granted)) | Response::UpsertStart(Ok(granted)) = &response {
                    self.granted.clone_from(granted);
                }
                Outcome::of(&response).unwrap_or(Outcome::Error(ErrorCode::NotSupported))
            }
            Happened::Moved(_) => Outcome::Error(ErrorCode::RpcFail),
        };
        Want::Done(outcome)
    }

    fn granted(&self) -> &[ReplicaDescriptor] {
        &self.granted
    }
}
