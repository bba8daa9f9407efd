//! The mounted segments and the names that placement knows. Mirrors `segment.cpp` and
//! `allocation_strategy.h:AllocatorManager`.

use crate::allocator::OffsetAllocator;
use crate::due::Due;
use crate::ids::hash_of_id;
use crate::objects::Replica;
use crate::objects::order::HashOrder;
use moonquake_protocol::{ErrorCode, Segment, SegmentStatus, Uuid};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Number of one mount of a segment. A segment that leaves and comes back is another mount, with an empty allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MountId(u32);

impl MountId {
    /// No mount: what is there is on a client's disk.
    pub(crate) const DISK: MountId = MountId(u32::MAX - 1);

    /// The number.
    pub(crate) fn index(self) -> u32 {
        self.0
    }

    /// The mount of a number.
    pub(crate) fn from_index(index: u32) -> MountId {
        MountId(index)
    }
}

/// A mounted segment.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    /// What the client said.
    pub(crate) segment: Segment,
    /// Never UNMOUNTING: such a mount is gone within one call.
    pub(crate) status: SegmentStatus,
    /// Its memory.
    pub(crate) allocator: OffsetAllocator,
    /// Nothing is allocated here before all of these are reached. Always empty while the quirks are on.
    pub(crate) closed: Vec<Due>,
}

/// All mounted segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments {
    /// By number; none where a mount has left. A number is never used again.
    mounts: Vec<Option<Box<Mount>>>,
    by_id: BTreeMap<Uuid, MountId>,
    /// The mounted ids in the order in which upstream's table is walked.
    order: HashOrder<Uuid>,
    /// The allocatable names in the order that placement counts them.
    names: Vec<Arc<str>>,
    allocatable: BTreeMap<String, Vec<MountId>>,
    /// The latest mount of each name: its id and the client that mounted it.
    latest: BTreeMap<String, (Uuid, Uuid)>,
    by_client: BTreeMap<Uuid, Vec<Uuid>>,
    by_host: BTreeMap<String, BTreeMap<String, BTreeSet<Uuid>>>,
}

/// What became of a mount that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mounted {
    /// It is new.
    New(MountId),
    /// The id was mounted already, with whatever parameters and owner.
    Already,
}

impl Segments {
    /// Mounts a segment. Mirrors `segment.cpp:ScopedSegmentAccess::MountSegment`.
    pub(crate) fn mount(&mut self, segment: &Segment, client: Uuid) -> Result<Mounted, ErrorCode> {
        if segment.base == 0 || segment.size == 0 {
            return Err(ErrorCode::InvalidParams);
        }
        if let Some(mount) = self.by_segment(segment.id) {
            return match mount.status {
                SegmentStatus::Ok => Ok(Mounted::Already),
                _ => Err(ErrorCode::UnavailableInCurrentStatus),
            };
        }
        let id = MountId(self.mounts.len() as u32);
        self.make_allocatable(id, segment);
        self.by_client.entry(client).or_default().push(segment.id);
        self.by_id.insert(segment.id, id);
        self.order.insert(hash_of_id(segment.id), segment.id);
        self.latest.insert(segment.name.clone(), (segment.id, client));
        self.mounts.push(Some(Box::new(Mount {
            segment: segment.clone(),
            status: SegmentStatus::Ok,
            allocator: OffsetAllocator::new(segment.size),
            closed: Vec::new(),
        })));
        Ok(Mounted::New(id))
    }

