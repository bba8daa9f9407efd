//! What was handed out of segments: to writes of keys, and as targets of copies and moves.

use super::{End, Tenure};
use crate::attempts::{Attempt, Attempts, Fate};
use crate::copies::Copy;
use crate::master_clock::MasterClock;
use crate::overlaps::InSegments;
use crate::view::{Pos, View};
use moonquake_clock::Span;
use moonquake_evidence::{Op, Range};
use std::collections::BTreeSet;

/// A range with its owner.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) range: Range,
    pub(super) tenure: Tenure,
    /// Where its memory went with the master's state.
    pub(super) lost: Option<Pos>,
    /// Whether the end of its owner may give it back at once. What was taken from an owner is quarantined in any case.
    pub(super) at_once: bool,
    /// Where the write or the copy was completed or revoked.
    settled: Option<Pos>,
    /// From when on a sweep may give it back, on the master's wall clock: while it is unfinished, and after that.
    due_unfinished: i128,
    due_settled: i128,
}

impl Grant {
    /// From when on a sweep may give it back, as things stand at `pos`.
    pub(super) fn due(&self, pos: Pos) -> i128 {
        if self.settled.is_some_and(|settled| settled <= pos) {
            self.due_settled
        } else {
            self.due_unfinished
        }
    }
}

/// The readable ranges of each state.
type Shown<'a> = Vec<(Pos, BTreeSet<&'a Range>)>;

/// Everything that was handed out, in order.
pub(super) fn grants(view: &View<'_>, attempts: &Attempts) -> Vec<Grant> {
    let clock = MasterClock::of(view);
    let states = view.states.iter();
    let shown: Shown<'_> = states
        .map(|(pos, state)| (*pos, state.keys.values().flatten().collect()))
        .collect();
    let seen = (view, &clock, &shown);
    let mut all: Vec<Grant> = Vec::new();
    for attempt in &attempts.all {
        for range in &attempt.ranges {
            all.push(of_write(seen, attempt, range));
        }
    }
    for copy in &attempts.copies.all {
        for range in &copy.targets {
            // The answer may name the source too, which has its epoch already.
            let known = all.iter().any(|grant| {
                grant.range == *range
                    && grant.tenure.since.pos <= copy.start
                    && grant.tenure.until.is_none_or(|until| until.pos > copy.start)
            });
            if !known {
                all.push(of_copy(seen, attempts, copy, range));
            }
        }
    }
    all.sort_by_key(|grant| grant.tenure.since);
    end_where_handed_out_again(&mut all);
    all
}

fn tenure(range: &Range, owner: String, op: Option<Op>, since: Pos) -> Tenure {
    let to = range.offset.saturating_add(range.size);
    Tenure::new((range.offset, to), owner, op, since)
}

fn owner(view: &View<'_>, key: &str, client: &str, op: Option<Op>) -> String {
    let op = op
        .map(|op| format!(" ({})", view.op_name(op)))
        .unwrap_or_default();
    format!("{key} by {client}{op}")
}

/// The record, the master's clock and its states.
type Sights<'a> = (&'a View<'a>, &'a MasterClock, &'a Shown<'a>);

fn of_write((view, clock, shown): Sights<'_>, attempt: &Attempt, range: &Range) -> Grant {
    let owner = owner(view, &attempt.key, &attempt.client, attempt.op);
    let mut tenure = tenure(range, owner, attempt.op, attempt.start);
    let release = i128::from(view.plan.world.timeouts.release.ns);
    let moved = attempt.moved.iter().find(|(_, taken)| taken == range);
    let moved = moved.map(|(at, _)| *at);
    // An unfinished write is given up after its instant, what is in quarantine at it.
    let due_unfinished = clock.at(view, attempt.start) + release + 1;
    let (completed, settled, at_once, due_settled) = match attempt.fate {
        None => (None, None, false, due_unfinished),
        Some(Fate::Preempted(at)) => {
            tenure.end(End::at(at));
            (None, Some(at), false, due_unfinished - 1)
        }
        Some(Fate::Overtaken(at)) => {
            tenure.end(End::at(at));
            // Unless it may have been given up before that.
            let at_master = clock.at(view, at);
            let due = if at_master < due_unfinished {
                at_master + release
            } else {
                due_unfinished
            };
            (None, Some(at), false, due)
        }
        Some(Fate::Revoked(at)) => {
            tenure.end(End::at(at));
            (None, Some(at), true, clock.at(view, at) + release)
        }
        Some(Fate::Completed(at)) => {
            let (at_once, due) = match attempt.replaced.into_iter().chain(moved).min() {
                Some(taken) => (false, clock.at(view, taken) + release),
                None => (true, last_lease(view, clock, attempt.start, range)),
            };
            (Some(at), Some(at), at_once, due)
        }
    };
    let lost = attempt.lost_of(range);
    let ends = [attempt.removed, attempt.replaced, lost, moved];
    ends.into_iter()
        .flatten()
        .filter(|at| *at > attempt.start)
        .for_each(|at| tenure.end(End::at(at)));
    readable(view, shown, &mut tenure, range, completed);
    Grant {
        range: range.clone(),
        tenure,
        lost,
        at_once,
        settled,
        due_unfinished,
        due_settled,
    }
}

