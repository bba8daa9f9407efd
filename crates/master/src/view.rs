//! What an observer without side effects sees. Mirrors the admin endpoints of `master_admin_server.cpp`.

use crate::Master;
use crate::objects::Replica;
use crate::tenants::split;
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

/// The state of a master at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Requested bytes that are taken: complete, unfinished and quarantined replicas.
    pub allocated_bytes: u64,
    /// Bytes of all mounted segments.
    pub capacity_bytes: u64,
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
                keys.push(split(self.objects.key_of(id)).1);
            }
        }
        keys
    }

    /// What the admin endpoint shows. Grants nothing and changes nothing.
    ///
    /// A graceful unmount that is due shows only after the next request or tick, which is when it is carried out, or after
    /// [`Master::run_graceful_timer`].
    pub fn view(&self) -> View {
        let mut view = View {
            allocated_bytes: self.segments.allocated_bytes(),
            capacity_bytes: self.segments.capacity_bytes(),
            ..View::default()
        };
        for (_, mount) in self.segments.iter() {
            *view.segments.entry(mount.segment.name.clone()).or_default() += mount.segment.size;
        }
        for (key, object) in self.objects.iter() {
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
                let (tenant, key) = split(key);
                view.keys
                    .insert((tenant.map(str::to_owned), key.to_owned()), places);
            }
        }
        view
    }
}
