//! All objects: found by key through one table, visited in the order that shards and groups give them.

use super::arena::{Arena, Entry, Id};
use super::hash::hash_of;
use super::key::Key;
use super::object::Object;
use super::order::KeyOrder;
use hashbrown::HashTable;
use std::collections::{BTreeMap, BTreeSet};

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
    arena: Arena,
    /// Ids by the hash of the key, half of which is kept beside them: the table grows, and passes over strangers,
    /// without a look at the objects. Never walked.
    by_key: HashTable<(u32, Id)>,
    shards: Vec<Shard>,
    groups: BTreeMap<String, KeyOrder>,
    /// Groups that a member has joined since their leases were last refreshed.
    joined: BTreeSet<String>,
    /// Shards from which the round under way has evicted.
    evicted: Vec<usize>,
    /// Shards whose last key went.
    emptied: Vec<usize>,
}

impl Default for Objects {
    fn default() -> Self {
        Objects {
            arena: Arena::default(),
            by_key: HashTable::new(),
            shards: vec![Shard::default(); SHARDS],
            groups: BTreeMap::new(),
            joined: BTreeSet::new(),
            evicted: Vec::new(),
            emptied: Vec::new(),
        }
    }
}

/// Mirrors `master_service.cpp:getMetadataShardIndex`.
fn shard_of(key_hash: u64, group: &str) -> usize {
    let hash = if group.is_empty() {
        key_hash
    } else {
        hash_of(group.as_bytes())
    };
    (hash % SHARDS as u64) as usize
}

/// The part of a hash that is kept in the table.
fn half_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The table takes its place from the low bits and its tag from the high ones.
fn spread(half: u32) -> u64 {
    u64::from(half) << 32 | u64::from(half)
}

impl Objects {
    /// The object under that key, as a number.
    pub(crate) fn find(&self, key: &str) -> Option<Id> {
        self.find_hashed(hash_of(key.as_bytes()), key)
    }

    fn find_hashed(&self, hash: u64, key: &str) -> Option<Id> {
        let same = |(half, id): &(u32, Id)| {
            *half == half_of(hash) && self.arena.get(*id).is_some_and(|entry| entry.key.as_str() == key)
        };
        self.by_key.find(spread(half_of(hash)), same).map(|(_, id)| *id)
    }

    /// An object by its number.
    pub(crate) fn at(&self, id: Id) -> Option<&Object> {
        self.arena.get(id).map(|entry| &entry.object)
    }

    /// An object by its number, to change it; see [`Objects::get_mut`].
    pub(crate) fn at_mut(&mut self, id: Id) -> Option<&mut Object> {
        self.arena.get_mut(id).map(|entry| &mut entry.object)
    }

    /// What lies at a number: nothing if no number so high was ever given, an empty place if its object has gone.
    pub(crate) fn place(&self, id: Id) -> Option<Option<&Object>> {
        Some(self.arena.place(id)?.map(|entry| &entry.object))
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.arena.len()
    }

    /// The key of an object; empty if it is gone.
    pub(crate) fn key_of(&self, id: Id) -> &str {
        self.arena.get(id).map_or("", |entry| entry.key.as_str())
    }

    /// The object under that key.
    pub(crate) fn get(&self, key: &str) -> Option<&Object> {
        self.at(self.find(key)?)
    }

