//! Dense numbers for what a trace names.

use crate::Block;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::hash::Hash;

const UNKNOWN: u32 = u32::MAX;
/// Numbers above it are marks.
const MOST: u32 = u32::MAX - 16;

/// Numbers for ids of 64 bits: by a table where ids are small, by a hash with a fixed seed elsewhere.
pub(super) struct Ids {
    table: Vec<u32>,
    /// Ids below it go to the table.
    small: u64,
    others: Names<u64>,
    count: u32,
}

impl Ids {
    /// The table never gets longer than `small`; the size of the file keeps a single large id from making it so.
    pub(super) fn new(small: usize) -> Ids {
        Ids {
            table: Vec::new(),
            small: small as u64,
            others: Names::new(),
            count: 0,
        }
    }

    /// The number of an id, and whether it is a new one. None if there are too many.
    pub(super) fn number(&mut self, id: u64) -> Option<(Block, bool)> {
        if id >= self.small {
            return self.others.number_from(id, &mut self.count);
        }
        let place = id as usize;
        if place >= self.table.len() {
            self.table.resize(place + 1, UNKNOWN);
        }
        let known = &mut self.table[place];
        let new = *known == UNKNOWN;
        if new {
            *known = next(&mut self.count)?;
        }
        Some((Block(*known), new))
    }
}

/// Numbers for anything else that has a hash.
pub(super) struct Names<K> {
    known: HashMap<K, u32, FixedState>,
    count: u32,
}

impl<K: Hash + Eq> Names<K> {
    pub(super) fn new() -> Names<K> {
        Names {
            known: HashMap::with_hasher(FixedState::default()),
            count: 0,
        }
    }

    /// The number of a name, and whether it is a new one. None if there are too many.
    pub(super) fn number(&mut self, name: K) -> Option<(Block, bool)> {
        let mut count = self.count;
        let number = self.number_from(name, &mut count);
        self.count = count;
        number
    }

    fn number_from(&mut self, name: K, count: &mut u32) -> Option<(Block, bool)> {
        if let Some(known) = self.known.get(&name) {
            return Some((Block(*known), false));
        }
        let number = next(count)?;
        self.known.insert(name, number);
        Some((Block(number), true))
    }
}

fn next(count: &mut u32) -> Option<u32> {
    let number = (*count < MOST).then_some(*count)?;
    *count += 1;
    Some(number)
}
