//! Ranges that nobody owns and nobody gets yet, because an old writer or reader may still reach them. Mirrors
//! `master_service.h:DiscardedReplicas`.

use crate::Master;
use crate::due::Due;
use crate::objects::{Replica, Replicas};
use crate::segments::MountId;
use moonquake_clock::{Clocks, DeadlineId};
use moonquake_faults::Guard;

/// Replicas that are kept until a deadline.
#[derive(Clone, Debug)]
pub(crate) struct Quarantined {
    /// What is kept.
    pub(crate) replicas: Replicas,
    /// Until when.
    pub(crate) due: Due,
}

impl Master {
    /// Keeps replicas for one release timeout from `base`.
    pub(crate) fn quarantine(&mut self, replicas: Replicas, base: Clocks) {
        let due = Due {
            id: DeadlineId::Quarantine,
            base,
            length: self.config.release,
        };
        self.quarantine_until(replicas, due);
    }

    /// What the quarantine of a range counts from that was handed out at `put_start` and is discarded now.
    pub(crate) fn quarantine_base(&self, put_start: Clocks, now: Clocks) -> Clocks {
        self.config.rules.base(DeadlineId::Quarantine, put_start, now)
    }

    /// Keeps replicas for one release timeout from `base`, or frees them at once where a test has lifted that guard.
    pub(crate) fn quarantine_unless_lifted(&mut self, guard: Guard, replicas: Replicas, base: Clocks) {
        if self.guarded(guard) {
            self.quarantine(replicas, base);
        } else {
            self.free_all(&replicas);
        }
    }

    /// Keeps replicas until a deadline.
    pub(crate) fn quarantine_until(&mut self, replicas: Replicas, due: Due) {
        if !replicas.is_empty() {
            self.quarantined.push(Quarantined { replicas, due });
        }
    }

    /// Frees what is due, the latest entry first; how many entries with memory went. Mirrors
    /// `master_service.cpp:ReleaseExpiredDiscardedReplicas`: `std::list::remove_if` puts what goes into a list of its own,
    /// each before the others, and destroys that list at the end.
    pub(crate) fn release_quarantine(&mut self, now: Clocks) -> u64 {
        let entries = std::mem::take(&mut self.quarantined);
        let is_due = |entry: &Quarantined| entry.due.reached(&self.config.rules, now);
        let (due, kept): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_due);
        self.quarantined = kept;
        due.iter().rev().for_each(|entry| self.free_all(&entry.replicas));
        let has_memory = |entry: &&Quarantined| entry.replicas.iter().any(|replica| !replica.is_on_disk());
        due.iter().filter(has_memory).count() as u64
    }

    /// Frees replicas in their order.
    pub(crate) fn free_all(&mut self, replicas: &[Replica]) {
        for replica in replicas {
            if replica.is_on_disk() {
                self.disks.remove(&replica.id);
            }
            self.segments.free(replica);
        }
    }

    /// The deadlines of the quarantined ranges of one mount.
    pub(crate) fn quarantines_on(&self, mount: MountId) -> impl Iterator<Item = Due> + '_ {
        let there = move |entry: &&Quarantined| entry.replicas.iter().any(|replica| replica.mount == mount);
        self.quarantined.iter().filter(there).map(|entry| entry.due)
    }
}
