//! What PutStart and UpsertStart share: the checks of a request, and the making of a new object. Mirrors
//! `master_service.cpp:ResolveSoftPinRequest`, `GetGroupIdForKey` and `AllocateAndInsertMetadata`.

use crate::objects::hash::hash_of;
use crate::objects::{Object, PendingPin, Replica, Replicas};
use crate::placement::{Placement, Strategy, Wish, host_order};
use crate::{Master, MasterConfig};
use moonquake_clock::Clocks;
use moonquake_faults::Guard;
use moonquake_protocol::{ErrorCode, ReplicaDescriptor, ReplicaStatus, ReplicateConfig, SoftPinAction, Uuid};

/// The arguments of a PutStart or UpsertStart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'a> {
    /// Who writes.
    pub(crate) client: Uuid,
    /// What it writes.
    pub(crate) key: &'a str,
    /// How much.
    pub(crate) size_bytes: u64,
    /// How it wants it placed.
    pub(crate) config: &'a ReplicateConfig,
}

impl Write<'_> {
    /// The group of the key; empty for none.
    pub(crate) fn group(&self) -> Result<String, ErrorCode> {
        match self.config.group_ids.as_deref() {
            None => Ok(String::new()),
            Some([group]) => Ok(group.clone()),
            Some(_) => Err(ErrorCode::InvalidParams),
        }
    }
}

/// What a request wants done with the soft pin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PinRequest {
    action: SoftPinAction,
    ttl_ms: u64,
}

/// Upstream makes room for as many replicas as are asked for, before it looks at how many segments there are. From here on the
/// memory of no usual server suffices, and its handler ends with an exception.
const REPLICAS_BEYOND_MEMORY: u64 = 1 << 32;

/// Where upstream maps a CXL device. Mirrors `types.h:DEFAULT_CXL_BASE`.
const CXL_BASE: u64 = 0x1_0000_0000;

/// What a new object is made of, beside its write.
#[derive(Debug)]
pub(crate) struct NewObject {
    /// Its memory.
    pub(crate) replicas: Replicas,
    /// Its group; empty for none.
    pub(crate) group: String,
    /// What becomes of the soft pin when it is finished.
    pub(crate) pin: PinRequest,
    /// A soft pin that it takes over.
    pub(crate) soft_pin_end: Option<Clocks>,
}

/// The checks of a request in upstream's order, up to the group.
pub(crate) fn check_write(config: &MasterConfig, write: &Write<'_>) -> Result<PinRequest, ErrorCode> {
    let wanted = write.config;
    let none_wanted = wanted.replica_num == 0 && wanted.nof_replica_num == 0 && wanted.dfs_replica_num == 0;
    let empty = none_wanted || write.key.is_empty() || write.size_bytes == 0;
    if empty && config.guards.stand(Guard::ArgumentsChecked) {
        return Err(ErrorCode::InvalidParams);
    }
    if wanted.dfs_replica_num > 1 || (wanted.dfs_replica_num > 0 && wanted.replica_num == 0) {
        return Err(ErrorCode::InvalidParams);
    }
    if wanted.dfs_replica_num > 0 {
        return Err(ErrorCode::DfsServiceUnavailable);
    }
    if wanted.nof_replica_num > 0 {
        return Err(ErrorCode::InvalidParams);
    }
    match wanted.soft_pin_action {
        SoftPinAction::Preserve | SoftPinAction::Disable if wanted.soft_pin_ttl_ms.is_none() => {
            Ok(PinRequest {
                action: wanted.soft_pin_action,
                ttl_ms: 0,
            })
        }
        SoftPinAction::Enable => {
            let ttl_ms = wanted.soft_pin_ttl_ms.unwrap_or(config.soft_pin.ns / 1_000_000);
            if ttl_ms > config.max_soft_pin.ns / 1_000_000 {
                return Err(ErrorCode::InvalidParams);
            }
            Ok(PinRequest {
                action: SoftPinAction::Enable,
                ttl_ms,
            })
        }
        _ => Err(ErrorCode::InvalidParams),
    }
}

impl PinRequest {
    /// The request, bound to the replicas of its write; nothing if it changes nothing about the pin of `object`.
    pub(crate) fn pending(
        self,
        object: &Object,
        replicas: impl FnOnce(&Object) -> Vec<u64>,
    ) -> Option<PendingPin> {
        let changes = self.action != SoftPinAction::Preserve || object.extra().soft_pin_end.is_some();
        changes.then_some(PendingPin {
            action: self.action,
            ttl_ms: self.ttl_ms,
            replicas: replicas(object),
        })
    }
}

