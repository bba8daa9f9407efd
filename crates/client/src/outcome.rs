//! The result of an operation, in the store's own words.

use crate::RpcFailure;
use moonquake_protocol::{ClientStatus, ErrorCode, Response};
use std::fmt;

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Success without a value that a scenario can expect.
    Ok,
    /// A truth value (`exist`).
    Bool(bool),
    /// A ping that asks for a remount.
    NeedRemount,
    /// A number (`remove_all`, `remove_by_regex`); as an expectation it counts as `ok`.
    Count(i64),
    /// A code of the store.
    Error(ErrorCode),
    /// One result for each entry.
    Batch(Vec<Outcome>),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Ok | Outcome::Count(_) | Outcome::Batch(_) => f.write_str("ok"),
            Outcome::Bool(value) => write!(f, "{value}"),
            Outcome::NeedRemount => f.write_str("NEED_REMOUNT"),
            Outcome::Error(code) => write!(f, "{code}"),
        }
    }
}

impl RpcFailure {
    /// The code that the client tells it as.
    pub(crate) fn code(self) -> ErrorCode {
        match self {
            RpcFailure::Timeout => ErrorCode::RpcTimeout,
            RpcFailure::Failed => ErrorCode::RpcFail,
        }
    }
}

impl From<RpcFailure> for Outcome {
    fn from(failure: RpcFailure) -> Outcome {
        Outcome::Error(failure.code())
    }
}

fn plain<T>(result: &Result<T, ErrorCode>) -> Outcome {
    result
        .as_ref()
        .map_or_else(|code| Outcome::Error(*code), |_| Outcome::Ok)
}

fn all<T>(results: &[Result<T, ErrorCode>]) -> Outcome {
    Outcome::Batch(results.iter().map(plain).collect())
}

impl Outcome {
    /// Whether it tells of a failure, of one entry at least.
    pub fn is_failure(&self) -> bool {
        match self {
            Outcome::Error(_) => true,
            Outcome::Batch(entries) => entries.iter().any(Outcome::is_failure),
            Outcome::Ok | Outcome::Bool(_) | Outcome::NeedRemount | Outcome::Count(_) => false,
        }
    }

    /// The master's own answer as a result.
    pub fn of(response: &Response) -> Outcome {
        match response {
            Response::ExistKey(result) | Response::PollRemoveAll(result) => {
                result.map_or_else(Outcome::Error, Outcome::Bool)
            }
            Response::BatchExistKey(results) => Outcome::Batch(
                results
                    .iter()
                    .map(|r| r.map_or_else(Outcome::Error, Outcome::Bool))
                    .collect(),
            ),
            Response::Ping(Ok(ping)) if ping.client_status == ClientStatus::NeedRemount => {
                Outcome::NeedRemount
            }
            Response::Ping(result) => plain(result),
            Response::RemoveAll(count) => Outcome::Count(*count),
            Response::RemoveByRegex(result) => result.map_or_else(Outcome::Error, Outcome::Count),
            Response::GetReplicaList(result) => plain(result),
            Response::BatchGetReplicaList(results) => all(results),
            Response::GetReplicaListByRegex(result) => plain(result),
            Response::PutStart(result) | Response::UpsertStart(result) => plain(result),
            Response::BatchPutStart(results) | Response::BatchUpsertStart(results) => all(results),
            Response::BatchPutEnd(results)
            | Response::BatchPutRevoke(results)
            | Response::BatchUpsertEnd(results)
            | Response::BatchUpsertRevoke(results)
            | Response::BatchRemove(results)
            | Response::BatchEvictDiskReplica(results) => all(results),
            Response::BatchReplicaClear(result) => plain(result),
            Response::BatchQueryIp(result) => plain(result),
            Response::QuerySegmentStatus(result) | Response::QuerySegmentStatusById(result) => plain(result),
            other => Outcome::of_copy(other).unwrap_or_else(|| Outcome::of_subsystem(other)),
        }
    }

    /// Copies, moves and tasks.
    fn of_copy(response: &Response) -> Option<Outcome> {
        Some(match response {
            Response::CopyStart(result) | Response::DynamicReplicaCopyStart(result) => plain(result),
            Response::MoveStart(result) => plain(result),
            Response::CopyEnd(result)
            | Response::CopyRevoke(result)
            | Response::DynamicReplicaCopyEnd(result)
            | Response::DynamicReplicaCopyRevoke(result)
            | Response::MoveEnd(result)
            | Response::MoveRevoke(result)
            | Response::MarkTaskToComplete(result) => plain(result),
            Response::CreateCopyTask(result) | Response::CreateMoveTask(result) => plain(result),
            Response::QueryTask(result) => plain(result),
            Response::FetchTasks(result) => plain(result),
            _ => return None,
        })
    }

    /// Everything whose answer is a code and perhaps a value that scenarios have no words for.
    fn of_subsystem(response: &Response) -> Outcome {
        match response {
            Response::PutEnd(result)
            | Response::PutRevoke(result)
            | Response::UpsertEnd(result)
            | Response::UpsertRevoke(result)
            | Response::Remove(result)
            | Response::MountSegment(result)
            | Response::ReMountSegment(result)
            | Response::UnmountSegment(result)
            | Response::GracefulUnmountSegment(result)
            | Response::MountNoFSegment(result)
            | Response::ReMountNoFSegment(result)
            | Response::UnmountNoFSegment(result)
            | Response::MountLocalDiskSegment(result)
            | Response::UnmountLocalDiskSegment(result)
            | Response::ReportSsdCapacity(result)
            | Response::NotifyOffloadSuccess(result)
            | Response::NotifyPromotionSuccess(result)
            | Response::NotifyPromotionFailure(result)
            | Response::EvictDiskReplica(result) => plain(result),
            Response::ServiceReady(result) | Response::GetFsdir(result) => plain(result),
            Response::GetStorageConfig(result) => plain(result),
            Response::GetAllNoFSegments(result) => plain(result),
            Response::GetNoFSegmentsByName(result) => plain(result),
            Response::OffloadObjectHeartbeat(result) => plain(result),
            Response::PromotionObjectHeartbeat(result) => plain(result),
            Response::PromotionAllocStart(result) => plain(result),
            // Every other answer has been looked at above.
            _ => Outcome::Error(ErrorCode::NotSupported),
        }
    }
}
