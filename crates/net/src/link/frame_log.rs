//! What the tap of a link saw: the second observer of every message.

use crate::failure::RpcFailure;
use moonquake_protocol::{Request, Response, Rpc};
use std::fmt;

/// A message of one link: a request and the answer to it. Counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {}", self.0)
    }
}

/// Which part of a message's way the tap saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Leg {
    /// The whole request came from the client. It has not been passed on.
    RequestArrived,
    /// The request was passed on and the whole answer of the master came, or its connection ended.
    RequestHandled,
    /// The same for the second copy of a request.
    DuplicateHandled,
    /// The tap made the answer itself.
    AnsweredByTap,
    /// The answer was passed on and the client has read it.
    ResponseDelivered,
    /// The answer could not be passed on: the client's connection is gone.
    ResponseUndeliverable,
    /// The request was thrown away.
    RequestDropped,
    /// The answer was thrown away.
    ResponseDropped,
    /// The tap closed the connection on both sides, on order or since the master closed its side.
    Cut,
    /// Connections of the client ended.
    Closed {
        /// How many.
        connections: usize,
    },
}

/// What the tap read in the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A request.
    Request(Request),
    /// An answer of the function.
    Response(Response),
    /// No answer of the function.
    Failure(RpcFailure),
    /// There was nothing to read.
    Nothing,
}

impl From<&Result<Response, RpcFailure>> for Decoded {
    fn from(answer: &Result<Response, RpcFailure>) -> Decoded {
        match answer {
            Ok(response) => Decoded::Response(response.clone()),
            Err(failure) => Decoded::Failure(failure.clone()),
        }
    }
}

/// One observation of the tap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapFrame {
    /// The message; `None` when connections ended.
    pub message: Option<MessageId>,
    /// The connection of the client, counted from 1; 0 when several ended. A copy travels on a connection of the tap's
    /// own and carries the number of the original's.
    pub connection: u64,
    /// What happened.
    pub leg: Leg,
    /// The method; `None` when connections ended.
    pub rpc: Option<Rpc>,
    /// Sequence number of the frame.
    pub sequence: u32,
    /// The whole frame as it came; empty where no frame came.
    pub bytes: Vec<u8>,
    /// What the tap read in it.
    pub decoded: Decoded,
}
