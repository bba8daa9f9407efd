//! What is measured: kinds of operations.

use moonquake_protocol::Rpc;

/// Keys in a batch.
pub(crate) const BATCH_KEYS: usize = 128;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Work {
    /// ExistKey of a stored object.
    Exist,
    /// GetReplicaList of a stored object.
    Get,
    /// PutStart and PutEnd of a new object.
    Put,
    /// Remove of that object.
    Remove,
    /// BatchExistKey.
    BatchExist,
    /// BatchGetReplicaList.
    BatchGet,
    /// BatchPutStart and BatchPutEnd of new objects.
    BatchPut,
}

impl Work {
    /// In the order in which they are measured: what Put has stored, Remove takes away.
    pub(crate) const ALL: [Work; 7] = [
        Work::Exist,
        Work::Get,
        Work::Put,
        Work::Remove,
        Work::BatchExist,
        Work::BatchGet,
        Work::BatchPut,
    ];

    /// For people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Work::Exist => "ExistKey",
            Work::Get => "GetReplicaList",
            Work::Put => "PutStart + PutEnd",
            Work::Remove => "Remove",
            Work::BatchExist => "BatchExistKey, per key",
            Work::BatchGet => "BatchGetReplicaList, per key",
            Work::BatchPut => "BatchPutStart + BatchPutEnd, per key",
        }
    }

    /// Keys that one operation names.
    pub(crate) fn keys(self) -> usize {
        match self {
            Work::Exist | Work::Get | Work::Put | Work::Remove => 1,
            Work::BatchExist | Work::BatchGet | Work::BatchPut => BATCH_KEYS,
        }
    }

    /// The calls of one operation, one after the other.
    pub(crate) fn calls(self) -> &'static [Rpc] {
        match self {
            Work::Exist => &[Rpc::ExistKey],
            Work::Get => &[Rpc::GetReplicaList],
            Work::Put => &[Rpc::PutStart, Rpc::PutEnd],
            Work::Remove => &[Rpc::Remove],
            Work::BatchExist => &[Rpc::BatchExistKey],
            Work::BatchGet => &[Rpc::BatchGetReplicaList],
            Work::BatchPut => &[Rpc::BatchPutStart, Rpc::BatchPutEnd],
        }
    }
}
