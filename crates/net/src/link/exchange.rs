//! One request to the master and its answer, as the tap makes them.

use super::connection::{Up, UpEnd};
use crate::failure::{Answer, RpcFailure, read_answer};
use crate::stream::{FrameStream, Raw, StreamEnd};
use moonquake_protocol::Rpc;
use moonquake_protocol::frame::ResponseHeader;
use std::net::SocketAddr;

/// An answer with the bytes it came in; without bytes if none came.
#[derive(Clone, Debug)]
pub(super) struct Handled {
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) sequence: u32,
    pub(super) answer: Answer,
}

impl Handled {
    fn none(sequence: u32, failure: RpcFailure) -> Handled {
        Handled {
            bytes: None,
            sequence,
            answer: Err(failure),
        }
    }
}

/// A request as the tap holds it.
pub(super) struct Held<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) rpc: Rpc,
    pub(super) sequence: u32,
}

/// Sends the request over the tap's own way and reads the whole answer.
pub(super) async fn exchange(up: &mut Up, held: &Held<'_>) -> Handled {
    up.make().await;
    let stream = match up {
        Up::Open(stream) => stream,
        Up::Unmade(master) => {
            let why = format!("{master} was never called");
            return Handled::none(held.sequence, RpcFailure::Connect { why });
        }
        Up::Gone(UpEnd::Refused(why)) => {
            return Handled::none(held.sequence, RpcFailure::Connect { why: why.clone() });
        }
        Up::Gone(UpEnd::Closed(why)) => {
            return Handled::none(held.sequence, RpcFailure::Closed { why: why.clone() });
        }
    };
    match ask(stream, held.bytes).await {
        Ok(frame) => Handled {
            bytes: Some(frame.raw()),
            sequence: frame.header.sequence,
            answer: read_answer(held.rpc, held.sequence, &frame),
        },
        Err(end) => {
            *up = Up::Gone(UpEnd::Closed(end.to_string()));
            Handled::none(held.sequence, RpcFailure::end(&end))
        }
    }
}

/// The same over a connection made for this one request.
pub(super) async fn exchange_apart(master: SocketAddr, held: &Held<'_>) -> Handled {
    exchange(&mut Up::Unmade(master), held).await
}

async fn ask(
    stream: &mut FrameStream<ResponseHeader>,
    bytes: &[u8],
) -> Result<moonquake_protocol::frame::Frame<ResponseHeader>, StreamEnd> {
    stream.write(bytes).await?;
    stream.next().await
}
