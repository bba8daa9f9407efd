//! Buffer faults, and what an action does to the stream of a transfer.

use super::liveness::frozen_until;
use super::network::{self, Message, went_on};
use super::phase::Done;
use super::progress::Progress;
use super::{Gathered, actors, trigger};
use crate::view::{Landed, Pos, View};
use moonquake_clock::Span;
use moonquake_evidence::{Observer, Op};
use moonquake_scenario::Action;

/// Buffer: the transfer of the operation was open, and the action shows in what landed.
pub(crate) fn buffer(gathered: &mut Gathered<'_, '_>, injected: Pos) {
    let view = gathered.view;
    let action = view.plan.fault.action.clone();
    let done = match action {
        Some(Action::Freeze) => Done::ToActor,
        _ => Done::ToMessage,
    };
    let Some((op, progress)) = trigger::struck_in_place(gathered, injected, injected, done) else {
        return;
    };
    let on_message = Message::struck(view, &progress).is_some()
        && !matches!(action, Some(Action::Freeze | Action::Rate(_)));
    let opened = progress.first_open.or_else(|| {
        let mut opened = view.transfers_of(op).filter_map(|(_, transfer)| transfer.opened);
        opened.find(|pos| *pos > injected)
    });
    if !on_message {
        gathered.demand(
            opened.is_some(),
            "the owner saw the transfer open",
            "no transfer of the operation was seen open",
            opened,
        );
    }
    if action == Some(Action::Freeze) {
        frozen(gathered, injected, op, &progress);
    } else {
        network::effect(gathered, injected, op, &progress);
    }
}

/// The transfer that an action struck: the one whose part had landed last. Others of the same operation go on.
fn struck(view: &View<'_>, op: Op, progress: &Progress) -> Option<u64> {
    let last = *progress.data.last()?;
    let mut transfers = view.transfers_of(op);
    transfers
        .find(|(_, transfer)| transfer.landed.iter().any(|landed| landed.pos == last))
        .map(|(number, _)| number)
}

/// The parts of an operation that landed after `from`, in one transfer or in all.
fn landed_after<'a>(view: &View<'a>, op: Op, only: Option<u64>, from: Pos) -> Vec<Landed<'a>> {
    let mut landed: Vec<Landed<'a>> = view
        .transfers_of(op)
        .filter(|(number, _)| only.is_none_or(|only| only == *number))
        .flat_map(|(_, transfer)| transfer.landed.iter().copied())
        .filter(|landed| landed.pos > from)
        .collect();
    landed.sort_by_key(|landed| landed.pos);
    landed
}

/// Where the transfers of an operation ended after `from`, complete or not; one of them or all.
fn closed_after(view: &View<'_>, op: Op, only: Option<u64>, from: Pos, complete: bool) -> Option<Pos> {
    view.transfers_of(op)
        .filter(|(number, _)| only.is_none_or(|only| only == *number))
        .filter_map(|(_, transfer)| transfer.closed)
        .filter(|(pos, how)| *pos > from && (*how == "complete") == complete)
        .map(|(pos, _)| pos)
        .min()
}

/// The target stood still: nothing came from it, and bytes of the operation were still to come.
fn frozen(gathered: &mut Gathered<'_, '_>, injected: Pos, op: Op, progress: &Progress) {
    let view = gathered.view;
    let target = view.plan.fault.target.as_str();
    let until = frozen_until(view, injected);
    let life = actors::sign_of_life(view, target, injected, until);
    let moved = landed_after(view, op, None, injected)
        .first()
        .map(|landed| landed.pos)
        .filter(|pos| *pos < until);
    let still = life.is_none() && moved.is_none() && went_on(view, injected, until);
    let to_come = progress.parts_landed < progress.parts_known || progress.transfers == 0;
    // An absence shows something only in a log that goes on.
    let watched = view.seen_by(Observer::Owner, injected);
    let last = progress.data.last().copied();
    let name = view.op_name(op);
    gathered.demand(
        still && to_come && watched.is_some(),
        format!("nothing came from {target} or landed for {name} until it was let go"),
        if to_come {
            format!("{target} was not seen to stand still")
        } else {
            "no byte was left to come".to_owned()
        },
        last.into_iter().chain(life).chain(moved).chain(watched),
    );
}

