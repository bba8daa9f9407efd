//! Where numbers lie on an axis of some pixels, and where its marks stand.

use crate::{Axis, Scale};

/// An axis with its ends.
pub(crate) struct Ruler {
    low: u64,
    high: u64,
    scale: Scale,
    pixels: i32,
    /// Numbers that are written, with their words.
    pub(crate) marks: Vec<(u64, String)>,
}

impl Ruler {
    /// For these numbers, with at most about so many marks.
    pub(crate) fn new(axis: &Axis, values: &[u64], pixels: i32, marks: u32) -> Ruler {
        let most = values.iter().copied().max().unwrap_or(0);
        let numbers = match axis.scale {
            Scale::Log => powers(axis, values, most, marks),
            Scale::Zero => even(axis, 0, most, marks),
            Scale::Close => even(axis, values.iter().copied().min().unwrap_or(0), most, marks),
        };
        let low = numbers.first().copied().unwrap_or(0);
        let high = numbers.last().copied().unwrap_or(low).max(low.saturating_add(1));
        Ruler {
            low,
            high,
            scale: axis.scale,
            pixels,
            marks: numbers
                .into_iter()
                .map(|number| (number, axis.unit.mark(number.into())))
                .collect(),
        }
    }

    /// Pixels from the low end.
    pub(crate) fn at(&self, value: u64) -> i32 {
        let value = value.clamp(self.low, self.high);
        match self.scale {
            Scale::Log => {
                let log = |number: u64| (number.max(1) as f64).log2();
                let part = (log(value) - log(self.low)) / (log(self.high) - log(self.low));
                (part * f64::from(self.pixels)).round() as i32
            }
            Scale::Zero | Scale::Close => {
                let span = u128::from(self.high - self.low);
                let pixels = u128::from(self.pixels.unsigned_abs());
                let scaled = u128::from(value - self.low) * pixels + span / 2;
                i32::try_from(scaled / span).unwrap_or(self.pixels)
            }
        }
    }
}

fn even(axis: &Axis, least: u64, most: u64, marks: u32) -> Vec<u64> {
    let distance = u128::from(most.saturating_sub(least)).div_ceil(marks.max(1).into());
    let step = u64::try_from(axis.unit.step(distance)).unwrap_or(u64::MAX);
    let mut number = least / step * step;
    let mut numbers = vec![number];
    while number < most {
        number = number.saturating_add(step);
        numbers.push(number);
    }
    numbers
}

fn powers(axis: &Axis, values: &[u64], most: u64, marks: u32) -> Vec<u64> {
    let least = values.iter().copied().filter(|value| *value > 0).min();
    let factor = axis.unit.factor() as u64;
    let mut low = 1_u64;
    while low.saturating_mul(factor) <= least.unwrap_or(1) {
        low = low.saturating_mul(factor);
    }
    let mut all = vec![low];
    let mut number = low;
    while number < most.max(2) {
        number = number.saturating_mul(factor);
        all.push(number);
    }
    // Every n-th, counted from the high end down, so that both ends are marks.
    let each = all.len().div_ceil(marks.max(1) as usize).max(1);
    while (all.len() - 1) % each != 0 {
        let next = all[all.len() - 1].saturating_mul(factor);
        if next == all[all.len() - 1] {
            break;
        }
        all.push(next);
    }
    all.into_iter().step_by(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;

    #[test]
    fn marks_hold_every_number_and_are_few() {
        let cases: [&[u64]; 6] = [&[], &[0], &[7, 7], &[1, 999], &[3, 1 << 40], &[1, u64::MAX]];
        for unit in [Unit::Count, Unit::Bytes, Unit::Nanoseconds, Unit::Ppm] {
            for scale in [Scale::Zero, Scale::Close, Scale::Log] {
                for values in cases {
                    let axis = Axis::new("", unit).scale(scale);
                    let ruler = Ruler::new(&axis, values, 300, 5);
                    assert!(
                        ruler.marks.len() <= 8,
                        "{unit:?} {scale:?} {values:?}: {:?}",
                        ruler.marks
                    );
                    for value in values {
                        let at = ruler.at(*value);
                        assert!((0..=300).contains(&at), "{unit:?} {scale:?} {value}: {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn scales_lie_as_they_say() {
        let axis = |scale| Axis::new("", Unit::Count).scale(scale);
        let even = Ruler::new(&axis(Scale::Zero), &[100], 200, 5);
        assert_eq!([even.at(0), even.at(50), even.at(100)], [0, 100, 200]);
        let close = Ruler::new(&axis(Scale::Close), &[100, 200], 200, 5);
        assert_eq!([close.at(100), close.at(200)], [0, 200]);
        let log = Ruler::new(&axis(Scale::Log), &[10, 1000], 200, 5);
        assert_eq!(
            [log.at(0), log.at(10), log.at(100), log.at(1000)],
            [0, 0, 100, 200]
        );
    }
}
