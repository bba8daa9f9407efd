//! Numbers with a unit, as flags have them.

/// Units and how much of the smallest one they are.
type Units = &'static [(&'static str, u64)];

const SIZES: Units = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

const RATES: Units = &[
    ("B/s", 1),
    ("KiB/s", 1 << 10),
    ("MiB/s", 1 << 20),
    ("GiB/s", 1 << 30),
    ("TiB/s", 1 << 40),
    ("KB/s", 1_000),
    ("MB/s", 1_000_000),
    ("GB/s", 1_000_000_000),
    ("TB/s", 1_000_000_000_000),
    // Bits: a thousand of them are 125 bytes.
    ("Kb/s", 125),
    ("Mb/s", 125_000),
    ("Gb/s", 125_000_000),
    ("Tb/s", 125_000_000_000),
];

const TIMES_PS: Units = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
];

/// With these and the largest unit, the arithmetic fits in 128 bits.
const MOST_DECIMALS: usize = 20;
/// A text that is worth repeating.
const LONGEST: usize = 40;

/// What can be written.
#[derive(Clone, Copy)]
struct Range {
    least: &'static str,
    most: &'static str,
    such_as: &'static str,
}

impl Range {
    const fn new(least: &'static str, most: &'static str, such_as: &'static str) -> Range {
        Range { least, most, such_as }
    }

    fn mend(self) -> String {
        let Range { least, most, such_as } = self;
        format!("write an unsigned number and a unit, from {least} to {most}, such as {such_as}")
    }
}

// The most that 64 bits hold, of the smallest unit.
const SIZE: Range = Range::new("1B", "16383PiB", "64GiB");
const RATE: Range = Range::new("1B/s", "16777215TiB/s", "20GiB/s");
const COST: Range = Range::new("0ps", "18446744s", "100us");
const TIME: Range = Range::new("0ns", "18446744s", "100us");
const SOME_TIME: Range = Range::new("1ns", "18446744s", "5s");

/// Bytes, such as `64GiB` or `1.5GiB`; not 0.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    positive(quantity(text, SIZES, SIZE)?, SIZE)
}

/// Bytes per second, such as `20GiB/s`, `12.5GB/s` or `200Gb/s`; not 0.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    // As people write bits.
    for written in ["Gbps", "gbps", "Gbit/s", "GBit/s"] {
        if let Some(number) = text.strip_suffix(written) {
            return Err(format!("for bits, write {number}Gb/s"));
        }
    }
    positive(quantity(text, RATES, RATE)?, RATE)
}

/// Picoseconds, such as `1500ps` or `100us`.
pub(crate) fn picoseconds(text: &str) -> Result<u64, String> {
    quantity(text, TIMES_PS, COST)
}

/// Nanoseconds, such as `200us`.
pub(crate) fn nanoseconds(text: &str) -> Result<u64, String> {
    whole_nanoseconds(text, TIME)
}

fn whole_nanoseconds(text: &str, range: Range) -> Result<u64, String> {
    let ps = quantity(text, TIMES_PS, range)?;
    match ps % 1_000 {
        0 => Ok(ps / 1_000),
        _ => Err("write whole nanoseconds; only a cost per token has picoseconds".to_owned()),
    }
}

/// Nanoseconds, not 0.
pub(crate) fn some_nanoseconds(text: &str) -> Result<u64, String> {
    positive(whole_nanoseconds(text, SOME_TIME)?, SOME_TIME)
}

fn positive(number: u64, range: Range) -> Result<u64, String> {
    match number {
        0 => Err(format!("it must not be 0; {}", range.mend())),
        number => Ok(number),
    }
}

fn quantity(text: &str, units: Units, range: Range) -> Result<u64, String> {
    let number = Decimal::split(text, range)?;
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == number.unit) else {
        return Err(no_unit(&number, units, range.such_as));
    };
    let (smallest, _) = units.first().copied().unwrap_or_default();
    number.times(*factor, smallest, range)
}

