//! Requests and the blocks that their prompts are made of, from a trace file or from a generator.

mod asks;
mod builder;
mod csv;
mod error;
mod intern;
mod jsonl;
mod read;
mod ticks;

pub use builder::TraceBuilder;
pub use error::{Flaw, TraceError};
pub use read::{Reading, References, parse, parse_references, read, read_references};
pub use ticks::Ticks;

use crate::Block;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it arrives, in nanoseconds since the trace began; never before the request in front of it.
    pub arrival_ns: u64,
    /// Tokens of its prompt.
    pub input_tokens: u64,
    /// Tokens of its answer.
    pub output_tokens: u64,
    /// Where its chain begins in [`Trace::references`].
    pub first: u32,
    /// How many blocks its chain has: `input_tokens` by [`Trace::block_tokens`], rounded up.
    pub count: u32,
}

/// Requests in the order of their arrival.
///
/// A chain is the prompt from its beginning, block by block; equal prefixes are equal blocks. Each block has one parent, the
/// block before it in every chain that it is in. The last block of a chain may be partly filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// In the order of their arrival.
    pub requests: Vec<Request>,
    /// All chains, one after the other, in the order of their requests.
    pub references: Vec<Block>,
    /// The block before each block, by its number; none for the first of a chain. As long as there are different blocks.
    pub parents: Vec<Option<Block>>,
    /// Tokens of a full block.
    pub block_tokens: u64,
    /// What was found and done while reading, a sentence each, for the output.
    pub notes: Vec<String>,
}

/// Tokens of a full block in the public Mooncake traces.
pub const MOONCAKE_BLOCK_TOKENS: u64 = 512;

impl Trace {
    /// How many different blocks there are; their numbers are below it.
    pub fn blocks(&self) -> usize {
        self.parents.len()
    }

    /// The blocks of a request's prompt, from its beginning. Empty for a request of another trace that would lie outside.
    pub fn chain(&self, request: &Request) -> &[Block] {
        let first = request.first as usize;
        self.references
            .get(first..first.saturating_add(request.count as usize))
            .unwrap_or(&[])
    }

    /// Tokens in the block at `place` of a request's chain: a full block, but for the last one.
    pub fn tokens_at(&self, request: &Request, place: u32) -> u64 {
        let before = u64::from(place).saturating_mul(self.block_tokens);
        request.input_tokens.saturating_sub(before).min(self.block_tokens)
    }
}
