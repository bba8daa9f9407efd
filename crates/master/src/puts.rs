//! PutStart, PutEnd and PutRevoke. Mirrors `master_service.cpp:PutStart`, `PutEnd` and `PutRevoke`.

use crate::Master;
use crate::objects::{PendingPin, Replica, split_off};
use crate::writes::{NewObject, Write, check_write};
use moonquake_clock::{Clocks, DeadlineId};
use moonquake_faults::{Guard, Quirk};
use moonquake_protocol::{
    DescriptorVariant, ErrorCode, ObjectMeta, ReplicaDescriptor, ReplicaStatus, ReplicaType, ReplicateConfig,
    Uuid,
};

/// Whether an End or Revoke of that type means replicas in memory, the only kind there is.
fn means_memory(replica_type: ReplicaType) -> bool {
    matches!(replica_type, ReplicaType::All | ReplicaType::Memory)
}

impl Master {
    /// Begins a put: refuses invalid requests, cleans the key, refuses or preempts what is there, allocates.
    pub(crate) fn put_start(
        &mut self,
        now: Clocks,
        write: &Write<'_>,
    ) -> Result<Vec<ReplicaDescriptor>, ErrorCode> {
        let pin = check_write(&self.config, write)?;
        self.clients.set_host(write.client, &write.config.host_id);
        let group = write.group()?;
        let key = write.key;
        self.drop_stale(key);
        let preempts = self.objects.get(key).is_some();
        if let Some(object) = self.objects.get(key) {
            let rules = &self.config.rules;
            let base = rules.base(DeadlineId::Discard, object.put_start, object.last_start);
            let waits = !rules.reached(DeadlineId::Discard, base, self.config.discard, now);
            let refused = if object.has_complete() {
                self.guarded(Guard::ExistingKeyRefused)
            } else {
                waits && self.guarded(Guard::OpenWriteRefused)
            };
            if refused {
                self.note_refused_start(now, key);
                return Err(ErrorCode::ObjectAlreadyExists);
            }
        }
        let allocated = self.allocate_replicas(now, write);
        let goes = allocated.is_ok() || self.config.quirks.has(Quirk::FailedPreemptDropsPut);
        if let Some(object) = Some(key)
            .filter(|_| preempts && goes)
            .and_then(|key| self.take(key))
        {
            let base = self.quarantine_base(object.put_start, now);
            self.quarantine_unless_lifted(Guard::PreemptedRangeKept, object.replicas, base);
        }
        let new = NewObject {
            replicas: allocated?,
            group,
            pin,
            soft_pin_end: None,
        };
        Ok(self.insert_object(now, write, new))
    }

    /// Remembers a refused PutStart, from which a deadline counts only by mistake.
    fn note_refused_start(&mut self, now: Clocks, key: &str) {
        if let Some(object) = self.objects.get_mut(key) {
            object.last_start = now;
        }
    }

    /// Whether the writer of an End or Revoke holds another attempt than the present one. The wire does not say, so
    /// upstream cannot know.
    fn is_stale_attempt(&self, attempt: u64, fence: Option<u64>) -> bool {
        fence.is_some_and(|fence| fence != attempt) && !self.config.quirks.has(Quirk::StalePutEnd)
    }

    /// Ends a put: what it wrote becomes readable.
    pub(crate) fn put_end(
        &mut self,
        now: Clocks,
        client: Uuid,
        meta: &ObjectMeta,
        replica_type: ReplicaType,
        fence: Option<u64>,
    ) -> Result<(), ErrorCode> {
        let key = meta.key.as_str();
        let object = self.open(key).ok_or(ErrorCode::ObjectNotFound)?;
        let (attempt, owner) = (object.attempt, object.client);
        let foreign = client != owner && self.guarded(Guard::EndByOwner);
        if foreign || self.is_stale_attempt(attempt, fence) {
            return Err(ErrorCode::IllegalClient);
        }
        let once = self.guarded(Guard::EndOnce);
        if self.lost_beside(key) {
            self.settle_write(key);
            return Err(ErrorCode::ReplicaIsGone);
        }
        let object = self.objects.get_mut(key).ok_or(ErrorCode::ObjectNotFound)?;
        let meant = means_memory(replica_type);
        if !object.writing && once {
            // A repeated End is no error, as long as it finds everything it means complete.
            let mut targets = object
                .replicas
                .iter()
                .filter(|replica| replica.is_meant_by(replica_type))
                .peekable();
            return if targets.peek().is_some() && targets.all(Replica::is_complete) {
                Ok(())
            } else {
                Err(ErrorCode::InvalidWrite)
            };
        }
        if meant && self.lacks_bytes(key, fence) {
            return Err(ErrorCode::InvalidWrite);
        }
        let object = self.objects.get_mut(key).ok_or(ErrorCode::ObjectNotFound)?;
        let was_readable = object.before.is_none() && object.has_complete();
        let mut finished_own = false;
        for replica in object
            .replicas
            .iter_mut()
            .filter(|replica| replica.is_meant_by(replica_type) && replica.is_processing())
        {
            let pending = object.pending_pin.as_ref();
            finished_own |= pending.is_some_and(|pending| pending.replicas.contains(&replica.id));
            replica.status = ReplicaStatus::Complete;
        }
        let commits_pin = !was_readable && finished_own && object.has_complete();
        let replaces_checksum = meant || replica_type == ReplicaType::NofSsd;
        if meta.object_checksum.is_some() || replaces_checksum {
            object.checksum = meta.object_checksum;
        }
        object.lease_end = object.lease_end.max_each(now);
        if object.all_complete() {
            self.retire_old_value(now, key);
            self.objects.set_writing(key, false);
        }
        if commits_pin {
            self.commit_pending_pin(now, key);
        }
        Ok(())
    }

