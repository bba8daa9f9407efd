//! A deadline that was set, kept as the instant it counts from, so that only [`Rules`] ever compares times.

use moonquake_clock::{Clocks, DeadlineId, Rules, Span};

/// Which deadline, from when, how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Whose rule applies.
    pub(crate) id: DeadlineId,
    /// The instant it counts from, on both clocks.
    pub(crate) base: Clocks,
    /// How long it is.
    pub(crate) length: Span,
}

impl Due {
    /// Whether it is reached.
    pub(crate) fn reached(&self, rules: &Rules, now: Clocks) -> bool {
        rules.reached(self.id, self.base, self.length, now)
    }
}
