//! What a request of many objects names.

use super::Request;

impl Request {
    /// The keys of a request that is answered with one result for each, in its order. `None`: it is answered as a whole, or names one.
    /// Mirrors the calls of `master_client.cpp` that go through `invoke_batch_rpc`.
    pub fn batch_keys(&self) -> Option<Vec<&str>> {
        Some(match self {
            Request::BatchExistKey { keys, .. }
            | Request::BatchGetReplicaList { keys, .. }
            | Request::BatchPutStart { keys, .. }
            | Request::BatchPutRevoke { keys, .. }
            | Request::BatchUpsertStart { keys, .. }
            | Request::BatchUpsertRevoke { keys, .. }
            | Request::BatchRemove { keys, .. }
            | Request::BatchEvictDiskReplica { keys, .. } => keys.iter().map(String::as_str).collect(),
            Request::BatchPutEnd { object_metas, .. } | Request::BatchUpsertEnd { object_metas, .. } => {
                object_metas.iter().map(|meta| meta.key.as_str()).collect()
            }
            _ => return None,
        })
    }
}
