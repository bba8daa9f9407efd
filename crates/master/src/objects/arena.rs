//! Where objects lie: in chunks that never move, so that a million of them grow without a copy and without slack.

use super::key::Key;
use super::object::Object;

/// Entries of one chunk.
const CHUNK: usize = 4_096;

/// The number of an object. It is given to another only after this one is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(u32);

impl Id {
    /// The number as an index; numbers are given from 0 on.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// The number of an index.
    pub(crate) fn from_index(index: usize) -> Id {
        Id(index as u32)
    }
}

/// An object under its key.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// `std::hash` of the key.
    pub(crate) hash: u64,
    /// The key.
    pub(crate) key: Key,
    /// What is known of it.
    pub(crate) object: Object,
}

/// All entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena {
    chunks: Vec<Vec<Option<Entry>>>,
    spare: Vec<Id>,
    length: usize,
}

impl Arena {
    /// An entry, if it is there.
    pub(crate) fn get(&self, id: Id) -> Option<&Entry> {
        let place = id.0 as usize;
        self.chunks.get(place / CHUNK)?.get(place % CHUNK)?.as_ref()
    }

    /// An entry to change, if it is there.
    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut Entry> {
        let place = id.0 as usize;
        self.chunks
            .get_mut(place / CHUNK)?
            .get_mut(place % CHUNK)?
            .as_mut()
    }

    /// Adds an entry.
    pub(crate) fn insert(&mut self, entry: Entry) -> Id {
        self.length += 1;
        if let Some(id) = self.spare.pop() {
            let place = id.0 as usize;
            self.chunks[place / CHUNK][place % CHUNK] = Some(entry);
            return id;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let chunk = self.chunks.len() - 1;
        self.chunks[chunk].push(Some(entry));
        Id((chunk * CHUNK + self.chunks[chunk].len() - 1) as u32)
    }

    /// Takes an entry out, if it is there.
    pub(crate) fn remove(&mut self, id: Id) -> Option<Entry> {
        let place = id.0 as usize;
        let entry = self
            .chunks
            .get_mut(place / CHUNK)?
            .get_mut(place % CHUNK)?
            .take()?;
        self.spare.push(id);
        self.length -= 1;
        Some(entry)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// What lies at a number: nothing if no number so high was ever given, an empty place if its entry has gone.
    pub(crate) fn place(&self, id: Id) -> Option<Option<&Entry>> {
        let place = id.0 as usize;
        Some(self.chunks.get(place / CHUNK)?.get(place % CHUNK)?.as_ref())
    }

    /// All entries, in an order that follows from the history alone.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &Entry)> {
        let entries = self.chunks.iter().flatten().enumerate();
        entries.filter_map(|(place, entry)| Some((Id(place as u32), entry.as_ref()?)))
    }
}
