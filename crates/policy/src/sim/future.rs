//! When each block is used next.

use crate::{NEVER, Trace};

/// For each reference of a trace, the number of the next reference to the same block, or [`NEVER`]. Empty for a policy that
/// does not look ahead, which is told [`NEVER`].
pub(super) struct Future(Vec<u32>);

/// There is none; a trace has fewer references than this.
const NONE: u32 = u32::MAX;

impl Future {
    pub(super) fn of(trace: &Trace) -> Future {
        let mut last = vec![NONE; trace.blocks()];
        let mut next = vec![NONE; trace.references.len()];
        for (at, block) in trace.references.iter().enumerate().rev() {
            next[at] = std::mem::replace(&mut last[block.index()], at as u32);
        }
        Future(next)
    }

    pub(super) fn unknown() -> Future {
        Future(Vec::new())
    }

    /// The first use of the block of reference `at` that is not before reference `now`.
    pub(super) fn after(&self, at: usize, now: usize) -> u64 {
        let mut next = self.0.get(at).copied().unwrap_or(NONE);
        while next != NONE && (next as usize) < now {
            next = self.0[next as usize];
        }
        if next == NONE { NEVER } else { u64::from(next) }
    }
}
