//! The master's periodic threads. In a run they do nothing by themselves: each round is one explicit tick.

use crate::Span;
use serde::{Deserialize, Serialize};

/// A background thread of the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thread {
    /// Evicts and sweeps. Mirrors `master_service.cpp:EvictionThreadFunc`.
    Eviction,
    /// Expires silent clients. Mirrors `master_service.cpp:ClientMonitorFunc`.
    ClientMonitor,
    /// Times tasks out. Mirrors `master_service.cpp:TaskCleanupThreadFunc`.
    TaskCleanup,
    /// Advances drain jobs. Mirrors `master_service.cpp:JobDispatchThreadFunc`.
    JobDispatch,
}

impl Thread {
    /// Every thread that a scenario can tick.
    pub const ALL: [Thread; 4] = [
        Thread::Eviction,
        Thread::ClientMonitor,
        Thread::TaskCleanup,
        Thread::JobDispatch,
    ];

    /// The word for it in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Thread::Eviction => "eviction",
            Thread::ClientMonitor => "client_monitor",
            Thread::TaskCleanup => "task_cleanup",
            Thread::JobDispatch => "job_dispatch",
        }
    }

    /// The thread of that name.
    pub fn from_name(name: &str) -> Option<Thread> {
        Thread::ALL.into_iter().find(|thread| thread.name() == name)
    }

    /// How long the real thread waits between two rounds.
    pub fn period(self) -> Span {
        match self {
            Thread::Eviction => Span::from_ms(10),
            Thread::ClientMonitor => Span::from_ms(1_000),
            Thread::TaskCleanup => Span::from_ms(30_000),
            Thread::JobDispatch => Span::from_ms(500),
        }
    }
}
