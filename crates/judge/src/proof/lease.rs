//! Lease: both sides of the boundary were visited; or the transfer was open across the deadline.

use super::phase::Done;
use super::{Gathered, clock, network, stimulus, trigger};
use crate::instant;
use crate::lease::{self, Told};
use crate::view::{Pos, View};
use moonquake_clock::Span;
use moonquake_evidence::Op;
use moonquake_scenario::{Instant, What};

/// A step that visited the boundary: its operation and the place at which it was acted on.
struct Visit {
    op: Op,
    pos: Pos,
}

/// The boundary itself is the fault: steps ran before it and at or after it, and the clock of the actor whose
/// comparison is put to the test agrees with the timeline at both.
pub(crate) fn deadline(gathered: &mut Gathered<'_, '_>, wanted: &Instant) {
    let view = gathered.view;
    let Some(resolved) = instant::resolve(view, wanted) else {
        gathered.lacks(format!("{} never came to be", wanted.text), None);
        return;
    };
    if let Some(base) = resolved.base {
        gathered.saw(format!("{} is {}", wanted.text, resolved.at), [base]);
    }
    let visits = visits(view, resolved.base);
    let at = |visit: &&Visit| view.at(visit.pos);
    // A strict deadline is told apart at the instant itself and after it, so the instant counts for either side.
    let before = visits
        .iter()
        .rfind(|visit| at(visit) < resolved.at)
        .or_else(|| visits.iter().find(|visit| at(visit) == resolved.at));
    let after = visits.iter().find(|visit| {
        at(visit) >= resolved.at && before.is_none_or(|before| view.at(before.pos) < at(visit))
    });
    for (visit, side) in [(before, "before"), (after, "after")] {
        match visit {
            Some(visit) => visited(gathered, visit, resolved.at),
            None => gathered.lacks(
                format!("no step visited the side {side} {}", wanted.text),
                resolved.base,
            ),
        }
    }
}

/// What the timeline did after `base`, in order: handled calls, ticks, and operations that need neither.
fn visits(view: &View<'_>, base: Option<Pos>) -> Vec<Visit> {
    let mut visits: Vec<Visit> = Vec::new();
    for op in view.runs.keys().copied() {
        let acts = view
            .step(op)
            .is_some_and(|step| matches!(step.what, What::Do(_) | What::Tick(_)));
        if !acts
            || view
                .ended(op)
                .is_some_and(|ended| crate::outcome::is_void(ended.outcome))
        {
            continue;
        }
        let mut places = stimulus::handled(view, op);
        if places.is_empty() && view.plan.fault.target != "master" {
            places.extend(instant::ran(view, op));
        }
        visits.extend(places.into_iter().map(|pos| Visit { op, pos }));
    }
    let of_base = base.and_then(|pos| view.events[pos].op);
    visits.retain(|visit| {
        base.is_none_or(|base| visit.pos > base) && (of_base.is_none() || of_base != Some(visit.op))
    });
    visits.sort_by_key(|visit| visit.pos);
    visits
}

/// The clock of the target at a visit, read back before the next step, agrees with the timeline.
fn visited(gathered: &mut Gathered<'_, '_>, visit: &Visit, deadline: Span) {
    let view = gathered.view;
    let at = view.at(visit.pos);
    let side = if at < deadline {
        format!("{} before", deadline - at)
    } else if at > deadline {
        format!("{} after", at - deadline)
    } else {
        "at".to_owned()
    };
    let name = view.op_name(visit.op);
    let target = view.plan.fault.target.as_str();
    let usual = clock::ahead_before(view, target, view.end());
    let read = clock::read_between(view, target, visit.pos, view.end());
    match (usual, read) {
        (Some((usual, _)), Some((read, pos))) => {
            gathered.demand(
                read == usual && view.at(pos) >= at,
                format!("{name} ran {side} the boundary by {target}'s own clock"),
                format!(
                    "{name} ran {side} the boundary by the timeline, but {target}'s own clock does not agree"
                ),
                [visit.pos, pos],
            );
        }
        // A client whose clock nobody reads back shows it on its own frames.
        (Some((usual, pos)), None) if target != "master" => {
            let own = clock::own_frames_agree(view, target, usual);
            gathered.demand(
                own,
                format!("{name} ran {side} the boundary"),
                format!("the clocks of {target} do not agree with the timeline"),
                [visit.pos, pos],
            );
        }
        _ => gathered.lacks(
            format!("the clock of {target} was not read back after {name}"),
            [visit.pos],
        ),
    }
}

/// The stream or message at a phase was under way across the end of the lease that the reader was told.
pub(crate) fn across(gathered: &mut Gathered<'_, '_>, injected: Pos) {
    let view = gathered.view;
    let struck = trigger::struck_in_place(gathered, injected, injected, Done::ToMessage);
    let Some((op, progress)) = struck else { return };
    network::effect(gathered, injected, op, &progress);
    let Some(Told {
        sent, until, told, ..
    }) = lease::told_to(view, op).into_iter().next()
    else {
        gathered.lacks(format!("{} was told no lease", view.op_name(op)), [injected]);
        return;
    };
    gathered.saw(
        format!("{} was told a lease until {until}", view.op_name(op)),
        [sent, told],
    );
    if network::Message::struck(view, &progress).is_some() {
        message_across(gathered, injected, op, until);
    } else {
        stream_across(gathered, injected, op, until);
    }
}

fn stream_across(gathered: &mut Gathered<'_, '_>, injected: Pos, op: Op, until: Span) {
    let view = gathered.view;
    let open = view.transfers_of(op).find_map(|(_, transfer)| {
        let opened = transfer
            .opened
            .filter(|pos| *pos < injected && view.at(*pos) < until)?;
        let closed = transfer.closed.map(|(pos, _)| pos);
        let still = closed.is_none_or(|pos| pos > injected && view.at(pos) >= until);
        still.then_some((opened, closed))
    });
    let later = view
        .transfers_of(op)
        .flat_map(|(_, transfer)| transfer.landed.iter())
        .find(|landed| landed.pos > injected && view.at(landed.pos) >= until)
        .map(|landed| landed.pos);
    match open {
        // Something of the transfer was seen after the deadline, so that it was still there.
        Some((opened, closed)) if later.is_some() || closed.is_some() => {
            let text = format!("the transfer was open across {until}");
            gathered.saw(text, [opened].into_iter().chain(later).chain(closed));
        }
        _ => gathered.lacks(
            "the transfer was not seen open across the end of the lease",
            [injected],
        ),
    }
}

fn message_across(gathered: &mut Gathered<'_, '_>, injected: Pos, op: Op, until: Span) {
    let view = gathered.view;
    let ended = view.ended(op).map(|ended| ended.pos);
    let across =
        view.at(injected) < until && ended.map_or(view.at(view.end()) >= until, |pos| view.at(pos) >= until);
    gathered.demand(
        across,
        format!("the operation was under way across {until}"),
        format!("the operation was not under way across {until}"),
        [injected].into_iter().chain(ended),
    );
}
