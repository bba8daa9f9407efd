//! The two clocks of a host.

use crate::Span;
use serde::{Deserialize, Serialize};
use std::ops::Add;

/// Which of the two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// The wall clock; mirrors `system_clock` (`CLOCK_REALTIME`), which can be set.
    Realtime,
    /// The monotonic clock; mirrors `steady_clock` (`CLOCK_MONOTONIC`), which cannot.
    Monotonic,
}

impl Domain {
    /// The other of the two.
    pub(crate) fn other(self) -> Domain {
        match self {
            Domain::Realtime => Domain::Monotonic,
            Domain::Monotonic => Domain::Realtime,
        }
    }
}

/// An instant of the wall clock, in nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RealtimeNs(pub u64);

/// An instant of the monotonic clock, in nanoseconds since an arbitrary origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MonotonicNs(pub u64);

macro_rules! instant {
    ($name:ident) => {
        impl Add<Span> for $name {
            type Output = $name;
            fn add(self, span: Span) -> $name {
                $name(self.0.saturating_add(span.ns))
            }
        }

        impl $name {
            /// The time from `earlier` to here, zero if `earlier` lies later.
            pub fn since(self, earlier: $name) -> Span {
                Span::from_ns(self.0.saturating_sub(earlier.0))
            }
        }
    };
}

instant!(RealtimeNs);
instant!(MonotonicNs);

/// What both clocks of one actor show at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Clocks {
    /// The wall clock.
    pub realtime: RealtimeNs,
    /// The monotonic clock.
    pub monotonic: MonotonicNs,
}

impl Clocks {
    /// The reading of one of the two clocks in plain nanoseconds. Only [`crate::Rules`] compares such numbers, and
    /// always two of the same domain.
    pub(crate) fn raw(self, domain: Domain) -> u64 {
        match domain {
            Domain::Realtime => self.realtime.0,
            Domain::Monotonic => self.monotonic.0,
        }
    }

    /// Both clocks, each the later of the two.
    pub fn max_each(self, other: Clocks) -> Clocks {
        Clocks {
            realtime: self.realtime.max(other.realtime),
            monotonic: self.monotonic.max(other.monotonic),
        }
    }

    /// Both clocks moved back by `span`, stopping at zero.
    pub fn back(self, span: Span) -> Clocks {
        Clocks {
            realtime: RealtimeNs(self.realtime.0.saturating_sub(span.ns)),
            monotonic: MonotonicNs(self.monotonic.0.saturating_sub(span.ns)),
        }
    }
}

impl Add<Span> for Clocks {
    type Output = Clocks;
    fn add(self, span: Span) -> Clocks {
        Clocks {
            realtime: self.realtime + span,
            monotonic: self.monotonic + span,
        }
    }
}
