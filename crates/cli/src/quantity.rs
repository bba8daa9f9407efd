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
        format!("write an unsigned whole number and a unit, from {least} to {most}, such as {such_as}")
    }
}

// The most that 64 bits hold, of the smallest unit.
const SIZE: Range = Range::new("1B", "16383PiB", "64GiB");
const RATE: Range = Range::new("1B/s", "16777215TiB/s", "20GiB/s");
const COST: Range = Range::new("0ps", "18446744s", "100us");
const TIME: Range = Range::new("0ns", "18446744s", "100us");
const SOME_TIME: Range = Range::new("1ns", "18446744s", "5s");

/// Bytes, such as `64GiB`; not 0.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    positive(quantity(text, SIZES, SIZE)?, SIZE)
}

/// Bytes per second, such as `20GiB/s`, `25GB/s` or `200Gb/s`; not 0.
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
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if digits == 0 {
        let why = match text.as_bytes() {
            [] | [b'-', b'-', ..] => "the number is missing",
            [b'-', ..] => "it is negative",
            _ => "it is no number",
        };
        return Err(format!("{why}; {}", range.mend()));
    }
    let names = || units.iter().map(|(name, _)| *name);
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let all = || names().collect::<Vec<_>>().join(", ");
        return Err(match unit.trim() {
            "" => format!(
                "add a unit, such as in {number}{}; there are {}",
                example_unit(range.such_as),
                all()
            ),
            near if near.starts_with('.') => {
                format!("write a whole number of a smaller unit; there are {}", all())
            }
            near if near.len() != unit.len() => format!("write {number}{near}, without a space"),
            near => {
                // What differs in its letters' case only is near.
                let mut same = names().filter(|name| name.eq_ignore_ascii_case(near));
                let near = match (same.next(), same.next()) {
                    (Some(one), None) => format!("; did you mean {number}{one}?"),
                    _ => crate::suggest::did_you_mean(near, names()),
                };
                format!("there is no unit {:?}; there are {}{near}", unit.trim(), all())
            }
        });
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(*factor))
        .ok_or_else(|| format!("it is too large; {}", range.mend()))
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
            (size("-1GiB"), "unsigned whole number"),
            (size("1.5GiB"), "a smaller unit"),
            (size("64 GiB"), "write 64GiB"),
            (size("64gib"), "did you mean 64GiB?"),
            (size("0B"), "must not be 0"),
            (size("99999999999999999999B"), "too large"),
            (size("99999999999PiB"), "too large"),
            (rate("20"), "add a unit, such as in 20GiB/s"),
            (rate("200Gbps"), "write 200Gb/s"),
            (rate("12.5GB/s"), "a smaller unit"),
            (rate("0GB/s"), "must not be 0"),
            (rate("1e9B/s"), "there is no unit"),
            (rate("18446744073709551615TiB/s"), "too large"),
            (rate("20GiB"), "did you mean GiB/s?"),
            (rate("20GB/S"), "there are B/s"),
            (nanoseconds("1ps"), "whole nanoseconds"),
            (some_nanoseconds("0s"), "must not be 0"),
            (size(""), "unsigned whole number"),
            (size("١GiB"), "unsigned whole number"),
        ];
        for (found, part) in wrong {
            let error = found.unwrap_err();
            assert!(error.contains(part), "no {part:?} in {error:?}");
        }
    }
}
