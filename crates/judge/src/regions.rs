//! Who owned which bytes, when, and who touched them: the bytes lane of a report.
//!
//! A *place* is a segment, a buffer of a caller or the staging memory of a client. Its memory changes hands: each stretch
//! of time in which one owner has a range of it is an *epoch*. Epochs come from what observers saw and never from what
//! the injector says:
//!
//! - in a segment an epoch starts where a call that hands the range out is handled, and ends where the range is handed
//!   out again, is revoked, removed, replaced or lost, or where the master's state no longer shows it;
//! - a caller's buffer belongs to the operation that uses it until the result is reported, and to the caller after that;
//! - a block of staging memory belongs to the operation that took it, until its result is reported;
//! - between two owners, memory belongs to [`NOBODY`]. In a segment it is in quarantine as long as the master still
//!   counts it as allocated, and free after that.
//!
//! No observer sees single ranges being given back. The master's state has the sum of all allocated bytes and the
//! readable ranges, and a sum that falls tells which of the ranges known to be handed out went: see `freed`. Where more
//! than one call or round can have done it, an epoch ends with the state that shows it, *at the latest*.

mod buffers;
mod freed;
mod gaps;
mod grants;
mod segments;
mod staging;

use crate::overlaps::Overlaps;
use crate::view::{Pos, Transfer, View};
use crate::{Hit, Touch};
use moonquake_clock::Span;
use moonquake_evidence::{EventId, Evidence, Kind, Op};
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
    /// Why nobody owns it, where nobody does.
    pub idle: Option<Idle>,
    /// When it began, and the event that shows it.
    pub since: (Span, EventId),
    /// Whether it may have begun earlier: that is when it was seen.
    pub since_at_the_latest: bool,
    /// When it ended, if it did.
    pub until: Option<(Span, EventId)>,
    /// Whether it may have ended earlier: that is when it was seen to be over.
    pub until_at_the_latest: bool,
    /// From when on the bytes were readable as an object: a PutEnd was handled.
    pub readable_at: Option<(Span, EventId)>,
    /// Who touched it while it lasted, in order.
    pub accesses: Vec<RegionAccess>,
}

/// How memory stands that belongs to [`NOBODY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Idle {
    /// The master still counts it as allocated, and hands it out to nobody.
    Quarantined,
    /// It can be handed out.
    Free,
    /// The master's state was not read any more, so nobody knows which of the two it is.
    Unknown,
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

/// The places of a run with their epochs: segments first, then callers' buffers, then staging memory, each by name.
pub fn regions(plan: &Plan, evidence: &Evidence) -> Vec<Place> {
    View::new(plan, &evidence.events).map_or_else(Vec::new, |view| Lanes::of(&view).shown(&view))
}

/// The same, while the judge works with it.
pub(crate) struct Lanes(Vec<Lane>);

/// A place with its tenures, in the order in which they began.
pub(crate) struct Lane {
    name: String,
    size: u64,
    /// Whether it is the memory of a node, and not a client's.
    segment: bool,
    tenures: Vec<Tenure>,
    /// The tenures by their bytes.
    index: Overlaps,
    /// The accesses of all tenures by their bytes, in the order of the tenures.
    accesses: Overlaps,
    /// The tenure of each access, and its place there.
    places: Vec<(usize, usize)>,
}

/// An epoch by places in the record.
#[derive(Clone, Debug)]
pub(crate) struct Tenure {
    from: u64,
    to: u64,
    owner: String,
    /// The operation that owns it, if one does.
    op: Option<Op>,
    idle: Option<Idle>,
    since: End,
    until: Option<End>,
    readable: Option<Pos>,
    /// Where the allocator got a segment's bytes back, if it was seen to.
    freed: Option<End>,
    touches: Vec<(Pos, RegionAccess)>,
}

/// A place in the record at which an epoch ends or begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    pos: Pos,
    /// Whether it was so by then, and may have been earlier.
    at_the_latest: bool,
}

