//! Giving up unfinished writes and copies. Mirrors `master_service.cpp:DiscardExpiredProcessingReplicas`.

use crate::Master;
use crate::objects::{Replica, SHARDS, split_off};
use moonquake_clock::{Clocks, DeadlineId};
use moonquake_faults::Guard;

impl Master {
    /// Looks at every shard.
    pub(crate) fn sweep(&mut self, now: Clocks) {
        (0..SHARDS).for_each(|shard| self.sweep_shard(now, shard));
        self.objects.drop_kept_shards();
    }

    /// Gives up the writes of one shard that are older than the release timeout, and tidies the others.
    pub(crate) fn sweep_shard(&mut self, now: Clocks, shard: usize) {
        for id in self.objects.writing_in_shard(shard) {
            let Some(object) = self.objects.at(id) else {
                continue;
            };
            let settled = !self.is_valid(object) || object.all_complete();
            let rules = &self.config.rules;
            let base = rules.base(DeadlineId::Release, object.put_start, object.last_start());
            let given_up = rules.reached(DeadlineId::Release, base, self.config.release, now);
            if !settled && given_up {
                let base = self.quarantine_base(object.put_start, now);
                if let Some(object) = self.objects.at_mut(id) {
                    // All unfinished replicas, those of a copy too: nobody can tell them apart here.
                    let unfinished = split_off(&mut object.replicas, Replica::is_processing);
                    self.quarantine_unless_lifted(Guard::GivenUpRangeKept, unfinished, base);
                }
            }
            if settled || given_up {
                self.settle_write_at(id);
                self.objects.set_writing_at(id, false);
            }
        }
        self.sweep_copies(now, shard);
    }
}
