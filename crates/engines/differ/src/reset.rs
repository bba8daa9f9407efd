//! Bringing a master back to how it was when it started, without a restart. What the reset does is done to both masters and
//! compared like everything else.
//!
//! Not reset, and so either relative or carried over: replica ids, counters, finished tasks, the clocks, and the time of the last
//! sweep, which is the instant of the reset.

use crate::cast::Cast;
use crate::operation::Operation;
use crate::sides::Outcome;
use crate::source::Source;
use moonquake_clock::{Clocks, Span, Thread};
use moonquake_master::MasterConfig;
use moonquake_protocol::{ErrorCode, Request, Response, Segment, Uuid};
use std::collections::VecDeque;

/// The halves of the id of a client that appears in no history.
const NOBODY: u64 = 0xFFFF_0000_0000_0000;
/// Rounds in which one client is freed of stale ids.
const MOST_ROUNDS: u32 = 64;
const TENANT: &str = "default";

/// The operations of a reset.
#[derive(Debug)]
pub(crate) struct Reset {
    cast: Cast,
    script: VecDeque<Operation>,
    /// Clients whose lists of segments have not been looked at, and how often the last one was.
    to_probe: Vec<Uuid>,
    rounds: u32,
    /// Distinguishes the strangers of different resets.
    number: u64,
    step: Span,
    is_ending: bool,
}

impl Reset {
    /// After a history with this cast. `behind` says how far each clock must go forward to be where it was latest.
    pub(crate) fn new(cast: Cast, config: &MasterConfig, behind: (i64, i64), number: u64) -> Reset {
        let longest = config.release.max(config.lease).max(config.client_ttl);
        let mut script = VecDeque::new();
        if behind != (0, 0) {
            script.push_back(Operation::Clock {
                realtime_ns: behind.0,
                monotonic_ns: behind.1,
            });
        }
        script.push_back(remove_all());
        for segment_id in &cast.segments {
            script.push_back(Operation::Call(Request::UnmountSegment {
                segment_id: *segment_id,
                client_id: cast.clients.first().copied().unwrap_or_default(),
            }));
        }
        Reset {
            to_probe: cast.clients.iter().copied().collect(),
            cast,
            script,
            rounds: 0,
            number,
            step: longest + Span::from_secs(100),
            is_ending: false,
        }
    }

    /// Asks whether the client still has a list of segments, by an answer that changes nothing.
    fn probe(client_id: Uuid) -> Operation {
        Operation::Call(Request::GracefulUnmountSegment {
            segment_id: Uuid::new(NOBODY, NOBODY),
            client_id,
            grace_period_ms: 0,
        })
    }

    /// Who unmounts another's segment leaves a stale id in the owner's list for good. Mounted by a stranger and unmounted in the
    /// owner's name, the id goes from that list and stays in the stranger's, whom nobody will ever meet.
    fn free_of_stale_ids(&mut self, client_id: Uuid) {
        let stranger = Uuid::new(NOBODY, self.number);
        for (index, id) in self.cast.segments.iter().enumerate() {
            let segment = Segment {
                id: *id,
                name: "reset".to_owned(),
                base: (index as u64 + 1) << 32,
                size: 1 << 20,
                te_endpoint: "reset".to_owned(),
                protocol: "tcp".to_owned(),
                ..Segment::default()
            };
            self.script.push_back(Operation::Call(Request::MountSegment {
                segment,
                client_id: stranger,
            }));
            self.script.push_back(Operation::Call(Request::UnmountSegment {
                segment_id: *id,
                client_id,
            }));
        }
    }

    /// Twice, since a ping that is still queued keeps a client alive through the first round.
    fn end(&mut self) {
        self.is_ending = true;
        for client_id in &self.cast.clients {
            self.script.push_back(Operation::Call(Request::Ping {
                client_id: *client_id,
            }));
        }
        self.script.push_back(Operation::Tick(Thread::ClientMonitor));
        self.script.push_back(Operation::Tick(Thread::Eviction));
        let ns = i64::try_from(self.step.ns).unwrap_or(i64::MAX);
        for _ in 0..2 {
            self.script.push_back(Operation::Clock {
                realtime_ns: ns,
                monotonic_ns: ns,
            });
            self.script.push_back(Operation::Tick(Thread::ClientMonitor));
            self.script.push_back(Operation::Tick(Thread::Eviction));
            self.script.push_back(remove_all());
        }
        self.script.push_back(Operation::Tick(Thread::TaskCleanup));
    }
}

fn remove_all() -> Operation {
    Operation::Call(Request::RemoveAll {
        force: true,
        tenant_id: TENANT.to_owned(),
    })
}

impl Source for Reset {
    fn next(&mut self, _now: Clocks) -> Option<Operation> {
        if self.script.is_empty() && !self.is_ending {
            match self.to_probe.last() {
                Some(client) => self.script.push_back(Reset::probe(*client)),
                None => self.end(),
            }
        }
        self.script.pop_front()
    }

    fn observe(&mut self, operation: &Operation, outcome: &Outcome, _now: Clocks) {
        let Operation::Call(Request::GracefulUnmountSegment { client_id, .. }) = operation else {
            return;
        };
        let has_list =
            *outcome == Outcome::Answer(Response::GracefulUnmountSegment(Err(ErrorCode::InvalidParams)));
        if has_list && self.rounds < MOST_ROUNDS {
            self.rounds += 1;
            self.free_of_stale_ids(*client_id);
        } else {
            self.rounds = 0;
            self.to_probe.pop();
        }
    }
}
