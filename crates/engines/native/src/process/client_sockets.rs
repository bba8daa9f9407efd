//! The log of a client's socket calls, and the pause of a thread at a byte.

use super::client_page::{ClientPage, until};
use super::error::ProcessError;
use super::layout::client::{PAUSE_ARMED, PAUSE_HIT, PAUSE_NONE, RECEIVED, SENT, SOCKET_LOG, SocketEntry};
use super::page;
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Which way bytes go, seen from the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Out of its memory.
    Sent,
    /// Into its memory.
    Received,
}

/// Bytes that the kernel moved between a TCP socket and the memory of the process. A call with several buffers gives one of these for
/// each that took part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketAccess {
    /// Position in the log, from 0, modulo 2^32.
    pub sequence: u32,
    /// Which way.
    pub direction: Direction,
    /// Kernel id of the calling thread.
    pub tid: u32,
    /// The socket.
    pub descriptor: u32,
    /// Its own port.
    pub local_port: u16,
    /// The port at the other end.
    pub peer_port: u16,
    /// Address of the first byte in the process.
    pub address: u64,
    /// Bytes really moved.
    pub length_bytes: u64,
    /// Both clocks of the page at the call.
    pub at: Clocks,
}

/// Where a transport thread is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRule {
    /// Calls of this direction count.
    pub direction: Direction,
    /// Only sockets with this port of their own, if one is given.
    pub local_port: Option<u16>,
    /// Only sockets with this port at the other end, if one is given.
    pub peer_port: Option<u16>,
    /// Bytes that still move, over all matching calls together.
    pub at_bytes: u64,
}

impl ClientPage {
    /// Switches the log of TCP calls on or off. While it is on, somebody must take the entries: a thread that finds
    /// the log full (4096 entries) waits.
    pub fn log_sockets(&self, on: bool) {
        let client = &self.shared.get().client;
        client.log_sockets.store(u32::from(on), Ordering::SeqCst);
    }

    /// Takes everything logged so far, in order.
    pub fn drain_sockets(&self) -> Vec<SocketAccess> {
        let client = &self.shared.get().client;
        let taken = client.log_taken.load(Ordering::SeqCst);
        let count = client.log_written.load(Ordering::SeqCst).wrapping_sub(taken);
        let accesses = (0..count)
            .map(|offset| {
                let sequence = taken.wrapping_add(offset);
                access(sequence, &client.socket_log[sequence as usize % SOCKET_LOG])
            })
            .collect();
        client
            .log_taken
            .store(taken.wrapping_add(count), Ordering::SeqCst);
        page::wake(&client.log_taken);
        accesses
    }

    /// Waits until there is something to drain.
    ///
    /// # Errors
    /// [`ProcessError::ClientTimedOut`].
    pub fn await_sockets(&self, limit: Duration) -> Result<(), ProcessError> {
        let client = &self.shared.get().client;
        until(limit, &client.log_written, "a call on a TCP socket", |written| {
            (written != client.log_taken.load(Ordering::SeqCst)).then_some(())
        })
    }

    /// Entries that were dropped because the log was full when the gates were open.
    pub fn sockets_lost(&self) -> u32 {
        self.shared.get().client.log_lost.load(Ordering::SeqCst)
    }

    /// Asks for a pause: counting starts now, and the thread whose call would cross the limit moves the bytes up to it and stands. There is
    /// one pause at a time; an earlier one is released.
    pub fn pause_at(&self, rule: PauseRule) {
        self.release_pause();
        let pause = &self.shared.get().client.pause;
        pause.direction.store(
            match rule.direction {
                Direction::Sent => SENT,
                Direction::Received => RECEIVED,
            },
            Ordering::Relaxed,
        );
        let port = |port: Option<u16>| u32::from(port.unwrap_or(0));
        pause.local_port.store(port(rule.local_port), Ordering::Relaxed);
        pause.peer_port.store(port(rule.peer_port), Ordering::Relaxed);
        pause.at_bytes.store(rule.at_bytes, Ordering::Relaxed);
        pause.moved_bytes.store(0, Ordering::Relaxed);
        pause.state.store(PAUSE_ARMED, Ordering::SeqCst);
    }

    /// Waits until a thread stands at the byte; gives its kernel id.
    ///
    /// # Errors
    /// [`ProcessError::ClientTimedOut`], with the bytes that have moved.
    pub fn await_pause(&self, limit: Duration) -> Result<u32, ProcessError> {
        let pause = &self.shared.get().client.pause;
        let stands = until(limit, &pause.state, "the pause", |state| {
            (state == PAUSE_HIT).then(|| pause.tid.load(Ordering::SeqCst))
        });
        stands.map_err(|error| match error {
            ProcessError::ClientTimedOut { limit, .. } => ProcessError::ClientTimedOut {
                waiting_for: format!("a pause; {} bytes have moved", self.moved_bytes()),
                limit,
            },
            other => other,
        })
    }

    /// Bytes that matching calls have moved since [`ClientPage::pause_at`].
    pub fn moved_bytes(&self) -> u64 {
        self.shared.get().client.pause.moved_bytes.load(Ordering::SeqCst)
    }

    /// Lets a paused thread move the rest, or takes back a pause that nobody has reached.
    pub fn release_pause(&self) {
        let state = &self.shared.get().client.pause.state;
        state.store(PAUSE_NONE, Ordering::SeqCst);
        page::wake(state);
    }
}

fn access(sequence: u32, entry: &SocketEntry) -> SocketAccess {
    let ports = entry.ports.load(Ordering::Relaxed);
    SocketAccess {
        sequence,
        direction: match entry.direction.load(Ordering::Relaxed) {
            SENT => Direction::Sent,
            _ => Direction::Received,
        },
        tid: entry.tid.load(Ordering::Relaxed),
        descriptor: entry.descriptor.load(Ordering::Relaxed),
        local_port: (ports >> 16) as u16,
        peer_port: ports as u16,
        address: entry.address.load(Ordering::Relaxed),
        length_bytes: entry.length_bytes.load(Ordering::Relaxed),
        at: Clocks {
            realtime: RealtimeNs(entry.realtime_ns.load(Ordering::Relaxed)),
            monotonic: MonotonicNs(entry.monotonic_ns.load(Ordering::Relaxed)),
        },
    }
}
