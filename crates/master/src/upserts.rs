//! UpsertStart: write a key whether it exists or not. Mirrors `master_service.cpp:UpsertStart`.

use crate::Master;
use crate::objects::hash::hash_of;
use crate::objects::{Replica, Replicas, split_off};
use crate::puts::single_configs;
use crate::writes::{NewObject, PinRequest, Write, check_write};
use moonquake_clock::{Clocks, DeadlineId, Span};
use moonquake_faults::{Guard, Quirk};
use moonquake_protocol::{ErrorCode, ReplicaDescriptor, ReplicaStatus, ReplicateConfig, Uuid};

impl Master {
    /// Begins an upsert: a write under way is preempted at once; a finished object of the same size is reopened in
    /// place, one of another size is replaced.
    pub(crate) fn upsert_start(
        &mut self,
        now: Clocks,
        write: &Write<'_>,
    ) -> Result<Vec<ReplicaDescriptor>, ErrorCode> {
        let pin = check_write(&self.config, write)?;
        self.clients.set_host(write.client, &write.config.host_id);
        let group = write.group()?;
        let key = write.key;
        self.objects.drop_empty_shards();
        self.drop_stale(key);
        if let Some(object) = self.objects.get(key) {
            if write.config.group_ids.is_some() && object.group() != group {
                return Err(ErrorCode::InvalidParams);
            }
            if self.copies.contains_key(key) && self.guarded(Guard::UpsertWaitsForCopy) {
                return Err(ErrorCode::ObjectHasReplicationTask);
            }
            if object.writing {
                return self.upsert_preempting(now, write, group, pin);
            }
        }
        self.upsert_settled(now, write, group, pin, None)
    }

    /// An upsert of a key that is being written: that write goes, and the key is written anew.
    fn upsert_preempting(
        &mut self,
        now: Clocks,
        write: &Write<'_>,
        group: String,
        pin: PinRequest,
    ) -> Result<Vec<ReplicaDescriptor>, ErrorCode> {
        let nothing_finished = self
            .objects
            .get(write.key)
            .is_some_and(|object| !object.has_complete());
        if nothing_finished && !self.config.quirks.has(Quirk::FailedPreemptDropsPut) {
            let replicas = self.allocate_replicas(now, write)?;
            let soft_pin_end = self.preempt(now, write.key);
            let new = NewObject {
                replicas,
                group,
                pin,
                soft_pin_end,
            };
            return Ok(self.insert_object(now, write, new));
        }
        let kept_pin = self.preempt(now, write.key);
        self.upsert_settled(now, write, group, pin, kept_pin)
    }

    /// An upsert of a key that is absent or finished.
    fn upsert_settled(
        &mut self,
        now: Clocks,
        write: &Write<'_>,
        group: String,
        pin: PinRequest,
        kept_pin: Option<Clocks>,
    ) -> Result<Vec<ReplicaDescriptor>, ErrorCode> {
        let id = self.objects.find(write.key);
        let Some((id, object)) = id.and_then(|id| Some((id, self.objects.at(id)?))) else {
            let new = NewObject {
                replicas: self.allocate_in_place(now, write, &group)?,
                group,
                pin,
                soft_pin_end: kept_pin,
            };
            return Ok(self.insert_object(now, write, new));
        };
        if object.replicas.iter().any(|replica| replica.readers > 0) {
            return Err(ErrorCode::ObjectReplicaBusy);
        }
        let in_place = if self.lease_is_over(id, now) {
            Quirk::UpsertDropsOldValue
        } else {
            Quirk::UpsertOverwritesLeased
        };
        if object.size_bytes == write.size_bytes && self.config.quirks.has(in_place) {
            return Ok(self.reopen_in_place(now, write, pin));
        }
        if self.config.quirks.has(Quirk::UpsertDropsOldValue) {
            self.replace(now, write, pin)
        } else {
            self.write_beside(now, write, pin)
        }
    }

    /// Gives the old value up and writes the new one elsewhere.
    fn replace(
        &mut self,
        now: Clocks,
        write: &Write<'_>,
        pin: PinRequest,
    ) -> Result<Vec<ReplicaDescriptor>, ErrorCode> {
        let soft_pin_end = self.living_pin(now, write.key);
        let Some(object) = self.take(write.key) else {
            return Err(ErrorCode::ObjectNotFound);
        };
        let config = ReplicateConfig {
            with_hard_pin: write.config.with_hard_pin || object.hard_pinned,
            ..write.config.clone()
        };
        let group = object.group().to_owned();
        self.quarantine_unless_lifted(Guard::ReplacedRangeKept, object.replicas, now);
        let write = Write {
            config: &config,
            ..*write
        };
        let new = NewObject {
            replicas: self.allocate_in_place(now, &write, &group)?,
            group,
            pin,
            soft_pin_end,
        };
        Ok(self.insert_object(now, &write, new))
    }

