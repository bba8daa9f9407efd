//! From prefixes and suffixes to blocks.

use crate::sim::SimError;
use crate::{Block, Request, Trace};
use std::collections::BTreeMap;

/// A request by what it shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// When it arrives, in nanoseconds since the load began.
    pub arrival_ns: u64,
    /// Which model, version or tenant. Nothing is shared between two.
    pub namespace: u32,
    /// Which prefix of the namespace it begins with.
    pub prefix_id: u32,
    /// Tokens of that prefix that it begins with.
    pub prefix_tokens: u64,
    /// Tokens behind it, which no other request has.
    pub suffix_tokens: u64,
}

/// The blocks of requests. Full blocks of a prefix are shared by all that begin with them; the block in which a prefix ends
/// and a suffix begins is the request's own, as are those behind it. A prefix that ends a prompt in the middle of a block ends
/// in a block of its own length, shared by those that end there too.
///
/// # Errors
///
/// If there are more blocks than a trace numbers, a request has no tokens, or a length does not fit.
pub fn trace_of(asks: &[Ask], block_tokens: u64) -> Result<Trace, SimError> {
    if block_tokens == 0 {
        return Err(SimError::Zero {
            field: "block_tokens",
        });
    }
    let mut trace = Trace {
        requests: Vec::new(),
        references: Vec::new(),
        parents: Vec::new(),
        block_tokens,
        notes: Vec::new(),
    };
    let mut shared: BTreeMap<(u32, u32), Vec<Block>> = BTreeMap::new();
    let mut ends: BTreeMap<(u32, u32, u64), Block> = BTreeMap::new();
    for (request, ask) in (0..).zip(asks) {
        let input_tokens = ask.prefix_tokens.checked_add(ask.suffix_tokens);
        let input_tokens = input_tokens.ok_or(SimError::TooLong { request })?;
        if input_tokens == 0 {
            return Err(SimError::Empty { request });
        }
        let most = u64::from(u32::MAX);
        let count = u32::try_from(input_tokens.div_ceil(block_tokens)).ok();
        let count = count.filter(|count| trace.references.len() as u64 + u64::from(*count) < most);
        let count = count.ok_or(SimError::TooMany {
            what: "references",
            most,
        })?;
        let first = trace.references.len();
        let prefix = shared.entry((ask.namespace, ask.prefix_id)).or_default();
        let full = (ask.prefix_tokens / block_tokens) as usize;
        for place in 0..count as usize {
            let parent = (place > 0).then(|| trace.references[first + place - 1]);
            let block = if place < full {
                while prefix.len() <= place {
                    let before = prefix.last().copied();
                    prefix.push(add(&mut trace.parents, before));
                }
                prefix[place]
            } else if ask.suffix_tokens == 0 {
                let end = (ask.namespace, ask.prefix_id, ask.prefix_tokens);
                *ends.entry(end).or_insert_with(|| add(&mut trace.parents, parent))
            } else {
                add(&mut trace.parents, parent)
            };
            trace.references.push(block);
        }
        trace.requests.push(Request {
            arrival_ns: ask.arrival_ns,
            input_tokens,
            output_tokens: 0,
            first: first as u32,
            count,
        });
    }
    Ok(trace)
}

/// A new block behind another.
fn add(parents: &mut Vec<Option<Block>>, parent: Option<Block>) -> Block {
    // There are no more blocks than references, and those are counted.
    let block = Block(parents.len() as u32);
    parents.push(parent);
    block
}
