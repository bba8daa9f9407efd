//! Replicas on a client's own disk. Offload is off here, but upstream takes reports of them all the same: the object is listed
//! with a replica on that disk, or comes to be by it. Mirrors `master_service.cpp:NotifyOffloadSuccess`, `AddReplica` and
//! `EvictDiskReplica`.

use crate::Master;
use crate::allocator::Allocation;
use crate::objects::{Object, Replica, Replicas, split_off};
use crate::segments::MountId;
use moonquake_clock::Clocks;
use moonquake_protocol::{
    DescriptorVariant, ErrorCode, LocalDiskDescriptor, OffloadTaskItem, ReplicaDescriptor, ReplicaStatus,
    ReplicaType, StorageObjectMetadata, Uuid,
};
use std::collections::BTreeMap;

/// Where the bytes of a replica on a disk are.
#[derive(Clone, Debug)]
pub(crate) struct LocalDisk {
    client: Uuid,
    size_bytes: u64,
    endpoint: String,
}

/// The replicas on disks by their ids.
pub(crate) type Disks = BTreeMap<u64, LocalDisk>;

impl Replica {
    /// Whether it is on a client's disk and not in the memory of a segment.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.mount == MountId::DISK
    }

    /// Whether an End or Revoke of that type is about this replica.
    pub(crate) fn is_meant_by(&self, replica_type: ReplicaType) -> bool {
        match replica_type {
            ReplicaType::All | ReplicaType::Memory => !self.is_on_disk(),
            ReplicaType::LocalDisk => self.is_on_disk(),
            _ => false,
        }
    }
}

impl Master {
    /// Takes the reports of a client on objects that it has written to its disk. A negative length reports a failure, and changes
    /// nothing where nobody was asked to write.
    pub(crate) fn notify_offload_success(
        &mut self,
        now: Clocks,
        client: Uuid,
        tasks: &[OffloadTaskItem],
        metadatas: &[StorageObjectMetadata],
    ) -> Result<(), ErrorCode> {
        if tasks.len() != metadatas.len() {
            return Err(ErrorCode::InvalidParams);
        }
        for (task, metadata) in tasks.iter().zip(metadatas) {
            self.open(&task.key);
            let Ok(size_bytes) = u64::try_from(metadata.data_size) else {
                continue;
            };
            // The id is used up also where nothing comes of it.
            let id = self.new_replica_id();
            let disk = LocalDisk {
                client,
                size_bytes,
                endpoint: metadata.transport_endpoint.clone(),
            };
            self.add_on_disk(now, &task.key, id, disk);
        }
        Ok(())
    }

    fn add_on_disk(&mut self, now: Clocks, key: &str, id: u64, disk: LocalDisk) {
        let (client, size_bytes) = (disk.client, disk.size_bytes);
        let replica = Replica {
            id,
            status: ReplicaStatus::Complete,
            readers: 0,
            mount: MountId::DISK,
            allocation: Allocation::default(),
            address: 0,
            size_bytes,
        };
        match self.objects.get_mut(key) {
            // Whoever's disk it is on: upstream means to renew an own one, but renews a copy of it.
            Some(object) if object.replicas.iter().any(Replica::is_on_disk) => return,
            Some(object) => object.replicas.push(replica),
            None => {
                self.objects.insert(key, Object::on_disk(now, client, replica));
            }
        }
        self.disks.insert(id, disk);
    }

    /// Drops the replica of an object on the caller's disk; it is no error if there is none. There are none on shared disks.
    pub(crate) fn evict_disk_replica(
        &mut self,
        client: Uuid,
        key: &str,
        replica_type: ReplicaType,
    ) -> Result<(), ErrorCode> {
        self.open(key).ok_or(ErrorCode::ObjectNotFound)?;
        if !matches!(replica_type, ReplicaType::Disk | ReplicaType::LocalDisk) {
            return Err(ErrorCode::InvalidParams);
        }
        let disks = &self.disks;
        let Some(object) = self.objects.get_mut(key) else {
            return Ok(());
        };
        let evicted = split_off(&mut object.replicas, |replica| {
            let own = disks.get(&replica.id).is_some_and(|disk| disk.client == client);
            own && replica_type == ReplicaType::LocalDisk
        });
        self.free_all(&evicted);
        if self.look(key).is_none() {
            self.erase(key);
        }
        Ok(())
    }

    /// Whether a replica is on the disk of a client that is not OK any more.
    pub(crate) fn is_on_lost_disk(&self, replica: &Replica) -> bool {
        let lost = |disk: &LocalDisk| !self.clients.is_ok(disk.client);
        replica.is_on_disk() && self.disks.get(&replica.id).is_some_and(lost)
    }

    /// What a client is told of a replica on a disk; none for one in memory.
    pub(crate) fn describe_on_disk(&self, replica: &Replica) -> Option<ReplicaDescriptor> {
        let disk = Some(replica)
            .filter(|replica| replica.is_on_disk())
            .and_then(|replica| self.disks.get(&replica.id))?;
        Some(ReplicaDescriptor {
            id: replica.id,
            descriptor: DescriptorVariant::LocalDisk(LocalDiskDescriptor {
                client_id: disk.client,
                object_size: disk.size_bytes,
                transport_endpoint: disk.endpoint.clone(),
            }),
            status: replica.status,
        })
    }
}

impl Object {
    /// A finished object that has one replica, on a disk.
    fn on_disk(now: Clocks, client: Uuid, replica: Replica) -> Object {
        let size_bytes = replica.size_bytes;
        let mut object = Object::new(client, now, size_bytes, Replicas::from_iter([replica]));
        object.writing = false;
        object
    }
}
