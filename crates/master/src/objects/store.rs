//! All objects, with the shards and groups that give rounds their order.

use super::hash::hash_of;
use super::object::Object;
use super::order::KeyOrder;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Number of shards. Mirrors `master_service.h:kNumShards`.
pub(crate) const SHARDS: usize = 1024;

#[derive(Clone, Debug, Default)]
struct Shard {
    keys: KeyOrder,
    writing: KeyOrder,
}

/// The objects of a master.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    objects: BTreeMap<Arc<str>, Object>,
    shards: Vec<Shard>,
    groups: BTreeMap<String, KeyOrder>,
    /// Groups that a member has joined since their leases were last refreshed.
    joined: BTreeSet<String>,
    /// Shards whose last key went.
    emptied: Vec<usize>,
}

impl Default for Objects {
    fn default() -> Self {
        Objects {
            objects: BTreeMap::new(),
            shards: vec![Shard::default(); SHARDS],
            groups: BTreeMap::new(),
            joined: BTreeSet::new(),
            emptied: Vec::new(),
        }
    }
}

fn shard_of_group(key: &str, group: &str) -> usize {
    let routed = if group.is_empty() { key } else { group };
    (hash_of(routed.as_bytes()) % SHARDS as u64) as usize
}

impl Objects {
    /// The object under that key.
    pub(crate) fn get(&self, key: &str) -> Option<&Object> {
        self.objects.get(key)
    }

    /// The object under that key, to change it. [`Object::writing`] is changed by [`Objects::set_writing`] alone.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Object> {
        self.objects.get_mut(key)
    }

    /// Every key with its object, by key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Object)> {
        self.objects.iter()
    }

    /// The shard of a key, present or not. Mirrors `master_service.cpp:getMetadataShardIndex`.
    pub(crate) fn shard_of(&self, key: &str) -> usize {
        shard_of_group(key, self.objects.get(key).map_or("", |object| &object.group))
    }

    /// Adds an object under a key that is absent; `object.writing` counts.
    pub(crate) fn insert(&mut self, key: &str, object: Object) {
        let shared: Arc<str> = Arc::from(key);
        let hash = hash_of(key.as_bytes());
        let shard = &mut self.shards[shard_of_group(key, &object.group)];
        shard.keys.insert(hash, shared.clone());
        if object.writing {
            shard.writing.insert(hash, shared.clone());
        }
        if !object.group.is_empty() {
            self.joined.insert(object.group.clone());
            self.groups
                .entry(object.group.clone())
                .or_default()
                .insert(hash, shared.clone());
        }
        self.objects.insert(shared, object);
    }

    /// Takes an object out, with all that is noted about its key. Mirrors `master_service.cpp:EraseMetadata`.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Object> {
        let (shared, object) = self.objects.remove_entry(key)?;
        let hash = hash_of(key.as_bytes());
        let index = shard_of_group(key, &object.group);
        let shard = &mut self.shards[index];
        shard.writing.remove(hash, &shared);
        shard.keys.remove(hash, &shared);
        if shard.keys.is_empty() {
            self.emptied.push(index);
        }
        if let Some(members) = self.groups.get_mut(&object.group) {
            members.remove(hash, &shared);
            if members.is_empty() {
                self.groups.remove(&object.group);
                self.joined.remove(&object.group);
            }
        }
        Some(object)
    }

    /// Marks a write as under way or over.
    pub(crate) fn set_writing(&mut self, key: &str, writing: bool) {
        let Some((shared, object)) = self.objects.get_key_value(key) else {
            return;
        };
        let (shared, shard) = (shared.clone(), shard_of_group(key, &object.group));
        let hash = hash_of(key.as_bytes());
        if writing {
            self.shards[shard].writing.insert(hash, shared);
        } else {
            self.shards[shard].writing.remove(hash, &shared);
        }
        if let Some(object) = self.objects.get_mut(key) {
            object.writing = writing;
        }
    }

    /// The keys of a shard in the order in which upstream walks them.
    pub(crate) fn keys_of_shard(&self, shard: usize) -> Vec<Arc<str>> {
        self.shards[shard].keys.iter().cloned().collect()
    }

    /// The keys of a shard with an unfinished write, in upstream's order.
    pub(crate) fn writing_in_shard(&self, shard: usize) -> Vec<Arc<str>> {
        self.shards[shard].writing.iter().cloned().collect()
    }

    /// All keys, shard by shard.
    pub(crate) fn keys_by_shard(&self) -> Vec<Arc<str>> {
        self.shards
            .iter()
            .flat_map(|shard| shard.keys.iter().cloned())
            .collect()
    }

    /// The members of a group in upstream's order.
    pub(crate) fn members(&self, group: &str) -> Vec<Arc<str>> {
        self.groups
            .get(group)
            .map(|members| members.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// Whether a member joined since the last refresh of the group's leases.
    pub(crate) fn has_joined(&self, group: &str) -> bool {
        self.joined.contains(group)
    }

    /// Notes that the group's leases were refreshed.
    pub(crate) fn refreshed(&mut self, group: &str) {
        self.joined.remove(group);
    }

    /// Forgets how large the tables of empty shards once were: upstream drops a shard's tables with its last key.
    pub(crate) fn drop_empty_shards(&mut self) {
        for shard in std::mem::take(&mut self.emptied) {
            let shard = &mut self.shards[shard];
            if shard.keys.is_empty() && shard.writing.is_empty() {
                *shard = Shard::default();
            }
        }
    }
}
