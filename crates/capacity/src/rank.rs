//! How a layer's cache lies on the ranks of tensor parallelism.

use crate::error::CapacityError;
use crate::units::{Heads, Ranks};

/// How a cache lies on the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each rank has the same number of heads, and no head is on two ranks.
    Split {
        /// Heads on each rank.
        heads: Heads,
    },
    /// Each rank has one head, and each head is on that many ranks.
    Copied {
        /// Ranks with the same head.
        ranks: Ranks,
    },
    /// Each rank has everything: MLA, and keys of an indexer.
    Whole,
}

/// Lays heads on ranks.
///
/// # Errors
/// If they go neither evenly nor as whole copies, as serving engines refuse it too.
pub fn lay(kv_heads: Heads, tp: Ranks) -> Result<Layout, CapacityError> {
    let (Heads(heads), Ranks(ranks)) = (kv_heads, tp);
    if ranks > 0 && heads > 0 {
        if heads.is_multiple_of(ranks) {
            return Ok(Layout::Split {
                heads: Heads(heads / ranks),
            });
        }
        if ranks.is_multiple_of(heads) {
            return Ok(Layout::Copied {
                ranks: Ranks(ranks / heads),
            });
        }
    }
    Err(CapacityError::Ranks {
        tp: ranks,
        kv_heads: heads,
        mend: mend(heads, ranks),
    })
}

/// The nearest numbers of ranks that would do: below and above.
fn mend(heads: u64, ranks: u64) -> String {
    if heads == 0 {
        return "1 after giving the model a KV head".to_owned();
    }
    let fits = |tp: &u64| heads.is_multiple_of(*tp) || tp.is_multiple_of(heads);
    // A multiple of the heads lies within `heads` above and, past them, within `heads` below: the bound only keeps a
    // hostile number from being searched for long.
    const FAR: u64 = 1 << 20;
    let below = (1..ranks).rev().take(FAR as usize).find(fits);
    let above = (ranks.saturating_add(1)..=ranks.saturating_add(FAR)).find(fits);
    match (below, above) {
        (Some(below), Some(above)) => format!("{below} or {above}"),
        (Some(one), None) | (None, Some(one)) => one.to_string(),
        (None, None) => "1".to_owned(),
    }
}
