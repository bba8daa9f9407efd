//! One event: an id, both clocks, an actor, who saw it, and what it was.

use crate::Kind;
use moonquake_clock::{Clocks, Span};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of an event within its run; prints as `e12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(pub u32);

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

/// Who saw an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Observer {
    /// The timeline: it started a step, or got its result.
    Timeline,
    /// The code that injects the fault. What it says is a claim and proves nothing.
    Injector,
    /// The frame log of the link between a client and the master.
    Link,
    /// The log of the data path at the owner of the segment.
    Owner,
    /// The master's state, read from outside (its admin endpoint), or the state of its process.
    Master,
    /// A clock, read back from the process that lives by it.
    Clock,
    /// A witness of accesses to memory.
    Witness,
}

impl Observer {
    /// One word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Observer::Timeline => "timeline",
            Observer::Injector => "injector",
            Observer::Link => "link",
            Observer::Owner => "owner",
            Observer::Master => "master",
            Observer::Clock => "clock",
            Observer::Witness => "witness",
        }
    }
}

/// The operation an event belongs to: a step of the timeline and its repetition, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Op {
    /// The index of the step in the timeline, from 0.
    pub step: u32,
    /// The repetition, from 1.
    pub repetition: u32,
}

/// Something that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its number.
    pub id: EventId,
    /// The timeline's time since the start, which a fault of dimension `clock` does not move.
    pub at: Span,
    /// What the actor's own clocks showed.
    pub clocks: Clocks,
    /// The actor it is about: a client, a node or `master`.
    pub actor: String,
    /// Who saw it.
    pub observer: Observer,
    /// The operation in whose course it happened; none for background work such as pings.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub op: Option<Op>,
    /// What happened.
    pub kind: Kind,
}
