//! The epochs of the segments' ranges.

use super::gaps::gaps;
use super::grants::grants;
use super::{Lane, NOBODY, RegionAccess, Tenure, freed, index_of};
use crate::attempts::Attempts;
use crate::buffer::Failed;
use crate::lease::{self, Told};
use crate::overlaps::{InSegments, Overlaps};
use crate::view::{Landed, Pos, View};
use moonquake_evidence::{Op, Range};
use moonquake_scenario::Verb;
use std::collections::{BTreeMap, BTreeSet};

/// One place for each segment whose bytes were handed out.
pub(super) fn lanes(view: &View<'_>, failed: &Failed) -> Vec<Lane> {
    let attempts = Attempts::of(view);
    let mut owned = grants(view, &attempts);
    freed::settle(view, &mut owned);
    for grant in &mut owned {
        // A PutEnd or a commit that came after the end made nothing readable.
        let until = grant.tenure.until;
        let readable = grant.tenure.readable;
        grant.tenure.readable = readable.filter(|at| until.is_none_or(|until| until.pos >= *at));
    }
    let last = view.states.last().map_or(0, |(pos, _)| *pos);
    let landed = view.landed();
    let names: BTreeSet<&str> = owned
        .iter()
        .map(|grant| grant.range.segment.as_str())
        .chain(landed.iter().map(|landed| landed.range.segment.as_str()))
        .collect();
    let told = told_to_readers(view, &landed);
    let leases = leases_of(&told);
    let handed = Handed::of(&attempts);
    let mut lanes = Vec::new();
    for name in names {
        let here = owned.iter().filter(|grant| grant.range.segment == name);
        let mut tenures: Vec<Tenure> = here.map(|grant| grant.tenure.clone()).collect();
        tenures.extend(gaps(&tenures, last));
        tenures.sort_by_key(|tenure| (tenure.since, tenure.from));
        let index = index_of(&tenures);
        for landed in landed.iter().filter(|landed| landed.range.segment == name) {
            access(view, (&handed, &leases), failed, (&mut tenures, &index), landed);
        }
        lanes.push(Lane::new(name, size_of(view, name, &tenures), true, tenures));
    }
    lanes
}

/// The leases of each operation that reads, each with its bytes.
type Leases<'a> = BTreeMap<Op, Vec<(&'a Told, InSegments<'a>)>>;

fn told_to_readers(view: &View<'_>, landed: &[Landed<'_>]) -> BTreeMap<Op, Vec<Told>> {
    let mut told = BTreeMap::new();
    for op in landed
        .iter()
        .filter(|landed| !landed.write)
        .filter_map(|landed| landed.event.op)
    {
        told.entry(op).or_insert_with(|| lease::told_to(view, op));
    }
    told
}

fn leases_of(told: &BTreeMap<Op, Vec<Told>>) -> Leases<'_> {
    let of_op = told.iter().map(|(op, all)| {
        let leases = all
            .iter()
            .map(|told| (told, InSegments::of(told.ranges.iter().zip(0..))));
        (*op, leases.collect())
    });
    of_op.collect()
}

/// The capacity of a segment: of its node's in the plan, or as the master's state shows it.
fn size_of(view: &View<'_>, name: &str, tenures: &[Tenure]) -> u64 {
    let planned = view.plan.world.segments.iter().find(|(node, _)| node == name);
    let planned = planned.map(|(_, size)| *size);
    let seen = view
        .states
        .iter()
        .find_map(|(_, state)| state.segments.get(name).copied());
    let used = tenures.iter().map(|tenure| tenure.to).max().unwrap_or(0);
    planned.or(seen).unwrap_or(0).max(used)
}

