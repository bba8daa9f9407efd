//! From the hash of a key to the number of its object: one table of words, so that one look at memory gives both what tells
//! strangers apart and the number.

use super::arena::Id;
use super::pages::Pages;

/// Slots of the smallest table.
const LEAST: usize = 16;

/// The table. An empty slot is zero; in any other lies half of a hash above the number plus one. What does not find its own
/// slot free lies in the next that was, and none of those in between is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    slots: Pages<u64>,
    taken: usize,
}

/// What lies in the slot of an object.
fn slot_of(hash: u64, id: Id) -> u64 {
    (hash & !u64::from(u32::MAX)) | (id.index() as u64 + 1)
}

/// Whose slot it is.
fn id_in(slot: u64) -> Id {
    Id::from_index((slot as u32 - 1) as usize)
}

/// The slot in which a hash belongs: the half that is kept says it, so the table grows without a look at the keys.
fn home_of(hash: u64, mask: usize) -> usize {
    (hash >> 32) as usize & mask
}

impl Index {
    /// The first object with that half of a hash for which `same` holds.
    pub(crate) fn find(&self, hash: u64, same: impl Fn(Id) -> bool) -> Option<Id> {
        let slots = self.slots.values();
        let mask = slots.len().wrapping_sub(1);
        let mut place = home_of(hash, mask);
        loop {
            let slot = *slots.get(place)?;
            if slot == 0 {
                return None;
            }
            if (slot ^ hash) >> 32 == 0 && same(id_in(slot)) {
                return Some(id_in(slot));
            }
            place = (place + 1) & mask;
        }
    }

    /// Adds an object that is not in it.
    pub(crate) fn insert(&mut self, hash: u64, id: Id) {
        let length = self.slots.values().len();
        // Three quarters at most: who looks for an absent key looks at a line or two.
        if (self.taken + 1) * 4 > length * 3 {
            self.grow((length * 2).max(LEAST));
        }
        put(self.slots.values_mut(), slot_of(hash, id));
        self.taken += 1;
    }

    /// Takes an object out, if it is there.
    pub(crate) fn remove(&mut self, hash: u64, id: Id) {
        let slots = self.slots.values_mut();
        let mask = slots.len().wrapping_sub(1);
        let (wanted, mut hole) = (slot_of(hash, id), home_of(hash, mask));
        loop {
            match slots.get(hole) {
                None | Some(0) => return,
                Some(slot) if *slot == wanted => break,
                Some(_) => hole = (hole + 1) & mask,
            }
        }
        // Whatever lies behind and would not be found any more moves up.
        let mut place = (hole + 1) & mask;
        while slots[place] != 0 {
            let home = home_of(slots[place], mask);
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(hole) & mask {
                slots[hole] = slots[place];
                hole = place;
            }
            place = (place + 1) & mask;
        }
        slots[hole] = 0;
        self.taken -= 1;
    }

    fn grow(&mut self, length: usize) {
        let mut larger = Pages::zeroed(length);
        for slot in self.slots.values().iter().filter(|slot| **slot != 0) {
            put(larger.values_mut(), *slot);
        }
        self.slots = larger;
    }
}

/// Puts a slot where it belongs in a table that has room.
fn put(slots: &mut [u64], slot: u64) {
    let mask = slots.len() - 1;
    let mut place = home_of(slot, mask);
    while slots[place] != 0 {
        place = (place + 1) & mask;
    }
    slots[place] = slot;
}

#[cfg(test)]
mod tests {
    use super::{Id, Index};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a map, with hashes that meet in few homes at both ends of the table.
        #[test]
        fn the_index_is_a_map(steps in prop::collection::vec((any::<bool>(), 0..40_usize), 1..400)) {
            let hash_of = |number: usize| (number as u64 % 6).wrapping_sub(3) << 32 | number as u64;
            let mut index = Index::default();
            let mut there = BTreeSet::new();
            for (adds, number) in steps {
                let (hash, id) = (hash_of(number), Id::from_index(number));
                if !adds {
                    // Also one that is not in it.
                    index.remove(hash, id);
                    there.remove(&number);
                } else if there.insert(number) {
                    index.insert(hash, id);
                }
                prop_assert_eq!(index.taken, there.len());
                for number in 0..40 {
                    let id = Id::from_index(number);
                    let found = index.find(hash_of(number), |other| other == id);
                    prop_assert_eq!(found, there.contains(&number).then_some(id));
                }
            }
        }
    }

    #[test]
    fn the_table_is_three_quarters_full_at_most_and_no_larger_than_that() {
        let mut index = Index::default();
        for number in 0..1_000 {
            index.insert(number << 32, Id::from_index(number as usize));
            let taken = number as usize + 1;
            let smallest = (4..).map(|bits| 1 << bits).find(|slots| taken * 4 <= slots * 3);
            assert_eq!(Some(index.slots.values().len()), smallest, "{taken}");
        }
    }

    #[test]
    fn what_has_another_hash_is_not_even_asked() {
        let mut index = Index::default();
        assert_eq!(index.find(5 << 32, |_| true), None);
        index.insert(5 << 32, Id::from_index(0));
        assert_eq!(index.find(21 << 32, |_| true), None, "they meet in one home");
        assert_eq!(index.find(5 << 32 | 7, |_| true), Some(Id::from_index(0)));
        assert_eq!(index.find(5 << 32, |_| false), None);
    }
}
