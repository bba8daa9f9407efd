//! From prefixes and suffixes to blocks.

use crate::Trace;
use crate::sim::SimError;
use crate::trace::TraceBuilder;

/// References of a generated load, at most: half a gigabyte of them.
pub(crate) const MOST_REFERENCES: u64 = 1 << 27;

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
/// If there are more blocks than are made, or what [`TraceBuilder`] refuses: unordered arrivals, absurd lengths.
pub fn trace_of(asks: &[Ask], block_tokens: u64) -> Result<Trace, SimError> {
    let mut builder = TraceBuilder::new(block_tokens)?;
    let mut references: u64 = 0;
    let mut keys = Vec::new();
    for (request, ask) in (0..).zip(asks) {
        let input_tokens = ask.prefix_tokens.saturating_add(ask.suffix_tokens);
        if input_tokens == 0 {
            return Err(SimError::Empty { request });
        }
        let blocks = input_tokens.div_ceil(block_tokens);
        references = references.saturating_add(blocks);
        if references > MOST_REFERENCES {
            return Err(SimError::TooMany {
                what: "references",
                most: MOST_REFERENCES,
            });
        }
        let shared = ask.prefix_tokens / block_tokens;
        let own = match ask.suffix_tokens {
            0 => ask.prefix_tokens % block_tokens,
            _ => u64::MAX - request,
        };
        keys.clear();
        keys.extend((0..blocks).map(|place| if place < shared { 0 } else { own }));
        // What two requests have in common begins with the first block, so the prefix tells chains apart as the namespace does.
        let prefix = u64::from(ask.namespace) << 32 | u64::from(ask.prefix_id);
        builder.request(ask.arrival_ns, prefix, input_tokens, 0, &keys)?;
    }
    Ok(builder.finish())
}
