//! PutStart, PutEnd and PutRevoke. Mirrors `master_service.cpp:PutStart`, `PutEnd` and `PutRevoke`.

use crate::Master;
use crate::objects::hash::hash_of;
use crate::objects::{Id, Object, PendingPin, Replica, split_off};
use crate::writes::{NewObject, Write, check_write};
use moonquake_clock::{Clocks, DeadlineId};
use moonquake_faults::{Guard, Quirk};
use moonquake_protocol::{
    DescriptorVariant, ErrorCode, ObjectMeta, ReplicaDescriptor, ReplicaStatus, ReplicaType, ReplicateConfig,
    Uuid,
};
use smallvec::SmallVec;

/// Whether an End or Revoke of that type means replicas in memory, the only kind there is.
fn means_memory(replica_type: ReplicaType) -> bool {
    matches!(replica_type, ReplicaType::All | ReplicaType::Memory)
}

/// Completes what is unfinished and meant of an object; whether this is the first of the write that became readable.
fn complete_write(object: &mut Object, meant: ReplicaType) -> bool {
    let was_readable = object.extra().before.is_none() && object.has_complete();
    let mut finished = SmallVec::<[u64; 4]>::new();
    let own = |replica: &&mut Replica| replica.is_meant_by(meant) && replica.is_processing();
    for replica in object.replicas.iter_mut().filter(own) {
        replica.status = ReplicaStatus::Complete;
        finished.push(replica.id);
    }
    let pending = object.extra().pending_pin.as_ref();
    let own = pending.is_some_and(|pending| finished.iter().any(|id| pending.replicas.contains(id)));
    own && !was_readable
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
        let hash = hash_of(write.key.as_bytes());
        self.objects.drop_empty_shards();
        self.objects.look_ahead(hash);
        let found = self.objects.find_hashed(hash, write.key);
        let found = found.and_then(|id| self.drop_stale_at(id));
        if let Some((id, object)) = found.and_then(|id| Some((id, self.objects.at(id)?))) {
            let rules = &self.config.rules;
            let base = rules.base(DeadlineId::Discard, object.put_start, object.last_start());
            let waits = !rules.reached(DeadlineId::Discard, base, self.config.discard, now);
            let refused = if object.has_complete() {
                self.guarded(Guard::ExistingKeyRefused)
            } else {
                waits && self.guarded(Guard::OpenWriteRefused)
            };
            if refused {
                self.note_refused_start(now, id);
                return Err(ErrorCode::ObjectAlreadyExists);
            }
        }
        let allocated = self.allocate_replicas(now, write);
        let goes = allocated.is_ok() || self.config.quirks.has(Quirk::FailedPreemptDropsPut);
        if let Some(object) = found.filter(|_| goes).and_then(|id| self.take_at(id)) {
            let base = self.quarantine_base(object.put_start, now);
            self.quarantine_unless_lifted(Guard::PreemptedRangeKept, object.replicas, base);
        }
        if allocated.is_err() {
            self.objects.keep_if_emptied(hash, &group);
        }
        let new = NewObject {
            replicas: allocated?,
            group,
            pin,
            soft_pin_end: None,
        };
        Ok(self.insert_object_hashed(now, write, hash, new))
    }

    /// Remembers a refused PutStart, from which a deadline counts only by mistake.
    fn note_refused_start(&mut self, now: Clocks, id: Id) {
        // Only an unfinished write is waited for.
        if let Some(object) = self.objects.at_mut(id).filter(|object| object.writing) {
            object.extra_mut().other_start = Some(now);
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
        let id = self.objects.find(key).and_then(|id| self.open_at(id));
        let id = id.ok_or(ErrorCode::ObjectNotFound)?;
        let object = self.objects.at(id).ok_or(ErrorCode::ObjectNotFound)?;
        let (attempt, owner) = (object.attempt, object.client);
        let foreign = client != owner && self.guarded(Guard::EndByOwner);
        if foreign || self.is_stale_attempt(attempt, fence) {
            return Err(ErrorCode::IllegalClient);
        }
        let once = self.guarded(Guard::EndOnce);
        if self.lost_beside(id) {
            self.settle_write_at(id);
            return Err(ErrorCode::ReplicaIsGone);
        }
        let object = self.objects.at(id).ok_or(ErrorCode::ObjectNotFound)?;
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
        if meant && self.lacks_bytes(id, replica_type, fence) {
            return Err(ErrorCode::InvalidWrite);
        }
        let object = self.objects.at_mut(id).ok_or(ErrorCode::ObjectNotFound)?;
        let commits_pin = complete_write(object, replica_type);
        let replaces_checksum = meant || replica_type == ReplicaType::NofSsd;
        if meta.object_checksum.is_some() || replaces_checksum {
            object.checksum = meta.object_checksum;
        }
        let all_complete = object.all_complete();
        self.objects.lengthen_lease(id, now);
        if all_complete {
            self.retire_old_value(now, id);
            self.objects.set_writing_at(id, false);
        }
        if commits_pin {
            self.commit_pending_pin(now, id);
        }
        self.objects.note_plain(id);
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
        if let Some(id) = self.objects.find(key) {
            self.settle_write_at(id);
        }
    }

    /// [`Master::settle_write`] for the object of a number.
    pub(crate) fn settle_write_at(&mut self, id: Id) {
        let segments = &self.segments;
        let Some(object) = self.objects.at_mut(id) else {
            return;
        };
        let carries = |pending: &PendingPin| {
            let carrier = |replica: &Replica| {
                pending.replicas.contains(&replica.id) && replica.is_processing() && segments.is_live(replica)
            };
            object.replicas.iter().any(carrier)
        };
        let pending = object.extra().pending_pin.as_ref();
        if pending.is_some_and(|pending| !carries(pending)) {
            object.set_pending_pin(None);
        }
        let complete = object.all_complete();
        if complete {
            object.restore_old_value();
        }
        if !self.objects.at(id).is_some_and(|object| self.is_valid(object)) {
            self.erase_at(id);
        } else if complete {
            self.objects.set_writing_at(id, false);
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
