//! When the thread that accepts has something to do although nothing arrives.
#![allow(
    clippy::disallowed_methods,
    reason = "periods are real time; what a round does is decided by the clock of the master"
)]

use super::Rounds;
use moonquake_clock::Thread;
use std::time::{Duration, Instant};

/// How long accepting rests after the system refused, for example for want of file descriptors: no event tells when there are
/// some again.
const REST: Duration = Duration::from_millis(10);

/// Instants of real time.
#[derive(Debug)]
pub(super) struct Timers {
    /// The next round of each background thread; empty if rounds come on command.
    rounds: Vec<(Thread, Instant)>,
    /// When to accept again after the system refused.
    accept: Option<Instant>,
}

impl Timers {
    pub(super) fn new(rounds: Rounds) -> Timers {
        let now = Instant::now();
        let threads = match rounds {
            Rounds::ByTimer => &Thread::ALL[..],
            Rounds::ByCommand => &[],
        };
        Timers {
            rounds: threads.iter().map(|&thread| (thread, now)).collect(),
            accept: None,
        }
    }

    /// How long to wait at most.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let rounds = self.rounds.iter().map(|(_, due)| *due);
        let due = rounds.chain(self.accept).min()?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// The threads whose round is due. The next one comes a period after this one, however late this one is.
    pub(super) fn rounds_due(&mut self) -> impl Iterator<Item = Thread> {
        let now = (!self.rounds.is_empty()).then(Instant::now);
        self.rounds.iter_mut().filter_map(move |(thread, due)| {
            let now = now.filter(|now| now >= due)?;
            *due = now + Duration::from_nanos(thread.period().ns);
            Some(*thread)
        })
    }

    /// Whether it is time to accept again after the system refused.
    pub(super) fn accepts_again(&self) -> bool {
        self.accept.is_some_and(|due| Instant::now() >= due)
    }

    /// The system accepts.
    pub(super) fn accepting_works(&mut self) {
        self.accept = None;
    }

    /// The system has refused. Whether that is new.
    pub(super) fn accepting_failed(&mut self) -> bool {
        self.accept.replace(Instant::now() + REST).is_none()
    }
}
