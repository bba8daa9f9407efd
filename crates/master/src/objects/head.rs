//! What a probe needs to know of an object, in one line of memory: its key, its lease, and where it can be read.

use super::column::Column;
use crate::segments::MountId;
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Longest key that is kept in place, in bytes.
const IN_PLACE: usize = 32;

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

/// The heads of all objects. What lies at the number of no object means nothing.
pub(crate) type Heads = Column<Head>;

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
}
