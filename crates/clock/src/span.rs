//! A length of time in whole nanoseconds.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Mul, Sub};

/// A length of time in nanoseconds, never negative. Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span {
    /// The length in nanoseconds.
    pub ns: u64,
}

/// The units that a duration may be written in, with their length in nanoseconds.
pub(crate) const UNITS: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSpanError {
    /// The text does not start with a digit, or the number does not fit.
    #[error("expected an unsigned whole number and a unit, such as 30s")]
    Number,
    /// The unit is not one of ns, us, ms, s, min, h.
    #[error("{0:?} is no unit of time; use ns, us, ms, s, min or h")]
    Unit(String),
    /// The duration exceeds about 584 years.
    #[error("the duration is too long (at most 18446744073 s)")]
    TooLong,
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span { ns: 0 };

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Span {
        Span { ns }
    }

    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span {
            ns: ms.saturating_mul(1_000_000),
        }
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Span {
        Span {
            ns: secs.saturating_mul(1_000_000_000),
        }
    }

    /// Parses an unsigned integer directly followed by a unit: `30s`, `1ns`, `5min`.
    ///
    /// # Errors
    /// When the number, the unit or the size is off.
    pub fn parse(text: &str) -> Result<Span, ParseSpanError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(ParseSpanError::Number);
        }
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| ParseSpanError::TooLong)?;
        let Some((_, ns)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(ParseSpanError::Unit(unit.to_owned()));
        };
        number
            .checked_mul(*ns)
            .map(Span::from_ns)
            .ok_or(ParseSpanError::TooLong)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span {
            ns: self.ns.saturating_add(other.ns),
        }
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span {
            ns: self.ns.saturating_sub(other.ns),
        }
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, times: u64) -> Span {
        Span {
            ns: self.ns.saturating_mul(times),
        }
    }
}

/// Prints the exact value with the largest unit that keeps it whole, seconds with a remainder in nanoseconds split
/// off: `30s`, `30s + 1ns`, `300ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: u64 = 1_000_000_000;
        if self.ns == 0 {
            return f.write_str("0s");
        }
        let (seconds, rest) = (self.ns / SECOND, self.ns % SECOND);
        if seconds > 0 && rest > SECOND / 2 && SECOND - rest < 1_000 {
            return write!(f, "{}s - {}ns", seconds + 1, SECOND - rest);
        }
        if seconds > 0 && rest > 0 && !rest.is_multiple_of(1_000_000) {
            return write!(f, "{seconds}s + {}", Span::from_ns(rest));
        }
        for (unit, ns) in [("s", SECOND), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)] {
            if self.ns.is_multiple_of(ns) {
                return write!(f, "{}{unit}", self.ns / ns);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ParseSpanError, Span};

    #[test]
    fn durations_parse_exactly_or_not_at_all() {
        assert_eq!(Span::parse("30s"), Ok(Span::from_secs(30)));
        assert_eq!(Span::parse("1ns"), Ok(Span::from_ns(1)));
        assert_eq!(Span::parse("30min"), Ok(Span::from_secs(1800)));
        assert_eq!(Span::parse("s"), Err(ParseSpanError::Number));
        assert_eq!(Span::parse("-1s"), Err(ParseSpanError::Number));
        assert_eq!(Span::parse("3 s"), Err(ParseSpanError::Unit(" s".into())));
        assert_eq!(Span::parse("1.5s"), Err(ParseSpanError::Unit(".5s".into())));
        assert_eq!(Span::parse("99999999999999h"), Err(ParseSpanError::TooLong));
        assert_eq!(
            Span::parse("99999999999999999999999s"),
            Err(ParseSpanError::TooLong)
        );
    }

    #[test]
    fn display_is_exact_and_short() {
        let shown = |ns| Span::from_ns(ns).to_string();
        assert_eq!(shown(0), "0s");
        assert_eq!(shown(30_000_000_000), "30s");
        assert_eq!(shown(30_000_000_001), "30s + 1ns");
        assert_eq!(shown(29_999_999_999), "30s - 1ns");
        assert_eq!(shown(300_000_000), "300ms");
        assert_eq!(shown(20_480_000_000), "20480ms");
    }
}