impl Master {
    /// The next replica id.
    pub(crate) fn new_replica_id(&mut self) -> u64 {
        self.last_replica += 1;
        self.last_replica
    }

    /// The names that a write prefers: its own list, then, if it asks for its own machine, the hosts in order.
    pub(crate) fn preferred_names(&self, write: &Write<'_>) -> Vec<String> {
        let config = write.config;
        let mut names: Vec<String> = Vec::new();
        let own = if config.preferred_segment.is_empty() {
            config.preferred_segments.clone()
        } else {
            vec![config.preferred_segment.clone()]
        };
        let mut by_host = Vec::new();
        if (config.prefer_alloc_in_same_node || self.config.strategy == Strategy::LocalFirst)
            && config.replica_num == 1
        {
            let remembered = self.clients.host(write.client);
            let host = if config.host_id.is_empty() {
                remembered
            } else {
                &config.host_id
            };
            by_host = host_order(&self.segments, host, write.key);
        }
        for name in own.into_iter().chain(by_host) {
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Allocates the replicas of a write; nothing else changes, but for the wish to evict when there is no room.
    pub(crate) fn allocate_replicas(
        &mut self,
        now: Clocks,
        write: &Write<'_>,
    ) -> Result<Replicas, ErrorCode> {
        let wish = Wish {
            size_bytes: write.size_bytes,
            replicas: write.config.replica_num,
            preferred: self.preferred_names(write),
        };
        let mut placement = Placement {
            segments: &mut self.segments,
            dice: &mut self.dice,
            rules: &self.config.rules,
            now,
            strategy: self.config.strategy,
        };
        let open = placement.open_names();
        let names = open.len() as u64;
        if names > 0 && wish.replicas >= REPLICAS_BEYOND_MEMORY {
            return Err(ErrorCode::InternalError);
        }
        let enough_names = names >= wish.replicas;
        let places = placement.place(&wish, &open)?;
        let fewer = (places.len() as u64) < wish.replicas;
        self.need_eviction |= fewer && !self.guarded(Guard::EvictionOnlyWhereItHelps);
        if places.is_empty() {
            self.need_eviction |= enough_names;
            return Err(ErrorCode::NoAvailableHandle);
        }
        let mut replicas = Replicas::new();
        for (mount, allocation) in places {
            replicas.push(self.new_replica(mount, allocation, write.size_bytes));
        }
        if fewer && !self.guarded(Guard::FewerReplicasAccepted) {
            self.free_all(&replicas);
            return Err(ErrorCode::NoAvailableHandle);
        }
        Ok(replicas)
    }

    /// Makes a new object, unfinished, under a key that is absent.
    pub(crate) fn insert_object(
        &mut self,
        now: Clocks,
        write: &Write<'_>,
        new: NewObject,
    ) -> Vec<ReplicaDescriptor> {
        self.insert_object_hashed(now, write, hash_of(write.key.as_bytes()), new)
    }

    /// [`Master::insert_object`] for a key whose hash is known.
    pub(crate) fn insert_object_hashed(
        &mut self,
        now: Clocks,
        write: &Write<'_>,
        hash: u64,
        new: NewObject,
    ) -> Vec<ReplicaDescriptor> {
        let NewObject {
            replicas,
            group,
            pin,
            soft_pin_end,
        } = new;
        let descriptors = replicas.iter().map(|replica| self.describe(replica)).collect();
        let mut object = Object::new(write.client, now, write.size_bytes, replicas);
        object.hard_pinned = write.config.with_hard_pin;
        object.set_soft_pin_end(soft_pin_end);
        let all = |object: &Object| object.replicas.iter().map(|replica| replica.id).collect();
        object.set_pending_pin(pin.pending(&object, all));
        if !group.is_empty() {
            object.extra_mut().group = group;
        }
        self.objects.insert_hashed(hash, write.key, object);
        descriptors
    }

    /// A new unfinished replica on allocated memory.
    pub(crate) fn new_replica(
        &mut self,
        mount: crate::segments::MountId,
        allocation: crate::allocator::Allocation,
        size_bytes: u64,
    ) -> Replica {
        let base = self.segments.get(mount).map_or(0, |mount| mount.segment.base);
        // What is placed by the CXL strategy is told relative to the place at which the device would be mapped.
        let shift = if self.config.strategy == Strategy::Cxl {
            CXL_BASE
        } else {
            0
        };
        Replica {
            id: self.new_replica_id(),
            status: ReplicaStatus::Processing,
            readers: 0,
            mount,
            allocation,
            address: base.wrapping_add(allocation.offset).wrapping_sub(shift),
            size_bytes,
        }
    }
}