fn of_copy((view, clock, shown): Sights<'_>, attempts: &Attempts, copy: &Copy, range: &Range) -> Grant {
    let owner = owner(view, &format!("copy of {}", copy.key), &copy.client, copy.op);
    let mut tenure = tenure(range, owner, copy.op, copy.start);
    let release = i128::from(view.plan.world.timeouts.release.ns);
    let due_unfinished = clock.at(view, copy.start) + release;
    let mut due_settled = due_unfinished;
    let committed = copy.over.filter(|_| copy.committed);
    let mut lost = copy.lost;
    if let Some(at) = committed {
        let added = |attempt: &&Attempt| attempt.copied.iter().any(|(pos, own)| (*pos, own) == (at, range));
        if let Some(attempt) = attempts.all.iter().find(added) {
            lost = lost.or(attempt.lost);
            let moved = attempt.moved.iter();
            let moved = moved.filter(|(pos, taken)| *pos > at && taken == range);
            let ends = [attempt.removed, attempt.replaced, attempt.lost];
            ends.into_iter()
                .flatten()
                .chain(moved.map(|(pos, _)| *pos))
                .filter(|end| *end > at)
                .for_each(|end| tenure.end(End::at(end)));
        }
        due_settled = last_lease(view, clock, at, range);
    } else if let Some(at) = copy.over {
        tenure.end(End::at(at));
        due_settled = clock.at(view, at) + release;
    }
    lost.into_iter().for_each(|at| tenure.end(End::at(at)));
    readable(view, shown, &mut tenure, range, committed);
    Grant {
        range: range.clone(),
        tenure,
        lost,
        at_once: true,
        settled: copy.over,
        due_unfinished,
        due_settled,
    }
}

/// The object is readable from there on, until a state does not show it any more. Under which key a state shows it does
/// not matter: a master that knows no tenants has names of its own.
fn readable(view: &View<'_>, shown: &Shown<'_>, tenure: &mut Tenure, range: &Range, completed: Option<Pos>) {
    tenure.readable = completed.filter(|at| *at > tenure.since.pos);
    let mut before = completed.unwrap_or(0);
    for (pos, ranges) in shown {
        if completed.is_none_or(|at| *pos < at) {
            continue;
        }
        if !ranges.contains(range) {
            tenure.end(cause(view, before, *pos));
            break;
        }
        before = *pos;
    }
}

/// What was seen to be so at `until` and not yet at `from` came about in between: by the one thing that can have done
/// it, or nobody knows by which.
pub(super) fn cause(view: &View<'_>, from: Pos, until: Pos) -> End {
    let mut acts = view.takings(from, until);
    match (acts.next(), acts.next()) {
        (Some(act), None) => End::at(act),
        _ => End {
            pos: until,
            at_the_latest: true,
        },
    }
}

/// The end of the last lease on a range, on the master's wall clock.
fn last_lease(view: &View<'_>, clock: &MasterClock, from: Pos, range: &Range) -> i128 {
    let granted = view.queries_over([range]).filter(|frame| frame.pos > from);
    granted
        .filter_map(|frame| Some(clock.at(view, frame.pos) + i128::from(Span::from_ms(frame.lease_ms?).ns)))
        .max()
        .unwrap_or(0)
}

/// A range that is handed out again has no other owner any more, whatever nobody saw of it.
fn end_where_handed_out_again(grants: &mut [Grant]) {
    let ranges: Vec<Range> = grants.iter().map(|grant| grant.range.clone()).collect();
    let index = InSegments::of(ranges.iter().zip(0..));
    for (own, range) in ranges.iter().enumerate() {
        let since = grants[own].tenure.since;
        let mut later = index
            .over(range)
            .into_iter()
            .map(|other| grants[other].tenure.since);
        let next = later.find(|other| *other > since).map(|other| End {
            pos: other.pos,
            at_the_latest: true,
        });
        next.into_iter().for_each(|next| grants[own].tenure.end(next));
    }
}
