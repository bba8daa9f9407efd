//! Where objects lie: in chunks that never move, so that a million of them grow without a copy and without slack. The head
//! of each lies apart, since a probe needs nothing else.

use super::column::Column;
use super::head::{Head, Heads};
use super::object::Object;
use super::order::Nodes;

/// Entries of one chunk.
const CHUNK: usize = 4_096;

/// The number of an object. It is given to another only after this one is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(u32);

impl Id {
    /// The number as that of a node.
    pub(crate) fn node(self) -> u32 {
        self.0
    }

    /// The number of a node.
    pub(crate) fn of_node(node: u32) -> Id {
        Id(node)
    }

    /// The number as an index; numbers are given from 0 on.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// The number of an index.
    pub(crate) fn from_index(index: usize) -> Id {
        Id(index as u32)
    }
}

/// An object, with its key if that is too long for the head.
#[derive(Clone, Debug)]
struct Entry {
    long_key: Option<Box<str>>,
    object: Object,
}

/// A list of objects: each is in at most one of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    /// The objects of a shard.
    Keys,
    /// Those whose write is under way.
    Writing,
}

/// The nodes of the lists of one kind: objects, by number.
pub(crate) struct Links<'a> {
    heads: &'a Heads,
    next: &'a mut Column<u32>,
}

impl Nodes for Links<'_> {
    fn hash(&self, node: u32) -> u64 {
        self.heads.get(Id(node)).map_or(0, |head| head.hash)
    }

    fn next(&self, node: u32) -> u32 {
        self.next.get(Id(node)).copied().unwrap_or_default()
    }

    fn set_next(&mut self, node: u32, next: u32) {
        if let Some(slot) = self.next.get_mut(Id(node)) {
            *slot = next;
        }
    }
}

/// All objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena {
    heads: Heads,
    /// For each kind of list the object behind each object.
    next: [Column<u32>; 2],
    chunks: Vec<Vec<Option<Entry>>>,
    spare: Vec<Id>,
    length: usize,
}

impl Arena {
    fn entry(&self, id: Id) -> Option<&Entry> {
        let place = id.index();
        self.chunks.get(place / CHUNK)?.get(place % CHUNK)?.as_ref()
    }

    /// The head of an object that is there.
    pub(crate) fn head(&self, id: Id) -> Option<&Head> {
        self.heads.get(id)
    }

    /// The head of an object that is there, to change it.
    pub(crate) fn head_mut(&mut self, id: Id) -> Option<&mut Head> {
        self.heads.get_mut(id)
    }

    /// The nodes of the lists of one kind.
    pub(crate) fn links(&mut self, list: List) -> Links<'_> {
        Links {
            heads: &self.heads,
            next: &mut self.next[list as usize],
        }
    }

    /// What comes behind an object in its list of that kind, as its node.
    pub(crate) fn next(&self, list: List, node: u32) -> u32 {
        self.next[list as usize]
            .get(Id(node))
            .copied()
            .unwrap_or_default()
    }

    /// An object, if it is there.
    pub(crate) fn get(&self, id: Id) -> Option<&Object> {
        self.entry(id).map(|entry| &entry.object)
    }

    /// An object to change, if it is there.
    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut Object> {
        let place = id.index();
        let entry = self.chunks.get_mut(place / CHUNK)?.get_mut(place % CHUNK)?;
        entry.as_mut().map(|entry| &mut entry.object)
    }

    /// The key of an object, if it is there.
    pub(crate) fn key(&self, id: Id) -> Option<&str> {
        let entry = self.entry(id)?;
        match &entry.long_key {
            Some(key) => Some(key),
            None => self.heads.get(id)?.key(),
        }
    }

    /// Whether that is the key of an object that is there.
    pub(crate) fn is_key(&self, id: Id, key: &str) -> bool {
        let head = self.heads.get(id).and_then(|head| head.is_key(key));
        head.unwrap_or_else(|| self.key(id) == Some(key))
    }

    /// Adds an object.
    pub(crate) fn insert(&mut self, hash: u64, key: &str, object: Object) -> Id {
        let head = Head::new(hash, key);
        let long_key = head.key().is_none().then(|| Box::from(key));
        let entry = Some(Entry { long_key, object });
        self.length += 1;
        if let Some(id) = self.spare.pop() {
            self.heads.set(id, head);
            self.chunks[id.index() / CHUNK][id.index() % CHUNK] = entry;
            return id;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let chunk = self.chunks.len() - 1;
        self.chunks[chunk].push(entry);
        let id = Id((chunk * CHUNK + self.chunks[chunk].len() - 1) as u32);
        self.heads.set(id, head);
        for next in &mut self.next {
            next.set(id, 0);
        }
        id
    }

    /// Takes an object out with the hash of its key, if it is there.
    pub(crate) fn remove(&mut self, id: Id) -> Option<(u64, Object)> {
        let place = id.index();
        let entry = self.chunks.get_mut(place / CHUNK)?.get_mut(place % CHUNK)?;
        let object = entry.take()?.object;
        let hash = self.heads.get(id)?.hash;
        self.spare.push(id);
        self.length -= 1;
        Some((hash, object))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// What lies at a number: nothing if no number so high was ever given, an empty place if its object has gone.
    pub(crate) fn place(&self, id: Id) -> Option<Option<&Object>> {
        let place = id.index();
        let entry = self.chunks.get(place / CHUNK)?.get(place % CHUNK)?.as_ref();
        Some(entry.map(|entry| &entry.object))
    }

    /// The numbers of all objects, in an order that follows from the history alone.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> {
        let entries = self.chunks.iter().flatten().enumerate();
        entries.filter_map(|(place, entry)| entry.as_ref().map(|_| Id(place as u32)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, CHUNK};
    use crate::objects::object::{Object, Replicas};
    use moonquake_clock::Clocks;
    use moonquake_protocol::Uuid;

    fn object(size_bytes: u64) -> Object {
        Object::new(Uuid::new(0, 0), Clocks::default(), size_bytes, Replicas::new())
    }

    #[test]
    fn objects_keep_their_numbers_and_a_number_is_given_again() {
        let mut arena = Arena::default();
        let count = 2 * CHUNK + 3;
        for number in 0..count {
            assert_eq!(arena.len(), number);
            let id = arena.insert(number as u64, &format!("key {number}"), object(number as u64));
            assert_eq!(id.index(), number);
        }
        let sizes = arena
            .ids()
            .filter_map(|id| arena.get(id))
            .map(|object| object.size_bytes);
        assert!(sizes.eq(0..count as u64));
        let id = arena.ids().nth(CHUNK).unwrap();
        assert_eq!(arena.key(id), Some(format!("key {CHUNK}").as_str()));
        assert!(arena.remove(id).is_some() && arena.remove(id).is_none());
        assert_eq!((arena.len(), arena.key(id)), (count - 1, None));
        let long = "a key that is too long to lie in the head of its object";
        assert_eq!(arena.insert(7, long, object(1)), id);
        assert_eq!((arena.len(), arena.key(id)), (count, Some(long)));
        assert_eq!(arena.ids().count(), count);
    }
}
