//! The size classes of the offset allocator: a tiny float with three bits of mantissa. Mirrors
//! `offset_allocator.cpp:SmallFloat`.

const MANTISSA_BITS: u32 = 3;
const MANTISSA_VALUE: u32 = 1 << MANTISSA_BITS;
const MANTISSA_MASK: u32 = MANTISSA_VALUE - 1;

/// Largest number of units one allocator manages; larger segments count in larger units.
pub(crate) const MAX_UNITS: u64 = 4_026_531_840;

/// Number of bins.
pub(crate) const BINS: usize = 256;

/// Position of the leading one and the bits below the mantissa of a number of at least eight.
fn split(units: u32) -> (u32, u32, u32) {
    let shift = units.ilog2() - MANTISSA_BITS;
    let mantissa = (units >> shift) & MANTISSA_MASK;
    (shift + 1, mantissa, units & ((1 << shift) - 1))
}

/// The first bin whose value is at least `units`.
pub(crate) fn bin_up(units: u32) -> u32 {
    if units < MANTISSA_VALUE {
        return units;
    }
    let (exponent, mantissa, rest) = split(units);
    // A mantissa that overflows carries into the exponent, which is the next power of two.
    (exponent << MANTISSA_BITS) + mantissa + u32::from(rest != 0)
}

/// The last bin whose value is at most `units`.
pub(crate) fn bin_down(units: u32) -> u32 {
    if units < MANTISSA_VALUE {
        return units;
    }
    let (exponent, mantissa, _) = split(units);
    (exponent << MANTISSA_BITS) | mantissa
}

/// The number of units a bin stands for.
pub(crate) fn bin_value(bin: u32) -> u32 {
    let (exponent, mantissa) = (bin >> MANTISSA_BITS, bin & MANTISSA_MASK);
    if exponent == 0 {
        mantissa
    } else {
        (mantissa | MANTISSA_VALUE) << (exponent - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_exact_and_larger_ones_have_eight_bins_a_power() {
        for units in 0..=16 {
            assert_eq!(
                (bin_value(bin_up(units)), bin_value(bin_down(units))),
                (units, units)
            );
        }
        assert_eq!((bin_value(bin_up(17)), bin_value(bin_down(17))), (18, 16));
        assert_eq!(bin_value(bin_up(61 << 20)), 64 << 20);
        assert_eq!(bin_value(bin_down((64 << 20) - 1)), 60 << 20);
        assert_eq!(bin_value(bin_up((60 << 20) + 1)), 64 << 20);
        assert_eq!(u64::from(bin_value(bin_up(MAX_UNITS as u32))), MAX_UNITS);
    }

    #[test]
    fn rounding_brackets_every_number() {
        for units in (0..200_000_u32).chain((0..32).map(|bit| (1 << bit) + 1)) {
            let units = units.min(MAX_UNITS as u32);
            assert!(bin_value(bin_up(units)) >= units && bin_value(bin_down(units)) <= units);
            assert!(bin_up(units) - bin_down(units) <= 1);
        }
    }
}
