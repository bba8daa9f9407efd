//! How an RPC opens an object: what counts as present, and what is cleaned on the way. Mirrors
//! `master_service.h:MetadataAccessorRW`, `IsValid` and `master_service.cpp:CleanupStaleHandles`.

use crate::Master;
use crate::due::Due;
use crate::objects::{Id, Object, Replica, split_off};
use crate::placement::Strategy;
use moonquake_clock::{Clocks, DeadlineId, Span};
use moonquake_faults::{Guard, Quirk};
use moonquake_protocol::{BufferDescriptor, DescriptorVariant, MemoryDescriptor, ReplicaDescriptor};
use smallvec::SmallVec;

impl Master {
    /// Whether the object has a length, and any replica is within reach, finished or not.
    pub(crate) fn is_valid(&self, object: &Object) -> bool {
        if object.size_bytes == 0 {
            // A report of a client's disk can make such an object; see [`crate::disks`].
            return false;
        }
        let mut replicas = object.replicas.iter();
        if self.guarded(Guard::OneLiveReplicaSuffices) {
            replicas.any(|replica| self.segments.is_live(replica))
        } else {
            replicas.len() > 0 && replicas.all(|replica| self.segments.is_live(replica))
        }
    }

    /// Whether a reader may be sent to the replica.
    pub(crate) fn is_readable(&self, replica: &Replica) -> bool {
        let finished = replica.is_complete() || !self.guarded(Guard::InvisibleBeforeEnd);
        finished && self.segments.is_live(replica)
    }

    /// The object, if it is present and valid; cleans nothing.
    pub(crate) fn look(&self, key: &str) -> Option<&Object> {
        self.look_at(self.objects.find(key)?)
    }

    /// The object of a number, looked at as [`Master::look`] does it.
    pub(crate) fn look_at(&self, id: Id) -> Option<&Object> {
        self.objects.at(id).filter(|object| self.is_valid(object))
    }

    /// The object, after every replica out of reach is dropped from it, finished or not, and the object with the last.
    pub(crate) fn open(&mut self, key: &str) -> Option<&Object> {
        let id = self.open_at(self.objects.find(key)?)?;
        self.objects.at(id)
    }

    /// The object of a number, opened as [`Master::open`] does it.
    pub(crate) fn open_at(&mut self, id: Id) -> Option<Id> {
        let segments = &self.segments;
        let object = self.objects.at_mut(id)?;
        let mut replicas = object.replicas.iter();
        if !replicas.all(|replica| segments.is_live(replica)) {
            split_off(&mut object.replicas, |replica| !segments.is_live(replica));
        }
        // A move can leave an object without any replica.
        if object.replicas.is_empty() || object.size_bytes == 0 {
            self.erase_at(id);
            return None;
        }
        Some(id)
    }

    /// Drops the finished replicas out of reach; an unfinished one stays. Erases the object if that was all of it.
    pub(crate) fn drop_stale(&mut self, key: &str) {
        if let Some(id) = self.objects.find(key) {
            self.drop_stale_at(id);
        }
    }

    /// [`Master::drop_stale`] for the object of a number; the number, if anything is left.
    pub(crate) fn drop_stale_at(&mut self, id: Id) -> Option<Id> {
        let object = self.objects.at(id)?;
        let stale = |replica: &&Replica| {
            replica.is_complete() && (!self.segments.is_live(replica) || self.is_on_lost_disk(replica))
        };
        let stale: SmallVec<[u64; 4]> = object
            .replicas
            .iter()
            .filter(stale)
            .map(|replica| replica.id)
            .collect();
        if stale.is_empty() {
            return Some(id);
        }
        let object = self.objects.at_mut(id)?;
        let dropped = split_off(&mut object.replicas, |replica| stale.contains(&replica.id));
        self.free_all(&dropped);
        if self.look_at(id).is_none() {
            self.erase_at(id);
            return None;
        }
        Some(id)
    }

    /// One round of the clean-up after segments have left: finished replicas out of reach go, and every object that
    /// has nothing left within reach. Mirrors `master_service.cpp:ClearInvalidHandles`.
    pub(crate) fn clear_unreachable(&mut self) {
        self.end_orphaned_copies();
        for id in self.objects.by_shard() {
            self.drop_stale_at(id);
            if self.objects.at(id).is_some_and(|object| !self.is_valid(object)) {
                self.erase_at(id);
            }
        }
        self.objects.drop_kept_shards();
    }

