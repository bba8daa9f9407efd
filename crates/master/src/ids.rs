//! The ids that a master makes, of tasks and of drain jobs. Mirrors `types.cpp:generate_uuid`.
//!
//! Upstream draws 16 bytes from the system for each. Under the preload they come from one stream of the process, so that
//! the ids are known beforehand; see [`crate::placement`] for the other streams.

use crate::placement::device_word;
use moonquake_protocol::Uuid;

/// The stream of the process from which ids are made.
const STREAM_OF_IDS: u64 = 2;
const WORDS_PER_ID: u64 = 4;

/// Where the ids come from.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    seed: u64,
    made: u64,
}

impl Ids {
    /// The ids of a process that was started with this seed.
    pub(crate) fn of_seed(seed: u64) -> Ids {
        Ids { seed, made: 0 }
    }

    /// How many were made.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }

    /// Goes on as if so many had been made.
    pub(crate) fn continue_after(&mut self, made: u64) {
        self.made = made;
    }

    /// The next one: random but for the bits that say version 4, variant 1.
    pub(crate) fn next(&mut self) -> Uuid {
        let first_word = self.made * WORDS_PER_ID;
        self.made += 1;
        let word = |index| u64::from(device_word(self.seed, STREAM_OF_IDS, first_word + index));
        let (first, second) = (word(0) | word(1) << 32, word(2) | word(3) << 32);
        // The bytes lie in memory in the order in which they were drawn: version in byte 6, variant in byte 8.
        Uuid::new(first & !(0xF0 << 48) | 0x40 << 48, second & !0xC0 | 0x80)
    }
}

/// `boost::hash` of a pair of 64-bit numbers, which decides the order of upstream's tables of ids.
pub(crate) fn hash_of_id(id: Uuid) -> u64 {
    combine(combine(0, id.first), id.second)
}

fn combine(hash: u64, value: u64) -> u64 {
    const MULTIPLIER: u64 = 0xC6A4_A793_5BD1_E995;
    let value = value.wrapping_mul(MULTIPLIER);
    let value = (value ^ (value >> 47)).wrapping_mul(MULTIPLIER);
    (hash ^ value).wrapping_mul(MULTIPLIER).wrapping_add(0xE654_6B64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_ones_of_version_four_and_go_on() {
        let mut ids = Ids::of_seed(1);
        let made: Vec<Uuid> = (0..50).map(|_| ids.next()).collect();
        for id in &made {
            assert_eq!(id.first >> 52 & 0xF, 4, "{id}");
            assert_eq!(id.second >> 6 & 3, 2, "{id}");
        }
        let mut distinct = made.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 50);
        let mut later = Ids::of_seed(1);
        later.continue_after(49);
        assert_eq!((later.next(), later.made()), (made[49], 50));
        assert_ne!(Ids::of_seed(2).next(), made[0]);
    }

    /// All of the sixteen bytes are drawn, in their order, but for the six bits that say what kind of id it is.
    #[test]
    fn ids_are_the_bytes_of_their_stream() {
        let mut ids = Ids::of_seed(7);
        for number in 0..3 {
            let mut bytes: Vec<u8> = (0..4)
                .flat_map(|word| device_word(7, STREAM_OF_IDS, number * 4 + word).to_le_bytes())
                .collect();
            bytes[6] = bytes[6] % 0x10 + 0x40;
            bytes[8] = bytes[8] % 0x40 + 0x80;
            let half = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().unwrap());
            assert_eq!(ids.next(), Uuid::new(half(&bytes[..8]), half(&bytes[8..])));
        }
    }

    /// Computed from the published text of `boost::hash_combine` for 64 bits.
    #[test]
    fn hashes_of_ids_are_those_of_boost() {
        let vectors = [
            (0, 0, 0xCB34_C5AE_03D8_F098),
            (1, 2, 0x2EC7_1FF6_F048_6F3C),
            (2, 1, 0x22EB_7962_EC6D_3EF4),
            (0xC11E, 0, 0x224A_862D_057F_FB69),
            (u64::MAX, 1 << 63, 0x6A1B_3992_8863_C5F1),
        ];
        for (first, second, expected) in vectors {
            assert_eq!(hash_of_id(Uuid::new(first, second)), expected, "{first} {second}");
        }
    }
}
