//! The epochs of the segments' ranges.

use super::gaps::gaps;
use super::{Lane, NOBODY, RegionAccess, Tenure};
use crate::attempts::{Attempt, Attempts, Fate};
use crate::buffer::Failed;
use crate::lease::{self, Told};
use crate::rpc;
use crate::view::{Landed, Pos, View};
use moonquake_evidence::{Leg, Op, Range};
use moonquake_scenario::Verb;
use std::collections::{BTreeMap, BTreeSet};

/// One place for each segment whose bytes were handed out.
pub(super) fn lanes(view: &View<'_>, failed: &Failed) -> Vec<Lane> {
    let attempts = Attempts::of(view);
    let mut owned = grants(view, &attempts);
    end_where_handed_out_again(&mut owned);
    let landed = view.landed();
    let names: BTreeSet<&str> = owned
        .iter()
        .map(|(range, _)| range.segment.as_str())
        .chain(landed.iter().map(|landed| landed.range.segment.as_str()))
        .collect();
    let leases = leases_of(view, &landed);
    let mut lanes = Vec::new();
    for name in names {
        let here = owned.iter().filter(|(range, _)| range.segment == name);
        let mut tenures: Vec<Tenure> = here.map(|(_, tenure)| tenure.clone()).collect();
        tenures.extend(gaps(&tenures));
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

/// What was handed out, in order: to writes of keys, and as targets of copies.
fn grants(view: &View<'_>, attempts: &Attempts) -> Vec<(Range, Tenure)> {
    let mut all: Vec<(Range, Tenure)> = Vec::new();
    for attempt in &attempts.all {
        for range in &attempt.ranges {
            all.push((range.clone(), granted(view, attempt, range)));
        }
    }
    for frame in &view.frames {
        let copies = frame.leg == Leg::RequestHandled && rpc::is_replication_start(frame.rpc);
        for range in frame.ranges.iter().filter(|_| copies && frame.code == Some("ok")) {
            // The answer names the source too, which has its epoch already.
            if !all.iter().any(|(known, tenure)| {
                known == range
                    && tenure.since <= frame.pos
                    && tenure.until.is_none_or(|until| until > frame.pos)
            }) {
                let key = frame.key.unwrap_or("a key");
                let owner = owner(
                    view,
                    &format!("copy of {key}"),
                    &frame.event.actor,
                    frame.event.op,
                );
                all.push((range.clone(), tenure(range, owner, frame.event.op, frame.pos)));
            }
        }
    }
    all.sort_by_key(|(_, tenure)| tenure.since);
    all
}

fn tenure(range: &Range, owner: String, op: Option<Op>, since: Pos) -> Tenure {
    Tenure {
        from: range.offset,
        to: range.offset.saturating_add(range.size),
        owner,
        op,
        since,
        until: None,
        readable: None,
        touches: Vec::new(),
    }
}

fn owner(view: &View<'_>, key: &str, client: &str, op: Option<Op>) -> String {
    let op = op
        .map(|op| format!(" ({})", view.op_name(op)))
        .unwrap_or_default();
    format!("{key} by {client}{op}")
}

fn granted(view: &View<'_>, attempt: &Attempt, range: &Range) -> Tenure {
    let owner = owner(view, &attempt.key, &attempt.client, attempt.op);
    let mut tenure = tenure(range, owner, attempt.op, attempt.start);
    let (ended, completed) = match attempt.fate {
        Some(Fate::Completed(at)) => (None, Some(at)),
        Some(Fate::Revoked(at) | Fate::Preempted(at)) => (Some(at), None),
        None => (None, None),
    };
    tenure.readable = completed.filter(|at| *at > attempt.start);
    let vanished = completed.and_then(|at| {
        let state = view.states.iter().find(|(pos, state)| {
            let shown = state
                .keys
                .get(&attempt.key)
                .is_some_and(|ranges| ranges.contains(range));
            *pos > at && !shown
        });
        state.map(|(pos, _)| *pos)
    });
    let unmounted = view
        .states
        .iter()
        .find(|(pos, state)| *pos > attempt.start && !state.segments.contains_key(&range.segment));
    tenure.until = [
        ended,
        attempt.removed,
        attempt.replaced,
        attempt.lost,
        vanished,
        unmounted.map(|(pos, _)| *pos),
    ]
    .into_iter()
    .flatten()
    .filter(|at| *at > attempt.start)
    .min();
    if tenure
        .readable
        .is_some_and(|at| tenure.until.is_some_and(|until| until < at))
    {
        tenure.readable = None;
    }
    tenure
}

/// A range that is handed out again has no other owner any more, whatever nobody saw of it.
fn end_where_handed_out_again(owned: &mut [(Range, Tenure)]) {
    for index in 0..owned.len() {
        let (range, since) = (owned[index].0.clone(), owned[index].1.since);
        let next = owned
            .iter()
            .find(|(other, tenure)| tenure.since > since && other.overlaps(&range));
        let next = next.map(|(_, tenure)| tenure.since);
        let tenure = &mut owned[index].1;
        tenure.until = [tenure.until, next].into_iter().flatten().min();
    }
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
        let own = rightful == Some(tenure.since) || (leased && tenure.owner == NOBODY);
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

/// Where the epoch began that a writer was given: that of its own attempt, or of the session that it writes for.
fn writer(view: &View<'_>, attempts: &Attempts, landed: &Landed<'_>) -> Option<Pos> {
    let op = landed.event.op?;
    let before = || {
        attempts
            .all
            .iter()
            .rev()
            .filter(|attempt| attempt.start < landed.pos)
    };
    let own = before().find(|attempt| attempt.op == Some(op) && attempt.overlaps(landed.range));
    if let Some(own) = own {
        return Some(own.start);
    }
    let action = view.action(op).filter(|action| action.verb == Verb::PutWrite)?;
    let session = match action.use_step {
        Some(step) => u32::try_from(step).ok(),
        None => before()
            .filter(|attempt| Some(attempt.client.as_str()) == action.who.as_deref())
            .filter_map(|attempt| attempt.op.map(|op| op.step))
            .max(),
    };
    before()
        .find(|attempt| attempt.op.map(|op| op.step) == session && attempt.overlaps(landed.range))
        .map(|attempt| attempt.start)
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
    there.map(|tenure| tenure.since)
}

/// Whether a lease that the reader was told still lives: nobody owns such bytes, and it may read them.
fn lease_lives(leases: &Leases, landed: &Landed<'_>) -> bool {
    let own = landed.event.op.and_then(|op| leases.get(&op));
    own.into_iter().flatten().any(|told| {
        landed.event.at < told.until && told.ranges.iter().any(|range| range.overlaps(landed.range))
    })
}
