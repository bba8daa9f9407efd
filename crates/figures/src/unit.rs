//! Units of whole numbers: how they are shown, and where the marks of an axis stand.

/// What a whole number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes, shown in powers of 1024.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Millionths, shown as per cent.
    Ppm,
    /// Thousandths, shown with a point.
    Milli,
}

const BYTES: [(u128, &str); 7] = [
    (1 << 60, "EiB"),
    (1 << 50, "PiB"),
    (1 << 40, "TiB"),
    (1 << 30, "GiB"),
    (1 << 20, "MiB"),
    (1 << 10, "KiB"),
    (1, "B"),
];
const TIMES: [(u128, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
const COUNTS: [(u128, &str); 4] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"), (1, "")];

impl Unit {
    /// For people: `64 GiB`, `1.25 s`, `21.12 %`. Rounded half up from whole numbers, so that the same number gives the same
    /// letters everywhere.
    pub fn show(self, value: u128) -> String {
        match self {
            Unit::Count => value.to_string(),
            Unit::Bytes => of_three(value, &BYTES),
            Unit::Nanoseconds => of_three(value, &TIMES),
            Unit::Ppm => format!("{} %", decimal(rounded(value, 100), 2)),
            Unit::Milli => decimal(value, 3),
        }
    }

    /// As short as an axis wants it: `20 %`, `1.5`, `200k`.
    pub fn mark(self, value: u128) -> String {
        match self {
            _ if value == 0 => "0".to_owned(),
            Unit::Count => of_three(value, &COUNTS).replace(' ', ""),
            Unit::Bytes | Unit::Nanoseconds => self.show(value),
            Unit::Ppm => format!("{} %", bare(&decimal(value, 4))),
            Unit::Milli => bare(&decimal(value, 3)).to_owned(),
        }
    }

    /// The least good distance of marks that is not below this one.
    pub(crate) fn step(self, least: u128) -> u128 {
        if self == Unit::Bytes {
            return least.max(1).checked_next_power_of_two().unwrap_or(u128::MAX);
        }
        let mut power: u128 = 1;
        loop {
            for digit in [1, 2, 5] {
                let step = power.saturating_mul(digit);
                if step >= least {
                    return step;
                }
            }
            power = power.saturating_mul(10);
        }
    }

    /// By how much one mark of a logarithmic axis is more than the mark before it, at the least.
    pub(crate) fn factor(self) -> u128 {
        match self {
            Unit::Bytes => 2,
            _ => 10,
        }
    }
}

/// Half up. `unit` is not 0.
fn rounded(value: u128, unit: u128) -> u128 {
    value / unit + u128::from(value % unit >= unit.div_ceil(2) && unit > 1)
}

/// With this many digits behind the point.
fn decimal(value: u128, digits: u32) -> String {
    let unit = 10_u128.pow(digits);
    let width = digits as usize;
    format!("{}.{:0width$}", value / unit, value % unit)
}

/// Without zeros at its end.
fn bare(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// In the largest unit of which there is one, with three digits that count, or exact where it is a whole number.
fn of_three(value: u128, units: &[(u128, &str)]) -> String {
    let mut units = units.iter().rev().peekable();
    let mut shown = String::from("0");
    while let Some((unit, name)) = units.next() {
        let digits = match value / unit {
            _ if value.is_multiple_of(*unit) => 0,
            0..10 => 2,
            10..100 => 1,
            _ => 0,
        };
        let scale = 10_u128.pow(digits);
        let scaled = match value.checked_mul(scale) {
            Some(scaled) => rounded(scaled, *unit),
            None => rounded(value, *unit).saturating_mul(scale),
        };
        let number = match digits {
            0 => scaled.to_string(),
            _ => decimal(scaled, digits),
        };
        shown = format!("{number} {name}").trim_end().to_owned();
        // What rounds up to the next unit is shown in that one.
        let reaches = units
            .peek()
            .is_some_and(|(next, _)| scaled.saturating_mul(*unit) >= next.saturating_mul(scale));
        if !reaches {
            break;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_in_their_largest_unit() {
        let cases = [
            (Unit::Bytes, 0, "0 B"),
            (Unit::Bytes, 1023, "1023 B"),
            (Unit::Bytes, 1024, "1 KiB"),
            (Unit::Bytes, 1536, "1.50 KiB"),
            (Unit::Bytes, (1 << 20) - 1, "1.00 MiB"),
            (Unit::Bytes, 64 << 30, "64 GiB"),
            (Unit::Bytes, 70_272, "68.6 KiB"),
            (Unit::Nanoseconds, 999, "999 ns"),
            (Unit::Nanoseconds, 50_000_000, "50 ms"),
            (Unit::Nanoseconds, 1_234_567_890, "1.23 s"),
            (Unit::Nanoseconds, 999_999_999, "1.00 s"),
            (Unit::Ppm, 211_165, "21.12 %"),
            (Unit::Ppm, 1_000_000, "100.00 %"),
            (Unit::Milli, 12_045, "12.045"),
            (Unit::Count, 288_500, "288500"),
        ];
        for (unit, value, shown) in cases {
            assert_eq!(unit.show(value), shown, "{unit:?} {value}");
        }
        assert!(Unit::Bytes.show(u128::MAX).ends_with(" EiB"));
    }

    #[test]
    fn marks_are_short_and_steps_are_round() {
        assert_eq!(Unit::Ppm.mark(200_000), "20 %");
        assert_eq!(Unit::Ppm.mark(5_000), "0.5 %");
        assert_eq!(Unit::Milli.mark(1_500), "1.5");
        assert_eq!(Unit::Count.mark(200_000), "200k");
        assert_eq!(Unit::Count.mark(0), "0");
        assert_eq!(Unit::Count.step(3), 5);
        assert_eq!(Unit::Count.step(11), 20);
        assert_eq!(Unit::Bytes.step(1000), 1024);
        assert_eq!(Unit::Count.step(0), 1);
    }
}
