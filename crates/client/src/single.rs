//! One RPC, with the master's own answer as the result.

use crate::{Call, CallPhases, Happened, Operation, Outcome, Want};
use moonquake_clock::Clocks;
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

impl Operation for Single {
    fn begin(&mut self, _now: Clocks) -> Want {
        Want::Call(Call {
            request: self.request.clone(),
            fence: self.fence,
            phases: CallPhases::default(),
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