impl End {
    fn at(pos: Pos) -> End {
        End {
            pos,
            at_the_latest: false,
        }
    }
}

impl Tenure {
    fn new((from, to): (u64, u64), owner: String, op: Option<Op>, since: Pos) -> Tenure {
        Tenure {
            from,
            to,
            owner,
            op,
            idle: None,
            since: End::at(since),
            until: None,
            readable: None,
            freed: None,
            touches: Vec::new(),
        }
    }

    /// It ends there unless it ended before; never before it began.
    fn end(&mut self, mut at: End) {
        at.pos = at.pos.max(self.since.pos);
        self.until = Some(self.until.map_or(at, |until| until.min(at)));
    }

    fn overlaps(&self, from: u64, to: u64) -> bool {
        self.from < to && from < self.to
    }

    /// Whether it lasts at `pos`; an event that begins an epoch belongs to it, one that ends it does too.
    fn covers(&self, pos: Pos) -> bool {
        self.since.pos <= pos && self.until.is_none_or(|until| pos <= until.pos)
    }
}

/// The tenures by their bytes, which never change.
fn index_of(tenures: &[Tenure]) -> Overlaps {
    let bytes = tenures.iter().zip(0..);
    Overlaps::of(bytes.map(|(tenure, number)| (tenure.from, tenure.to, number)))
}

impl Lane {
    fn new(name: &str, size: u64, segment: bool, mut tenures: Vec<Tenure>) -> Lane {
        tenures.sort_by_key(|tenure| (tenure.since, tenure.from));
        let places: Vec<(usize, usize)> = (tenures.iter().zip(0..))
            .flat_map(|(tenure, number)| (0..tenure.touches.len()).map(move |place| (number, place)))
            .collect();
        let access = |(number, place): (usize, usize)| &tenures[number].touches[place].1;
        let bytes = places.iter().zip(0..);
        let bytes = bytes.map(|(at, index)| (access(*at).from, access(*at).to, index));
        Lane {
            accesses: Overlaps::of(bytes),
            index: index_of(&tenures),
            name: name.to_owned(),
            size,
            segment,
            tenures,
            places,
        }
    }
}

/// The place of the bytes of a name: those of the segment that its range lies in, or its own.
pub(crate) fn place_of<'a>(view: &View<'a>, name: &'a str, (from, to): (u64, u64)) -> (&'a str, (u64, u64)) {
    match view.bound.get(name) {
        Some((_, Some(range))) => {
            let at = |byte: u64| range.offset.saturating_add(byte);
            (range.segment.as_str(), (at(from), at(to)))
        }
        _ => (name, (from, to)),
    }
}

impl Lanes {
    pub(crate) fn of(view: &View<'_>) -> Lanes {
        let failed = crate::buffer::failed(view);
        let mut lanes = segments::lanes(view, &failed);
        lanes.extend(buffers::lanes(view, &failed));
        lanes.extend(staging::lanes(view, &failed));
        Lanes(lanes)
    }

    /// To whom bytes of a place belonged at `pos`.
    pub(crate) fn hits(&self, view: &View<'_>, place: &str, (from, to): (u64, u64), pos: Pos) -> Vec<Hit> {
        let lane = self.0.iter().filter(|lane| lane.name == place);
        let numbered = lane.flat_map(|lane| {
            let there = lane.index.over(from, to).into_iter();
            there.map(|number| {
                (
                    &lane.tenures[number],
                    u32::try_from(number + 1).unwrap_or(u32::MAX),
                )
            })
        });
        // Where an event ends one epoch and begins another, the newer one counts.
        let there = numbered
            .filter(|(tenure, _)| tenure.covers(pos) && tenure.until.is_none_or(|until| until.pos != pos));
        there
            .map(|(tenure, epoch)| Hit {
                place: place.to_owned(),
                from: from.max(tenure.from),
                to: to.min(tenure.to),
                owner: tenure.owner.clone(),
                epoch,
                since: (view.at(tenure.since.pos), view.id(tenure.since.pos)),
            })
            .collect()
    }