/// What an action must have done to the stream that it struck.
pub(crate) fn on_stream(
    gathered: &mut Gathered<'_, '_>,
    injected: Pos,
    op: Op,
    progress: &Progress,
    action: &Action,
) {
    let view = gathered.view;
    let only = struck(view, op, progress);
    let after = landed_after(view, op, only, injected);
    let next = after.first().map(|landed| landed.pos);
    let last = progress.data.last().copied();
    match action {
        Action::Hold | Action::Drop => held(gathered, injected, op, progress, next),
        Action::Delay(by) => {
            let next = next.or_else(|| closed_after(view, op, only, injected, true));
            let late = next.map(|pos| view.at(pos) - view.at(injected));
            gathered.demand(
                late == Some(*by),
                format!("the next bytes landed {by} later"),
                format!("the next bytes did not land {by} later"),
                last.into_iter().chain(next),
            );
        }
        Action::Cut | Action::Error(_) => {
            let closed = closed_after(view, op, only, injected, false);
            gathered.demand(
                closed.is_some() && next.is_none(),
                "the owner saw the transfer end there, incomplete",
                "the transfer was not seen to end there",
                last.into_iter().chain(closed).chain(next),
            );
        }
        Action::Rate(rate) => self::rate(gathered, injected, op, *rate),
        Action::Duplicate | Action::Kill | Action::Freeze | Action::Restart(_) | Action::ClockStep { .. } => {
            gathered.lacks("the action is not one that is done to a stream", [injected]);
        }
    }
}

fn held(gathered: &mut Gathered<'_, '_>, injected: Pos, op: Op, progress: &Progress, next: Option<Pos>) {
    let view = gathered.view;
    let until = frozen_until(view, injected);
    let end = closed_after(view, op, struck(view, op, progress), injected, true);
    let first = next.into_iter().chain(end).min();
    let waited = first.is_none_or(|pos| pos > until) && went_on(view, injected, until);
    let watched = view.seen_by(Observer::Owner, injected);
    let last = progress.data.last().copied();
    gathered.demand(
        waited && watched.is_some(),
        "nothing landed between the injection and the release",
        if waited {
            "the owner was not seen after the injection"
        } else {
            "the stream was not held"
        },
        last.into_iter().chain(first).chain(watched),
    );
}

/// From the injection on the stream moved at `rate` bytes per second, neither faster nor slower.
pub(crate) fn rate(gathered: &mut Gathered<'_, '_>, injected: Pos, op: Op, rate: u64) {
    let view = gathered.view;
    let mut places = Vec::new();
    let mut worst: Option<(Pos, Span, Span)> = None;
    for (_, transfer) in view.transfers_of(op) {
        let Some(opened) = transfer.opened else { continue };
        let from = view.at(opened).max(view.at(injected));
        let (mut bytes, mut parts) = (0u128, 0u64);
        for landed in transfer.landed.iter().filter(|landed| landed.pos > injected) {
            bytes += u128::from(landed.range.size);
            parts += u64::from(landed.count);
            let due = bytes * 1_000_000_000 / u128::from(rate.max(1));
            let due = Span::from_ns(u64::try_from(due).unwrap_or(u64::MAX));
            let took = view.at(landed.pos) - from;
            // Each part is due at a whole nanosecond, rounded up.
            let right = due <= took && took <= due + Span::from_ns(parts);
            if !right {
                worst.get_or_insert((landed.pos, took, due));
            }
            places.push(landed.pos);
        }
    }
    let cite = |places: &[Pos]| {
        places
            .first()
            .into_iter()
            .chain(places.last())
            .copied()
            .collect::<Vec<_>>()
    };
    match worst {
        Some((pos, took, due)) => {
            gathered.lacks(
                format!("a part landed after {took}, at {rate} B/s it is due after {due}"),
                [pos],
            );
        }
        None if places.is_empty() => {
            gathered.lacks(
                "no part landed after the injection, so no rate was seen",
                [injected],
            );
        }
        None => gathered.saw(format!("the parts landed at {rate} B/s"), cite(&places)),
    }
}
