//! Upserts that write beside the old value, which stays readable until UpsertEnd and comes back with a revoke. Upstream
//! gives the old value up at once: quirks `upsert-drops-old-value` and `upsert-overwrites-leased`.

use crate::Master;
use crate::due::Due;
use crate::objects::{Before, Id, Object, split_off};
use crate::writes::{PinRequest, Write};
use moonquake_clock::{Clocks, DeadlineId, Span};
use moonquake_faults::Guard;
use moonquake_protocol::{ErrorCode, ReplicaDescriptor};

impl Object {
    /// Makes the old value the only one again, after the replicas of the upsert beside it are gone.
    pub(crate) fn restore_old_value(&mut self) {
        if let Some(before) = self.present_extra().and_then(|extra| extra.before.take()) {
            self.client = before.client;
            self.attempt = before.attempt;
            self.put_start = before.put_start;
            self.set_pending_pin(None);
        }
    }
}

impl Master {
    /// Begins an upsert of a finished object on other ranges. Without room nothing changes.
    pub(crate) fn write_beside(
        &mut self,
        now: Clocks,
        write: &Write<'_>,
        pin: PinRequest,
    ) -> Result<Vec<ReplicaDescriptor>, ErrorCode> {
        let replicas = self.allocate_replicas(now, write)?;
        let descriptors = replicas.iter().map(|replica| self.describe(replica)).collect();
        let ids: Vec<u64> = replicas.iter().map(|replica| replica.id).collect();
        let Some(object) = self.objects.get_mut(write.key) else {
            self.free_all(&replicas);
            return Err(ErrorCode::ObjectNotFound);
        };
        let before = Some(Before {
            client: object.client,
            attempt: object.attempt,
            put_start: object.put_start,
            new_size_bytes: write.size_bytes,
            new_hard_pinned: write.config.with_hard_pin,
        });
        let last_start = object.last_start();
        object.client = write.client;
        object.put_start = now;
        object.attempt = ids.first().copied().unwrap_or(object.attempt);
        let pending = pin.pending(object, |_| ids);
        let extra = object.extra_mut();
        (extra.before, extra.other_start) = (before, Some(last_start));
        object.set_pending_pin(pending);
        object.replicas.extend(replicas);
        self.objects.set_writing(write.key, true);
        Ok(descriptors)
    }

    /// Whether an upsert beside an old value has lost every replica of its own.
    pub(crate) fn lost_beside(&self, id: Id) -> bool {
        let lost = |object: &Object| {
            object.extra().before.is_some()
                && !object.replicas.iter().any(|replica| object.is_of_write(replica))
        };
        self.objects.at(id).is_some_and(lost)
    }

    /// Lets the old value go, now that the new one is finished. Its bytes are kept while a reader may still trust them;
    /// those of another size for the release timeout, as upstream keeps them.
    pub(crate) fn retire_old_value(&mut self, now: Clocks, id: Id) {
        let Some(object) = self.objects.at_mut(id) else {
            return;
        };
        let Some(before) = object.present_extra().and_then(|extra| extra.before.take()) else {
            return;
        };
        let attempt = object.attempt;
        let old = split_off(&mut object.replicas, |replica| replica.id < attempt);
        let same_size =
            std::mem::replace(&mut object.size_bytes, before.new_size_bytes) == before.new_size_bytes;
        object.hard_pinned |= before.new_hard_pinned;
        let lease = Due {
            id: DeadlineId::Lease,
            base: self.objects.lease_end(id),
            length: Span::ZERO,
        };
        self.objects.set_lease_end(id, now);
        let (release, rules) = (self.config.release, &self.config.rules);
        let base = if same_size { now } else { now + release };
        if !lease.reached(rules, base) && self.guarded(Guard::ReplacedRangeKept) {
            self.quarantine_until(old, lease);
        } else if same_size {
            self.free_all(&old);
        } else {
            self.quarantine_unless_lifted(Guard::ReplacedRangeKept, old, now);
        }
    }
}