    /// Takes a mount away; its allocator and all that lies in it is gone. `client` is whose list forgets the id, which
    /// upstream takes from the caller. Mirrors `segment.cpp:PrepareUnmountSegment` and `CommitUnmountSegment`.
    pub(crate) fn unmount(&mut self, segment_id: Uuid, client: Uuid) -> Option<Mount> {
        let id = self.by_id.remove(&segment_id)?;
        self.order.remove(hash_of_id(segment_id), segment_id);
        let mount = *self.mounts.get_mut(id.0 as usize)?.take()?;
        self.make_unallocatable(id, &mount.segment);
        if let Some(ids) = self.by_client.get_mut(&client) {
            if let Some(position) = ids.iter().position(|id| *id == segment_id) {
                ids.remove(position);
            }
            if ids.is_empty() {
                self.by_client.remove(&client);
            }
        }
        if self
            .latest
            .get(&mount.segment.name)
            .is_some_and(|(id, _)| *id == segment_id)
        {
            self.latest.remove(&mount.segment.name);
        }
        Some(mount)
    }

    /// Takes a segment out of placement while its data stays readable. Mirrors
    /// `segment.cpp:PrepareGracefulUnmountSegment`.
    pub(crate) fn begin_graceful_unmount(&mut self, segment_id: Uuid) -> Result<(), ErrorCode> {
        let Some(id) = self.by_id.get(&segment_id).copied() else {
            return Ok(());
        };
        let Some(mount) = self.get_mut(id) else {
            return Ok(());
        };
        match mount.status {
            SegmentStatus::GracefullyUnmounting => Ok(()),
            SegmentStatus::Ok | SegmentStatus::Draining => {
                mount.status = SegmentStatus::GracefullyUnmounting;
                let segment = mount.segment.clone();
                self.make_unallocatable(id, &segment);
                Ok(())
            }
            _ => Err(ErrorCode::UnavailableInCurrentStatus),
        }
    }

    /// Changes the status of the latest mount of a name; OK alone is allocatable. Mirrors
    /// `segment.cpp:SetSegmentStatusByName`.
    pub(crate) fn set_status(&mut self, name: &str, status: SegmentStatus) -> Result<(), ErrorCode> {
        let found = self.latest_of_name(name).and_then(|(id, _)| self.mount_of(id));
        let id = found.ok_or(ErrorCode::SegmentNotFound)?;
        let mount = self.get_mut(id).ok_or(ErrorCode::SegmentNotFound)?;
        let was = std::mem::replace(&mut mount.status, status);
        let segment = mount.segment.clone();
        match (was == SegmentStatus::Ok, status == SegmentStatus::Ok) {
            (true, false) => self.make_unallocatable(id, &segment),
            (false, true) => self.make_allocatable(id, &segment),
            _ => {}
        }
        Ok(())
    }

    /// The names of the mounts that are OK, each as often as it is mounted, in upstream's order.
    pub(crate) fn ok_names(&self) -> impl Iterator<Item = &str> {
        self.in_order()
            .filter(|mount| mount.status == SegmentStatus::Ok)
            .map(|mount| mount.segment.name.as_str())
    }

    /// The used share of an allocatable name, of all its mounts together. Mirrors `segment.cpp:QuerySegments`.
    pub(crate) fn used_share(&self, name: &str) -> Option<f64> {
        let (used, capacity) = self.use_of(name);
        (capacity != 0).then(|| used as f64 / capacity as f64)
    }

    /// Requested bytes that are taken in an allocatable name and its capacity, both of all its mounts together.
    pub(crate) fn use_of(&self, name: &str) -> (u64, u64) {
        let (mut used, mut capacity) = (0_u64, 0_u64);
        for mount in self.mounts_of_name(name).iter().filter_map(|id| self.get(*id)) {
            used += mount.allocator.requested_bytes();
            capacity = capacity.wrapping_add(mount.segment.size);
        }
        (used, capacity)
    }

    fn make_allocatable(&mut self, id: MountId, segment: &Segment) {
        if !self.allocatable.contains_key(&segment.name) {
            self.names.push(Arc::from(segment.name.as_str()));
        }
        self.allocatable.entry(segment.name.clone()).or_default().push(id);
        if !segment.host_id.is_empty() {
            let host = self.by_host.entry(segment.host_id.clone()).or_default();
            host.entry(segment.name.clone()).or_default().insert(segment.id);
        }
    }

