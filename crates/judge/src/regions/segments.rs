//! The epochs of the segments' ranges.

use super::gaps::gaps;
use super::grants::grants;
use super::{Lane, NOBODY, RegionAccess, Tenure, freed};
use crate::attempts::Attempts;
use crate::buffer::Failed;
use crate::lease::{self, Told};
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
    let leases = leases_of(view, &landed);
    let mut lanes = Vec::new();
    for name in names {
        let here = owned.iter().filter(|grant| grant.range.segment == name);
        let mut tenures: Vec<Tenure> = here.map(|grant| grant.tenure.clone()).collect();
        tenures.extend(gaps(&tenures, last));
        tenures.sort_by_key(|tenure| (tenure.since, tenure.from));
        for landed in landed.iter().filter(|landed| landed.range.segment == name) {
            access(view, (&attempts, &leases), failed, &mut tenures, landed);
        }
        lanes.push(Lane::new(name, size_of(view, name, &tenures), true, tenures));
    }
    lanes
}

/// The leases of each operation that reads.
type Leases = BTreeMap<Op, Vec<Told>>;

fn leases_of(view: &View<'_>, landed: &[Landed<'_>]) -> Leases {
    let mut leases = Leases::new();
    for op in landed
        .iter()
        .filter(|landed| !landed.write)
        .filter_map(|landed| landed.event.op)
    {
        leases.entry(op).or_insert_with(|| lease::told_to(view, op));
    }
    leases
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
    (attempts, leases): (&Attempts, &Leases),
    failed: &Failed,
    tenures: &mut [Tenure],
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
    let rightful = if landed.write {
        writer(view, attempts, landed)
    } else {
        told(leases, tenures, landed)
    };
    let leased = !landed.write && lease_lives(leases, landed);
    for tenure in tenures
        .iter_mut()
        .filter(|tenure| tenure.covers(landed.pos) && tenure.overlaps(from, to))
    {
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
fn writer(view: &View<'_>, attempts: &Attempts, landed: &Landed<'_>) -> Option<Pos> {
    let op = landed.event.op?;
    let handed = handed_out(attempts, landed.pos);
    let here = |one: &&Handed<'_>| one.2.iter().any(|range| range.overlaps(landed.range));
    let own = handed.iter().filter(here).find(|(_, whose, _)| *whose == op);
    if let Some((start, ..)) = own {
        return Some(*start);
    }
    let action = view.action(op).filter(|action| action.verb == Verb::PutWrite)?;
    let session = match action.use_step {
        Some(step) => u32::try_from(step).ok(),
        None => handed
            .iter()
            .map(|(_, whose, _)| *whose)
            .filter(|whose| view.action(*whose).and_then(|action| action.who.as_ref()) == action.who.as_ref())
            .map(|whose| whose.step)
            .max(),
    };
    let mut of_session = handed.iter().filter(here);
    of_session
        .find(|(_, whose, _)| Some(whose.step) == session)
        .map(|(start, ..)| *start)
}

/// Where ranges were handed out, to which operation, and which.
type Handed<'a> = (Pos, Op, &'a [Range]);

/// What writes and copies were given before `pos`, the latest first.
fn handed_out(attempts: &Attempts, pos: Pos) -> Vec<Handed<'_>> {
    let writes = attempts.all.iter();
    let writes = writes.filter_map(|write| Some((write.start, write.op?, write.ranges.as_slice())));
    let copies = attempts.copies.all.iter();
    let copies = copies.filter_map(|copy| Some((copy.start, copy.op?, copy.targets.as_slice())));
    let mut all: Vec<Handed<'_>> = writes.chain(copies).filter(|(start, ..)| *start < pos).collect();
    all.sort_by_key(|(start, ..)| std::cmp::Reverse(*start));
    all
}

/// Where the epoch began that a reader was told of: the one that lasted when its query was handled.
fn told(leases: &Leases, tenures: &[Tenure], landed: &Landed<'_>) -> Option<Pos> {
    let (from, to) = (
        landed.range.offset,
        landed.range.offset.saturating_add(landed.range.size),
    );
    let leases = leases.get(&landed.event.op?)?;
    let told = leases
        .iter()
        .filter(|told| told.granted < landed.pos)
        .max_by_key(|told| told.granted)?;
    let there = tenures
        .iter()
        .find(|tenure| tenure.owner != NOBODY && tenure.covers(told.granted) && tenure.overlaps(from, to));
    there.map(|tenure| tenure.since.pos)
}

/// Whether a lease that the reader was told still lives: nobody owns such bytes, and it may read them.
fn lease_lives(leases: &Leases, landed: &Landed<'_>) -> bool {
    let own = landed.event.op.and_then(|op| leases.get(&op));
    own.into_iter().flatten().any(|told| {
        landed.event.at < told.until && told.ranges.iter().any(|range| range.overlaps(landed.range))
    })
}
