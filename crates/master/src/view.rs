//! What an observer without side effects sees. Mirrors the admin endpoints of `master_admin_server.cpp`.

use crate::Master;
use crate::objects::Replica;
use crate::segments::Mount;
use moonquake_protocol::Uuid;
use std::collections::BTreeMap;

/// Where one readable replica lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Name of the segment.
    pub segment: String,
    /// First byte, relative to the base of the segment.
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
}

/// One mounted segment as upstream's admin server tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountTold {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// The client of the latest mount of that name, whose mount this need not be; nil where that has left.
    pub client: Uuid,
    /// Requested bytes that are taken in all allocatable mounts of that name.
    pub used_bytes: u64,
    /// Bytes of those mounts.
    pub capacity_bytes: u64,
}

/// The state of a master at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Requested bytes that are taken: complete, unfinished and quarantined replicas.
    pub allocated_bytes: u64,
    /// Bytes of all mounted segments.
    pub capacity_bytes: u64,
    /// Objects, readable or not. Mirrors the gauge `master_key_count`.
    pub key_count: u64,
    /// Objects with a soft pin that nobody has found to be over. Mirrors `master_soft_pin_key_count`.
    pub soft_pinned_keys: u64,
    /// Clients that are OK. Mirrors `master_active_clients`.
    pub active_clients: u64,
    /// By the name of its segments their allocated bytes, quarantined ones included, and their capacity. Mirrors the gauges
    /// `segment_allocated_bytes` and `segment_total_capacity_bytes`.
    pub gauges: BTreeMap<String, [u64; 2]>,
    /// The readable keys, each with its tenant if that is not the default one, and their replicas in memory in the master's order.
    pub keys: BTreeMap<(Option<String>, String), Vec<Place>>,
    /// The mounted segments by name with their bytes; segments that share a name are added up.
    pub segments: BTreeMap<String, u64>,
}

impl Master {
    /// The readable keys in the order in which upstream walks its tables, without their tenants. Mirrors
    /// `master_service.cpp:GetAllKeys`.
    pub fn readable_keys(&self) -> Vec<&str> {
        let mut keys = Vec::new();
        for id in self.objects.by_shard() {
            let Some(object) = self.objects.at(id) else {
                continue;
            };
            if object.replicas.iter().any(|replica| self.is_readable(replica)) {
                keys.push(self.parts_of(self.objects.key_of(id)).1);
            }
        }
        keys
    }

    /// The mounted segments in the order in which upstream's table is walked. Mirrors `master_service.cpp:GetSegmentsDetail`.
    pub fn mounts_told(&self) -> Vec<MountTold> {
        let told = |mount: &Mount| {
            let name = mount.segment.name.clone();
            let (used_bytes, capacity_bytes) = self.segments.use_of(&name);
            let latest = self.segments.latest_of_name(&name);
            MountTold {
                id: mount.segment.id,
                client: latest.map_or(Uuid::default(), |(_, client)| client),
                name,
                used_bytes,
                capacity_bytes,
            }
        };
        self.segments.in_order().map(told).collect()
    }

    /// What the admin endpoint shows. Grants nothing and changes nothing.
    ///
    /// A graceful unmount that is due shows only after the next request or tick, which is when it is carried out, or after
    /// [`Master::run_graceful_timer`].
    pub fn view(&self) -> View {
        let mut view = View {
            allocated_bytes: self.segments.allocated_bytes(),
            capacity_bytes: self.segments.capacity_bytes(),
            active_clients: self.clients.ok_count(),
            ..View::default()
        };
        for (_, mount) in self.segments.iter() {
            *view.segments.entry(mount.segment.name.clone()).or_default() += mount.segment.size;
            let [allocated, capacity] = view.gauges.entry(mount.segment.name.clone()).or_default();
            *allocated += mount.allocator.requested_bytes();
            *capacity = capacity.saturating_add(mount.segment.size);
        }
        for (key, object) in self.objects.iter() {
            view.key_count += 1;
            view.soft_pinned_keys += u64::from(object.extra().soft_pin_end.is_some());
            let readable = object.replicas.iter().filter(|replica| self.is_readable(replica));
            let on_disk = readable.clone().any(Replica::is_on_disk);
            let places: Vec<Place> = readable
                .filter_map(|replica| {
                    Some(Place {
                        segment: self.segments.get(replica.mount)?.segment.name.clone(),
                        offset: replica.allocation.offset,
                        size: replica.size_bytes,
                    })
                })
                .collect();
            if on_disk || !places.is_empty() {
                let (tenant, key) = self.parts_of(key);
                view.keys
                    .insert((tenant.map(str::to_owned), key.to_owned()), places);
            }
        }
        view
    }
}
