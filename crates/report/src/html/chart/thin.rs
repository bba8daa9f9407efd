//! The picture of a long run in few marks: what failed, and what is nearest to the fault.

use crate::{ActorLane, Lanes, Point, Role};
use moonquake_evidence::EventId;
use std::collections::BTreeSet;

/// The most deadlines, and for each actor the most stretches without news.
const MAX_LINES: usize = 12;

/// Lanes with fewer marks.
#[derive(Debug)]
pub(super) struct Thin {
    pub(super) lanes: Lanes,
    /// How many operations, messages, transfers, owners and accesses stay.
    pub(super) shown: usize,
    /// How many there are.
    pub(super) all: usize,
}

/// What is kept first: what failed or came late, then what is nearest; the number tells equals apart.
type Rank = (bool, u32, usize);

/// Marks in the order of the lanes, each with its rank.
struct Ranks {
    middle: u32,
    ranks: Vec<Rank>,
}

impl Ranks {
    fn add(&mut self, matters: bool, point: Option<Point>) {
        let event = point.map_or(u32::MAX, |point| point.event.0);
        let rank = (!matters, event.abs_diff(self.middle), self.ranks.len());
        self.ranks.push(rank);
    }

    /// For each mark whether it stays.
    fn kept(self, most: usize) -> Vec<bool> {
        let mut sorted = self.ranks.clone();
        sorted.sort_unstable();
        let kept: BTreeSet<Rank> = sorted.into_iter().take(most).collect();
        self.ranks.iter().map(|rank| kept.contains(rank)).collect()
    }
}

/// At most that many marks of actors and half as many of bytes.
pub(super) fn thin(lanes: &Lanes, most: usize) -> Thin {
    let middle = middle(lanes);
    let (acts, bytes) = (acts(lanes, middle), owned(lanes, middle));
    let all = acts.ranks.len() + bytes.ranks.len();
    let (acts, bytes) = (acts.kept(most), bytes.kept(most / 2));
    let shown = acts.iter().chain(&bytes).filter(|stays| **stays).count();
    let mut lanes = lanes.clone();
    let mut stays = acts.into_iter();
    for lane in &mut lanes.actors {
        let mut next = || stays.next() == Some(true);
        lane.operations.retain(|_| next());
        lane.messages.retain(|_| next());
        lane.transfers.retain(|_| next());
        lane.changes.retain(|_| next());
    }
    let mut stays = bytes.into_iter();
    let mut next = || stays.next() == Some(true);
    for place in &mut lanes.places {
        place.epochs.retain_mut(|epoch| {
            let stays = next();
            epoch.accesses.retain(|_| next());
            stays
        });
    }
    lanes.places.retain(|place| !place.epochs.is_empty());
    tidy(&mut lanes);
    Thin { lanes, shown, all }
}

/// The event that the picture is about: the injection, else the first failure, else the start.
fn middle(lanes: &Lanes) -> u32 {
    let operations = lanes.actors.iter().flat_map(|lane| &lane.operations);
    let failed = operations
        .filter(|one| one.failed)
        .map(|one| one.began.event)
        .min();
    let fault = lanes.fault.as_ref().map(|fault| fault.at.event);
    fault.or(failed).map_or(0, |event| event.0)
}

fn acts(lanes: &Lanes, middle: u32) -> Ranks {
    let ranks = Vec::new();
    let mut ranks = Ranks { middle, ranks };
    for lane in &lanes.actors {
        for one in &lane.operations {
            ranks.add(one.failed, Some(one.began));
        }
        for one in &lane.messages {
            let at = one.sent.or(one.handled).or(one.answered).or(one.lost);
            ranks.add(one.lost.is_some(), at);
        }
        for one in &lane.transfers {
            ranks.add(false, one.opened.or(one.parts.first().copied()).or(one.closed));
        }
        for one in &lane.changes {
            ranks.add(true, Some(one.at));
        }
    }
    ranks
}

fn owned(lanes: &Lanes, middle: u32) -> Ranks {
    let ranks = Vec::new();
    let mut ranks = Ranks { middle, ranks };
    for epoch in lanes.places.iter().flat_map(|place| &place.epochs) {
        let until = epoch.until.map_or(EventId(u32::MAX), |until| until.event);
        let about = middle.clamp(epoch.since.event.0, until.0.max(epoch.since.event.0));
        let near = Point {
            at_ns: 0,
            event: EventId(about),
        };
        ranks.add(epoch.accesses.iter().any(|access| access.late), Some(near));
        for access in &epoch.accesses {
            ranks.add(access.late, Some(access.at));
        }
    }
    ranks
}

/// Leaves out actors of whom nothing is left, and lines outside of the time that is left.
fn tidy(lanes: &mut Lanes) {
    let mut needed: BTreeSet<String> = lanes.fault.iter().map(|fault| fault.target.clone()).collect();
    let transfers = lanes.actors.iter().flat_map(|lane| &lane.transfers);
    needed.extend(transfers.map(|one| one.node.split('.').next().unwrap_or_default().to_owned()));
    let is_empty = |lane: &ActorLane| {
        lane.operations.is_empty()
            && lane.messages.is_empty()
            && lane.transfers.is_empty()
            && lane.changes.is_empty()
    };
    lanes
        .actors
        .retain(|lane| lane.role == Role::Master || needed.contains(&lane.name) || !is_empty(lane));
    let (first, last) = lanes.points().fold((u64::MAX, 0), |(first, last), point| {
        (first.min(point.at_ns), last.max(point.at_ns))
    });
    lanes
        .deadlines
        .retain(|line| line.at_ns >= first && line.at_ns <= last);
    lanes.deadlines.truncate(MAX_LINES);
    for lane in &mut lanes.actors {
        lane.background
            .retain(|stretch| stretch.until_ns >= first && stretch.from_ns <= last);
        lane.background.truncate(MAX_LINES);
    }
}
