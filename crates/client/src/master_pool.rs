//! The connections of one client to its master: which call gets one, which is lost with one that broke, and how a new one is tried.
//! Mirrors `master_client.cpp:invoke_rpc` and, of the library below it, yalantinglibs `client_pool.hpp`, `detail/client_queue.hpp`
//! and `coro_rpc_client.hpp`.
//!
//! A call takes an idle connection, or makes one, and has it for itself until it is answered. Nobody looks at a connection while
//! it is idle, so each that the master's end has broken costs the call that takes it. A call that was not answered loses its
//! connection. What nobody has used for one to two rounds of 30 s is closed.

use moonquake_clock::{MonotonicNs, Span};
use std::collections::VecDeque;

/// How often a call tries to connect before it fails: once, and three times more. Mirrors `pool_config::connect_retry_count`.
pub const CONNECT_ATTEMPTS: u32 = 4;

/// The shortest wait after each attempt that was refused, the last one included. Mirrors `pool_config::reconnect_wait_time`.
const CONNECT_WAIT_MS: f32 = 1_000.0;

/// The factors between which a wait is drawn. Mirrors `client_pool.hpp:rand_time`.
const WAIT_FACTORS: (f32, f32) = (1.0, 1.2);

/// The distance of the rounds that close idle connections. Mirrors `pool_config::idle_timeout`.
const IDLE_ROUND: Span = Span::from_secs(30);

/// A connection that was idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// It leads to the master.
    Whole,
    /// The master that it led to is gone: the call over it fails at once, and it is closed.
    Broken,
}

/// The idle connections of one client to its master.
#[derive(Clone, Debug, Default)]
pub struct MasterPool {
    /// Those that were used since the last round, and those that were not; each first in, first out.
    queues: [VecDeque<Wire>; 2],
    selected: usize,
    /// The next round; none before the first connection was idle.
    round_at: Option<MonotonicNs>,
    draws: Draws,
}

impl MasterPool {
    /// An idle connection for a call; none if it must make one. One that was used lately comes first.
    pub fn take(&mut self) -> Option<Wire> {
        let selected = self.selected;
        let lately = self.queues[selected].pop_front();
        lately.or_else(|| self.queues[selected ^ 1].pop_front())
    }

    /// The call over a connection was answered; the connection is idle from now on, broken if the master has died behind that answer.
    pub fn give_back(&mut self, wire: Wire, now: MonotonicNs) {
        self.queues[self.selected].push_back(wire);
        if self.round_at.is_none() {
            self.begin_round(now);
        }
    }

    /// The master is gone, and all these connections with it.
    pub fn master_gone(&mut self) {
        for wire in self.queues.iter_mut().flatten() {
            *wire = Wire::Broken;
        }
    }

    /// How many connections are idle, broken ones included.
    pub fn idle(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// When the next round closes connections; none before the first one was idle.
    pub fn round_at(&self) -> Option<MonotonicNs> {
        self.round_at
    }

    /// Whether [`MasterPool::close_idle`] would be a round.
    pub fn is_round_due(&self, now: MonotonicNs) -> bool {
        self.round_at.is_some_and(|at| at <= now)
    }

    /// If a round is due, whatever was not used since the one before is closed.
    pub fn close_idle(&mut self, now: MonotonicNs) {
        if self.is_round_due(now) {
            self.queues[self.selected ^ 1].clear();
            self.begin_round(now);
        }
    }

    fn begin_round(&mut self, now: MonotonicNs) {
        self.selected ^= 1;
        self.round_at = Some(MonotonicNs(now.0.saturating_add(IDLE_ROUND.ns)));
    }

    /// How long a call waits after an attempt to connect that was refused.
    pub fn wait(&mut self) -> Span {
        self.draws.wait()
    }
}

/// The engine that draws the waits, as the release has it: `std::default_random_engine`, never seeded, one for each thread that
/// makes connections. This client has one such thread.
#[derive(Clone, Debug)]
struct Draws {
    state: u64,
}

impl Default for Draws {
    fn default() -> Draws {
        Draws { state: 1 }
    }
}

impl Draws {
    /// The least and the greatest number that the engine gives, and what it multiplies by: `std::minstd_rand0` of the GNU C++
    /// library.
    const RANGE: (u64, u64) = (1, 2_147_483_646);
    const MULTIPLIER: u64 = 16_807;

    /// Whole milliseconds, in the single precision in which they are reckoned there.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the release reckons so, and what it gets lies between 1000 and 1200"
    )]
    fn wait(&mut self) -> Span {
        let (least, greatest) = Draws::RANGE;
        self.state = self.state * Draws::MULTIPLIER % (greatest + 1);
        let unit = (self.state - least) as f32 / greatest as f32;
        let (from, to) = WAIT_FACTORS;
        let factor = unit * (to - from) + from;
        Span::from_ms((factor * CONNECT_WAIT_MS) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: MonotonicNs = MonotonicNs(1_000_000_000_000_000);

    fn after(seconds: u64) -> MonotonicNs {
        MonotonicNs(START.0 + seconds * 1_000_000_000)
    }

    #[test]
    fn waits_are_those_of_the_engine_that_nobody_seeds() {
        let mut pool = MasterPool::default();
        let waits: Vec<u64> = (0..5).map(|_| pool.wait().ns / 1_000_000).collect();
        assert_eq!(waits, [1_000, 1_026, 1_151, 1_091, 1_106]);
    }

    #[test]
    fn each_connection_that_broke_is_taken_once() {
        let mut pool = MasterPool::default();
        pool.give_back(Wire::Whole, START);
        pool.give_back(Wire::Whole, START);
        pool.master_gone();
        assert_eq!(pool.take(), Some(Wire::Broken));
        pool.give_back(Wire::Whole, START);
        assert_eq!(pool.idle(), 2);
        assert_eq!(
            (pool.take(), pool.take()),
            (Some(Wire::Whole), Some(Wire::Broken))
        );
        assert_eq!(pool.take(), None);
    }

    #[test]
    fn what_is_used_between_two_rounds_stays() {
        let mut pool = MasterPool::default();
        pool.give_back(Wire::Whole, START);
        pool.give_back(Wire::Whole, START);
        pool.close_idle(after(29));
        assert_eq!(pool.idle(), 2, "no round is due");
        assert_eq!(pool.take(), Some(Wire::Whole));
        pool.give_back(Wire::Whole, after(29));
        pool.close_idle(after(30));
        assert_eq!(
            pool.idle(),
            1,
            "the first was not used since the round that began with it"
        );
        assert_eq!(pool.take(), Some(Wire::Whole));
        pool.give_back(Wire::Whole, after(31));
        pool.close_idle(after(60));
        assert_eq!(pool.idle(), 1);
        pool.close_idle(after(90));
        assert_eq!(pool.idle(), 0);
    }
}
