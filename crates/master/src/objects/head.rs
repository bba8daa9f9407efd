//! What a probe needs to know of an object, in one line of memory: its key, its lease, and where it can be read.

use super::arena::Id;
use super::pages::{HUGE_BYTES, Pages};
use crate::segments::MountId;
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Longest key that is kept in place, in bytes.
const IN_PLACE: usize = 32;

/// Heads of one chunk: those of a huge page.
const CHUNK: usize = HUGE_BYTES / size_of::<Head>();

/// Heads of the first chunk at first.
const LEAST: usize = 64;

/// The number of bytes of a key that lies elsewhere.
const LONG: u8 = u8::MAX;

/// One line.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
pub(crate) struct Head {
    key: [u8; IN_PLACE],
    /// `std::hash` of the key.
    pub(crate) hash: u64,
    realtime: u64,
    monotonic: u64,
    plain_on: u32,
    length: u8,
    unused: [u8; 3],
}

impl Head {
    /// The head of a new object, which was never leased.
    pub(crate) fn new(hash: u64, key: &str) -> Head {
        let mut head = Head {
            key: [0; IN_PLACE],
            hash,
            realtime: 0,
            monotonic: 0,
            plain_on: 0,
            length: LONG,
            unused: [0; 3],
        };
        if let Some(place) = head.key.get_mut(..key.len()) {
            place.copy_from_slice(key.as_bytes());
            head.length = key.len() as u8;
        }
        head
    }

    /// The key, if it is short enough to lie here.
    pub(crate) fn key(&self) -> Option<&str> {
        let key = self.key.get(..usize::from(self.length))?;
        str::from_utf8(key).ok()
    }

    /// Whether the key lies here and is this one; nothing if it lies elsewhere.
    pub(crate) fn is_key(&self, key: &str) -> Option<bool> {
        let own = self.key.get(..usize::from(self.length))?;
        Some(own == key.as_bytes())
    }

    /// When the last read lease ends, on both clocks. The epoch if none was ever granted.
    pub(crate) fn lease_end(&self) -> Clocks {
        Clocks {
            realtime: RealtimeNs(self.realtime),
            monotonic: MonotonicNs(self.monotonic),
        }
    }

    /// Sets when the last read lease ends.
    pub(crate) fn set_lease_end(&mut self, end: Clocks) {
        (self.realtime, self.monotonic) = (end.realtime.0, end.monotonic.0);
    }

    /// The mount on which the object can be read if that is still mounted, where this is all there is to know: its first
    /// replica is complete, it has a length, no group and no pin. Nothing where it must be looked at.
    pub(crate) fn plain_on(&self) -> Option<MountId> {
        Some(MountId::from_index(self.plain_on.checked_sub(1)?))
    }

    /// Sets [`Head::plain_on`].
    pub(crate) fn set_plain_on(&mut self, mount: Option<MountId>) {
        self.plain_on = mount.map_or(0, |mount| mount.index() + 1);
    }
}

/// The heads of all objects, by number. What lies at the number of no object means nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heads(Vec<Pages<Head>>);

impl Heads {
    /// A head, if a number so high was ever given.
    pub(crate) fn get(&self, id: Id) -> Option<&Head> {
        let place = id.index();
        self.0.get(place / CHUNK)?.values().get(place % CHUNK)
    }

    /// A head to change, if a number so high was ever given.
    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut Head> {
        let place = id.index();
        let chunk = self.0.get_mut(place / CHUNK)?;
        chunk.values_mut().get_mut(place % CHUNK)
    }

    /// Sets a head. The number is one that was given, or the next.
    pub(crate) fn set(&mut self, id: Id, head: Head) {
        let place = id.index();
        if place.is_multiple_of(CHUNK) && place > 0 && self.0.len() == place / CHUNK {
            self.0.push(Pages::zeroed(CHUNK));
        }
        if self.get(id).is_none() {
            self.grow_first();
        }
        if let Some(slot) = self.get_mut(id) {
            *slot = head;
        }
    }

    /// A small store takes little memory: its first chunk grows until it fills a huge page.
    fn grow_first(&mut self) {
        let present = self.0.first().map_or(&[][..], |chunk| chunk.values());
        let mut larger = Pages::zeroed((present.len() * 2).clamp(LEAST, CHUNK));
        larger.values_mut()[..present.len()].copy_from_slice(present);
        match self.0.first_mut() {
            Some(first) => *first = larger,
            None => self.0.push(larger),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_any_length_are_told_apart() {
        assert_eq!((size_of::<Head>(), align_of::<Head>()), (64, 64));
        for length in [0, 1, 31, 32, 33, 254, 255, 256, 5_000] {
            let key = "k".repeat(length);
            let head = Head::new(3, &key);
            let short = length <= 32;
            assert_eq!(head.key(), short.then_some(key.as_str()));
            assert_eq!(head.is_key(&key), short.then_some(true));
            assert_eq!(head.is_key(&format!("{key}k")), short.then_some(false));
            assert_eq!(head.is_key("other"), short.then_some(false));
        }
    }

    #[test]
    fn heads_stay_where_they_are_put_while_their_number_grows() {
        let mut heads = Heads::default();
        assert!(heads.get(Id::from_index(0)).is_none());
        let count = 2 * CHUNK + 3;
        for number in 0..count {
            heads.set(Id::from_index(number), Head::new(number as u64, ""));
        }
        for number in [0, CHUNK, 7] {
            heads.set(Id::from_index(number), Head::new(number as u64, "again"));
        }
        assert_eq!(heads.0.len(), 3, "a head that is set again takes no room");
        for number in (0..count).filter(|number| *number != 7) {
            assert_eq!(
                heads.get(Id::from_index(number)).map(|head| head.hash),
                Some(number as u64)
            );
        }
        assert_eq!(heads.get(Id::from_index(7)).and_then(Head::key), Some("again"));
        assert!(heads.get(Id::from_index(3 * CHUNK)).is_none());
    }

    #[test]
    fn few_heads_take_little_memory() {
        let mut heads = Heads::default();
        for (number, room) in [(0, LEAST), (LEAST - 1, LEAST), (LEAST, 2 * LEAST), (0, 2 * LEAST)] {
            heads.set(Id::from_index(number), Head::new(0, ""));
            assert_eq!((heads.0.len(), heads.0[0].values().len()), (1, room), "{number}");
        }
    }
}
