//! What is made sure of before the first event, so that no event can go wrong.

use super::{Config, SimError};
use crate::Trace;

/// More requests than this are not numbered: a write has the number of its request plus their count.
const REQUESTS: u64 = 1 << 31;
/// No run lasts longer, in nanoseconds: sums of two instants fit into 63 bits.
const HORIZON_NS: u128 = 1 << 62;

/// Checks a trace against a configuration. From then on blocks and places are in range, and all instants and sums of times
/// and bytes fit: each nanosecond of a run has a lookup, a transfer or a computation under way, and this adds up all of them.
pub(super) fn check(trace: &Trace, config: &Config) -> Result<(), SimError> {
    config.check()?;
    if trace.block_tokens != config.block_tokens {
        return Err(SimError::BlockSize {
            trace: trace.block_tokens,
            config: config.block_tokens,
        });
    }
    let bounds = [
        ("requests", trace.requests.len() as u64, REQUESTS),
        ("references", trace.references.len() as u64, u64::from(u32::MAX)),
        ("blocks", trace.blocks() as u64, u64::from(u32::MAX)),
    ];
    for (what, number, most) in bounds {
        if number >= most {
            return Err(SimError::TooMany { what, most });
        }
    }
    requests(trace, config)
}

fn requests(trace: &Trace, config: &Config) -> Result<(), SimError> {
    let mut arrival = 0;
    let mut sum: u128 = 0;
    let mut input: u128 = 0;
    for (request, asked) in (0..).zip(&trace.requests) {
        if asked.arrival_ns < arrival {
            return Err(SimError::Order { request });
        }
        arrival = asked.arrival_ns;
        let chain = trace.chain(asked);
        let needs = asked.input_tokens.div_ceil(config.block_tokens);
        if asked.input_tokens == 0 {
            return Err(SimError::Empty { request });
        }
        if chain.len() as u64 != needs {
            return Err(SimError::Chain {
                request,
                blocks: chain.len() as u64,
                tokens: asked.input_tokens,
                needs,
            });
        }
        let mut before = None;
        for block in chain {
            if trace.parents.get(block.index()) != Some(&before) {
                return Err(SimError::Parent {
                    request,
                    block: u64::from(block.0),
                });
            }
            before = Some(*block);
        }
        // Once to fetch and once to store.
        let bytes = u128::from(asked.input_tokens) * u128::from(config.bytes_per_token);
        let moves = bytes.saturating_mul(2_000_000_000) / u128::from(config.bandwidth_bytes_per_s) + 2;
        let compute = config.prefill.ns(asked.input_tokens, 0);
        let all = moves
            .saturating_add(compute)
            .saturating_add(u128::from(config.lookup_ns));
        sum = sum.saturating_add(all);
        input = input.saturating_add(bytes);
        let end = sum.saturating_add(u128::from(arrival));
        let allowed = [config.slo_ns, config.prefetch_deadline_ns.unwrap_or(0)];
        if end >= HORIZON_NS || input >= HORIZON_NS || allowed.iter().any(|ns| u128::from(*ns) >= HORIZON_NS)
        {
            return Err(SimError::TooLong { request });
        }
    }
    Ok(())
}
