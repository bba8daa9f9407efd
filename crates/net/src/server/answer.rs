//! From the frame of a request to its call, and from an answer to its frame.

use moonquake_protocol::fingerprint::{Seen, releases_of};
use moonquake_protocol::frame::{
    FrameView, RequestError, RequestHeader, decode_request, encode_error_into, encode_response_into,
};
use moonquake_protocol::struct_pack::peek_type_hash;
use moonquake_protocol::{Literal, Request, Response};

/// A request that can be handled.
#[derive(Debug)]
pub(super) struct Call {
    sequence: u32,
    pub(super) request: Request,
}

/// The call in a frame. What is no request of ours is refused at once, as the real master does.
pub(super) fn read_call(frame: &FrameView<'_, RequestHeader>, peer: &str, out: &mut Vec<u8>) -> Option<Call> {
    let sequence = frame.header.sequence;
    match decode_request(&frame.header, frame.body) {
        Ok(request) => Some(Call { sequence, request }),
        Err(error) => {
            log_refusal(frame.body, &error, peer);
            encode_error_into(out, sequence, &error.rpc_error(), Literal::With);
            None
        }
    }
}

/// As the real one, the answer carries the type literal.
pub(super) fn encode_answer(call: &Call, response: &Response, out: &mut Vec<u8>) {
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
