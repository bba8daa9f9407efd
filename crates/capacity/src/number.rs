//! Numbers as people write them on a command line.

use crate::error::CapacityError;

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