    /// The last name takes the place of one that leaves, as upstream's list does it.
    fn make_unallocatable(&mut self, id: MountId, segment: &Segment) {
        if let Some(mounts) = self.allocatable.get_mut(&segment.name) {
            mounts.retain(|mount| *mount != id);
            if mounts.is_empty() {
                self.allocatable.remove(&segment.name);
                if let Some(position) = self.names.iter().position(|name| **name == *segment.name) {
                    self.names.swap_remove(position);
                }
            }
        }
        if let Some(host) = self.by_host.get_mut(&segment.host_id) {
            if let Some(ids) = host.get_mut(&segment.name) {
                ids.remove(&segment.id);
                if ids.is_empty() {
                    host.remove(&segment.name);
                }
            }
            if host.is_empty() {
                self.by_host.remove(&segment.host_id);
            }
        }
    }

    /// A mount, if it is still there.
    pub(crate) fn get(&self, id: MountId) -> Option<&Mount> {
        self.mounts.get(id.0 as usize)?.as_deref()
    }

    /// A mount to change, if it is still there.
    pub(crate) fn get_mut(&mut self, id: MountId) -> Option<&mut Mount> {
        self.mounts.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// The mount of a segment id.
    pub(crate) fn by_segment(&self, segment_id: Uuid) -> Option<&Mount> {
        self.get(*self.by_id.get(&segment_id)?)
    }

    /// The number of the mount of a segment id.
    pub(crate) fn mount_of(&self, segment_id: Uuid) -> Option<MountId> {
        self.by_id.get(&segment_id).copied()
    }

    /// The latest mount of a name, as segment id and client. Mirrors `segment_id_by_name_` and `client_by_name_`.
    pub(crate) fn latest_of_name(&self, name: &str) -> Option<(Uuid, Uuid)> {
        self.latest.get(name).copied()
    }

    /// The segment ids that a client's list holds, or none if it has no list.
    pub(crate) fn of_client(&self, client: Uuid) -> Option<&[Uuid]> {
        self.by_client.get(&client).map(Vec::as_slice)
    }

    /// The allocatable names in the order that placement counts them.
    pub(crate) fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The mounts behind an allocatable name.
    pub(crate) fn mounts_of_name(&self, name: &str) -> &[MountId] {
        self.allocatable.get(name).map_or(&[], Vec::as_slice)
    }

    /// The allocatable names of each host, both in order.
    pub(crate) fn by_host(&self) -> &BTreeMap<String, BTreeMap<String, BTreeSet<Uuid>>> {
        &self.by_host
    }

    /// Every mount in the order in which upstream's table is walked.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = &Mount> {
        self.order.iter().filter_map(|id| self.by_segment(id))
    }

    /// Every mount.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (MountId, &Mount)> {
        let mounts = self.mounts.iter().enumerate();
        mounts.filter_map(|(index, mount)| Some((MountId(index as u32), mount.as_deref()?)))
    }

    /// Whether the memory of a replica is still there. A disk is taken to be; see [`crate::disks`].
    pub(crate) fn is_live(&self, replica: &Replica) -> bool {
        replica.is_on_disk() || self.get(replica.mount).is_some()
    }

    /// Gives the memory of a replica back; does nothing if the mount is gone.
    pub(crate) fn free(&mut self, replica: &Replica) {
        if let Some(mount) = self.get_mut(replica.mount) {
            mount.allocator.free(replica.allocation, replica.size_bytes);
        }
    }

    /// Requested bytes that are taken in all segments.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        let bytes = self.iter().map(|(_, mount)| mount.allocator.requested_bytes());
        bytes.sum()
    }

    /// Bytes of all segments.
    pub(crate) fn capacity_bytes(&self) -> u64 {
        let bytes = self.iter().map(|(_, mount)| mount.segment.size);
        bytes.fold(0, u64::saturating_add)
    }
}