    /// Revokes a put: what it allocated is given back.
    pub(crate) fn put_revoke(
        &mut self,
        client: Uuid,
        key: &str,
        replica_type: ReplicaType,
        fence: Option<u64>,
    ) -> Result<(), ErrorCode> {
        let object = self.open(key).ok_or(ErrorCode::ObjectNotFound)?;
        let (attempt, owner) = (object.attempt, object.client);
        let foreign = client != owner && self.guarded(Guard::RevokeByOwner);
        if foreign || self.is_stale_attempt(attempt, fence) {
            return Err(ErrorCode::IllegalClient);
        }
        let only_open = self.guarded(Guard::RevokeOnlyOpen);
        let object = self.objects.get_mut(key).ok_or(ErrorCode::ObjectNotFound)?;
        let mut own = object
            .replicas
            .iter()
            .filter(|replica| object.is_of_write(replica) && replica.is_meant_by(replica_type));
        let closed = !object.writing || !own.all(Replica::is_processing);
        if closed && only_open {
            return Err(ErrorCode::InvalidWrite);
        }
        let put_start = object.put_start;
        let revoked = split_off(&mut object.replicas, |replica| {
            replica.is_meant_by(replica_type) && replica.is_processing()
        });
        if self.config.quirks.has(Quirk::RevokeFreesAtOnce) {
            self.free_all(&revoked);
        } else {
            self.quarantine(revoked, put_start);
        }
        self.settle_write(key);
        Ok(())
    }

    /// After replicas of an unfinished write are gone: forgets a pin that nothing is left to carry, the object if
    /// nothing valid is left, or the write if everything left is complete.
    pub(crate) fn settle_write(&mut self, key: &str) {
        let segments = &self.segments;
        let Some(object) = self.objects.get_mut(key) else {
            return;
        };
        let carries = |pending: &PendingPin| {
            let carrier = |replica: &Replica| {
                pending.replicas.contains(&replica.id) && replica.is_processing() && segments.is_live(replica)
            };
            object.replicas.iter().any(carrier)
        };
        if object
            .pending_pin
            .as_ref()
            .is_some_and(|pending| !carries(pending))
        {
            object.pending_pin = None;
        }
        let complete = object.all_complete();
        if complete {
            object.restore_old_value();
        }
        if self.look(key).is_none() {
            self.erase(key);
        } else if complete {
            self.objects.set_writing(key, false);
        }
    }

    /// PutStart for each key, each with its own group. Mirrors `rpc_service.cpp:BatchPutStart`.
    pub(crate) fn batch_put_start(
        &mut self,
        now: Clocks,
        client: Uuid,
        keys: &[String],
        sizes: &[u64],
        config: &ReplicateConfig,
    ) -> Vec<Result<Vec<ReplicaDescriptor>, ErrorCode>> {
        let Some(mut configs) = single_configs(keys, sizes, config) else {
            return vec![Err(ErrorCode::InvalidParams); keys.len()];
        };
        let mut results = Vec::with_capacity(keys.len());
        for index in 0..keys.len() {
            let write = Write {
                client,
                key: &keys[index],
                size_bytes: sizes[index],
                config: &configs[index],
            };
            let result = self.put_start(now, &write);
            if let (0, true, Ok(replicas)) = (index, config.prefer_alloc_in_same_node, &result) {
                // Upstream takes an endpoint for a segment name here; where the two differ the hint is without effect.
                if let Some(endpoint) = last_endpoint(replicas) {
                    configs
                        .iter_mut()
                        .for_each(|config| config.preferred_segment.clone_from(&endpoint));
                }
            }
            results.push(result);
        }
        results
    }
}

/// The request of each key of a batch, or nothing if the lists of the request do not fit together.
pub(crate) fn single_configs(
    keys: &[String],
    sizes: &[u64],
    config: &ReplicateConfig,
) -> Option<Vec<ReplicateConfig>> {
    let groups_fit = config
        .group_ids
        .as_ref()
        .is_none_or(|groups| groups.len() == keys.len());
    if keys.len() != sizes.len() || !groups_fit {
        return None;
    }
    let single = |index: usize| ReplicateConfig {
        group_ids: config
            .group_ids
            .as_ref()
            .map(|groups| vec![groups[index].clone()]),
        ..config.clone()
    };
    Some((0..keys.len()).map(single).collect())
}

/// The endpoint of the last replica that has one.
fn last_endpoint(replicas: &[ReplicaDescriptor]) -> Option<String> {
    let endpoint = |replica: &ReplicaDescriptor| match &replica.descriptor {
        DescriptorVariant::Memory(memory) => Some(memory.buffer.transport_endpoint.clone()),
        _ => None,
    };
    replicas
        .iter()
        .rev()
        .filter_map(endpoint)
        .find(|endpoint| !endpoint.is_empty())
}
