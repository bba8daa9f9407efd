//! Draws that are the same on every machine: a seeded stream of bits and whole numbers, no floating point.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Bits behind the binary point.
const POINT: u32 = 32;
/// `ln 2`, with 64 bits behind the point.
const LN_2: u128 = 12_786_308_645_202_655_660;

/// See the top of this file.
#[derive(Clone, Debug)]
pub struct Dice(ChaCha8Rng);

impl Dice {
    /// A stream for a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `bound`, all alike but for `bound / 2^64`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// An exponential draw with this mean, rounded down; a Poisson process has such gaps.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        // -ln(u / 2^64) for u from 1 to 2^64: never zero, at most 44 times the mean.
        let u = u128::from(self.0.next_u64()) + 1;
        let nats = minus_ln(u);
        let draw = (u128::from(mean) * u128::from(nats)) >> POINT;
        u64::try_from(draw).unwrap_or(u64::MAX)
    }

    /// A whole number from 1 on with about this mean, all from 1 to `2 * mean - 1` alike.
    pub fn around(&mut self, mean: u64) -> u64 {
        1 + self.below(mean.saturating_mul(2).saturating_sub(1))
    }
}

/// `-ln(u / 2^64)` for `u` from 1 to 2^64, with 32 bits behind the point.
fn minus_ln(u: u128) -> u64 {
    let log = log2(u);
    let below = (64u128 << POINT) - u128::from(log);
    ((below * LN_2) >> 64) as u64
}

/// `log2 u` for `u` from 1 to 2^64, with 32 bits behind the point, rounded down: a bit for each squaring.
fn log2(u: u128) -> u64 {
    let whole = 127 - u.leading_zeros();
    // From 1 to 2, with 63 bits behind the point.
    let mut rest = if whole > 63 {
        u >> (whole - 63)
    } else {
        u << (63 - whole)
    };
    let mut log = u64::from(whole);
    for _ in 0..POINT {
        rest = (rest * rest) >> 63;
        let bit = rest >> 64;
        rest >>= bit;
        log = log << 1 | bit as u64;
    }
    log
}

/// `2^-x` for `x` with 32 bits behind the point, itself with 63 bits behind it: a square root for each bit.
fn exp2_minus(x: u128) -> u64 {
    let mut product: u128 = 1 << 63;
    let mut root: u128 = 1 << 62;
    for bit in (0..POINT).rev() {
        // 2^-(1/2), 2^-(1/4), ...: the root of a number with 63 bits behind the point has as many again.
        root = (root << 63).isqrt();
        if x >> bit & 1 == 1 {
            product = (product * root) >> 63;
        }
    }
    (product >> (x >> POINT).min(127)) as u64
}

/// Ranks from 0 on, drawn with a weight of `1 / (rank + 1)^s`.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// Sums of the weights, each with 32 bits behind the point.
    sums: Vec<u64>,
}

impl Zipf {
    /// For `ranks` ranks and an exponent `s` in thousandths. No ranks are drawn as one.
    pub fn new(ranks: u32, exponent_milli: u32) -> Zipf {
        let mut sum = 0;
        let sums = (1..=u128::from(ranks.max(1)))
            .map(|rank| {
                let x = u128::from(log2(rank)) * u128::from(exponent_milli) / 1_000;
                // A weight is at most 1 and there are fewer than 2^32 of them.
                sum += (exp2_minus(x) >> 31).max(1);
                sum
            })
            .collect();
        Zipf { sums }
    }

    /// A rank.
    pub fn draw(&self, dice: &mut Dice) -> u32 {
        let all = self.sums.last().copied().unwrap_or(1);
        let at = dice.below(all);
        self.sums.partition_point(|sum| *sum <= at) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_and_powers_are_right_to_nine_digits() {
        for u in [1u64, 2, 3, 10, 1_000, 1 << 40, 987_654_321_987_654_321, u64::MAX] {
            let ours = log2(u128::from(u)) as f64 / f64::from(2u32).powi(32);
            assert!((ours - (u as f64).log2()).abs() < 1e-9, "log2 {u}: {ours}");
        }
        assert_eq!(log2(1 << 64), 64 << 32);
        assert_eq!(minus_ln(1 << 64), 0);
        for x in [0.0f64, 0.5, 0.1, 1.0, 3.75, 20.2] {
            let ours = exp2_minus((x * f64::from(2u32).powi(32)) as u128) as f64 / f64::from(2u32).powi(63);
            assert!((ours / (-x).exp2() - 1.0).abs() < 1e-6, "2^-{x}: {ours}");
        }
    }

    #[test]
    fn exponential_draws_have_their_mean_and_their_tail() {
        let mut dice = Dice::new(1);
        let draws: Vec<u64> = (0..100_000).map(|_| dice.exponential(1_000_000)).collect();
        let mean = draws.iter().sum::<u64>() / draws.len() as u64;
        assert!((990_000..1_010_000).contains(&mean), "{mean}");
        // e^-3 of them are above three means: 4,979 of 100,000, give or take three deviations of 69.
        let above = draws.iter().filter(|draw| **draw > 3_000_000).count();
        assert!((4_772..5_186).contains(&above), "{above}");
    }

    #[test]
    fn zipf_draws_halve_with_twice_the_rank() {
        let (zipf, mut dice) = (Zipf::new(1_000, 1_000), Dice::new(2));
        let mut drawn = vec![0u32; 1_000];
        (0..100_000).for_each(|_| drawn[zipf.draw(&mut dice) as usize] += 1);
        // The harmonic number of 1,000 is 7.485: rank 0 has 13,359 of the draws, rank 1 half of them, rank 9 a tenth.
        for (rank, share) in [(0, 13_359), (1, 6_680), (9, 1_336)] {
            assert!(
                drawn[rank].abs_diff(share) < share / 10,
                "{rank}: {}",
                drawn[rank]
            );
        }
    }

    #[test]
    fn a_seed_has_one_stream() {
        let drawn = |seed| {
            (0..4)
                .map(|_| 0)
                .scan(Dice::new(seed), |dice, _| Some(dice.below(1_000_000)))
        };
        assert_eq!(drawn(7).collect::<Vec<_>>(), drawn(7).collect::<Vec<_>>());
        assert_ne!(drawn(7).collect::<Vec<_>>(), drawn(8).collect::<Vec<_>>());
    }
}
