//! Numbers as people write them on a command line.

use crate::error::CapacityError;
use crate::units::BytesPerSecond;

/// What a flag takes: from 1 (or 0) to a number that no machine of today gets near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// At least.
    pub least: u64,
    /// At most.
    pub most: u64,
    /// A number that fits.
    pub such_as: u64,
}

impl Limit {
    /// Layers of a model.
    pub const LAYERS: Limit = Limit::new(10_000, 32);
    /// Heads of a model.
    pub const HEADS: Limit = Limit::new(100_000, 8);
    /// Elements of a vector.
    pub const ELEMENTS: Limit = Limit::new(1_000_000, 128);
    /// Bytes of an element.
    pub const BYTES: Limit = Limit::new(16, 2);
    /// Bytes of a scale.
    pub const SCALE_BYTES: Limit = Limit::new(16, 4);
    /// Tokens of a request or a window.
    pub const TOKENS: Limit = Limit::new(1_000_000_000_000, 8192);
    /// Tokens of a page.
    pub const PAGE: Limit = Limit::new(1_000_000_000_000, 16);
    /// Tokens of a chunk.
    pub const CHUNK: Limit = Limit::new(1_000_000_000_000, 256);
    /// Requests at once.
    pub const BATCH: Limit = Limit::new(1_000_000_000, 64);
    /// Ranks.
    pub const RANKS: Limit = Limit::new(1_000_000, 8);
    /// Copies.
    pub const REPLICAS: Limit = Limit::new(1_000_000, 2);

    const fn new(most: u64, such_as: u64) -> Limit {
        Limit {
            least: 1,
            most,
            such_as,
        }
    }
}

/// A text of a user, escaped and cut.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut short: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push_str("...");
    }
    short
}

/// Reads the whole number of a flag.
///
/// # Errors
/// If it is no whole number within the limit.
pub fn number(flag: &str, text: &str, limit: Limit) -> Result<u64, CapacityError> {
    let wrong = |why: &str| {
        Err(CapacityError::Number {
            flag: flag.to_owned(),
            value: shown(text),
            why: why.to_owned(),
            mend: format!(
                "write a whole number from {} to {}, such as {}",
                limit.least, limit.most, limit.such_as
            ),
        })
    };
    if text.is_empty() {
        return wrong("there is no number");
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return wrong(match text.as_bytes() {
            [b'-', ..] => "it is negative",
            [b'0'..=b'9', ..] => "it is no plain whole number (no sign, point, exponent or unit)",
            _ => "it is no number",
        });
    }
    match text.parse::<u64>() {
        Ok(0) if limit.least > 0 => wrong("there must be at least one"),
        Ok(found) if (limit.least..=limit.most).contains(&found) => Ok(found),
        _ => wrong("it is too large"),
    }
}

/// Units of a rate: the name, and its bytes as a factor and a divisor.
const RATES: [(&str, u128); 13] = [
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

/// Reads a bandwidth with its unit: `20GiB/s`, `25GB/s`, `200Gb/s`.
///
/// # Errors
/// If it has no unit, or is no whole number of one.
pub fn bandwidth(text: &str) -> Result<BytesPerSecond, CapacityError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let wrong = |why: &str, mend: String| {
        Err(CapacityError::Number {
            flag: "--bandwidth".to_owned(),
            value: shown(text),
            why: why.to_owned(),
            mend,
        })
    };
    let plain = "write a whole number and a unit, such as 20GiB/s, 25GB/s or 200Gb/s".to_owned();
    if text.starts_with('-') {
        return wrong("it is negative", plain);
    }
    if digits == 0 {
        return wrong("it is no number", plain);
    }
    let Some((_, factor)) = RATES.iter().find(|(name, _)| *name == unit) else {
        return match unit.trim() {
            "" => wrong(
                "it has no unit, and GiB/s, GB/s and Gb/s differ",
                format!("write {number}GiB/s, {number}GB/s or {number}Gb/s"),
            ),
            "Gbps" | "Gbit/s" | "gbps" | "GBit/s" => {
                wrong("it has no unit that is known", format!("write {number}Gb/s for bits"))
            }
            near if near.starts_with('.') || near.starts_with(['e', 'E']) => wrong(
                "it is no whole number",
                "write a whole number of a smaller unit, such as 12500MB/s for 12.5 GB/s".to_owned(),
            ),
            near if near.len() != unit.len() => {
                wrong("there is a space in it", format!("write {number}{near}"))
            }
            _ => wrong(
                "it has no unit that is known",
                "use B/s, KiB/s, MiB/s, GiB/s, TiB/s, KB/s, MB/s, GB/s, TB/s, or Kb/s, Mb/s, Gb/s, Tb/s for bits".to_owned(),
            ),
        };
    };
    // Far above every link, and far below what 128 bits hold.
    const MOST: u128 = 1 << 70;
    let rate = number
        .parse::<u64>()
        .ok()
        .map(|number| u128::from(number) * factor);
    match rate {
        Some(0) => wrong("nothing would ever arrive", plain),
        Some(rate) if rate <= MOST => Ok(BytesPerSecond(rate)),
        _ => wrong("it is too large", plain),
    }
}
