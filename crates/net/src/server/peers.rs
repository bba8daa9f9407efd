//! All connections of the server, and who of them has something to do besides what their sockets tell.
#![allow(
    clippy::disallowed_methods,
    reason = "a call is held for as long as a plan of failpoints says, in real time"
)]

use super::peer::{Outcome, Peer, Turn};
use super::{Shared, State};
use crate::stream::StreamEnd;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Instant;

/// What is read from a socket at once.
const READ_BYTES: usize = 64 << 10;

/// All connections.
pub(super) struct Peers {
    /// At the place that their tokens name; `None` where nobody is any more.
    open: Vec<Option<Peer>>,
    free: Vec<usize>,
    /// Whoever has more to do at once.
    again: Vec<usize>,
    /// Whoever has a call that a failpoint holds.
    held: Vec<usize>,
    scratch: Vec<u8>,
    waker: Waker,
}

/// Wakes the thread of the server when a pause is released.
struct Alarm(Arc<mio::Waker>);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        if let Err(error) = self.0.wake() {
            tracing::warn!("waking the master after a pause: {error}");
        }
    }
}

impl Peers {
    pub(super) fn new(waker: Arc<mio::Waker>) -> Peers {
        Peers {
            open: Vec::new(),
            free: Vec::new(),
            again: Vec::new(),
            held: Vec::new(),
            scratch: vec![0; READ_BYTES],
            waker: Waker::from(Arc::new(Alarm(waker))),
        }
    }

    /// Somebody has connected.
    pub(super) fn add(&mut self, registry: &Registry, stream: TcpStream, address: SocketAddr) {
        // Frames are whole messages: waiting to fill a packet only delays them. A socket that cannot do it still works.
        let _ = stream.set_nodelay(true);
        let place = self.free.pop().unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        let mut peer = Peer::new(stream, address);
        let interest = Interest::READABLE | Interest::WRITABLE;
        match registry.register(peer.stream(), Token(place), interest) {
            Ok(()) => self.open[place] = Some(peer),
            Err(error) => {
                tracing::warn!(peer = peer.name(), "connection turned away: {error}");
                self.free.push(place);
            }
        }
    }

    /// When somebody has something to do although no socket tells so.
    pub(super) fn due(&self) -> Option<Instant> {
        if !self.again.is_empty() {
            return Some(Instant::now());
        }
        let held = self.held.iter().filter_map(|&at| self.open[at].as_ref());
        held.filter_map(Peer::held_until).min()
    }

    /// The socket of a connection has told something.
    pub(super) fn turn(&mut self, at: usize, is_read_closed: bool, state: &mut State, shared: &Shared) {
        // Someone who has left in the same round is not there.
        if let Some(Some(peer)) = self.open.get_mut(at) {
            if is_read_closed {
                peer.read_closed();
            }
            self.with(at, state, shared, Peer::turn);
        }
    }

    /// The turn of everybody who waits for it without a socket.
    pub(super) fn turn_of_waiting(&mut self, state: &mut State, shared: &Shared) {
        for at in std::mem::take(&mut self.again) {
            self.with(at, state, shared, Peer::turn);
        }
        if self.held.is_empty() {
            return;
        }
        let (now, waker) = (Instant::now(), self.waker.clone());
        for at in std::mem::take(&mut self.held) {
            self.with(at, state, shared, |peer, turn| {
                peer.resume(now, &waker, turn);
                peer.turn(turn)
            });
        }
    }

    /// Lets one do something. A defect of ours that panics costs the one connection whose request met it.
    fn with(
        &mut self,
        at: usize,
        state: &mut State,
        shared: &Shared,
        act: impl FnOnce(&mut Peer, &mut Turn<'_>) -> Outcome,
    ) {
        let Some(Some(peer)) = self.open.get_mut(at) else {
            return;
        };
        let mut turn = Turn {
            scratch: &mut self.scratch,
            state,
            shared,
        };
        match catch_unwind(AssertUnwindSafe(|| act(peer, &mut turn))) {
            Ok(Outcome::Waits) => {}
            Ok(Outcome::Again) => remember(&mut self.again, at),
            Ok(Outcome::Held) => remember(&mut self.held, at),
            Ok(Outcome::Ended(end)) => {
                log_end(peer.name(), end);
                self.remove(at);
            }
            Err(_) => {
                tracing::error!(peer = peer.name(), "connection closed: answering it panicked");
                self.remove(at);
            }
        }
    }

    fn remove(&mut self, at: usize) {
        self.open[at] = None;
        self.again.retain(|&other| other != at);
        self.held.retain(|&other| other != at);
        self.free.push(at);
    }
}

fn remember(list: &mut Vec<usize>, at: usize) {
    if !list.contains(&at) {
        list.push(at);
    }
}

fn log_end(peer: &str, end: Option<StreamEnd>) {
    match end {
        Some(StreamEnd::Frame(error)) => tracing::warn!(peer, "connection closed: {error}"),
        Some(StreamEnd::Closed { pending_bytes: 0 }) => {}
        Some(end) => tracing::debug!(peer, "{end}"),
        None => tracing::warn!(peer, "connection cut by a failpoint"),
    }
}
