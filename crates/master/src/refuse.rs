//! An answer that refuses, in the shape that each method has for it.

use moonquake_protocol::{ErrorCode, Request, Response};

macro_rules! refuse_all {
    ($request:expr, $code:expr; each { $($batch:ident by $list:ident),* $(,)? } other { $($single:ident),* $(,)? }) => {
        match $request {
            $(Request::$batch { $list, .. } => Response::$batch(vec![Err($code); $list.len()]),)*
            Request::RemoveAll { .. } => Response::RemoveAll(0),
            $(Request::$single { .. } => Response::$single(Err($code)),)*
        }
    };
}

/// The answer to `request` that says `code` and nothing else: in batches for every entry; RemoveAll, which has no room
/// for an error, removed nothing.
pub fn refuse(request: &Request, code: ErrorCode) -> Response {
    refuse_all!(request, code;
        each {
            BatchGetReplicaList by keys, BatchPutStart by keys, BatchPutEnd by object_metas, BatchPutRevoke by keys,
            BatchUpsertStart by keys, BatchUpsertEnd by object_metas, BatchUpsertRevoke by keys, BatchRemove by keys,
            BatchExistKey by keys, BatchEvictDiskReplica by keys,
        }
        other {
            ExistKey, BatchQueryIp, BatchReplicaClear, GetReplicaListByRegex, GetReplicaList, PutStart, PutEnd,
            PutRevoke, UpsertStart, UpsertEnd, UpsertRevoke, Remove, RemoveByRegex, MountSegment, MountNoFSegment,
            ReMountSegment, ReMountNoFSegment, UnmountSegment, GracefulUnmountSegment, UnmountNoFSegment,
            GetAllNoFSegments, GetNoFSegmentsByName, Ping, GetFsdir, QuerySegmentStatus, QuerySegmentStatusById,
            GetStorageConfig, ServiceReady, MountLocalDiskSegment, UnmountLocalDiskSegment, OffloadObjectHeartbeat,
            ReportSsdCapacity, NotifyOffloadSuccess, PromotionObjectHeartbeat, PromotionAllocStart,
            NotifyPromotionSuccess, NotifyPromotionFailure, CopyStart, DynamicReplicaCopyStart, CopyEnd,
            DynamicReplicaCopyEnd, CopyRevoke, DynamicReplicaCopyRevoke, MoveStart, MoveEnd, MoveRevoke,
            EvictDiskReplica, PollRemoveAll, CreateCopyTask, CreateMoveTask, QueryTask, FetchTasks,
            MarkTaskToComplete,
        }
    )
}
