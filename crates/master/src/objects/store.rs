//! All objects: found by key through one table, visited in the order that shards and groups give them.

use super::arena::{Arena, Id, List};
use super::hash::hash_of;
use super::head::Head;
use super::index::Index;
use super::object::{Extra, Object};
use super::order::{Chain, KeyOrder};
use crate::segments::MountId;
use moonquake_clock::Clocks;
use std::collections::{BTreeMap, BTreeSet};

/// Number of shards. Mirrors `master_service.h:kNumShards`.
pub(crate) const SHARDS: usize = 1024;

/// Shards that are walked abreast.
const ABREAST: usize = 16;

#[derive(Clone, Debug, Default)]
struct Shard {
    keys: Chain,
    writing: Chain,
}

/// The objects of a master.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    arena: Arena,
    /// Never walked.
    by_key: Index,
    shards: Vec<Shard>,
    groups: BTreeMap<String, KeyOrder>,
    /// Groups that a member has joined since their leases were last refreshed.
    joined: BTreeSet<String>,
    /// Shards of whose objects the round under way has evicted replicas.
    evicted: Vec<usize>,
    /// Shards whose last key went.
    emptied: Vec<usize>,
    /// Shards that are empty and have their tables yet.
    kept_empty: Vec<usize>,
}

impl Default for Objects {
    fn default() -> Self {
        Objects {
            arena: Arena::default(),
            by_key: Index::default(),
            shards: vec![Shard::default(); SHARDS],
            groups: BTreeMap::new(),
            joined: BTreeSet::new(),
            evicted: Vec::new(),
            emptied: Vec::new(),
            kept_empty: Vec::new(),
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

impl Objects {
    /// Looks early at the memory that adding an object under that key changes, so that it is on its way while the request is
    /// still weighed.
    pub(crate) fn look_ahead(&self, hash: u64) {
        let next = |node| self.arena.next(List::Keys, node);
        let keys = &self.shards[shard_of(hash, "")].keys;
        std::hint::black_box(keys.look_ahead(hash, next));
    }

    /// The object under that key, as a number.
    pub(crate) fn find(&self, key: &str) -> Option<Id> {
        self.find_hashed(hash_of(key.as_bytes()), key)
    }

    /// The object under a key whose hash is known.
    pub(crate) fn find_hashed(&self, hash: u64, key: &str) -> Option<Id> {
        self.by_key.find(hash, |id| self.arena.is_key(id, key))
    }

    /// An object by its number.
    pub(crate) fn at(&self, id: Id) -> Option<&Object> {
        self.arena.get(id)
    }

    /// An object by its number, to change it; see [`Objects::get_mut`].
    pub(crate) fn at_mut(&mut self, id: Id) -> Option<&mut Object> {
        // It may be anything afterwards.
        self.arena.head_mut(id)?.set_plain_on(None);
        self.arena.get_mut(id)
    }

    /// What few objects have, to change, if the object has any of it.
    pub(crate) fn extra_at(&mut self, id: Id) -> Option<&mut Extra> {
        if self.plain_on(id).is_some() {
            return None;
        }
        self.arena.get_mut(id)?.present_extra()
    }

    /// Whether the object is in a group.
    pub(crate) fn is_in_group(&self, id: Id) -> bool {
        self.plain_on(id).is_none() && self.at(id).is_some_and(|object| !object.group().is_empty())
    }

    /// The mount on which the object can be read if that is still mounted, where this is all there is to know of it: its
    /// first replica is complete, it has a length, no group and no pin. Nothing where it must be looked at.
    pub(crate) fn plain_on(&self, id: Id) -> Option<MountId> {
        self.arena.head(id).and_then(Head::plain_on)
    }

    /// Looks at an object and notes what [`Objects::plain_on`] says until it is changed.
    pub(crate) fn note_plain(&mut self, id: Id) {
        let mount = self.at(id).and_then(Object::plain_on);
        if let Some(head) = self.arena.head_mut(id) {
            head.set_plain_on(mount);
        }
    }

    /// When the last read lease of an object ends, on both clocks. The epoch if none was ever granted.
    pub(crate) fn lease_end(&self, id: Id) -> Clocks {
        self.arena.head(id).map(Head::lease_end).unwrap_or_default()
    }

    /// Sets when the last read lease of an object ends.
    pub(crate) fn set_lease_end(&mut self, id: Id, end: Clocks) {
        if let Some(head) = self.arena.head_mut(id) {
            head.set_lease_end(end);
        }
    }

    /// Lengthens the lease of an object, on each clock by itself.
    pub(crate) fn lengthen_lease(&mut self, id: Id, end: Clocks) {
        if let Some(head) = self.arena.head_mut(id) {
            head.set_lease_end(head.lease_end().max_each(end));
        }
    }

    /// What lies at a number: nothing if no number so high was ever given, an empty place if its object has gone.
    pub(crate) fn place(&self, id: Id) -> Option<Option<&Object>> {
        self.arena.place(id)
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.arena.len()
    }

    /// The key of an object; empty if it is gone.
    pub(crate) fn key_of(&self, id: Id) -> &str {
        self.arena.key(id).unwrap_or_default()
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
        self.ids()
            .filter_map(|id| Some((self.arena.key(id)?, self.arena.get(id)?)))
    }

    /// The numbers of all objects, in an order that follows from the history alone.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> {
        self.arena.ids()
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
        self.insert_hashed(hash_of(key.as_bytes()), key, object)
    }

    /// [`Objects::insert`] for a key whose hash is known.
    pub(crate) fn insert_hashed(&mut self, hash: u64, key: &str, object: Object) -> Id {
        let (shard, writing) = (shard_of(hash, object.group()), object.writing);
        let group = (!object.group().is_empty()).then(|| object.group().to_owned());
        let id = self.arena.insert(hash, key, object);
        let shard = &mut self.shards[shard];
        let node = id.node();
        shard.keys.insert_absent(&mut self.arena.links(List::Keys), node);
        if writing {
            let links = &mut self.arena.links(List::Writing);
            shard.writing.insert_absent(links, node);
        }
        if let Some(group) = group {
            self.joined.insert(group.clone());
            self.groups.entry(group).or_default().insert(hash, id);
        }
        self.by_key.insert(hash, id);
        id
    }

    /// Takes an object out, with all that is noted about its key. Mirrors `master_service.cpp:EraseMetadata`.
    pub(crate) fn remove_at(&mut self, id: Id) -> Option<Object> {
        let (hash, object) = self.arena.remove(id)?;
        self.by_key.remove(hash, id);
        let index = shard_of(hash, object.group());
        let shard = &mut self.shards[index];
        if object.writing {
            let links = &mut self.arena.links(List::Writing);
            shard.writing.remove(links, id.node());
        }
        shard.keys.remove(&mut self.arena.links(List::Keys), id.node());
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
        let hash = self.arena.head(id).map_or(0, |head| head.hash);
        let Some(object) = self.arena.get_mut(id) else {
            return;
        };
        object.writing = writing;
        let shard = &mut self.shards[shard_of(hash, object.group())];
        let links = &mut self.arena.links(List::Writing);
        if writing {
            shard.writing.insert(links, id.node());
        } else {
            shard.writing.remove(links, id.node());
        }
    }

    /// The objects of a shard in the order in which upstream walks them.
    pub(crate) fn of_shard(&self, shard: usize) -> impl Iterator<Item = Id> {
        self.keys_of(&self.shards[shard])
    }

    /// The objects of a shard with an unfinished write, in upstream's order.
    pub(crate) fn writing_in_shard(&self, shard: usize) -> Vec<Id> {
        let next = |node| self.arena.next(List::Writing, node);
        let nodes = self.shards[shard].writing.iter(next);
        nodes.map(Id::of_node).collect()
    }

    /// All objects, shard by shard. Where the next object lies is known only when memory has answered, so that several
    /// shards are walked abreast.
    pub(crate) fn by_shard(&self) -> Vec<Id> {
        let mut ids = vec![Id::default(); self.shards.iter().map(|shard| shard.keys.len()).sum()];
        let mut rest = ids.as_mut_slice();
        for shards in self.shards.chunks(ABREAST) {
            let mut walks = Vec::with_capacity(ABREAST);
            for shard in shards {
                let (own, others) = rest.split_at_mut(shard.keys.len());
                walks.push(self.keys_of(shard).zip(own));
                rest = others;
            }
            let mut is_over = false;
            while !is_over {
                is_over = true;
                for (id, place) in walks.iter_mut().filter_map(Iterator::next) {
                    *place = id;
                    is_over = false;
                }
            }
        }
        ids
    }

    fn keys_of(&self, shard: &Shard) -> impl Iterator<Item = Id> {
        let next = |node| self.arena.next(List::Keys, node);
        shard.keys.iter(next).map(Id::of_node)
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

    /// Lengthens the leases of every member of an object's group.
    pub(crate) fn refresh_group(&mut self, id: Id, end: Clocks) {
        let Some(group) = self.arena.get(id).map(Object::group) else {
            return;
        };
        self.joined.remove(group);
        let members = self.groups.get(group);
        for member in members.into_iter().flat_map(KeyOrder::iter) {
            if let Some(head) = self.arena.head_mut(member) {
                head.set_lease_end(head.lease_end().max_each(end));
            }
        }
    }

    /// Notes that an eviction takes replicas from the object.
    pub(crate) fn note_eviction(&mut self, id: Id) {
        if let (Some(head), Some(object)) = (self.arena.head(id), self.arena.get(id)) {
            let shard = shard_of(head.hash, object.group());
            if self.evicted.last() != Some(&shard) {
                self.evicted.push(shard);
            }
        }
    }

    /// Makes the tables of shards that lost replicas to an eviction smaller where little is in them. The order
    /// of later objects shows it. Mirrors upstream's pull request 3576.
    pub(crate) fn shrink_evicted_shards(&mut self) {
        while let Some(shard) = self.evicted.pop() {
            let links = &mut self.arena.links(List::Keys);
            self.shards[shard].keys.shrink(links);
        }
    }

    /// Notes that a start has failed which was to write into the shard of that key or group: upstream does not look whether it is
    /// empty then, so that its tables stay until somebody looks at every shard.
    pub(crate) fn keep_if_emptied(&mut self, key_hash: u64, group: &str) {
        let shard = shard_of(key_hash, group);
        if self.emptied.contains(&shard) {
            self.emptied.retain(|other| *other != shard);
            self.kept_empty.push(shard);
        }
    }

    /// Somebody looks at every shard.
    pub(crate) fn drop_kept_shards(&mut self) {
        self.emptied.append(&mut self.kept_empty);
        self.drop_empty_shards();
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