/// An unsigned number as it is written, with what stands behind it.
struct Decimal<'a> {
    /// Whole and decimals.
    text: &'a str,
    whole: &'a str,
    /// Digits behind the point, without zeros at the end.
    decimals: &'a str,
    unit: &'a str,
}

impl<'a> Decimal<'a> {
    fn split(text: &'a str, range: Range) -> Result<Decimal<'a>, String> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = text.split_at(digits(text));
        if whole.is_empty() {
            let behind = rest.strip_prefix('.').unwrap_or_default();
            return Err(if digits(behind) > 0 && rest.len() <= LONGEST {
                format!("write a digit before the point: 0{}", rest.escape_debug())
            } else {
                let why = match text.as_bytes() {
                    [] | [b'-', b'-', ..] => "the number is missing",
                    [b'-', ..] => "it is negative",
                    _ => "it is no number",
                };
                format!("{why}; {}", range.mend())
            });
        }
        let Some(behind) = rest.strip_prefix('.') else {
            return Ok(Decimal {
                text: whole,
                whole,
                decimals: "",
                unit: rest,
            });
        };
        let (decimals, unit) = behind.split_at(digits(behind));
        if decimals.is_empty() {
            return Err("write digits behind the point, or no point".to_owned());
        }
        Ok(Decimal {
            text: &text[..text.len() - unit.len()],
            whole,
            decimals: decimals.trim_end_matches('0'),
            unit,
        })
    }

    /// So many of the smallest unit: exactly, or not at all.
    fn times(&self, factor: u64, smallest: &str, range: Range) -> Result<u64, String> {
        let too_large = || format!("it is too large; {}", range.mend());
        let whole = self.whole.parse::<u64>().map_err(|_| too_large())?;
        let whole = whole.checked_mul(factor).ok_or_else(too_large)?;
        if self.decimals.is_empty() {
            return Ok(whole);
        }
        if self.decimals.len() > MOST_DECIMALS {
            return Err(format!(
                "it has more than {MOST_DECIMALS} decimals; write a whole number of {smallest}"
            ));
        }
        let power = self.decimals.bytes().fold(1_u128, |power, _| power * 10);
        let part = self.decimals.parse::<u128>().map_err(|_| too_large())? * u128::from(factor);
        let below = u64::try_from(part / power)
            .ok()
            .and_then(|part| whole.checked_add(part))
            .ok_or_else(too_large)?;
        match part % power {
            0 => Ok(below),
            _ if below == 0 => Err(format!("it is less than 1{smallest}; write 1{smallest}")),
            _ => Err(format!(
                "it comes to no whole number of {smallest}; write {below}{smallest} or {}{smallest}",
                below.saturating_add(1)
            )),
        }
    }
}

/// What is wrong with a unit, and which there are.
fn no_unit(number: &Decimal<'_>, units: Units, example: &str) -> String {
    let names = || units.iter().map(|(name, _)| *name);
    let all = || names().collect::<Vec<_>>().join(", ");
    let (text, unit) = (number.text, number.unit);
    match unit.trim() {
        "" => format!(
            "add a unit, such as in {text}{}; there are {}",
            example_unit(example),
            all()
        ),
        near if near.starts_with(',') => "write a point before the decimals, not a comma".to_owned(),
        near if near.len() != unit.len() => format!("write {text}{near}, without a space"),
        near => {
            // What differs in its letters' case only is near.
            let mut same = names().filter(|name| name.eq_ignore_ascii_case(near));
            let near = match (same.next(), same.next()) {
                (Some(one), None) => format!("; did you mean {text}{one}?"),
                _ => crate::suggest::did_you_mean(near, names()),
            };
            format!("there is no unit {:?}; there are {}{near}", unit.trim(), all())
        }
    }
}

