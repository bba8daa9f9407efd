//! One RPC, with the master's own answer as the result.

use crate::{Call, CallPhases, Happened, Operation, Outcome, RpcFailure, Want};
use moonquake_clock::Clocks;
use moonquake_faults::PhaseId;
use moonquake_protocol::{ErrorCode, ReplicaDescriptor, Request, Response, Uuid};

/// A single call. Mirrors the thin methods of `client_service.cpp` (`IsExist`, `Remove`, ...) and raw RPCs.
#[derive(Clone, Debug)]
pub struct Single {
    request: Request,
    fences: Vec<Option<u64>>,
    granted: Vec<ReplicaDescriptor>,
    attempts: Vec<(String, Vec<ReplicaDescriptor>)>,
    task: Option<Uuid>,
    mounted: Option<(Uuid, bool)>,
}

/// A call of the client's API whose result is known without asking anybody.
#[derive(Clone, Debug)]
pub struct Known(pub Outcome);

impl Operation for Known {
    fn begin(&mut self, _now: Clocks) -> Want {
        Want::Done(self.0.clone())
    }

    fn next(&mut self, now: Clocks, _happened: Happened) -> Want {
        self.begin(now)
    }
}

impl Single {
    /// A call of `request`. `fence` names the attempt of a PutEnd or PutRevoke, see [`Call`].
    pub fn new(request: Request, fences: Vec<Option<u64>>) -> Single {
        Single {
            request,
            fences,
            granted: Vec::new(),
            attempts: Vec::new(),
            task: None,
            mounted: None,
        }
    }

    /// A call that got no answer: each entry of a batch tells of it. Mirrors `invoke_rpc` and `invoke_batch_rpc` of `master_client.cpp`.
    fn unanswered(&self, failure: RpcFailure) -> Outcome {
        let each = self.request.batch_keys().map(|keys| keys.len());
        each.map_or_else(
            || failure.into(),
            |each| Outcome::Batch(vec![failure.into(); each]),
        )
    }

    /// Keeps what an answer hands out.
    fn keep(&mut self, response: &Response) {
        match (&self.request, response) {
            (
                Request::PutStart { key, .. } | Request::UpsertStart { key, .. },
                Response::PutStart(Ok(granted)) | Response::UpsertStart(Ok(granted)),
            ) => self.attempts.push((key.clone(), granted.clone())),
            (
                Request::BatchPutStart { keys, .. } | Request::BatchUpsertStart { keys, .. },
                Response::BatchPutStart(answers) | Response::BatchUpsertStart(answers),
            ) => {
                let granted = |(key, answer): (&String, &Result<Vec<_>, _>)| {
                    answer.as_ref().ok().map(|granted| (key.clone(), granted.clone()))
                };
                self.attempts = keys.iter().zip(answers).filter_map(granted).collect();
            }
            (_, Response::CreateCopyTask(Ok(task)) | Response::CreateMoveTask(Ok(task))) => {
                self.task = Some(*task);
            }
            (Request::MountSegment { segment, .. }, Response::MountSegment(Ok(()))) => {
                self.mounted = Some((segment.id, true));
            }
            (
                Request::UnmountSegment { segment_id, .. }
                | Request::GracefulUnmountSegment { segment_id, .. },
                Response::UnmountSegment(Ok(())) | Response::GracefulUnmountSegment(Ok(())),
            ) => self.mounted = Some((*segment_id, false)),
            _ => {}
        }
        self.granted = granted_by(response).into_iter().cloned().collect();
    }
}

/// The replicas that an answer hands out for writing, in the master's order.
pub fn granted_by(response: &Response) -> Vec<&ReplicaDescriptor> {
    match response {
        Response::PutStart(Ok(granted)) | Response::UpsertStart(Ok(granted)) => granted.iter().collect(),
        Response::BatchPutStart(answers) | Response::BatchUpsertStart(answers) => {
            answers.iter().flatten().flatten().collect()
        }
        Response::CopyStart(Ok(copy)) | Response::DynamicReplicaCopyStart(Ok(copy)) => {
            copy.targets.iter().collect()
        }
        Response::MoveStart(Ok(moving)) => moving.target.iter().collect(),
        Response::PromotionAllocStart(Ok(promotion)) => vec![&promotion.memory_descriptor],
        _ => Vec::new(),
    }
}

/// A put or get that is made of single calls passes through the same phases as a whole one.
fn phases_of(request: &Request) -> CallPhases {
    let [before, sent, response] = match request {
        Request::PutStart { .. }
        | Request::UpsertStart { .. }
        | Request::BatchPutStart { .. }
        | Request::BatchUpsertStart { .. } => [
            Some(PhaseId::PutStartBefore),
            Some(PhaseId::PutStartSent),
            Some(PhaseId::PutStartResponse),
        ],
        Request::PutEnd { .. }
        | Request::UpsertEnd { .. }
        | Request::BatchPutEnd { .. }
        | Request::BatchUpsertEnd { .. } => [None, Some(PhaseId::PutEndSent), Some(PhaseId::PutEndResponse)],
        Request::PutRevoke { .. }
        | Request::UpsertRevoke { .. }
        | Request::BatchPutRevoke { .. }
        | Request::BatchUpsertRevoke { .. } => [
            Some(PhaseId::RevokeBefore),
            Some(PhaseId::RevokeSent),
            Some(PhaseId::RevokeResponse),
        ],
        Request::GetReplicaList { .. } | Request::BatchGetReplicaList { .. } => [
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
        Request::CopyStart { .. } | Request::DynamicReplicaCopyStart { .. } | Request::MoveStart { .. } => {
            return CallPhases::COPY_START;
        }
        Request::CopyEnd { .. } | Request::DynamicReplicaCopyEnd { .. } | Request::MoveEnd { .. } => {
            return CallPhases::COPY_END;
        }
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
            fences: self.fences.clone(),
            phases: phases_of(&self.request),
        })
    }

    fn next(&mut self, _now: Clocks, happened: Happened) -> Want {
        let outcome = match happened {
            Happened::Answered(Err(failure)) => self.unanswered(failure),
            Happened::Answered(Ok(response)) => {
                self.keep(&response);
                Outcome::of(&response)
            }
            Happened::Staged(_)
            | Happened::Summed(_)
            | Happened::Moved(_)
            | Happened::MovedAll(_)
            | Happened::Waited => Outcome::Error(ErrorCode::RpcFail),
        };
        Want::Done(outcome)
    }

    fn granted(&self) -> &[ReplicaDescriptor] {
        &self.granted
    }

    fn attempts(&self) -> Vec<(String, Vec<ReplicaDescriptor>)> {
        self.attempts.clone()
    }

    fn task(&self) -> Option<Uuid> {
        self.task
    }

    fn mounted(&self) -> Option<(Uuid, bool)> {
        self.mounted
    }
}