    /// Replicas for a key whose object may just have gone.
    fn allocate_in_place(
        &mut self,
        now: Clocks,
        write: &Write<'_>,
        group: &str,
    ) -> Result<Replicas, ErrorCode> {
        let allocated = self.allocate_replicas(now, write);
        if allocated.is_err() {
            self.objects.keep_if_emptied(hash_of(write.key.as_bytes()), group);
        }
        allocated
    }

    /// The soft pin of an object, unless it is over.
    fn living_pin(&self, now: Clocks, key: &str) -> Option<Clocks> {
        let end = self.objects.get(key)?.extra().soft_pin_end?;
        let over = self
            .config
            .rules
            .reached(DeadlineId::SoftPin, end, Span::ZERO, now);
        Some(end).filter(|_| !over)
    }

    /// Takes a write that is under way off the key, whoever does it and however young it is. An object without finished
    /// replicas goes; what it leaves behind is its soft pin.
    fn preempt(&mut self, now: Clocks, key: &str) -> Option<Clocks> {
        let object = self.objects.get_mut(key)?;
        let unfinished = split_off(&mut object.replicas, Replica::is_processing);
        object.set_pending_pin(None);
        let gone = !object.has_complete();
        object.restore_old_value();
        self.quarantine_unless_lifted(Guard::OvertakenRangeKept, unfinished, now);
        self.objects.set_writing(key, false);
        if !gone {
            return None;
        }
        let pin = self.living_pin(now, key);
        self.erase(key);
        pin
    }

    /// Gives the writer the ranges that the object has; nobody can read it until its UpsertEnd.
    fn reopen_in_place(&mut self, now: Clocks, write: &Write<'_>, pin: PinRequest) -> Vec<ReplicaDescriptor> {
        let renumber = !self.config.quirks.has(Quirk::StalePutEnd);
        let mut last_replica = self.last_replica;
        let Some(object) = self.objects.get_mut(write.key) else {
            return Vec::new();
        };
        object.client = write.client;
        object.put_start = now;
        if let Some(extra) = object.present_extra() {
            extra.other_start = None;
        }
        for replica in object.replicas.iter_mut().filter(|replica| replica.is_complete()) {
            replica.status = ReplicaStatus::Processing;
            self.landed.remove(&replica.id);
            if renumber {
                // Upstream keeps the ids. To match End by attempt, an attempt must have its own.
                last_replica += 1;
                if let Some(disk) = self.disks.remove(&replica.id) {
                    self.disks.insert(last_replica, disk);
                }
                replica.id = last_replica;
            }
        }
        let ids: Vec<u64> = object.replicas.iter().map(|replica| replica.id).collect();
        object.attempt = ids.first().copied().unwrap_or(object.attempt);
        let pending = pin.pending(object, |_| ids);
        object.set_pending_pin(pending);
        self.last_replica = last_replica;
        self.objects.set_writing(write.key, true);
        let object = self.objects.get(write.key);
        object
            .map(|object| {
                object
                    .replicas
                    .iter()
                    .map(|replica| self.describe(replica))
                    .collect()
            })
            .unwrap_or_default()
    }

    /// UpsertStart for each key. Mirrors `rpc_service.cpp:BatchUpsertStart`.
    pub(crate) fn batch_upsert_start(
        &mut self,
        now: Clocks,
        client: Uuid,
        keys: &[String],
        sizes: &[u64],
        config: &ReplicateConfig,
    ) -> Vec<Result<Vec<ReplicaDescriptor>, ErrorCode>> {
        let Some(configs) = single_configs(keys, sizes, config) else {
            return vec![Err(ErrorCode::InvalidParams); keys.len()];
        };
        let write = |index: usize| Write {
            client,
            key: &keys[index],
            size_bytes: sizes[index],
            config: &configs[index],
        };
        (0..keys.len())
            .map(|index| self.upsert_start(now, &write(index)))
            .collect()
    }
}
