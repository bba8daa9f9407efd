//! Where a process of ours reads its clocks.

use crate::{Clocks, Domain, MonotonicNs, RealtimeNs, Span};
use std::sync::Mutex;

/// Something that can be asked for the time.
pub trait ClockSource: Send + Sync {
    /// Both clocks now.
    fn now(&self) -> Clocks;
}

/// A clock that stands still until it is told to move.
#[derive(Debug, Default)]
pub struct SteppedClock {
    now: Mutex<Clocks>,
}

impl SteppedClock {
    /// A clock that shows `start`.
    pub fn new(start: Clocks) -> SteppedClock {
        SteppedClock {
            now: Mutex::new(start),
        }
    }

    /// Moves both clocks forward.
    pub fn advance(&self, span: Span) {
        let mut now = self.now.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *now = *now + span;
    }

    /// Sets both clocks.
    pub fn set(&self, to: Clocks) {
        *self.now.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = to;
    }

    /// Steps one clock alone, by `by_ns` nanoseconds forward or back, stopping at zero.
    pub fn step(&self, domain: Domain, by_ns: i128) {
        let mut now = self.now.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let moved = |from: u64| u64::try_from((i128::from(from) + by_ns).max(0)).unwrap_or(u64::MAX);
        match domain {
            Domain::Realtime => now.realtime = RealtimeNs(moved(now.realtime.0)),
            Domain::Monotonic => now.monotonic = MonotonicNs(moved(now.monotonic.0)),
        }
    }
}

impl ClockSource for SteppedClock {
    fn now(&self) -> Clocks {
        *self.now.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The clocks of the machine; only servers of ours use them, never a run that must be deterministic.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    origin: std::time::Instant,
}

impl SystemClock {
    /// A system clock whose monotonic side starts at one second, so that zero stays "never".
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the machine's clock"
    )]
    pub fn new() -> SystemClock {
        SystemClock {
            origin: std::time::Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl ClockSource for SystemClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the machine's clock"
    )]
    fn now(&self) -> Clocks {
        let wall = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        let ns = |d: std::time::Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        Clocks {
            realtime: RealtimeNs(ns(wall)),
            monotonic: MonotonicNs(ns(self.origin.elapsed()).saturating_add(1_000_000_000)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_clock_steps_and_the_other_stays() {
        let clock = SteppedClock::new(Clocks {
            realtime: RealtimeNs(100),
            monotonic: MonotonicNs(50),
        });
        clock.step(Domain::Realtime, 61);
        assert_eq!(
            clock.now(),
            Clocks {
                realtime: RealtimeNs(161),
                monotonic: MonotonicNs(50)
            }
        );
        clock.step(Domain::Monotonic, -60);
        assert_eq!(clock.now().monotonic, MonotonicNs(0));
        clock.advance(Span::from_ns(9));
        assert_eq!(
            clock.now(),
            Clocks {
                realtime: RealtimeNs(170),
                monotonic: MonotonicNs(9)
            }
        );
    }

    #[test]
    fn system_clock_moves_forward() {
        let clock = SystemClock::new();
        let (a, b) = (clock.now(), clock.now());
        assert!(b.monotonic >= a.monotonic && a.realtime.0 > 1_600_000_000_000_000_000);
    }
}
