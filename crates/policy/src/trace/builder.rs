//! A trace, request by request.

use super::intern::Names;
use super::{Flaw, Request, Trace, TraceError};
use crate::Block;

/// No sum of a few of them leaves 64 bits: 146 years in nanoseconds.
pub(super) const LATEST_NS: u64 = u64::MAX / 4;
/// References that can be counted in 32 bits.
const MOST_REFERENCES: usize = (u32::MAX - 16) as usize;

/// Makes a trace of generated requests: keys become blocks.
///
/// A key tells a block apart from others with the same blocks before it. The same keys behind each other in the same namespace
/// are the same blocks; behind other keys, or in another namespace, they are others.
pub struct TraceBuilder {
    trace: Trace,
    known: Names<(Option<Block>, u64, u64)>,
}

impl TraceBuilder {
    /// For blocks of `block_tokens` tokens.
    pub fn new(block_tokens: u64) -> Result<TraceBuilder, TraceError> {
        Ok(TraceBuilder {
            trace: empty(block_tokens)?,
            known: Names::new(),
        })
    }

    /// Adds a request whose prompt has the blocks with these keys, from its beginning, in this namespace.
    ///
    /// Refused: an arrival before that of the last request, keys that are not as many as the tokens make blocks, and absurd
    /// numbers. Nothing is added then, but blocks may be known already.
    pub fn request(
        &mut self,
        arrival_ns: u64,
        namespace: u64,
        input_tokens: u64,
        output_tokens: u64,
        keys: &[u64],
    ) -> Result<(), TraceError> {
        let known = &mut self.known;
        let parents = &mut self.trace.parents;
        let mut parent = None;
        let mut chain = Vec::with_capacity(keys.len());
        for &key in keys {
            let root = if parent.is_none() { namespace } else { 0 };
            let Some((block, new)) = known.number((parent, root, key)) else {
                return Err(refused(&self.trace, Flaw::TooMany));
            };
            if new {
                parents.push(parent);
            }
            chain.push(block);
            parent = Some(block);
        }
        fits(&self.trace, input_tokens, output_tokens, keys.len())
            .and_then(|()| {
                add(
                    &mut self.trace,
                    arrival_ns,
                    input_tokens,
                    output_tokens,
                    keys.len(),
                )
            })
            .map_err(|flaw| refused(&self.trace, flaw))?;
        self.trace.references.extend(chain);
        Ok(())
    }

    /// The trace.
    pub fn finish(self) -> Trace {
        self.trace
    }
}

/// A trace without requests.
pub(super) fn empty(block_tokens: u64) -> Result<Trace, TraceError> {
    if block_tokens == 0 {
        return Err(TraceError::NoTokens);
    }
    Ok(Trace {
        requests: Vec::new(),
        references: Vec::new(),
        parents: Vec::new(),
        block_tokens,
        notes: Vec::new(),
    })
}

fn refused(trace: &Trace, flaw: Flaw) -> TraceError {
    TraceError::Line {
        file: "generated requests".to_owned(),
        line: trace.requests.len() as u64 + 1,
        flaw,
    }
}

/// Whether a request has tokens, and as many blocks as they need.
pub(super) fn fits(trace: &Trace, input_tokens: u64, output_tokens: u64, blocks: usize) -> Result<(), Flaw> {
    for (key, tokens) in [("input_length", input_tokens), ("output_length", output_tokens)] {
        if tokens > u64::from(u32::MAX) {
            return Err(Flaw::TooLong { key, tokens });
        }
    }
    if input_tokens == 0 {
        return Err(Flaw::NoTokens);
    }
    let needed = input_tokens.div_ceil(trace.block_tokens);
    if needed != blocks as u64 {
        return Err(Flaw::Blocks {
            ids: blocks,
            input_tokens,
            needed,
            block_tokens: trace.block_tokens,
        });
    }
    Ok(())
}

/// Adds a request with the next `blocks` references.
pub(super) fn add(
    trace: &mut Trace,
    arrival_ns: u64,
    input_tokens: u64,
    output_tokens: u64,
    blocks: usize,
) -> Result<(), Flaw> {
    let first = trace
        .requests
        .last()
        .map_or(0, |last| last.first as usize + last.count as usize);
    if first.saturating_add(blocks) > MOST_REFERENCES {
        return Err(Flaw::TooMany);
    }
    if arrival_ns > LATEST_NS {
        return Err(Flaw::TooLate {
            at: format!("{arrival_ns} ns"),
        });
    }
    if let Some(last) = trace.requests.last().filter(|last| last.arrival_ns > arrival_ns) {
        return Err(Flaw::Backwards {
            before: format!("{} ns", last.arrival_ns),
            at: format!("{arrival_ns} ns"),
        });
    }
    trace.requests.push(Request {
        arrival_ns,
        input_tokens,
        output_tokens,
        first: first as u32,
        count: blocks as u32,
    });
    Ok(())
}
