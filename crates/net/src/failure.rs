//! How a call can fail without an answer of the function, as the caller sees it.

use crate::stream::StreamEnd;
use moonquake_protocol::frame::{Frame, ResponseHeader, RpcError, decode_response};
use moonquake_protocol::{ErrorCode, Response, Rpc};
use std::time::Duration;

/// What a call brought: an answer of the function, or none.
pub type Answer = Result<Response, RpcFailure>;

/// Why a call brought no answer of the function. Mirrors `master_client.cpp:invoke_rpc`, which knows only
/// RPC_FAIL and RPC_TIMEOUT; [`RpcFailure::code`] is that view.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RpcFailure {
    /// Nobody listens, or the system refused.
    #[error("no connection: {why}")]
    Connect {
        /// What the system said.
        why: String,
    },
    /// The connection ended before the answer was complete.
    #[error("no answer: {why}")]
    Closed {
        /// How it ended.
        why: String,
    },
    /// The RPC layer of the peer answered.
    #[error("refused by the RPC layer: {0}")]
    Rpc(RpcError),
    /// The answer is not what this release answers.
    #[error("the answer to {} does not decode: {why}", rpc.name())]
    Undecodable {
        /// The call.
        rpc: Rpc,
        /// What is wrong with it.
        why: String,
    },
    /// The answer belongs to another request.
    #[error("the answer carries sequence number {found} instead of {expected}")]
    Sequence {
        /// That of the request.
        expected: u32,
        /// That of the answer.
        found: u32,
    },
    /// No answer came in time.
    #[error("no answer within {limit:?}")]
    TimedOut {
        /// The time-out.
        limit: Duration,
    },
    /// A failpoint of ours let the call fail.
    #[error("failed by a failpoint with {code:?}")]
    Failpoint {
        /// The code it was told to fail with.
        code: ErrorCode,
    },
}

impl RpcFailure {
    /// The store error that upstream's client reports.
    pub fn code(&self) -> ErrorCode {
        match self {
            RpcFailure::TimedOut { .. } => ErrorCode::RpcTimeout,
            RpcFailure::Failpoint { code } => *code,
            _ => ErrorCode::RpcFail,
        }
    }

    pub(crate) fn end(end: &StreamEnd) -> RpcFailure {
        RpcFailure::Closed { why: end.to_string() }
    }
}

/// Reads a response as the real client does: the sequence number first, then the body.
pub(crate) fn read_answer(rpc: Rpc, sequence: u32, frame: &Frame<ResponseHeader>) -> Answer {
    if frame.header.sequence != sequence {
        return Err(RpcFailure::Sequence {
            expected: sequence,
            found: frame.header.sequence,
        });
    }
    match decode_response(rpc, &frame.header, &frame.body) {
        Ok(answer) => answer.map_err(RpcFailure::Rpc),
        Err(error) => Err(RpcFailure::Undecodable {
            rpc,
            why: error.to_string(),
        }),
    }
}