    /// Whose memory an access hit: what a part of a payload was written to, or what a witness saw.
    pub(crate) fn hits_of(&self, view: &View<'_>, pos: Pos) -> Vec<Hit> {
        let (place, from, to) = match &view.events[pos].kind {
            Kind::Payload {
                write: true, range, ..
            } => (
                range.segment.clone(),
                range.offset,
                range.offset.saturating_add(range.size),
            ),
            Kind::Payload {
                transfer, from, to, ..
            } => {
                let Some((place, first)) = view.transfers.get(transfer).and_then(Transfer::client_end) else {
                    return Vec::new();
                };
                (place, first.saturating_add(*from), first.saturating_add(*to))
            }
            Kind::Access { buffer, from, to, .. } => {
                let (place, bytes) = place_of(view, buffer, (*from, *to));
                (place.to_owned(), bytes.0, bytes.1)
            }
            _ => return Vec::new(),
        };
        self.hits(view, &place, (from, to), pos)
    }

    /// Whether an access to a name is late in the lane of its place. What a witness saw and what the owner's log has of
    /// the same access are one: operation, time, direction and bytes tell so.
    pub(crate) fn is_late(&self, view: &View<'_>, name: &str, pos: Pos, touch: &Touch) -> bool {
        let (place, (from, to)) = place_of(view, name, (touch.from, touch.to));
        let lane = self.0.iter().filter(|lane| lane.name == place);
        let there = lane.flat_map(|lane| {
            let places = lane
                .accesses
                .over(from, to)
                .into_iter()
                .map(|index| lane.places[index]);
            places.map(|(number, place)| &lane.tenures[number].touches[place])
        });
        let alike = there
            .filter(|(_, access)| (access.op, access.at, access.write) == (touch.op, touch.at, touch.write));
        // The same operation may touch the bytes again at the same instant, and be late by then.
        let nearest = alike.min_by_key(|(seen, access)| (seen.abs_diff(pos), !access.late));
        nearest.is_some_and(|(_, access)| access.late)
    }

    /// The accesses to the client's end of an operation's memory while the operation had it.
    pub(crate) fn while_owned_by(&self, op: Op) -> impl Iterator<Item = (&str, Pos, &RegionAccess)> {
        let tenures = self.0.iter().filter(|lane| !lane.segment).flat_map(|lane| {
            lane.tenures
                .iter()
                .map(move |tenure| (lane.name.as_str(), tenure))
        });
        tenures
            .filter(move |(_, tenure)| tenure.op == Some(op))
            .flat_map(|(name, tenure)| {
                tenure
                    .touches
                    .iter()
                    .map(move |(pos, access)| (name, *pos, access))
            })
    }

    fn shown(self, view: &View<'_>) -> Vec<Place> {
        let shown = |pos: Pos| (view.at(pos), view.id(pos));
        let epoch = |(tenure, number): (Tenure, u32)| Epoch {
            number,
            from: tenure.from,
            to: tenure.to,
            owner: tenure.owner,
            idle: tenure.idle,
            since: shown(tenure.since.pos),
            since_at_the_latest: tenure.since.at_the_latest,
            until: tenure.until.map(|until| shown(until.pos)),
            until_at_the_latest: tenure.until.is_some_and(|until| until.at_the_latest),
            readable_at: tenure.readable.map(shown),
            accesses: tenure.touches.into_iter().map(|(_, access)| access).collect(),
        };
        let place = |lane: Lane| Place {
            name: lane.name,
            size: lane.size,
            epochs: lane.tenures.into_iter().zip(1..).map(epoch).collect(),
        };
        self.0.into_iter().map(place).collect()
    }
}
