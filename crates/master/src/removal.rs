//! Removal. Mirrors `master_service.cpp:Remove`, `BatchRemove`, `RemoveAll` and `BatchReplicaClear`.

use crate::Master;
use crate::objects::order::HashOrder;
use crate::objects::split_off;
use crate::pattern::Pattern;
use crate::reads::refusal;
use crate::tenants::Scope;
use moonquake_clock::Clocks;
use moonquake_faults::Guard;
use moonquake_protocol::{ErrorCode, Uuid};

impl Master {
    /// Why a present and valid object must not be removed now. Force passes over the lease and nothing else.
    fn removal_refusal(&self, now: Clocks, key: &str, force: bool) -> Option<ErrorCode> {
        let id = self.objects.find(key);
        let present = id.and_then(|id| Some((id, self.look_at(id)?)));
        let Some((id, object)) = present else {
            return Some(ErrorCode::ObjectNotFound);
        };
        let leased = !force && !self.lease_is_over(id, now);
        if leased && self.guarded(Guard::RemovalWaitsForLease) {
            return Some(ErrorCode::ObjectHasLease);
        }
        if !object.all_complete() && self.guarded(Guard::RemovalSparesOpenWrite) {
            return Some(ErrorCode::ReplicaIsNotReady);
        }
        let copied = self.copies.contains_key(key);
        (copied && self.guarded(Guard::RemovalSparesCopy)).then_some(ErrorCode::ObjectHasReplicationTask)
    }

    /// Removes one key.
    pub(crate) fn remove(&mut self, now: Clocks, key: &str, force: bool) -> Result<(), ErrorCode> {
        self.open(key);
        self.remove_checked(now, key, force)
    }

    fn remove_checked(&mut self, now: Clocks, key: &str, force: bool) -> Result<(), ErrorCode> {
        match self.removal_refusal(now, key, force) {
            Some(code) => Err(code),
            None => {
                if let Some(id) = self.objects.find(key) {
                    self.erase_removed(now, id);
                }
                Ok(())
            }
        }
    }

    /// Removes keys, shard by shard in the order of upstream's table of shards; within one in the order asked.
    pub(crate) fn batch_remove(
        &mut self,
        now: Clocks,
        keys: &[String],
        force: bool,
    ) -> Vec<Result<(), ErrorCode>> {
        let shards: Vec<usize> = keys.iter().map(|key| self.objects.shard_of(key)).collect();
        let mut order = HashOrder::with_reserve(keys.len().min(crate::objects::SHARDS) as u32);
        shards
            .iter()
            .for_each(|shard| order.insert(*shard as u64, *shard));
        let mut results = vec![Err(ErrorCode::ObjectNotFound); keys.len()];
        for shard in order.iter() {
            for index in (0..keys.len()).filter(|index| shards[*index] == shard) {
                self.drop_stale(&keys[index]);
                results[index] = self.remove_checked(now, &keys[index], force);
            }
        }
        results
    }

    /// Removes whatever can be removed; how many went. Objects out of reach count too, since nothing is cleaned first.
    pub(crate) fn remove_all(&mut self, now: Clocks, scope: Scope<'_>, force: bool) -> i64 {
        self.remove_each(now, force, |key| scope.user_key(key).is_some())
    }

    /// Removes the objects whose key a pattern is found in and nothing protects; how many went.
    pub(crate) fn remove_by_regex(
        &mut self,
        now: Clocks,
        scope: Scope<'_>,
        text: &str,
        force: bool,
    ) -> Result<i64, ErrorCode> {
        let pattern = Pattern::new(text).map_err(refusal)?;
        let chosen = |key: &str| scope.user_key(key).is_some_and(|key| pattern.is_in(key));
        Ok(self.remove_each(now, force, chosen))
    }

    /// Removes the objects that a filter chooses and nothing protects; how many went.
    pub(crate) fn remove_each(&mut self, now: Clocks, force: bool, chosen: impl Fn(&str) -> bool) -> i64 {
        let mut removed = 0;
        for id in self.objects.by_shard() {
            let key = self.objects.key_of(id);
            let Some(object) = self.objects.at(id).filter(|_| chosen(key)) else {
                continue;
            };
            let free = force || self.lease_is_over(id, now) || !self.guarded(Guard::BulkRemovalWaitsForLease);
            let closed = object.all_complete() || !self.guarded(Guard::BulkRemovalSparesOpenWrite);
            if free && closed && !self.copies.contains_key(key) {
                self.erase_removed(now, id);
                removed += 1;
            } else if !self.guarded(Guard::RemovalCountsWhatWent) {
                removed += 1;
            }
        }
        self.objects.drop_kept_shards();
        removed
    }

    /// Clears the caller's own unleased objects, everywhere or on one segment name; the keys that were cleared.
    pub(crate) fn batch_replica_clear(
        &mut self,
        now: Clocks,
        keys: &[String],
        client: Uuid,
        segment_name: &str,
    ) -> Vec<String> {
        let mut cleared = Vec::new();
        for key in keys.iter().filter(|key| !key.is_empty()) {
            let id = self.objects.find(key).and_then(|id| self.open_at(id));
            let Some((id, object)) = id.and_then(|id| Some((id, self.objects.at(id)?))) else {
                continue;
            };
            let (owner, complete) = (object.client, object.all_complete());
            let over = self.lease_is_over(id, now);
            if owner != client || !over {
                continue;
            }
            let done = if segment_name.is_empty() {
                if complete {
                    self.erase(key);
                }
                complete
            } else {
                self.clear_on_segment(key, segment_name)
            };
            if done {
                cleared.push(key.clone());
            }
        }
        cleared
    }

    /// Drops the finished replicas of an object on a segment name; whether there were any.
    fn clear_on_segment(&mut self, key: &str, segment_name: &str) -> bool {
        let segments = &self.segments;
        let Some(object) = self.objects.get_mut(key) else {
            return false;
        };
        let dropped = split_off(&mut object.replicas, |replica| {
            let mount = segments.get(replica.mount);
            replica.is_complete() && mount.is_some_and(|mount| mount.segment.name == segment_name)
        });
        self.free_all(&dropped);
        if self.look(key).is_none() {
            self.erase(key);
        }
        !dropped.is_empty()
    }
}
