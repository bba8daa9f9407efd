//! Identifiers. Mirrors upstream `mooncake-store/include/types.h:UUID`.

use crate::struct_pack::{DecodeError, Reader, StructPack, Writer};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A 128-bit id of a client, a segment or a task: upstream's `pair<u64,u64>`, 16 bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid {
    /// The first half.
    pub first: u64,
    /// The second half.
    pub second: u64,
}

impl Uuid {
    /// From its two halves.
    pub const fn new(first: u64, second: u64) -> Self {
        Self { first, second }
    }
}

/// Upstream's pair is copied as memory, which its literal says with two alignments.
impl StructPack for Uuid {
    const BYTES_MIN: usize = 16;
    const IS_COPIED: bool = true;

    fn push_literal(literal: &mut Vec<u8>) {
        literal.extend_from_slice(&[0xfd, 0x04, 0x04, 0x89, 0x89, 0xff]);
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        self.first.encode(writer);
        self.second.encode(writer);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            first: u64::decode(reader)?,
            second: u64::decode(reader)?,
        })
    }
}

/// Upstream's text form: the two halves in decimal, joined by `-`.
impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.second)
    }
}

/// The text is not two decimal u64 joined by `-`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an id: write two decimal numbers below 2^64 joined by '-', such as 12-34")]
pub struct ParseUuidError {
    text: String,
}

impl FromStr for Uuid {
    type Err = ParseUuidError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let halves = text
            .split_once('-')
            .and_then(|(first, second)| Some(Self::new(parse_half(first)?, parse_half(second)?)));
        halves.ok_or_else(|| ParseUuidError {
            text: text.to_owned(),
        })
    }
}

/// Digits only: `u64::from_str` alone would also take a leading `+`.
fn parse_half(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

impl Serialize for Uuid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Uuid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Uuid;

    #[test]
    fn text_round_trips_and_the_rest_is_refused() {
        let id = Uuid::new(u64::MAX, 7);
        assert_eq!(id.to_string(), "18446744073709551615-7");
        assert_eq!("18446744073709551615-7".parse(), Ok(id));
        for bad in [
            "",
            "-",
            "1",
            "1-",
            "-1",
            "1-2-3",
            "+1-2",
            "1-+2",
            "18446744073709551616-0",
            "a-b",
        ] {
            assert!(bad.parse::<Uuid>().is_err(), "{bad:?} was accepted");
        }
    }
}
