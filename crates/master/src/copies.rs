//! Copies and moves under way. Mirrors `master_service.cpp:CopyStart` and its relatives.

use crate::Master;
use moonquake_clock::{Clocks, DeadlineId};
use moonquake_protocol::Uuid;

/// A copy or move of one key.
#[derive(Clone, Debug)]
pub(crate) struct CopyTask {
    /// Who does it.
    pub(crate) client: Uuid,
    /// When it began.
    pub(crate) start: Clocks,
    /// Whether the source goes when it is done.
    pub(crate) moves: bool,
    /// The replica that is read.
    pub(crate) source: u64,
    /// The replicas that are written.
    pub(crate) targets: Vec<u64>,
}

impl Master {
    /// Gives up the copies of one shard that are as old as the release timeout.
    pub(crate) fn sweep_copies(&mut self, now: Clocks, shard: usize) {
        let given_up = |task: &CopyTask| {
            // The same sum and comparison as for the quarantine that its targets go to.
            self.config
                .rules
                .reached(DeadlineId::Quarantine, task.start, self.config.release, now)
        };
        let due: Vec<String> = self
            .copies
            .iter()
            .filter(|(key, task)| given_up(task) && self.objects.shard_of(key) == shard)
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            self.give_up_copy(&key);
        }
    }

    fn give_up_copy(&mut self, key: &str) {
        let Some(task) = self.copies.remove(key) else {
            return;
        };
        let Some(object) = self.objects.get_mut(key) else {
            return;
        };
        for replica in object
            .replicas
            .iter_mut()
            .filter(|replica| replica.id == task.source)
        {
            replica.readers = replica.readers.saturating_sub(1);
        }
        let targets =
            crate::objects::split_off(&mut object.replicas, |replica| task.targets.contains(&replica.id));
        self.quarantine(targets, task.start);
        if self.look(key).is_none() {
            self.erase(key);
        }
    }
}
