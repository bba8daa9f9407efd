//! The thread of one connection: reads, lets the master answer, writes.
#![allow(
    clippy::disallowed_methods,
    reason = "a call is held for as long as a plan of failpoints says, in real time"
)]

use super::Shared;
use super::answer::{Call, encode_answer, read_call};
use super::input::Input;
use super::near::Near;
use super::seats::{Seat, Turn};
use super::standing::Over;
use crate::failpoints::{Effect, Strike, phase_of, strike};
use crate::stream::StreamEnd;
use moonquake_faults::Moment;
use moonquake_faults::failpoint::Pause;
use moonquake_master::refuse;
use moonquake_protocol::Response;
use moonquake_protocol::frame::{BODY_BYTES_MAX, FrameError, RequestHeader, first_frame};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Requests are answered together as long as their answers are shorter than this; then they are written.
const OUTPUT_BYTES: usize = 256 << 10;
/// Memory for answers that is larger than this is given back when they are written.
const REST_BYTES: usize = 32 << 10;
/// In the place of an answer; there is nothing in it.
const NO_ANSWER: Response = Response::ExistKey(Ok(false));

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error(transparent)]
    Stream(#[from] StreamEnd),
    #[error("connection cut by a failpoint")]
    Cut,
    #[error("the server ends")]
    Over,
}

impl From<Over> for End {
    fn from(Over: Over) -> End {
        End::Over
    }
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> End {
        End::Stream(error.into())
    }
}

impl From<FrameError> for End {
    fn from(error: FrameError) -> End {
        End::Stream(error.into())
    }
}

/// One connection, as its thread has it.
pub(super) struct Peer<'a> {
    shared: &'a Shared,
    seat: &'a Seat,
    name: String,
    input: Input<'a>,
    near: Near,
    output: Vec<u8>,
    /// An answer that was written; its memory serves for the next.
    spare: Response,
}

/// Answers until the connection ends. A defect of ours that panics costs the one connection whose request met it.
pub(super) fn answer_all(mut peer: Peer<'_>) {
    let end = catch_unwind(AssertUnwindSafe(|| peer.serve()));
    let peer = peer.name.as_str();
    match end {
        Ok(End::Stream(StreamEnd::Frame(error))) => tracing::warn!(peer, "connection closed: {error}"),
        Ok(End::Stream(StreamEnd::Closed { pending_bytes: 0 }) | End::Over) => {}
        Ok(End::Stream(end)) => tracing::debug!(peer, "{end}"),
        Ok(End::Cut) => tracing::warn!(peer, "{}", End::Cut),
        Err(_) => tracing::error!(peer, "connection closed: answering it panicked"),
    }
}

impl<'a> Peer<'a> {
    pub(super) fn new(shared: &'a Shared, seat: &'a Seat, address: SocketAddr) -> Peer<'a> {
        Peer {
            shared,
            seat,
            name: address.to_string(),
            input: Input::new(&shared.room),
            near: Near::new(&seat.stream),
            output: Vec::new(),
            spare: NO_ANSWER,
        }
    }

    fn serve(&mut self) -> End {
        loop {
            match self.input.read(&self.seat.stream) {
                Ok(0) => {
                    let pending_bytes = self.input.waiting().len();
                    return StreamEnd::Closed { pending_bytes }.into();
                }
                Ok(_) => {
                    self.near.read(&self.seat.stream);
                    if let Err(end) = self.answer_waiting() {
                        return end;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.into(),
            }
        }
    }

    /// Answers what has arrived as a whole, and writes the answers.
    fn answer_waiting(&mut self) -> Result<(), End> {
        let mut turn = self.turn()?;
        loop {
            let frame = match first_frame::<RequestHeader>(self.input.waiting(), BODY_BYTES_MAX) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => {
                    // What came before it has its answer.
                    drop(self.flush(turn)?);
                    return Err(error.into());
                }
            };
            let bytes = frame.frame_bytes();
            let call = read_call(&frame, &self.name, &mut self.output);
            self.input.done(bytes);
            if let Some(call) = call {
                turn = self.answer(call, turn)?;
            }
            if self.output.len() >= OUTPUT_BYTES {
                turn = self.flush(turn)?;
            }
        }
        drop(self.flush(turn)?);
        Ok(())
    }

    fn turn(&self) -> Result<Turn<'a>, Over> {
        self.seat.turn(&self.shared.standing)
    }

    /// Brings a call to the master and its answer back, past the phases on both ways.
    fn answer(&mut self, call: Call, turn: Turn<'a>) -> Result<Turn<'a>, End> {
        let (turn, effect) = self.pass(&call, Moment::Sent, turn)?;
        if effect != Effect::Go {
            return self.meet(&call, &effect, turn);
        }
        let mut response = std::mem::replace(&mut self.spare, NO_ANSWER);
        self.shared.handle(&call.request, &mut response);
        let (turn, effect) = self.pass(&call, Moment::Response, turn)?;
        if effect != Effect::Go {
            return self.meet(&call, &effect, turn);
        }
        let before = self.output.len();
        encode_answer(&call, &response, &mut self.output);
        if self.output.len() - before <= REST_BYTES {
            self.spare = response;
        }
        Ok(turn)
    }

    /// What else than going on becomes of a call at a phase.
    fn meet(&mut self, call: &Call, effect: &Effect, turn: Turn<'a>) -> Result<Turn<'a>, End> {
        match effect {
            Effect::Answer(code) => encode_answer(call, &refuse(&call.request, *code), &mut self.output),
            Effect::Go | Effect::Drop => {}
            Effect::Cut => {
                drop(self.flush(turn)?);
                return Err(End::Cut);
            }
        }
        Ok(turn)
    }

    /// Passes the phase of a call at a moment, and waits as long as it says.
    fn pass(&mut self, call: &Call, at: Moment, turn: Turn<'a>) -> Result<(Turn<'a>, Effect), End> {
        let (span, pause) = match strike(phase_of(call.request.rpc(), at)) {
            Strike::Now(effect) => return Ok((turn, effect)),
            Strike::Wait(span) => (span, None),
            Strike::Pause(pause) => (pause.bound(), Some(pause)),
            Strike::Yield => (Duration::ZERO, None),
        };
        // The answers to those before it go out, and a server can be frozen while a call is held.
        drop(self.flush(turn)?);
        self.hold(span, pause);
        Ok((self.turn()?, Effect::Go))
    }

    /// Waits that long, until the pause is released, or until the server ends.
    fn hold(&self, span: Duration, mut pause: Option<Pause>) {
        let until = Instant::now() + span;
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut is_released = |pause: &mut Pause| Pin::new(pause).poll(&mut context).is_ready();
        std::thread::yield_now();
        while !self.shared.standing.is_over() && !pause.as_mut().is_some_and(&mut is_released) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::park_timeout(left);
        }
    }

    /// Writes what is to be written. While the peer takes nothing the turn is given back.
    fn flush(&mut self, mut turn: Turn<'a>) -> Result<Turn<'a>, End> {
        let mut written = 0;
        while written < self.output.len() {
            match send(&self.seat.stream, &self.output[written..], SendFlags::DONTWAIT) {
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    drop(turn);
                    self.wait_until_writable()?;
                    turn = self.turn()?;
                }
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        self.output.clear();
        if self.output.capacity() > REST_BYTES {
            self.output = Vec::new();
        }
        Ok(turn)
    }

    fn wait_until_writable(&self) -> io::Result<()> {
        let mut waits = [PollFd::new(&self.seat.stream, PollFlags::OUT)];
        match poll(&mut waits, None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Wakes the thread of a connection when a pause is released.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
