//! Keeping a segment closed that comes back while somebody may still reach its old bytes. Upstream keeps none of it:
//! quirks `restart-forgets-leases` and `remount-forgets-leases`.

use crate::Master;
use crate::due::Due;
use crate::segments::MountId;
use moonquake_clock::{Clocks, DeadlineId, Span};
use moonquake_faults::Quirk;
use moonquake_protocol::{Segment, Uuid};
use std::collections::{BTreeMap, BTreeSet};

/// What is remembered of segments that left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Departures {
    /// Every id that was ever mounted here.
    known: BTreeSet<Uuid>,
    left: BTreeMap<Uuid, Departed>,
}

#[derive(Clone, Debug)]
struct Departed {
    segment: Segment,
    closed: Vec<Due>,
}

impl Departed {
    /// Whether a segment is this one, or lies on memory of this one under another id.
    fn is_reached_by(&self, segment: &Segment) -> bool {
        let (old, new) = (&self.segment, segment);
        let ends = (
            old.base.saturating_add(old.size),
            new.base.saturating_add(new.size),
        );
        let overlaps = old.base < ends.1 && new.base < ends.0;
        old.id == new.id || (old.te_endpoint == new.te_endpoint && overlaps)
    }
}

impl Master {
    /// Notes, before a mount is taken away, until when its bytes may still be read or written by others.
    pub(crate) fn note_departure(&mut self, now: Clocks, mount: MountId) {
        if self.config.quirks.has(Quirk::RemountForgetsLeases)
            && self.config.quirks.has(Quirk::RestartForgetsLeases)
        {
            return;
        }
        let Some(present) = self.segments.get(mount) else {
            return;
        };
        let (segment, mut closed) = (present.segment.clone(), present.closed.clone());
        if !self.config.quirks.has(Quirk::RemountForgetsLeases) {
            closed.extend(self.quarantines_on(mount));
            for id in self.objects.ids() {
                let Some(object) = self.objects.at(id) else {
                    continue;
                };
                for replica in object.replicas.iter().filter(|replica| replica.mount == mount) {
                    closed.push(lease(self.objects.lease_end(id), Span::ZERO));
                    if replica.is_processing() {
                        // Its writer may go on until the put would have been given up.
                        closed.push(quarantine(object.put_start, self.config.release));
                    }
                }
            }
        }
        closed.retain(|due| !due.reached(&self.config.rules, now));
        if !closed.is_empty() {
            self.departures
                .left
                .insert(segment.id, Departed { segment, closed });
        }
    }

    /// Closes a mount that is new, as far as what was there before demands it. `remounted` tells ReMountSegment from
    /// MountSegment: who mounts says that the memory is fresh, who remounts that it was in use under another master.
    pub(crate) fn close_returning(&mut self, now: Clocks, mount: MountId, remounted: bool) {
        let Some(present) = self.segments.get_mut(mount) else {
            return;
        };
        let segment = present.segment.clone();
        let mut closed = Vec::new();
        for departed in self
            .departures
            .left
            .values()
            .filter(|departed| departed.is_reached_by(&segment))
        {
            closed.extend(departed.closed.iter().copied());
        }
        let unknown = self.departures.known.insert(segment.id);
        if unknown && remounted && !self.config.quirks.has(Quirk::RestartForgetsLeases) {
            closed.push(lease(self.started, self.config.lease));
        }
        let rules = &self.config.rules;
        closed.retain(|due| !due.reached(rules, now));
        present.closed = closed;
        self.departures
            .left
            .retain(|_, departed| departed.closed.iter().any(|due| !due.reached(rules, now)));
    }
}

fn lease(base: Clocks, length: Span) -> Due {
    Due {
        id: DeadlineId::Lease,
        base,
        length,
    }
}

fn quarantine(base: Clocks, length: Span) -> Due {
    Due {
        id: DeadlineId::Quarantine,
        base,
        length,
    }
}