/// The unit of an example.
fn example_unit(example: &str) -> &str {
    example.trim_start_matches(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units() {
        assert_eq!(size("64GiB"), Ok(64 << 30));
        assert_eq!(rate("200Gb/s"), Ok(25_000_000_000));
        assert_eq!(rate("25GB/s"), Ok(25_000_000_000));
        assert_eq!(rate("1Kb/s"), Ok(125));
        assert_eq!(rate("7B/s"), Ok(7));
        assert_eq!(picoseconds("1500ps"), Ok(1_500));
        assert_eq!(nanoseconds("200us"), Ok(200_000));
        assert_eq!(nanoseconds("0ns"), Ok(0));
    }

    #[test]
    fn decimals_that_come_out_are_exact() {
        assert_eq!(size("1.5GiB"), Ok(3 << 29));
        assert_eq!(size("1.50GiB"), size("1.5GiB"));
        assert_eq!(size("0.5KiB"), Ok(512));
        assert_eq!(size("2.0B"), Ok(2));
        assert_eq!(rate("12.5GB/s"), Ok(12_500_000_000));
        assert_eq!(rate("0.008Kb/s"), Ok(1));
        assert_eq!(picoseconds("1.5us"), Ok(1_500_000));
        assert_eq!(nanoseconds("1.5us"), Ok(1_500));
        // Not what binary floating point makes of it.
        assert_eq!(size("9007199.254740993GB"), Ok(9_007_199_254_740_993));
    }

    #[test]
    fn the_ends_of_a_range_are_in_it() {
        for end in [SIZE.least, SIZE.most, SIZE.such_as] {
            assert!(size(end).is_ok(), "{end}");
        }
        for end in [RATE.least, RATE.most, RATE.such_as] {
            assert!(rate(end).is_ok(), "{end}");
        }
        for end in [COST.least, COST.most, COST.such_as] {
            assert!(picoseconds(end).is_ok(), "{end}");
        }
        for end in [SOME_TIME.least, SOME_TIME.most, SOME_TIME.such_as, TIME.least] {
            assert!(nanoseconds(end).is_ok(), "{end}");
        }
        let said = some_nanoseconds("-1s").unwrap_err();
        assert!(
            said.contains("it is negative") && said.contains("from 1ns to 18446744s"),
            "{said}"
        );
    }

    #[test]
    fn others_are_refused_with_a_mend() {
        let wrong = [
            (size("64"), "such as in 64GiB; there are B, KiB"),
            (size("-1GiB"), "unsigned number"),
            (size("0.3KiB"), "no whole number of B; write 307B or 308B"),
            (size(".5GiB"), "write a digit before the point: 0.5GiB"),
            (size("1.GiB"), "digits behind the point"),
            (size("1,5GiB"), "a point before the decimals"),
            (size("1.5"), "such as in 1.5GiB"),
            (size("1.5.5GiB"), "there is no unit"),
            (size("0.0B"), "must not be 0"),
            (size("0.000000000000000000001PiB"), "more than 20 decimals"),
            (size("16383.9999999999999999999PiB"), "no whole number of B"),
            (size("16384.5PiB"), "too large"),
            (size("64 GiB"), "write 64GiB"),
            (size("64gib"), "did you mean 64GiB?"),
            (size("0B"), "must not be 0"),
            (size("99999999999999999999B"), "too large"),
            (size("99999999999PiB"), "too large"),
            (rate("20"), "add a unit, such as in 20GiB/s"),
            (rate("200Gbps"), "write 200Gb/s"),
            (rate("0.001Kb/s"), "it is less than 1B/s; write 1B/s"),
            (picoseconds("1.5ps"), "no whole number of ps; write 1ps or 2ps"),
            (nanoseconds("1.5ns"), "whole nanoseconds"),
            (rate("0GB/s"), "must not be 0"),
            (rate("1e9B/s"), "there is no unit"),
            (rate("18446744073709551615TiB/s"), "too large"),
            (rate("20GiB"), "did you mean GiB/s?"),
            (rate("20GB/S"), "there are B/s"),
            (nanoseconds("1ps"), "whole nanoseconds"),
            (some_nanoseconds("0s"), "must not be 0"),
            (size(""), "unsigned number"),
            (size("١GiB"), "unsigned number"),
        ];
        for (found, part) in wrong {
            let error = found.unwrap_err();
            assert!(error.contains(part), "no {part:?} in {error:?}");
        }
    }
}