    /// The object under that key, to change it. [`Object::writing`] is changed by [`Objects::set_writing`] alone, and the
    /// group never.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Object> {
        self.at_mut(self.find(key)?)
    }

    /// Every key with its object, in an order that follows from the history alone.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Object)> {
        let entries = self.arena.iter();
        entries.map(|(_, entry)| (entry.key.as_str(), &entry.object))
    }

    /// The numbers of all objects.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> {
        self.arena.iter().map(|(id, _)| id)
    }

    /// The shard of a key, present or not.
    pub(crate) fn shard_of(&self, key: &str) -> usize {
        self.locate(key).0
    }

    /// The shard of a key, present or not, and the object under it.
    pub(crate) fn locate(&self, key: &str) -> (usize, Option<Id>) {
        let hash = hash_of(key.as_bytes());
        let id = self.find_hashed(hash, key);
        let object = id.and_then(|id| self.at(id));
        (shard_of(hash, object.map_or("", Object::group)), id)
    }

    /// Adds an object under a key that is absent; `object.writing` counts.
    pub(crate) fn insert(&mut self, key: &str, object: Object) -> Id {
        let hash = hash_of(key.as_bytes());
        let (shard, writing) = (shard_of(hash, object.group()), object.writing);
        let group = (!object.group().is_empty()).then(|| object.group().to_owned());
        let id = self.arena.insert(Entry {
            hash,
            key: Key::from(key),
            object,
        });
        let shard = &mut self.shards[shard];
        shard.keys.insert_absent(hash, id);
        if writing {
            shard.writing.insert_absent(hash, id);
        }
        if let Some(group) = group {
            self.joined.insert(group.clone());
            self.groups.entry(group).or_default().insert(hash, id);
        }
        let half = half_of(hash);
        let rehash = |(half, _): &(u32, Id)| spread(*half);
        self.by_key.insert_unique(spread(half), (half, id), rehash);
        id
    }

    /// Takes an object out, with all that is noted about its key. Mirrors `master_service.cpp:EraseMetadata`.
    pub(crate) fn remove_at(&mut self, id: Id) -> Option<Object> {
        let Entry { hash, object, .. } = self.arena.remove(id)?;
        if let Ok(found) = self
            .by_key
            .find_entry(spread(half_of(hash)), |(_, other)| *other == id)
        {
            found.remove();
        }
        let index = shard_of(hash, object.group());
        let shard = &mut self.shards[index];
        if object.writing {
            shard.writing.remove(hash, id);
        }
        shard.keys.remove(hash, id);
        if shard.keys.is_empty() {
            self.emptied.push(index);
        }
        let group = object.group();
        if let Some(members) = Some(group)
            .filter(|group| !group.is_empty())
            .and_then(|group| self.groups.get_mut(group))
        {
            members.remove(hash, id);
            if members.is_empty() {
                self.groups.remove(group);
                self.joined.remove(group);
            }
        }
        Some(object)
    }

    /// Marks the write of a key as under way or over.
    pub(crate) fn set_writing(&mut self, key: &str, writing: bool) {
        if let Some(id) = self.find(key) {
            self.set_writing_at(id, writing);
        }
    }

    /// Marks the write of an object as under way or over.
    pub(crate) fn set_writing_at(&mut self, id: Id, writing: bool) {
        let Some(entry) = self.arena.get_mut(id) else {
            return;
        };
        entry.object.writing = writing;
        let shard = &mut self.shards[shard_of(entry.hash, entry.object.group())];
        if writing {
            shard.writing.insert(entry.hash, id);
        } else {
            shard.writing.remove(entry.hash, id);
        }
    }

    /// The objects of a shard in the order in which upstream walks them.
    pub(crate) fn of_shard(&self, shard: usize) -> impl Iterator<Item = Id> {
        self.shards[shard].keys.iter()
    }

    /// The objects of a shard with an unfinished write, in upstream's order.
    pub(crate) fn writing_in_shard(&self, shard: usize) -> Vec<Id> {
        self.shards[shard].writing.iter().collect()
    }

    /// All objects, shard by shard.
    pub(crate) fn by_shard(&self) -> Vec<Id> {
        let mut ids = Vec::with_capacity(self.arena.len());
        ids.extend(self.shards.iter().flat_map(|shard| shard.keys.iter()));
        ids
    }

    /// The members of a group in upstream's order.
    pub(crate) fn members(&self, group: &str) -> Vec<Id> {
        let members = self.groups.get(group);
        members
            .map(|members| members.iter().collect())
            .unwrap_or_default()
    }

    /// Whether a member joined since the last refresh of the group's leases.
    pub(crate) fn has_joined(&self, group: &str) -> bool {
        self.joined.contains(group)
    }

    /// Refreshes the leases of every member of an object's group.
    pub(crate) fn refresh_group(&mut self, id: Id, refresh: impl Fn(&mut Object)) {
        let Some(group) = self.arena.get(id).map(|entry| entry.object.group()) else {
            return;
        };
        self.joined.remove(group);
        for member in self.groups.get(group).into_iter().flat_map(KeyOrder::iter) {
            if let Some(entry) = self.arena.get_mut(member) {
                refresh(&mut entry.object);
            }
        }
    }

    /// Notes that an eviction takes the object out of its shard.
    pub(crate) fn note_eviction(&mut self, id: Id) {
        if let Some(entry) = self.arena.get(id) {
            let shard = shard_of(entry.hash, entry.object.group());
            if self.evicted.last() != Some(&shard) {
                self.evicted.push(shard);
            }
        }
    }

    /// Makes the tables of shards that lost objects to an eviction smaller where little is left in them. The sources that are
    /// public do not do it; the released master does, which the order of later objects shows.
    pub(crate) fn shrink_evicted_shards(&mut self) {
        while let Some(shard) = self.evicted.pop() {
            self.shards[shard].keys.shrink();
        }
    }

    /// Forgets how large the tables of empty shards once were: upstream drops a shard's tables with its last key.
    pub(crate) fn drop_empty_shards(&mut self) {
        while let Some(shard) = self.emptied.pop() {
            let shard = &mut self.shards[shard];
            if shard.keys.is_empty() && shard.writing.is_empty() {
                *shard = Shard::default();
            }
        }
    }
}
