//! The kinds of operations and how often each comes.

use crate::setup::Theme;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Clock,
    Eviction,
    Monitor,
    TaskCleanup,
    JobDispatch,
    WholePut,
    WholeBatch,
    Fill,
    PutStart,
    PutEnd,
    PutRevoke,
    UpsertStart,
    UpsertEnd,
    UpsertRevoke,
    BatchPutStart,
    BatchPutEnd,
    BatchPutRevoke,
    BatchUpsertStart,
    BatchUpsertEnd,
    BatchUpsertRevoke,
    Get,
    Exist,
    BatchGet,
    BatchExist,
    RegexGet,
    Remove,
    BatchRemove,
    RegexRemove,
    RemoveAll,
    ReplicaClear,
    CopyStart,
    CopyEnd,
    CopyRevoke,
    MoveStart,
    MoveEnd,
    MoveRevoke,
    DynamicCopy,
    Mount,
    Remount,
    Unmount,
    GracefulUnmount,
    Ping,
    QuerySegment,
    QueryIp,
    Task,
    CreateTask,
    CreateTasks,
    FetchTasks,
    CreateDrain,
    QueryDrain,
    CancelDrain,
    Plain,
    Optional,
}

/// Each with its weight in a mixed history. Tasks and drain jobs are for histories about them alone: the ids that they take are given
/// back by a restart of the real master only.
pub(crate) const FAMILIES: &[(Family, u64)] = &[
    (Family::Clock, 110),
    (Family::Eviction, 50),
    (Family::Monitor, 12),
    (Family::TaskCleanup, 6),
    (Family::JobDispatch, 2),
    (Family::WholePut, 90),
    (Family::WholeBatch, 8),
    (Family::Fill, 6),
    (Family::PutStart, 60),
    (Family::PutEnd, 60),
    (Family::PutRevoke, 16),
    (Family::UpsertStart, 50),
    (Family::UpsertEnd, 30),
    (Family::UpsertRevoke, 8),
    (Family::BatchPutStart, 20),
    (Family::BatchPutEnd, 20),
    (Family::BatchPutRevoke, 6),
    (Family::BatchUpsertStart, 12),
    (Family::BatchUpsertEnd, 10),
    (Family::BatchUpsertRevoke, 4),
    (Family::Get, 70),
    (Family::Exist, 30),
    (Family::BatchGet, 14),
    (Family::BatchExist, 10),
    (Family::RegexGet, 6),
    (Family::Remove, 30),
    (Family::BatchRemove, 10),
    (Family::RegexRemove, 5),
    (Family::RemoveAll, 2),
    (Family::ReplicaClear, 14),
    (Family::CopyStart, 24),
    (Family::CopyEnd, 16),
    (Family::CopyRevoke, 6),
    (Family::MoveStart, 20),
    (Family::MoveEnd, 14),
    (Family::MoveRevoke, 5),
    (Family::DynamicCopy, 5),
    (Family::Mount, 10),
    (Family::Remount, 8),
    (Family::Unmount, 5),
    (Family::GracefulUnmount, 5),
    (Family::Ping, 20),
    (Family::QuerySegment, 6),
    (Family::QueryIp, 4),
    (Family::Task, 6),
    (Family::CreateTask, 0),
    (Family::CreateTasks, 0),
    (Family::FetchTasks, 0),
    (Family::CreateDrain, 0),
    (Family::QueryDrain, 1),
    (Family::CancelDrain, 1),
    (Family::Plain, 2),
    (Family::Optional, 8),
];

impl Theme {
    /// The weight of a family in histories of this theme, where it is not the usual one. None of them goes without it.
    pub(crate) fn weight(self, family: Family) -> Option<u64> {
        let weights: &[(Family, u64)] = match self {
            Theme::Mixed => &[],
            Theme::Crowd => &[
                (Family::WholeBatch, 220),
                (Family::BatchGet, 50),
                (Family::BatchExist, 30),
                (Family::BatchRemove, 20),
                (Family::Eviction, 60),
            ],
            Theme::Tasks => &[
                (Family::CreateTask, 60),
                (Family::CreateTasks, 10),
                (Family::FetchTasks, 50),
                (Family::Task, 50),
                (Family::TaskCleanup, 30),
                (Family::WholePut, 120),
                (Family::Remove, 8),
                (Family::BatchRemove, 3),
                (Family::RegexRemove, 1),
                (Family::RemoveAll, 1),
                (Family::Unmount, 2),
                (Family::GracefulUnmount, 2),
            ],
            Theme::Drains => &[
                (Family::CreateDrain, 14),
                (Family::QueryDrain, 24),
                (Family::CancelDrain, 5),
                (Family::JobDispatch, 90),
                (Family::FetchTasks, 80),
                (Family::Task, 10),
                (Family::CreateTask, 4),
                (Family::TaskCleanup, 12),
                (Family::WholePut, 120),
                (Family::Remove, 8),
                (Family::BatchRemove, 3),
                (Family::RegexRemove, 1),
                (Family::RemoveAll, 1),
                (Family::Unmount, 4),
                (Family::GracefulUnmount, 2),
            ],
        };
        let found = weights.iter().find(|(themed, _)| *themed == family);
        found.map(|(_, weight)| *weight)
    }
}

impl Family {
    /// Whether no history goes without it.
    pub(crate) fn is_vital(self) -> bool {
        matches!(
            self,
            Family::Clock | Family::Eviction | Family::Monitor | Family::WholePut | Family::Mount
        )
    }
}
