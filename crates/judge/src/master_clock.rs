//! What the master's wall clock showed.

use crate::view::{Pos, View};
use moonquake_evidence::{Kind, Observer};

/// The master's own wall clock, as it was read back: by how much it is ahead of where it stood at first.
pub(crate) struct MasterClock {
    jumps: Vec<(Pos, i128)>,
}

impl MasterClock {
    pub(crate) fn of(view: &View<'_>) -> MasterClock {
        let mut jumps: Vec<(Pos, i128)> = Vec::new();
        let mut first = None;
        for (pos, event) in view.events.iter().enumerate() {
            let Kind::ClockRead { realtime, .. } = event.kind else {
                continue;
            };
            if event.observer != Observer::Clock || event.actor != "master" {
                continue;
            }
            let ahead = i128::from(realtime.0) - i128::from(event.at.ns);
            let base = *first.get_or_insert(ahead);
            if jumps.last().map_or(0, |(_, jump)| *jump) != ahead - base {
                jumps.push((pos, ahead - base));
            }
        }
        MasterClock { jumps }
    }

    /// How far the clock has jumped by `pos`.
    fn offset(&self, pos: Pos) -> i128 {
        let before = self.jumps.iter().rev().find(|(at, _)| *at <= pos);
        before.map_or(0, |(_, jump)| *jump)
    }

    /// What the clock showed at `pos`, counted from the start.
    pub(crate) fn at(&self, view: &View<'_>, pos: Pos) -> i128 {
        i128::from(view.at(pos).ns) + self.offset(pos)
    }

    /// What the wall clock and the monotonic one, which is the timeline's, showed at `pos`.
    pub(crate) fn both_at(&self, view: &View<'_>, pos: Pos) -> [i128; 2] {
        [self.at(view, pos), i128::from(view.at(pos).ns)]
    }
}
