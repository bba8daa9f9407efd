//! What a history is made of.

use crate::setup::Setup;
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Thread};
use moonquake_protocol::{Request, Uuid};
use serde::{Deserialize, Serialize};

/// One operation. All are concrete, so that any subset of a history is a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(
    clippy::large_enum_variant,
    reason = "most operations are requests, and a box for each would cost more than the room that the others waste"
)]
pub enum Operation {
    /// A request of some client.
    Call(Request),
    /// Both clocks move, each by so many nanoseconds; a negative number sets a clock back. Timers that are due then run.
    Clock {
        /// The wall clock.
        realtime_ns: i64,
        /// The monotonic clock.
        monotonic_ns: i64,
    },
    /// One round of a background thread.
    Tick(Thread),
    /// The admin server is asked to have segments emptied.
    CreateDrainJob {
        /// Names of the segments to empty.
        segments: Vec<String>,
        /// Names of the segments that may take the objects; none for every other one.
        target_segments: Vec<String>,
        /// Moves under way at once.
        max_concurrency: u32,
    },
    /// The admin server is asked how far a job is.
    QueryDrainJob(Uuid),
    /// The admin server is asked to end a job.
    CancelDrainJob(Uuid),
}

/// Operations in a row, on a master with this configuration that was just started or reset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// The configuration.
    pub setup: Setup,
    /// From what it was generated; none for one that was shrunk or written by hand.
    pub seed: Option<u64>,
    /// What happens.
    pub operations: Vec<Operation>,
}

/// Clocks after an [`Operation::Clock`]; neither goes below zero.
pub(crate) fn moved(clocks: Clocks, realtime_ns: i64, monotonic_ns: i64) -> Clocks {
    Clocks {
        realtime: RealtimeNs(clocks.realtime.0.saturating_add_signed(realtime_ns)),
        monotonic: MonotonicNs(clocks.monotonic.0.saturating_add_signed(monotonic_ns)),
    }
}

impl Operation {
    /// What it is called in tables and messages.
    pub fn name(&self) -> String {
        match self {
            Operation::Call(request) => request.rpc().name().to_owned(),
            Operation::Clock { .. } => "clock".to_owned(),
            Operation::Tick(thread) => format!("tick {}", thread.name()),
            Operation::CreateDrainJob { .. } => "CreateDrainJob".to_owned(),
            Operation::QueryDrainJob(_) => "QueryDrainJob".to_owned(),
            Operation::CancelDrainJob(_) => "CancelDrainJob".to_owned(),
        }
    }

    /// Whether upstream answers this while work that it causes goes on beside it, so that what comes next must wait for its end.
    pub(crate) fn wakes_workers(&self) -> bool {
        matches!(
            self,
            Operation::Call(
                Request::UnmountSegment { .. }
                    | Request::GracefulUnmountSegment { .. }
                    | Request::ReMountSegment { .. }
            )
        )
    }
}
