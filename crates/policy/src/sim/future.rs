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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceBuilder;

    #[test]
    fn what_is_next_is_not_before_now() {
        let mut builder = TraceBuilder::new(1).unwrap();
        for keys in [[7, 8], [7, 9], [7, 8]] {
            builder.request(0, 0, 2, 0, &keys).unwrap();
        }
        // The references are 0 1 0 2 0 1.
        let future = Future::of(&builder.finish());
        let after = |now| [0, 1, 2, 3, 4, 5].map(|at| future.after(at, now));
        assert_eq!(after(0), [2, 5, 4, NEVER, NEVER, NEVER]);
        assert_eq!(after(2), [2, 5, 4, NEVER, NEVER, NEVER]);
        assert_eq!(after(3), [4, 5, 4, NEVER, NEVER, NEVER]);
        assert_eq!(after(5), [NEVER, 5, NEVER, NEVER, NEVER, NEVER]);
        assert_eq!(Future::unknown().after(3, 0), NEVER);
    }
}