    /// Takes an object out, and the copy that may be under way with it.
    pub(crate) fn take(&mut self, key: &str) -> Option<Object> {
        self.take_at(self.objects.find(key)?)
    }

    /// Takes an object out by its number, and the copy that may be under way with it.
    pub(crate) fn take_at(&mut self, id: Id) -> Option<Object> {
        if !self.copies.is_empty() {
            self.copies.remove(self.objects.key_of(id));
        }
        self.objects.remove_at(id)
    }

    /// Erases an object and frees its memory at once.
    pub(crate) fn erase(&mut self, key: &str) {
        if let Some(id) = self.objects.find(key) {
            self.erase_at(id);
        }
    }

    /// Erases an object by its number and frees its memory at once.
    pub(crate) fn erase_at(&mut self, id: Id) {
        if let Some(object) = self.take_at(id) {
            self.free_all(&object.replicas);
        }
    }

    /// Erases an object that a remover was told to take. Where a forced remove must not free what a reader still
    /// trusts, the memory of a leased object is kept until its lease is over.
    pub(crate) fn erase_removed(&mut self, now: Clocks, id: Id) {
        let lease_end = self.objects.lease_end(id);
        if self.lease_is_over(id, now) || self.config.quirks.has(Quirk::ForceFreesLeased) {
            self.erase_at(id);
            return;
        }
        if let Some(object) = self.take_at(id) {
            let due = Due {
                id: DeadlineId::Lease,
                base: lease_end,
                length: Span::ZERO,
            };
            self.quarantine_until(object.replicas, due);
        }
    }

    /// What a client is told of a replica. Mirrors `allocator.cpp:AllocatedBuffer::get_descriptor`.
    pub(crate) fn describe(&self, replica: &Replica) -> ReplicaDescriptor {
        if let Some(described) = self.describe_on_disk(replica) {
            return described;
        }
        ReplicaDescriptor {
            id: replica.id,
            descriptor: DescriptorVariant::Memory(MemoryDescriptor {
                buffer: BufferDescriptor {
                    size: replica.size_bytes,
                    buffer_address: replica.address,
                    protocol: self.protocol().to_owned(),
                    transport_endpoint: self.endpoint_of(replica).to_owned(),
                },
            }),
            status: replica.status,
        }
    }

    /// Upstream says tcp whatever the segment's protocol is, unless it places by its CXL strategy.
    fn protocol(&self) -> &'static str {
        match self.config.strategy {
            Strategy::Cxl => "cxl",
            _ => "tcp",
        }
    }

    fn endpoint_of(&self, replica: &Replica) -> &str {
        let mount = self.segments.get(replica.mount);
        mount.map_or("", |mount| match self.config.strategy {
            Strategy::Cxl => &mount.segment.name,
            _ => &mount.segment.te_endpoint,
        })
    }

    /// The readable replicas of an object in its order, written over earlier descriptors.
    pub(crate) fn describe_readable_into(&self, object: &Object, descriptors: &mut Vec<ReplicaDescriptor>) {
        let mut count = 0;
        for replica in object.replicas.iter().filter(|replica| self.is_readable(replica)) {
            match descriptors.get_mut(count) {
                Some(ReplicaDescriptor {
                    id,
                    descriptor: DescriptorVariant::Memory(MemoryDescriptor { buffer }),
                    status,
                }) if !replica.is_on_disk() => {
                    (*id, *status) = (replica.id, replica.status);
                    (buffer.size, buffer.buffer_address) = (replica.size_bytes, replica.address);
                    if buffer.protocol != self.protocol() {
                        self.protocol().clone_into(&mut buffer.protocol);
                    }
                    self.endpoint_of(replica)
                        .clone_into(&mut buffer.transport_endpoint);
                }
                Some(other) => *other = self.describe(replica),
                None => descriptors.push(self.describe(replica)),
            }
            count += 1;
        }
        descriptors.truncate(count);
    }

    /// The readable replicas of an object in its order.
    pub(crate) fn describe_readable(&self, object: &Object) -> Vec<ReplicaDescriptor> {
        object
            .replicas
            .iter()
            .filter(|replica| self.is_readable(replica))
            .map(|replica| self.describe(replica))
            .collect()
    }
}
