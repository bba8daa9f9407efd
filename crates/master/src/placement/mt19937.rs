//! `std::mt19937_64`, `std::seed_seq` and `std::uniform_int_distribution<size_t>` of the GNU C++ library, by their
//! published definitions, so that a placement can be drawn like the real process draws it.

const STATE: usize = 312;
const SHIFT: usize = 156;
const MATRIX: u64 = 0xB502_6F5A_A966_19E9;
const UPPER: u64 = 0xFFFF_FFFF_8000_0000;
const LOWER: u64 = 0x7FFF_FFFF;

/// A 64-bit Mersenne twister.
#[derive(Clone, Debug)]
pub(crate) struct Mt19937 {
    state: Vec<u64>,
    next: usize,
}

impl Mt19937 {
    /// Seeded through a seed sequence of these words.
    pub(crate) fn from_seed_sequence(seeds: &[u32]) -> Mt19937 {
        let mut words = vec![0_u32; 2 * STATE];
        spread(seeds, &mut words);
        let mut state: Vec<u64> = words
            .chunks_exact(2)
            .map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32)
            .collect();
        // A state of nothing but zeros would stay there for ever.
        if state[0] & UPPER == 0 && state[1..].iter().all(|word| *word == 0) {
            state[0] = 1 << 63;
        }
        Mt19937 { state, next: STATE }
    }

    /// The next 64 bits.
    pub(crate) fn draw(&mut self) -> u64 {
        if self.next == STATE {
            self.refill();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= (word >> 29) & 0x5555_5555_5555_5555;
        word ^= (word << 17) & 0x71D6_7FFF_EDA6_0000;
        word ^= (word << 37) & 0xFFF7_EEE0_0000_0000;
        word ^ (word >> 43)
    }

    /// A number below `bound`, all equally likely: multiply, keep the upper half, draw again in the biased rest.
    /// Zero draws nothing and gives zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let mut product = u128::from(self.draw()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.draw()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// The engine as the GNU C++ library keeps it in memory: the words, then the place of the next one.
    pub(crate) fn image(&self) -> Vec<u8> {
        let words = self.state.iter().copied().chain([self.next as u64]);
        words.flat_map(u64::to_le_bytes).collect()
    }

    fn refill(&mut self) {
        for index in 0..STATE {
            let mixed = (self.state[index] & UPPER) | (self.state[(index + 1) % STATE] & LOWER);
            let twist = if mixed & 1 == 1 { MATRIX } else { 0 };
            self.state[index] = self.state[(index + SHIFT) % STATE] ^ (mixed >> 1) ^ twist;
        }
        self.next = 0;
    }
}

/// Fills `out` from a few seeds. Mirrors `std::seed_seq::generate` ([rand.util.seedseq]).
fn spread(seeds: &[u32], out: &mut [u32]) {
    out.fill(0x8B8B_8B8B);
    let (n, s) = (out.len(), seeds.len());
    let t = match n {
        623.. => 11,
        68.. => 7,
        39.. => 5,
        7.. => 3,
        _ => n.saturating_sub(1) / 2,
    };
    let (p, q) = ((n - t) / 2, (n - t) / 2 + t);
    let rounds = (s + 1).max(n);
    let mix = |word: u32| word ^ (word >> 27);
    for k in 0..rounds {
        let word = mix(out[k % n] ^ out[(k + p) % n] ^ out[(k + n - 1) % n]);
        let first = word.wrapping_mul(1_664_525);
        let added = match k {
            0 => s as u32,
            _ if k <= s => ((k % n) as u32).wrapping_add(seeds[k - 1]),
            _ => (k % n) as u32,
        };
        let second = first.wrapping_add(added);
        out[(k + p) % n] = out[(k + p) % n].wrapping_add(first);
        out[(k + q) % n] = out[(k + q) % n].wrapping_add(second);
        out[k % n] = second;
    }
    for k in rounds..rounds + n {
        let sum = out[k % n]
            .wrapping_add(out[(k + p) % n])
            .wrapping_add(out[(k + n - 1) % n]);
        let third = mix(sum).wrapping_mul(1_566_083_941);
        let fourth = third.wrapping_sub((k % n) as u32);
        out[(k + p) % n] ^= third;
        out[(k + q) % n] ^= fourth;
        out[k % n] = fourth;
    }
}

#[cfg(test)]
mod tests {
    use super::Mt19937;

    /// Seeds, the first five draws, and draws below several bounds (in this order, one after the other), computed with
    /// the GNU C++ library, version 12.
    struct Vector {
        seeds: [u32; 8],
        first: [u64; 5],
        below: [(u64, [u64; 12]); 6],
        biased: [u64; 6],
    }

    const BIASED_BOUND: u64 = 0xC000_0000_0000_0001;

