//! The run as two lanes of time: what each actor did, and who owned, wrote and read which bytes.
//!
//! This is the content; where it is drawn is the business of `html::chart`.

mod actors;
mod build;
mod deadlines;
mod places;

pub(crate) use build::lanes;

use moonquake_evidence::EventId;
use serde::Serialize;

/// Both lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lanes {
    /// The master, the clients, the nodes, and what the timeline itself looked at.
    pub actors: Vec<ActorLane>,
    /// Segments and buffers whose bytes changed hands.
    pub places: Vec<PlaceLane>,
    /// Deadlines that the scenario or a lease names, in order of time.
    pub deadlines: Vec<DeadlineLine>,
    /// The injection.
    pub fault: Option<FaultLine>,
}

impl Lanes {
    /// Every event that the lanes name, in no order and some of them several times.
    pub fn events(&self) -> impl Iterator<Item = EventId> + '_ {
        self.points().map(|point| point.event)
    }

    pub(crate) fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let actors = self.actors.iter().flat_map(ActorLane::points);
        let epochs = self.places.iter().flat_map(|place| &place.epochs);
        let fault = self.fault.iter().map(|fault| fault.at);
        actors.chain(epochs.flat_map(Epoch::points)).chain(fault)
    }
}

impl ActorLane {
    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let operations = self
            .operations
            .iter()
            .flat_map(|one| [Some(one.began), one.ended]);
        let messages = self
            .messages
            .iter()
            .flat_map(|one| [one.sent, one.handled, one.answered, one.lost]);
        let transfers = self.transfers.iter();
        let moved = transfers.flat_map(|one| {
            one.parts
                .iter()
                .copied()
                .map(Some)
                .chain([one.opened, one.closed])
        });
        let changes = self.changes.iter().map(|one| Some(one.at));
        operations.chain(messages).chain(moved).chain(changes).flatten()
    }
}

impl Epoch {
    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let ends = [Some(self.since), self.until, self.readable_at];
        ends.into_iter()
            .flatten()
            .chain(self.accesses.iter().map(|access| access.at))
    }
}

/// A moment: a time, and the event that happened then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Point {
    /// From the start, in nanoseconds.
    pub at_ns: u64,
    /// The event.
    pub event: EventId,
}

/// What an actor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The timeline's own steps: checks and waits.
    Timeline,
    /// The master.
    Master,
    /// A client without a segment.
    Client,
    /// A node: a client with a segment.
    Node,
}

/// What one actor did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActorLane {
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Operations, checks and ticks, from begin to result.
    pub operations: Vec<Operation>,
    /// Requests it sent to the master.
    pub messages: Vec<Message>,
    /// Transfers it began.
    pub transfers: Vec<Transfer>,
    /// What became of it: killed, frozen, resumed, started, and its clock where the fault steps one.
    pub changes: Vec<Change>,
    /// Stretches without news: pings, repetitions that came out alike.
    pub background: Vec<Stretch>,
}

/// An operation from its begin to its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// The step's id or number.
    pub step: String,
    /// The step in words.
    pub text: String,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// Where it began.
    pub began: Point,
    /// Where its result was reported; none if it never was.
    pub ended: Option<Point>,
    /// Its result.
    pub outcome: String,
    /// Whether an expectation of the scenario failed here.
    pub failed: bool,
    /// Whether it is one round of a thread of the master.
    pub tick: bool,
}

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Upstream's name of the call.
    pub rpc: String,
    /// The key it names.
    pub key: String,
    /// Where it left the client.
    pub sent: Option<Point>,
    /// Where the master handled it.
    pub handled: Option<Point>,
    /// Where the answer arrived.
    pub answered: Option<Point>,
    /// Where it, its answer or its connection was lost.
    pub lost: Option<Point>,
    /// The answer's code; empty where none was seen.
    pub code: String,
}

/// A transfer between a client and the owner of a range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transfer {
    /// Whether bytes go to the owner.
    pub write: bool,
    /// The node at the other end.
    pub node: String,
    /// The range in words.
    pub range: String,
    /// Where it opened.
    pub opened: Option<Point>,
    /// The first and the last part that landed.
    pub parts: Vec<Point>,
    /// Where it ended.
    pub closed: Option<Point>,
    /// How it ended; empty where nobody saw it.
    pub how: String,
}

/// Something became of an actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// When.
    pub at: Point,
    /// `killed`, `frozen`, `resumed`, `started`, `stopped`, `clock`.
    pub what: String,
    /// More about it.
    pub detail: String,
}

/// A stretch of time without news.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// From when.
    pub from_ns: u64,
    /// Until when.
    pub until_ns: u64,
    /// What went on.
    pub text: String,
}

/// A segment or buffer with its owners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlaceLane {
    /// The segment, the caller's buffer, or a block of staging memory.
    pub name: String,
    /// Whether it is a segment, whose ranges become readable; a buffer has only users.
    pub segment: bool,
    /// Its size in bytes.
    pub size: u64,
    /// Its owners, in order.
    pub epochs: Vec<Epoch>,
}

/// One owner of a range of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Epoch {
    /// Its number within the place.
    pub number: u32,
    /// The first byte.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
    /// The owner in words, such as `k by w1 (p1)`.
    pub owner: String,
    /// Whether nobody owns it.
    pub nobody: bool,
    /// How memory stands that nobody owns: `in quarantine`, `free`, or `free or in quarantine` where nobody looked.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub idle: &'static str,
    /// Since when.
    pub since: Point,
    /// Whether it may have begun earlier: then it was seen.
    pub since_at_the_latest: bool,
    /// Until when; none if to the end.
    pub until: Option<Point>,
    /// Whether it may have ended earlier: then it was seen to be over.
    pub until_at_the_latest: bool,
    /// From when on others may read it.
    pub readable_at: Option<Point>,
    /// Accesses while this owner had the bytes.
    pub accesses: Vec<RegionAccess>,
}

/// An access to bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RegionAccess {
    /// Who did it.
    pub who: String,
    /// In the course of which step; empty if unknown.
    pub step: String,
    /// Whether bytes were written.
    pub write: bool,
    /// The first byte.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
    /// When.
    pub at: Point,
    /// Whether by somebody who had no right any more.
    pub late: bool,
}

/// A deadline that falls into the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadlineLine {
    /// When it falls due, from the start.
    pub at_ns: u64,
    /// What it is, such as `p1 + discard`.
    pub text: String,
}

/// The injection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FaultLine {
    /// When.
    pub at: Point,
    /// The actor it is done to.
    pub target: String,
    /// What is done, in a few words.
    pub text: String,
}
