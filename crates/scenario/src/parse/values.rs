//! Names, sizes, durations and rates.

use super::problems::{Problems, did_you_mean, shown};
use super::tree::{Value, text};
use crate::error::ProblemKind;
use moonquake_clock::{ParseSpanError, Span};
use std::ops::Range;

/// Words that no actor, step, range or buffer may be called.
const RESERVED: [&str; 4] = ["master", "start", "fault", "quiet"];

/// Whether the text is `[a-z][a-z0-9_]*`.
pub(super) fn is_name(text: &str) -> bool {
    let mut letters = text.bytes();
    letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Why a name may not be given to an actor, step, range or buffer, if so.
pub(super) fn reserved(name: &str) -> Option<&'static str> {
    if crate::Timeouts::NAMES.contains(&name) {
        return Some("the name of a deadline");
    }
    RESERVED.contains(&name).then_some("a word of the language")
}

/// A name anywhere.
pub(super) fn name<'a>(found: &'a str, at: Range<usize>, problems: &mut Problems) -> Option<&'a str> {
    if is_name(found) {
        return Some(found);
    }
    problems.add(
        ProblemKind::Name,
        format!("`{}` is no name", shown(found)),
        at,
        "must match [a-z][a-z0-9_]*",
        format!(
            "begin with a small letter, then small letters, digits and _, such as `{}`",
            mended(found)
        ),
    );
    None
}

/// The nearest text that is a name.
fn mended(found: &str) -> String {
    let mut name: String = found
        .chars()
        .take(24)
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect();
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        name.insert(0, 'n');
    }
    name
}

/// A name as the value of a key.
pub(super) fn name_value<'a>(value: Value<'a>, example: &str, problems: &mut Problems) -> Option<&'a str> {
    name(text(value, example, problems)?, value.span(), problems)
}

/// A duration such as `30s`.
pub(super) fn duration(value: Value<'_>, example: &str, problems: &mut Problems) -> Option<Span> {
    let found = text(value, example, problems)?;
    match Span::parse(found) {
        Ok(span) => Some(span),
        Err(error) => {
            let (message, help) = duration_mend(found, &error);
            problems.add(ProblemKind::Value, message, value.span(), "no duration", help);
            None
        }
    }
}

/// The message and the mend for a text that is no duration.
pub(super) fn duration_mend(found: &str, error: &ParseSpanError) -> (String, String) {
    let message = format!("`{}` is no duration", shown(found));
    let help = match error {
        ParseSpanError::Unit(unit) => match unit.trim() {
            "" => "add a unit: ns, us, ms, s, min or h".to_owned(),
            "m" => "`m` could be minutes or milliseconds: use `min` or `ms`".to_owned(),
            "sec" | "secs" | "second" | "seconds" => "use `s`".to_owned(),
            near if near.starts_with('.') => {
                "use a whole number of a smaller unit, such as 1500ms for 1.5 s".to_owned()
            }
            near if near.len() != unit.len() && moonquake_clock::Span::parse(&format!("1{near}")).is_ok() => {
                "write number and unit without a space".to_owned()
            }
            near => did_you_mean(near, ["ns", "us", "ms", "s", "min", "h"]),
        },
        ParseSpanError::TooLong => format!("use a shorter one: {error}"),
        ParseSpanError::Number => format!("{error}"),
    };
    (message, help)
}

const SIZE_UNITS: [(&str, u64); 4] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// A number of bytes from `4MiB`, or what is wrong with it.
pub(super) fn parse_size(found: &str) -> Result<u64, String> {
    let digits = found.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = found.split_at(digits);
    if digits == 0 {
        return Err("write an unsigned whole number and a unit, such as 4MiB".to_owned());
    }
    let Some((_, factor)) = SIZE_UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(match unit.trim() {
            "" => "add a unit: B, KiB, MiB or GiB".to_owned(),
            "MB" | "M" | "mb" | "mib" => "use `MiB`".to_owned(),
            "KB" | "kB" | "K" | "k" | "kb" | "kib" => "use `KiB`".to_owned(),
            "GB" | "G" | "gb" | "gib" => "use `GiB`".to_owned(),
            near if near.starts_with('.') => "use a whole number of a smaller unit".to_owned(),
            near if near.len() != unit.len() => "write number and unit without a space".to_owned(),
            near => did_you_mean(near, SIZE_UNITS.map(|(name, _)| name)),
        });
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(*factor))
        .ok_or_else(|| "use a smaller number; a size is at most 16383 PiB".to_owned())
}

/// A size such as `4MiB`, in bytes.
pub(super) fn size(value: Value<'_>, example: &str, problems: &mut Problems) -> Option<u64> {
    let found = text(value, example, problems)?;
    match parse_size(found) {
        Ok(bytes) => Some(bytes),
        Err(help) => {
            let message = format!("`{}` is no size", shown(found));
            problems.add(ProblemKind::Value, message, value.span(), "no size", help);
            None
        }
    }
}

/// A rate such as `1MiB/s`, in bytes per second.
pub(super) fn rate(value: Value<'_>, problems: &mut Problems) -> Option<u64> {
    let found = text(value, "`{ rate = \"1MiB/s\" }`", problems)?;
    let parsed = match found.strip_suffix("/s") {
        Some(size) => parse_size(size),
        None => Err("write a size per second, such as 1MiB/s".to_owned()),
    };
    let help = match parsed {
        Ok(0) => "a rate of nothing is a `hold`: use `action = \"hold\"`".to_owned(),
        Ok(bytes) => return Some(bytes),
        Err(help) => help,
    };
    let message = format!("`{}` is no rate", shown(found));
    problems.add(ProblemKind::Value, message, value.span(), "no rate", help);
    None
}
