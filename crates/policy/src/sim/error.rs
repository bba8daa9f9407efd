//! What a simulation refuses.

use crate::trace::TraceError;

/// Why a run was refused before its first event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// A field that must be positive is zero.
    #[error("{field} is 0, and no machine has that; give at least 1")]
    Zero {
        /// Of [`Config`](super::Config).
        field: &'static str,
    },
    /// The cache holds less than a block.
    #[error(
        "the cache holds no block: one is {block_bytes} bytes; give at least one block, or that many bytes"
    )]
    NoBlock {
        /// Bytes of a full block.
        block_bytes: u64,
    },
    /// A product does not fit.
    #[error("{what} does not fit into 64 bits; give smaller numbers")]
    TooBig {
        /// Which.
        what: &'static str,
    },
    /// Time could run past what 62 bits of nanoseconds hold, 146 years, or bytes past as many.
    #[error(
        "this run could last longer than 146 years of simulated time or move more than 4 EiB, by request {request} (counted \
         from 0); give fewer or shorter requests, a faster link, a cheaper prefill, or a nearer SLO or deadline"
    )]
    TooLong {
        /// The request with which the sum got too large.
        request: u64,
    },
    /// A request without a token.
    #[error(
        "request {request} (counted from 0) has no tokens, so it has no first token either; leave it out"
    )]
    Empty {
        /// Which.
        request: u64,
    },
    /// Blocks of the requests are not those of the configuration.
    #[error(
        "the requests were cut into blocks of {trace} tokens and the configuration says {config}; give both the same"
    )]
    BlockSize {
        /// Tokens of a block of the trace.
        trace: u64,
        /// Tokens of a block of the configuration.
        config: u64,
    },
    /// A chain that is not what its tokens need.
    #[error(
        "request {request} (counted from 0) has {blocks} blocks for {tokens} tokens; it needs {needs}, one for each full or \
         partial block"
    )]
    Chain {
        /// Which.
        request: u64,
        /// That it has.
        blocks: u64,
        /// Of its prompt.
        tokens: u64,
        /// Blocks that its tokens need.
        needs: u64,
    },
    /// A block that is behind two different ones.
    #[error(
        "request {request} (counted from 0) has block {block} behind another block than its parent; a block stands for its \
         whole prefix, so number blocks by prefix"
    )]
    Parent {
        /// Which.
        request: u64,
        /// Its number.
        block: u64,
    },
    /// More requests or references than a run numbers.
    #[error("more than {most} {what}; cut the trace")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The bound.
        most: u64,
    },
    /// A workload that cannot be made.
    #[error("{field} of a workload is 0; give at least 1")]
    Workload {
        /// Of [`Shape`](crate::workload::Shape).
        field: &'static str,
    },
    /// Requests that make no trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Requests with the future behind them.
    #[error(
        "request {request} (counted from 0) arrives before the one ahead of it; sort the trace by arrival"
    )]
    Order {
        /// Which.
        request: u64,
    },
}
