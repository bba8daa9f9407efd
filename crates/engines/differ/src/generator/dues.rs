//! The instants at which something live falls due, so that a history can stand one nanosecond before, on and after them.

use super::draw::Draw;
use crate::operation::Operation;
use crate::setup::Lengths;
use moonquake_clock::{Clocks, Domain, Span, Thread};
use moonquake_protocol::{Request, Response, SoftPinAction};

/// So many instants are remembered.
const REMEMBERED: usize = 48;
const SECOND: u64 = 1_000_000_000;

/// What falls due when.
#[derive(Clone, Debug)]
pub(crate) struct Dues {
    lengths: Lengths,
    instants: Vec<(Domain, u64)>,
    next: usize,
}

impl Dues {
    pub(crate) fn new(lengths: Lengths) -> Dues {
        Dues {
            lengths,
            instants: Vec::new(),
            next: 0,
        }
    }

    fn note(&mut self, domain: Domain, now: Clocks, length: Span) {
        let base = match domain {
            Domain::Realtime => now.realtime.0,
            Domain::Monotonic => now.monotonic.0,
        };
        let instant = (domain, base.saturating_add(length.ns));
        if self.instants.len() < REMEMBERED {
            self.instants.push(instant);
        } else {
            self.instants[self.next] = instant;
            self.next = (self.next + 1) % REMEMBERED;
        }
    }

    /// Remembers what an operation sets going.
    pub(crate) fn observe(&mut self, operation: &Operation, response: Option<&Response>, now: Clocks) {
        let lengths = self.lengths;
        match operation {
            Operation::Tick(Thread::Eviction) => self.note(Domain::Realtime, now, lengths.release),
            Operation::Tick(Thread::ClientMonitor) => {
                self.note(Domain::Monotonic, now, lengths.client_ttl);
            }
            Operation::Tick(Thread::TaskCleanup) => {
                self.note(Domain::Monotonic, now, Thread::TaskCleanup.period());
            }
            Operation::Tick(Thread::JobDispatch)
            | Operation::Clock { .. }
            | Operation::CreateDrainJob { .. }
            | Operation::QueryDrainJob(_)
            | Operation::CancelDrainJob(_) => {}
            Operation::Call(request) => {
                if let Some(response) = response {
                    self.observe_call(request, response, now);
                }
            }
        }
    }

    fn observe_call(&mut self, request: &Request, response: &Response, now: Clocks) {
        let lengths = self.lengths;
        match response {
            Response::PutStart(Ok(_)) | Response::UpsertStart(Ok(_)) => {
                self.note_start(request, now);
            }
            Response::BatchPutStart(each) | Response::BatchUpsertStart(each)
                if each.iter().any(Result::is_ok) =>
            {
                self.note_start(request, now);
            }
            Response::ExistKey(Ok(true)) => self.note(Domain::Realtime, now, lengths.lease),
            Response::GetReplicaList(Ok(_)) => {
                self.note(Domain::Realtime, now, lengths.lease);
                // From then on a read lengthens the leases of a group again.
                self.note(Domain::Realtime, now, Span::from_ns(lengths.lease.ns / 2));
            }
            Response::BatchGetReplicaList(each) if each.iter().any(Result::is_ok) => {
                self.note(Domain::Realtime, now, lengths.lease);
            }
            Response::BatchExistKey(each) if each.contains(&Ok(true)) => {
                self.note(Domain::Realtime, now, lengths.lease);
            }
            Response::GetReplicaListByRegex(Ok(found)) if !found.is_empty() => {
                self.note(Domain::Realtime, now, lengths.lease);
            }
            Response::CopyStart(Ok(_)) | Response::MoveStart(Ok(_)) | Response::MoveEnd(Ok(())) => {
                self.note(Domain::Realtime, now, lengths.release);
            }
            Response::CreateCopyTask(Ok(_)) | Response::CreateMoveTask(Ok(_)) => {
                self.note(Domain::Realtime, now, lengths.pending_task);
            }
            Response::FetchTasks(Ok(fetched)) if !fetched.is_empty() => {
                self.note(Domain::Realtime, now, lengths.processing_task);
            }
            Response::GracefulUnmountSegment(Ok(())) => {
                if let Request::GracefulUnmountSegment { grace_period_ms, .. } = request {
                    self.note(Domain::Monotonic, now, Span::from_ms(*grace_period_ms));
                }
            }
            _ => {}
        }
    }

    /// A write has begun: how long it keeps others out and its memory, and its soft pin.
    fn note_start(&mut self, request: &Request, now: Clocks) {
        let lengths = self.lengths;
        self.note(Domain::Realtime, now, lengths.discard);
        self.note(Domain::Realtime, now, lengths.release);
        let (Request::PutStart { config, .. }
        | Request::UpsertStart { config, .. }
        | Request::BatchPutStart { config, .. }
        | Request::BatchUpsertStart { config, .. }) = request
        else {
            return;
        };
        if config.soft_pin_action == SoftPinAction::Enable {
            let own = config.soft_pin_ttl_ms.map(Span::from_ms);
            self.note(Domain::Realtime, now, own.unwrap_or(lengths.soft_pin));
        }
    }

    /// A move of the clocks. With `together` both move by the same, forward; else one alone may move, and back.
    pub(crate) fn step(&self, draw: &mut Draw, now: Clocks, together: bool) -> Operation {
        let (domain, delta) = self.delta(draw, now);
        if together || draw.chance(60) {
            let delta = delta.max(0);
            return Operation::Clock {
                realtime_ns: delta,
                monotonic_ns: delta,
            };
        }
        match domain {
            Domain::Realtime => Operation::Clock {
                realtime_ns: delta,
                monotonic_ns: 0,
            },
            Domain::Monotonic => Operation::Clock {
                realtime_ns: 0,
                monotonic_ns: delta,
            },
        }
    }

    fn delta(&self, draw: &mut Draw, now: Clocks) -> (Domain, i64) {
        if !self.instants.is_empty() && draw.chance(60) {
            let (domain, at) = *draw.pick(&self.instants);
            let at = i128::from(at) - 1 + i128::from(draw.below(3));
            let now = match domain {
                Domain::Realtime => now.realtime.0,
                Domain::Monotonic => now.monotonic.0,
            };
            let delta = i64::try_from(at - i128::from(now)).unwrap_or(0);
            // An instant that has passed is gone back to now and then, and not from far.
            if delta > 0 || (delta > -(100 * SECOND as i64) && draw.chance(10)) {
                return (domain, delta);
            }
        }
        let domain = *draw.pick(&[Domain::Realtime, Domain::Monotonic]);
        let span = match draw.below(20) {
            0..=7 => draw.within(1, 10),
            8..=13 => draw.within(1, 2 * SECOND),
            14..=17 => draw.within(1, 15 * SECOND),
            18 => draw.within(1, self.lengths.release.ns + SECOND),
            _ => draw.within(1, 20 * SECOND).wrapping_neg(),
        };
        (domain, span as i64)
    }
}
