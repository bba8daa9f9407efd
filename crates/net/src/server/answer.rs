//! From a request to its answer, past the phases on its way there and back.

use super::{Shared, State};
use crate::failpoints::{Effect, Strike, phase_of, strike};
use moonquake_faults::Moment;
use moonquake_faults::failpoint::Pause;
use moonquake_master::refuse;
use moonquake_protocol::fingerprint::{Seen, releases_of};
use moonquake_protocol::frame::{
    FrameView, RequestError, RequestHeader, decode_request, encode_error_into, encode_response_into,
};
use moonquake_protocol::struct_pack::peek_type_hash;
use moonquake_protocol::{Literal, Request, Response};
use std::time::Duration;

/// In the place of an answer; there is nothing in it.
pub(super) const NO_ANSWER: Response = Response::ExistKey(Ok(false));

/// A call between two steps.
#[derive(Debug)]
pub(super) struct Call {
    sequence: u32,
    request: Request,
    /// None until the master has handled it.
    response: Option<Response>,
}

/// What became of a call.
#[derive(Debug)]
pub(super) enum Step {
    /// It is over; if it has an answer, that was written.
    Over,
    /// A failpoint cuts the connection.
    Cut,
    /// A failpoint holds it.
    Held(Box<Call>, Hold),
}

/// How long a call is held.
#[derive(Debug)]
pub(super) enum Hold {
    /// That long.
    For(Duration),
    /// Until it is released, or reaches its bound.
    Paused(Pause),
}

/// Answers the request in a frame, as far as it goes without waiting.
pub(super) fn answer(
    frame: &FrameView<'_, RequestHeader>,
    peer: &str,
    state: &mut State,
    shared: &Shared,
    out: &mut Vec<u8>,
) -> Step {
    let sequence = frame.header.sequence;
    match decode_request(&frame.header, frame.body) {
        Ok(request) => {
            let call = Call {
                sequence,
                request,
                response: None,
            };
            go_through(call, Moment::Sent, state, shared, out)
        }
        Err(error) => {
            log_refusal(frame.body, &error, peer);
            encode_error_into(out, sequence, &error.rpc_error(), Literal::With);
            Step::Over
        }
    }
}

/// Passes the phase of that moment, and what comes behind it.
fn go_through(call: Call, at: Moment, state: &mut State, shared: &Shared, out: &mut Vec<u8>) -> Step {
    match strike(phase_of(call.request.rpc(), at)) {
        Strike::Now(Effect::Go) => go_on(call, state, shared, out),
        Strike::Now(Effect::Answer(code)) => {
            write(&call, &refuse(&call.request, code), out);
            Step::Over
        }
        Strike::Now(Effect::Drop) => Step::Over,
        Strike::Now(Effect::Cut) => Step::Cut,
        Strike::Wait(span) => Step::Held(Box::new(call), Hold::For(span)),
        Strike::Pause(pause) => Step::Held(Box::new(call), Hold::Paused(pause)),
        Strike::Yield => Step::Held(Box::new(call), Hold::For(Duration::ZERO)),
    }
}

/// What comes behind a phase: the master, or the way back to the client.
pub(super) fn go_on(mut call: Call, state: &mut State, shared: &Shared, out: &mut Vec<u8>) -> Step {
    if let Some(response) = call.response.take() {
        write(&call, &response, out);
        state.spare = response;
        return Step::Over;
    }
    let mut response = std::mem::replace(&mut state.spare, NO_ANSWER);
    let now = shared.clock.now();
    state.master.handle_into(now, &call.request, &[], &mut response);
    state.master.settle_cleanup();
    call.response = Some(response);
    go_through(call, Moment::Response, state, shared, out)
}

/// As the real one, the answer carries the type literal.
fn write(call: &Call, response: &Response, out: &mut Vec<u8>) {
    encode_response_into(out, call.sequence, response, Literal::With);
}

/// A peer of another release gives itself away by the hashes of its requests.
fn log_refusal(body: &[u8], error: &RequestError, peer: &str) {
    let releases = match (error, peek_type_hash(body)) {
        (RequestError::InvalidArguments { rpc, .. }, Some(hash))
            if rpc.request_type().is_some_and(|ours| ours.hash() != hash) =>
        {
            releases_of(&[Seen::Request(*rpc, hash)])
        }
        _ => Vec::new(),
    };
    if releases.is_empty() {
        tracing::warn!(peer, "request refused: {error}");
    } else {
        let names: Vec<&str> = releases.iter().map(|release| release.name).collect();
        tracing::warn!(
            peer,
            "request refused: {error}; the peer is of release {}",
            names.join(" or ")
        );
    }
}
