//! One connection: what has arrived of a frame, what is still to be written, and a call that a failpoint holds.
#![allow(
    clippy::disallowed_methods,
    reason = "a call is held for as long as a plan of failpoints says, in real time"
)]

use super::answer::{Call, Hold, Step, answer, go_on};
use super::{Shared, State};
use crate::stream::StreamEnd;
use mio::net::TcpStream;
use moonquake_faults::failpoint::Pause;
use moonquake_protocol::frame::{BODY_BYTES_MAX, RequestHeader, first_frame};
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Instant;

/// Requests are answered together as long as their answers are shorter than this; then they are written.
const OUTPUT_BYTES: usize = 256 << 10;
/// How often one peer is read from before others have their turn.
const READS: usize = 16;
/// A buffer that is empty and larger than this is given back: a connection that rests costs next to nothing.
const REST_BYTES: usize = 32 << 10;

/// What the thread has for whoever has its turn.
pub(super) struct Turn<'a> {
    /// What is read arrives here first.
    pub(super) scratch: &'a mut [u8],
    pub(super) state: &'a mut State,
    pub(super) shared: &'a Shared,
}

/// What a turn ended with.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Nothing can be done before the socket says so.
    Waits,
    /// There is more to do.
    Again,
    /// A failpoint holds its call.
    Held,
    /// No further frame comes; `None`: a failpoint cut the connection.
    Ended(Option<StreamEnd>),
}

/// A call that is held until an instant, or until its pause is released.
#[derive(Debug)]
struct Held {
    call: Box<Call>,
    until: Instant,
    pause: Option<Pause>,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Peer {
    stream: TcpStream,
    name: String,
    /// The peer sends nothing more behind what waits in the socket.
    is_read_closed: bool,
    /// What has arrived and is not answered.
    pending: Vec<u8>,
    output: Vec<u8>,
    written: usize,
    held: Option<Held>,
    /// Why the connection ends once its output is written.
    end: Option<Option<StreamEnd>>,
}

impl Peer {
    pub(super) fn new(stream: TcpStream, address: SocketAddr) -> Peer {
        Peer {
            stream,
            name: address.to_string(),
            is_read_closed: false,
            pending: Vec::new(),
            output: Vec::new(),
            written: 0,
            held: None,
            end: None,
        }
    }

    pub(super) fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The socket says that the peer sends nothing more.
    pub(super) fn read_closed(&mut self) {
        self.is_read_closed = true;
    }

    /// Writes, answers and reads until nothing more can be done, or it is the turn of others.
    pub(super) fn turn(&mut self, turn: &mut Turn<'_>) -> Outcome {
        let mut is_more_there = true;
        for _ in 0..READS {
            match self.flush() {
                Ok(true) => {}
                Ok(false) => return Outcome::Waits,
                Err(error) => return Outcome::Ended(Some(error.into())),
            }
            if let Some(end) = self.end.take() {
                return Outcome::Ended(end);
            }
            if self.held.is_some() {
                return Outcome::Held;
            }
            if self.answer_pending(turn) {
                continue;
            }
            if !is_more_there {
                return Outcome::Waits;
            }
            match self.stream.read(turn.scratch) {
                Ok(0) => {
                    let pending_bytes = self.pending.len();
                    return Outcome::Ended(Some(StreamEnd::Closed { pending_bytes }));
                }
                Ok(count) => {
                    // A read that comes back short has emptied the socket, and the end of a stream that comes later tells so
                    // itself; one that was there before does not tell again.
                    is_more_there = count == turn.scratch.len() || self.is_read_closed;
                    self.take(count, turn);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Outcome::Waits,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Outcome::Ended(Some(error.into())),
            }
        }
        Outcome::Again
    }

    /// When the call that is held goes on at the latest.
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.held.as_ref().map(|held| held.until)
    }

    /// Lets the call that is held go on, if its time has come; otherwise the waker is woken when its pause is released.
    pub(super) fn resume(&mut self, now: Instant, waker: &Waker, turn: &mut Turn<'_>) {
        let is_over = self.held.as_mut().is_some_and(|held| {
            let is_released = |pause: &mut Pause| {
                let mut context = Context::from_waker(waker);
                Pin::new(pause).poll(&mut context).is_ready()
            };
            now >= held.until || held.pause.as_mut().is_some_and(is_released)
        });
        if is_over && let Some(held) = self.held.take() {
            // Tells in the log which it was.
            drop(held.pause);
            let step = go_on(*held.call, turn.state, turn.shared, &mut self.output);
            self.note(step);
        }
    }

    /// Takes what was read.
    fn take(&mut self, count: usize, turn: &mut Turn<'_>) {
        let Turn {
            scratch,
            state,
            shared,
        } = turn;
        let arrived = &scratch[..count];
        match self.pending.is_empty() {
            // The usual case: whole requests are answered from where they lie.
            true => {
                let used = self.answer_frames(arrived, state, shared);
                self.pending.extend_from_slice(&arrived[used..]);
            }
            false => self.pending.extend_from_slice(arrived),
        }
    }

    /// Answers requests that arrived before. Whether anything came of it.
    fn answer_pending(&mut self, turn: &mut Turn<'_>) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let mut pending = std::mem::take(&mut self.pending);
        let used = self.answer_frames(&pending, turn.state, turn.shared);
        pending.drain(..used);
        if pending.capacity() <= REST_BYTES || !pending.is_empty() {
            self.pending = pending;
        }
        used > 0 || self.end.is_some()
    }

    /// Answers whole requests from the front of `arrived`, and returns how many bytes they had.
    fn answer_frames(&mut self, arrived: &[u8], state: &mut State, shared: &Shared) -> usize {
        let mut used = 0;
        while self.held.is_none() && self.end.is_none() && self.output.len() < OUTPUT_BYTES {
            match first_frame::<RequestHeader>(&arrived[used..], BODY_BYTES_MAX) {
                Ok(Some(frame)) => {
                    used += frame.frame_bytes();
                    let step = answer(&frame, &self.name, state, shared, &mut self.output);
                    self.note(step);
                }
                Ok(None) => break,
                Err(error) => self.end = Some(Some(error.into())),
            }
        }
        used
    }

    fn note(&mut self, step: Step) {
        match step {
            Step::Over => {}
            Step::Cut => self.end = Some(None),
            Step::Held(call, hold) => {
                let (span, pause) = match hold {
                    Hold::For(span) => (span, None),
                    Hold::Paused(pause) => (pause.bound(), Some(pause)),
                };
                let until = Instant::now() + span;
                self.held = Some(Held { call, until, pause });
            }
        }
    }

    /// Writes what is to be written. Whether all of it could be.
    fn flush(&mut self) -> io::Result<bool> {
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.written = 0;
        self.output.clear();
        if self.output.capacity() > REST_BYTES {
            self.output = Vec::new();
        }
        Ok(true)
    }
}
