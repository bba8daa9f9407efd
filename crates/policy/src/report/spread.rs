//! Mean, least and most over seeds.

/// A figure over several seeds, in whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The sum by the number, rounded half up.
    pub mean: u64,
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

impl Spread {
    /// Of these figures; of none it is zero.
    pub fn of(values: impl IntoIterator<Item = u64>) -> Spread {
        let (mut sum, mut number) = (0_u128, 0_u128);
        let (mut min, mut max) = (u64::MAX, 0);
        for value in values {
            sum += u128::from(value);
            number += 1;
            min = min.min(value);
            max = max.max(value);
        }
        Spread {
            mean: super::measure::rounded(sum, number),
            min: min.min(max),
            max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_mean_least_and_most() {
        let spread = |values: &[u64]| Spread::of(values.iter().copied());
        let is = |mean, min, max| Spread { mean, min, max };
        assert_eq!(spread(&[1, 2]), is(2, 1, 2));
        assert_eq!(spread(&[5, 1, 3]), is(3, 1, 5));
        assert_eq!(spread(&[u64::MAX, u64::MAX]), is(u64::MAX, u64::MAX, u64::MAX));
        assert_eq!(spread(&[]), is(0, 0, 0));
    }
}
