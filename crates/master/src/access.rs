//! How an RPC opens an object: what counts as present, and what is cleaned on the way. Mirrors
//! `master_service.h:MetadataAccessorRW`, `IsValid` and `master_service.cpp:CleanupStaleHandles`.

use crate::Master;
use crate::due::Due;
use crate::objects::{Object, Replica, split_off};
use crate::placement::Strategy;
use moonquake_clock::{Clocks, DeadlineId, Span};
use moonquake_faults::{Guard, Quirk};
use moonquake_protocol::{BufferDescriptor, DescriptorVariant, MemoryDescriptor, ReplicaDescriptor};

impl Master {
    /// Whether any replica is within reach, finished or not.
    pub(crate) fn is_valid(&self, object: &Object) -> bool {
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
        self.objects.get(key).filter(|object| self.is_valid(object))
    }

    /// The object, after every replica out of reach is dropped from it, finished or not, and the object with the last.
    pub(crate) fn open(&mut self, key: &str) -> Option<&Object> {
        let segments = &self.segments;
        let object = self.objects.get_mut(key)?;
        split_off(&mut object.replicas, |replica| !segments.is_live(replica));
        if object.replicas.is_empty() {
            self.erase(key);
        }
        self.objects.get(key)
    }

    /// Drops the finished replicas out of reach; an unfinished one stays. Erases the object if that was all of it.
    pub(crate) fn drop_stale(&mut self, key: &str) {
        let Some(object) = self.objects.get(key) else {
            return;
        };
        let stale = |replica: &Replica| {
            replica.is_complete() && (!self.segments.is_live(replica) || self.is_on_lost_disk(replica))
        };
        let stale: Vec<u64> = object
            .replicas
            .iter()
            .filter(|replica| stale(replica))
            .map(|replica| replica.id)
            .collect();
        let Some(object) = self.objects.get_mut(key).filter(|_| !stale.is_empty()) else {
            return;
        };
        let dropped = split_off(&mut object.replicas, |replica| stale.contains(&replica.id));
        self.free_all(&dropped);
        if !dropped.is_empty() && !self.objects.get(key).is_some_and(|object| self.is_valid(object)) {
            self.erase(key);
        }
    }

    /// One round of the clean-up after segments have left: finished replicas out of reach go, and every object that
    /// has nothing left within reach. Mirrors `master_service.cpp:ClearInvalidHandles`.
    pub(crate) fn clear_unreachable(&mut self) {
        self.end_orphaned_copies();
        for key in self.objects.keys_by_shard() {
            self.drop_stale(&key);
            if self
                .objects
                .get(&key)
                .is_some_and(|object| !self.is_valid(object))
            {
                self.erase(&key);
            }
        }
    }

    /// Takes an object out, and the copy that may be under way with it.
    pub(crate) fn take(&mut self, key: &str) -> Option<Object> {
        self.copies.remove(key);
        self.objects.remove(key)
    }

    /// Erases an object and frees its memory at once.
    pub(crate) fn erase(&mut self, key: &str) {
        if let Some(object) = self.take(key) {
            self.free_all(&object.replicas);
        }
    }

    /// Erases an object that a remover was told to take. Where a forced remove must not free what a reader still
    /// trusts, the memory of a leased object is kept until its lease is over.
    pub(crate) fn erase_removed(&mut self, now: Clocks, key: &str) {
        let Some(object) = self.objects.get(key) else {
            return;
        };
        if self.lease_is_over(object, now) || self.config.quirks.has(Quirk::ForceFreesLeased) {
            self.erase(key);
            return;
        }
        if let Some(object) = self.take(key) {
            let due = Due {
                id: DeadlineId::Lease,
                base: object.lease_end,
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
        let segment = self.segments.get(replica.mount).map(|mount| &mount.segment);
        // Upstream says tcp whatever the segment's protocol is, unless it places by its CXL strategy.
        let (protocol, endpoint) = match self.config.strategy {
            Strategy::Cxl => ("cxl", segment.map(|segment| segment.name.clone())),
            _ => ("tcp", segment.map(|segment| segment.te_endpoint.clone())),
        };
        ReplicaDescriptor {
            id: replica.id,
            descriptor: DescriptorVariant::Memory(MemoryDescriptor {
                buffer: BufferDescriptor {
                    size: replica.size_bytes,
                    buffer_address: replica.address,
                    protocol: protocol.to_owned(),
                    transport_endpoint: endpoint.unwrap_or_default(),
                },
            }),
            status: replica.status,
        }
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