    const VECTORS: [Vector; 2] = [
        Vector {
            seeds: [
                3793791033, 1853398634, 113532184, 4169906344, 456755562, 1405853452, 746756798, 3313767226,
            ],
            first: [
                443867281659921735,
                15577546998109615970,
                11924824133630470118,
                12827862193477448940,
                6629846861513103203,
            ],
            below: [
                (1, [0; 12]),
                (2, [1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0]),
                (3, [0, 0, 2, 2, 2, 0, 0, 0, 2, 2, 0, 1]),
                (5, [0, 3, 4, 2, 1, 1, 4, 1, 3, 4, 2, 0]),
                (7, [1, 3, 5, 2, 2, 4, 5, 0, 4, 2, 6, 6]),
                (1024, [285, 554, 817, 601, 613, 187, 950, 515, 469, 910, 392, 88]),
            ],
            biased: [
                3664128275813306461,
                2736515455249010571,
                5619932096216557831,
                3425240547749220467,
                5977174817520124368,
                11078674242146366224,
            ],
        },
        Vector {
            seeds: [
                3031239197, 1876057280, 3688845809, 1949833926, 4190787706, 2884256373, 3263685995,
                3749512439,
            ],
            first: [
                3390358942694005501,
                6959599025743309293,
                1242748684193940525,
                4756524973588043200,
                9550639579198664485,
            ],
            below: [
                (1, [0; 12]),
                (2, [1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1]),
                (3, [2, 1, 0, 1, 2, 0, 1, 0, 2, 0, 1, 0]),
                (5, [1, 1, 3, 4, 4, 4, 2, 3, 0, 3, 2, 4]),
                (7, [5, 4, 1, 2, 1, 2, 3, 4, 1, 0, 3, 0]),
                (1024, [692, 96, 883, 144, 829, 375, 526, 598, 803, 824, 71, 652]),
            ],
            biased: [
                12911166546107786287,
                395237325395127218,
                4868395448805454136,
                8956467076768403692,
                2886258204711390155,
                13071716719226841537,
            ],
        },
    ];

    #[test]
    fn draws_equal_those_of_the_cpp_library() {
        for vector in &VECTORS {
            let mut engine = Mt19937::from_seed_sequence(&vector.seeds);
            assert_eq!([(); 5].map(|()| engine.draw()), vector.first);
            let mut engine = Mt19937::from_seed_sequence(&vector.seeds);
            for (bound, expected) in vector.below {
                assert_eq!([(); 12].map(|()| engine.below(bound)), expected, "below {bound}");
            }
            // A bound of three quarters of the range rejects a draw in four.
            assert_eq!([(); 6].map(|()| engine.below(BIASED_BOUND)), vector.biased);
        }
    }

    #[test]
    fn a_bound_of_zero_draws_nothing() {
        let mut engine = Mt19937::from_seed_sequence(&VECTORS[0].seeds);
        assert_eq!(engine.below(0), 0);
        assert_eq!(engine.draw(), VECTORS[0].first[0]);
    }

    #[test]
    fn below_a_power_of_two_every_draw_counts() {
        let mut engine = Mt19937::from_seed_sequence(&VECTORS[0].seeds);
        let halves = VECTORS[0].first.map(|word| word >> 1);
        assert_eq!([(); 5].map(|()| engine.below(1 << 63)), halves);
    }

    /// Its words and, behind them, the place of the next one.
    #[test]
    fn the_image_is_what_the_library_keeps() {
        let mut engine = Mt19937::from_seed_sequence(&VECTORS[0].seeds);
        let place = |image: &[u8]| u64::from_le_bytes(*image.last_chunk().unwrap());
        let fresh = engine.image();
        assert_eq!((fresh.len(), place(&fresh)), (8 * 313, 312));
        engine.draw();
        let once = engine.image();
        assert_eq!(place(&once), 1);
        engine.draw();
        let twice = engine.image();
        assert_eq!((place(&twice), &twice[..8 * 312]), (2, &once[..8 * 312]));
        assert_ne!(once[..8 * 312], fresh[..8 * 312]);
    }

    /// Computed with the GNU C++ library, version 12: the first words of a sequence of each length, from eight seeds.
    #[test]
    fn sequences_of_any_length_are_those_of_the_library() {
        let seeds = [1, 2, 3, 4, 5, 6, 7, 8];
        for (length, first) in [
            (5, [3536805350, 1610095927, 4230337424, 2898408577, 1854580263]),
            (10, [1586883291, 2541113353, 1188255123, 1237068223, 1027482024]),
            (50, [3556949255, 3917409367, 4114613704, 1639710229, 1837922083]),
            (100, [3302070972, 1911091599, 3617259391, 426700767, 2412636223]),
        ] {
            let mut words = vec![0; length];
            super::spread(&seeds, &mut words);
            assert_eq!(words[..5], first, "{length}");
        }
    }
}
