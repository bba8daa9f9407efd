//! Misuse: the wrong calls themselves, in the frame log, or in the log of the owner whose memory they reach for.

use super::Gathered;
use super::phase::actor_of;
use crate::view::{Pos, View};
use moonquake_evidence::{Kind, Leg, Observer, Op};

pub(crate) fn prove(gathered: &mut Gathered<'_, '_>, steps: &[usize]) {
    let view = gathered.view;
    for step in steps {
        let name = view.name(*step);
        let runs = view.repetitions(*step);
        if runs.is_empty() {
            gathered.lacks(format!("{name} never ran"), None);
        }
        for (op, run) in runs {
            let name = view.op_name(op);
            let reached = handled(view, op).first().copied();
            match (reached, reached_owner(view, op)) {
                (Some(pos), _) => {
                    let line = view.events[pos].kind.line();
                    gathered.saw(format!("the call of {name} reached the master: {line}"), [pos]);
                }
                (None, Some(pos)) => {
                    let line = view.events[pos].kind.line();
                    gathered.saw(format!("the transfer of {name} reached the owner: {line}"), [pos]);
                }
                (None, None) => gathered.lacks(
                    format!("no call of {name} was seen to reach the master"),
                    run.ended,
                ),
            }
        }
    }
}

/// Where the owner of a segment saw a transfer of an operation first: that it opened, or that it was refused.
fn reached_owner(view: &View<'_>, op: Op) -> Option<Pos> {
    let transfer = |kind: &Kind| matches!(kind, Kind::TransferOpened { .. } | Kind::TransferClosed { .. });
    view.events
        .iter()
        .position(|event| event.op == Some(op) && event.observer == Observer::Owner && transfer(&event.kind))
}

/// Where the master was seen to do what an operation asked for: its handled requests, or its tick.
pub(crate) fn handled(view: &View<'_>, op: Op) -> Vec<Pos> {
    let who = actor_of(view, op);
    let frames = view
        .frames_of(op)
        .filter(|frame| frame.leg == Leg::RequestHandled && who.is_none_or(|who| who == frame.event.actor));
    let mut places: Vec<Pos> = frames.map(|frame| frame.pos).collect();
    if places.is_empty() {
        let ticks = view.events.iter().enumerate().filter(|(_, event)| {
            event.op == Some(op)
                && event.observer != Observer::Injector
                && matches!(event.kind, Kind::Tick { .. })
        });
        places.extend(ticks.map(|(pos, _)| pos));
    }
    places
}
