//! Who owned which bytes, when, and who touched them: the bytes lane of a report.
//!
//! A *place* is a segment, a buffer of a caller or the staging memory of a client. Its memory changes hands: each stretch
//! of time in which one owner has a range of it is an *epoch*. Epochs come from what observers saw and never from what
//! the injector says:
//!
//! - in a segment an epoch starts where a call that hands the range out is handled, and ends where the range is handed
//!   out again, is revoked, removed, replaced or lost, or where the master's state no longer shows it;
//! - a caller's buffer belongs to the operation that uses it until the result is reported, and to the caller after that;
//! - between two owners, memory belongs to [`NOBODY`]: free or in quarantine, which no observer of single ranges can tell.

mod buffers;
mod segments;

use crate::view::{Pos, View};
use moonquake_clock::Span;
use moonquake_evidence::{EventId, Evidence, Op};
use moonquake_scenario::Plan;
use serde::{Deserialize, Serialize};

/// The owner of memory that was given back and not handed out again.
pub const NOBODY: &str = "nobody";

/// Memory that has a name: a segment, a caller's buffer or a client's staging memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The segment, the caller's buffer, or `w1 staging`.
    pub name: String,
    /// Its bytes; of a buffer as many as were seen to be used.
    pub size: u64,
    /// Its epochs, in the order in which they began.
    pub epochs: Vec<Epoch>,
}

/// A stretch of time in which one owner has a range of a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// Its number within the place, from 1.
    pub number: u32,
    /// The first byte within the place.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
    /// `k by w1 (p1)` for a range that a write was given, `g1` for an operation that uses a buffer, `r1` for a caller
    /// that has its buffer back, or [`NOBODY`].
    pub owner: String,
    /// When it began, and the event that shows it.
    pub since: (Span, EventId),
    /// When it ended, if it did.
    pub until: Option<(Span, EventId)>,
    /// From when on the bytes were readable as an object: a PutEnd was handled.
    pub readable_at: Option<(Span, EventId)>,
    /// Who touched it while it lasted, in order.
    pub accesses: Vec<RegionAccess>,
}

/// An access within an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionAccess {
    /// The client that did it.
    pub who: String,
    /// In the course of which operation, if known.
    pub op: Option<Op>,
    /// Whether the bytes of this place were written or read.
    pub write: bool,
    /// The first byte within the place.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
    /// When, on the timeline's own time.
    pub at: Span,
    /// The event.
    pub id: EventId,
    /// Whether it was made by an operation that does not own this epoch (for a read: that was not told of it), or after
    /// that operation's failure.
    pub late: bool,
}

/// The places of a run with their epochs: segments first, then callers' buffers, each by name.
pub fn regions(plan: &Plan, evidence: &Evidence) -> Vec<Place> {
    View::new(plan, &evidence.events).map_or_else(Vec::new, |view| of_view(&view))
}

fn of_view(view: &View<'_>) -> Vec<Place> {
    let failed = crate::buffer::failed(view);
    let mut places = segments::places(view, &failed);
    places.extend(buffers::places(view, &failed));
    places
}

/// An epoch while it is being made.
#[derive(Clone, Debug)]
struct Tenure {
    from: u64,
    to: u64,
    owner: String,
    /// The operation that owns it, if one does.
    op: Option<Op>,
    since: Pos,
    until: Option<Pos>,
    readable: Option<Pos>,
    accesses: Vec<RegionAccess>,
}

impl Tenure {
    fn overlaps(&self, from: u64, to: u64) -> bool {
        self.from < to && from < self.to
    }

    /// Whether it lasts at `pos`; an event that begins an epoch belongs to it, one that ends it does too.
    fn covers(&self, pos: Pos) -> bool {
        self.since <= pos && self.until.is_none_or(|until| pos <= until)
    }
}

/// A place out of its tenures.
fn place(view: &View<'_>, name: &str, size: u64, mut tenures: Vec<Tenure>) -> Place {
    tenures.sort_by_key(|tenure| (tenure.since, tenure.from));
    let shown = |pos: Pos| (view.at(pos), view.id(pos));
    let epochs = tenures.into_iter().zip(1..).map(|(tenure, number)| Epoch {
        number,
        from: tenure.from,
        to: tenure.to,
        owner: tenure.owner,
        since: shown(tenure.since),
        until: tenure.until.map(shown),
        readable_at: tenure.readable.map(shown),
        accesses: tenure.accesses,
    });
    Place {
        name: name.to_owned(),
        size,
        epochs: epochs.collect(),
    }
}
