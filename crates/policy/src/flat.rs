//! Blocks only: one reference after the other, all blocks of one size, no time.

use crate::policies::{Block, Kind, NEVER, Policy, Use};
use crate::with_policy;

/// What a replay of references came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// References to a block that was in the cache.
    pub hits: u64,
    /// References to one that was not; it came in, and if the cache was full another one went before.
    pub misses: u64,
}

/// Replays references to blocks below `blocks` against a cache of `capacity` blocks, empty at first.
///
/// A block that is missing is let in at once, one after the other; a cache of no blocks keeps none. A reference to a block
/// that is not below `blocks` is a miss and stays outside.
pub fn replay<P: Policy>(references: &[Block], blocks: usize, capacity: usize) -> Hits {
    if capacity == 0 {
        return Hits {
            hits: 0,
            misses: references.len() as u64,
        };
    }
    if P::LOOKS_AHEAD {
        let next = next_uses(references, blocks);
        run::<P>(references, blocks, capacity, |seq| next[seq])
    } else {
        run::<P>(references, blocks, capacity, |_| NEVER)
    }
}

fn run<P: Policy>(references: &[Block], blocks: usize, capacity: usize, next: impl Fn(usize) -> u64) -> Hits {
    let mut policy = P::new(capacity, blocks);
    let mut cached = vec![false; blocks];
    let (mut hits, mut room) = (0, capacity);
    for (seq, &block) in references.iter().enumerate() {
        let used = Use {
            seq: seq as u64,
            next: next(seq),
            saved_ns: 1,
            bytes: 1,
        };
        match cached.get(block.index()) {
            Some(true) => {
                policy.hit(block, &used);
                hits += 1;
            }
            Some(false) => {
                if room > 0 {
                    room -= 1;
                } else if let Some(gone) = policy.evict(|_| true) {
                    cached[gone.index()] = false;
                }
                policy.insert(block, &used);
                cached[block.index()] = true;
            }
            None => {}
        }
    }
    Hits {
        hits,
        misses: references.len() as u64 - hits,
    }
}

/// [`replay`] with the policy of that name.
pub fn replay_kind(kind: Kind, references: &[Block], blocks: usize, capacity: usize) -> Hits {
    with_policy!(kind, P => replay::<P>(references, blocks, capacity))
}

/// A cache that never has to evict: every reference but the first to a block is a hit.
pub fn infinite(references: &[Block], blocks: usize) -> Hits {
    let mut cached = vec![false; blocks];
    let mut hits = 0;
    for block in references {
        if let Some(cached) = cached.get_mut(block.index()) {
            hits += u64::from(std::mem::replace(cached, true));
        }
    }
    Hits {
        hits,
        misses: references.len() as u64 - hits,
    }
}

/// For each reference the number of the next one to the same block, or [`NEVER`].
pub fn next_uses(references: &[Block], blocks: usize) -> Vec<u64> {
    let mut soonest = vec![NEVER; blocks];
    let mut next = vec![NEVER; references.len()];
    for (seq, block) in references.iter().enumerate().rev() {
        if let Some(soonest) = soonest.get_mut(block.index()) {
            next[seq] = std::mem::replace(soonest, seq as u64);
        }
    }
    next
}
