//! The random engines of the master's threads, seeded like those of the real process under the preload.

use super::mt19937::Mt19937;

/// The stream of a thread that has not slept, such as the one that serves requests.
const STREAM_OF_REQUESTS: u64 = 0;

/// The stream of a thread whose first sleep was of the kind "sleep" and 10 ms long: the eviction thread.
const STREAM_OF_EVICTION: u64 = (1 << 60) | 10_000_000;

/// One thread's engine. Upstream seeds each from eight words of `std::random_device` at its first draw
/// (`random.h:threadLocalRandomEngine`); the preload fixes these words by a seed and a stream for each thread.
#[derive(Clone, Debug)]
pub(crate) struct Dice {
    engine: Mt19937,
}

impl Dice {
    /// The engine of the thread that serves requests.
    pub(crate) fn of_requests(seed: u64) -> Dice {
        Dice::of_stream(seed, STREAM_OF_REQUESTS)
    }

    /// The engine of the eviction thread.
    pub(crate) fn of_eviction(seed: u64) -> Dice {
        Dice::of_stream(seed, STREAM_OF_EVICTION)
    }

    fn of_stream(seed: u64, stream: u64) -> Dice {
        let words: Vec<u32> = (0..8).map(|index| device_word(seed, stream, index)).collect();
        Dice {
            engine: Mt19937::from_seed_sequence(&words),
        }
    }

    /// See [`Mt19937::image`].
    pub(crate) fn image(&self) -> Vec<u8> {
        self.engine.image()
    }

    /// An index below `bound`. Mirrors `random.h:randomIndex`.
    pub(crate) fn index_below(&mut self, bound: usize) -> usize {
        self.engine.below(bound as u64) as usize
    }
}

/// The `index`-th word of a stream of the preload: what its `std::random_device` gives to a thread.
pub(crate) fn device_word(seed: u64, stream: u64, index: u64) -> u32 {
    let mixed = mix(mix(seed) ^ stream).wrapping_add((index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    (mix(mixed) >> 32) as u32
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_words_are_those_of_the_preload() {
        let words = |seed| [0, 1, 2, 7].map(|index| device_word(seed, STREAM_OF_REQUESTS, index));
        assert_eq!(words(0), [3793791033, 1853398634, 113532184, 3313767226]);
        assert_eq!(words(7), [3031239197, 1876057280, 3688845809, 3749512439]);
    }

    #[test]
    fn the_words_of_the_eviction_thread_too() {
        let words = |seed| [0, 1, 7].map(|index| device_word(seed, STREAM_OF_EVICTION, index));
        assert_eq!(words(0), [2363980061, 1803448536, 293929808]);
        assert_eq!(words(7), [1393160469, 1303691881, 316432090]);
    }

    #[test]
    fn threads_and_seeds_differ() {
        let draws = |mut dice: Dice| [(); 4].map(|()| dice.index_below(1 << 40));
        assert_eq!(draws(Dice::of_requests(1)), draws(Dice::of_requests(1)));
        assert_ne!(draws(Dice::of_requests(1)), draws(Dice::of_requests(2)));
        assert_ne!(draws(Dice::of_requests(1)), draws(Dice::of_eviction(1)));
    }
}