/// Enters a part of a payload into every epoch that it touched.
fn access(
    view: &View<'_>,
    (handed, leases): (&Handed<'_>, &Leases<'_>),
    failed: &Failed,
    (tenures, index): (&mut [Tenure], &Overlaps),
    landed: &Landed<'_>,
) {
    let (from, to) = (
        landed.range.offset,
        landed.range.offset.saturating_add(landed.range.size),
    );
    let op = landed.event.op;
    let after_failure = op
        .and_then(|op| failed.get(&op))
        .is_some_and(|(end, _)| landed.pos > *end);
    let there = index.over(from, to);
    let rightful = if landed.write {
        writer(view, handed, landed)
    } else {
        told(leases, there.iter().map(|number| &tenures[*number]), landed)
    };
    let leased = !landed.write && lease_lives(leases, landed);
    for number in there {
        let tenure = &mut tenures[number];
        if !tenure.covers(landed.pos) {
            continue;
        }
        let own = rightful == Some(tenure.since.pos) || (leased && tenure.owner == NOBODY);
        tenure.touches.push((
            landed.pos,
            RegionAccess {
                who: landed.event.actor.clone(),
                op,
                write: landed.write,
                from: from.max(tenure.from),
                to: to.min(tenure.to),
                at: landed.event.at,
                id: landed.event.id,
                late: after_failure || !own,
            },
        ));
    }
}

/// Where the epoch began that a writer was given: that of its own attempt or copy, or of the session that it writes for.
fn writer(view: &View<'_>, handed: &Handed<'_>, landed: &Landed<'_>) -> Option<Pos> {
    let op = landed.event.op?;
    let here = handed.before(landed);
    if let Some((start, ..)) = here.iter().find(|(_, whose, _)| *whose == op) {
        return Some(*start);
    }
    let action = view.action(op).filter(|action| action.verb == Verb::PutWrite)?;
    let session = match action.use_step {
        Some(step) => u32::try_from(step).ok(),
        None => handed
            .all
            .iter()
            .filter(|(start, ..)| *start < landed.pos)
            .map(|(_, whose, _)| *whose)
            .filter(|whose| view.action(*whose).and_then(|action| action.who.as_ref()) == action.who.as_ref())
            .map(|whose| whose.step)
            .max(),
    };
    here.iter()
        .find(|(_, whose, _)| Some(whose.step) == session)
        .map(|(start, ..)| *start)
}

/// Where ranges were handed out, to which operation, and which.
type Hand<'a> = (Pos, Op, &'a [Range]);

/// What writes and copies were given, the latest first.
struct Handed<'a> {
    all: Vec<Hand<'a>>,
    ranges: InSegments<'a>,
}

impl<'a> Handed<'a> {
    fn of(attempts: &'a Attempts) -> Handed<'a> {
        let writes = attempts.all.iter();
        let writes = writes.filter_map(|write| Some((write.start, write.op?, write.ranges.as_slice())));
        let copies = attempts.copies.all.iter();
        let copies = copies.filter_map(|copy| Some((copy.start, copy.op?, copy.targets.as_slice())));
        let mut all: Vec<Hand<'a>> = writes.chain(copies).collect();
        all.sort_by_key(|(start, ..)| std::cmp::Reverse(*start));
        let ranges = all.iter().zip(0..);
        let ranges = ranges.flat_map(|((.., ranges), place)| ranges.iter().map(move |range| (range, place)));
        Handed {
            ranges: InSegments::of(ranges),
            all,
        }
    }

    /// Those of bytes that landed, from before they did.
    fn before(&self, landed: &Landed<'_>) -> Vec<Hand<'a>> {
        let here = self.ranges.over(landed.range).into_iter();
        let here = here.filter_map(|place| self.all.get(place));
        here.filter(|(start, ..)| *start < landed.pos).copied().collect()
    }
}

/// Where the epoch began that a reader was told of: of those with its bytes, the one that lasted when its query was handled.
fn told<'a>(
    leases: &Leases<'_>,
    mut there: impl Iterator<Item = &'a Tenure>,
    landed: &Landed<'_>,
) -> Option<Pos> {
    let leases = leases.get(&landed.event.op?)?.iter();
    let (told, _) = leases
        .filter(|(told, _)| told.granted < landed.pos)
        .max_by_key(|(told, _)| told.granted)?;
    let tenure = there.find(|tenure| tenure.owner != NOBODY && tenure.covers(told.granted));
    tenure.map(|tenure| tenure.since.pos)
}

/// Whether a lease that the reader was told still lives: nobody owns such bytes, and it may read them.
fn lease_lives(leases: &Leases<'_>, landed: &Landed<'_>) -> bool {
    let own = landed.event.op.and_then(|op| leases.get(&op));
    own.into_iter()
        .flatten()
        .any(|(told, ranges)| landed.event.at < told.until && !ranges.over(landed.range).is_empty())
}
