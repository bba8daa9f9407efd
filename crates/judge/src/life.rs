//! The life of a caller's buffer: registered, lent, returned, touched by somebody who did not have it, unregistered.

use crate::Cited;
use crate::judgement::{LifeEvent, LifeStage, Touch};
use crate::outcome;
use crate::view::{Pos, View};
use moonquake_evidence::Op;
use moonquake_scenario::{Do, Verb};

/// What became of the buffer `name`, in order. Empty for a name that is no buffer of a caller.
pub(crate) fn of<'t>(view: &View<'_>, name: &str, late: impl Iterator<Item = &'t Touch>) -> Vec<LifeEvent> {
    let mut life: Vec<LifeEvent> = Vec::new();
    let mut is_registered = false;
    for op in view.runs.keys() {
        let Some(action) = view.action(*op) else { continue };
        let own = action.from.iter().chain(&action.into);
        if own
            .map(|own| Do::repeated(own, op.repetition))
            .any(|own| own == name)
        {
            let events = by_operation(view, *op, action);
            let is_lent = events.iter().any(|event| event.stage == LifeStage::Lent);
            if is_lent && !is_registered {
                life.extend(implied(view, *op, action));
            }
            is_registered |= is_lent;
            for event in &events {
                match event.stage {
                    LifeStage::Registered => is_registered = true,
                    LifeStage::Unregistered => is_registered = false,
                    _ => {}
                }
            }
            life.extend(events);
        }
    }
    if !life.is_empty() {
        life.extend(touched(view, late));
        // What stands at one event is told in the order in which it was found: lent before returned.
        life.sort_by_key(|event| event.told.ids().first().copied());
    }
    life
}

/// Who uses a buffer that no step has registered is one that has done so just before.
fn implied(view: &View<'_>, op: Op, action: &Do) -> Option<LifeEvent> {
    let began = view.runs.get(&op)?.began?;
    Some(LifeEvent {
        stage: LifeStage::Registered,
        who: action.who.clone().unwrap_or_default(),
        at: view.events[began].at,
        bytes: None,
        told: view.cited(
            format!("before {}, by no step of its own", view.op_name(op)),
            [began],
        ),
    })
}

fn by_operation(view: &View<'_>, op: Op, action: &Do) -> Vec<LifeEvent> {
    let name = view.op_name(op);
    let event = |stage, pos: Pos, text: String| LifeEvent {
        stage,
        who: action.who.clone().unwrap_or_default(),
        at: view.events[pos].at,
        bytes: None,
        told: view.cited(text, [pos]),
    };
    let began = view.runs.get(&op).and_then(|run| run.began);
    let ended = view.ended(op);
    let (lent, stage) = match action.verb {
        Verb::Fill => return Vec::new(),
        Verb::RegisterBuffer => (None, LifeStage::Registered),
        Verb::UnregisterBuffer => (None, LifeStage::Unregistered),
        _ => (began, LifeStage::Returned),
    };
    let lent = lent.map(|pos| event(LifeStage::Lent, pos, format!("to {name}")));
    let after = ended.and_then(|ended| {
        let failed = outcome::is_failure(ended.outcome);
        match stage {
            LifeStage::Returned if outcome::is_dead(ended.outcome) => None,
            LifeStage::Returned => Some(event(
                stage,
                ended.pos,
                format!("by {name} with {}", ended.outcome),
            )),
            // What was refused changed nothing.
            _ if failed || outcome::is_dead(ended.outcome) => None,
            _ => Some(event(stage, ended.pos, format!("by {name}"))),
        }
    });
    lent.into_iter().chain(after).collect()
}

/// Late accesses, those of one operation in one direction as one.
fn touched<'t>(view: &View<'_>, late: impl Iterator<Item = &'t Touch>) -> Vec<LifeEvent> {
    let mut groups: Vec<(&Touch, (u64, u64), u64, &Touch)> = Vec::new();
    for touch in late {
        let alike =
            |first: &Touch| (first.op, &first.who, first.write) == (touch.op, &touch.who, touch.write);
        match groups.iter_mut().find(|(first, ..)| alike(first)) {
            Some((_, bytes, sum, last)) => {
                *bytes = (bytes.0.min(touch.from), bytes.1.max(touch.to));
                *sum += touch.to.saturating_sub(touch.from);
                *last = touch;
            }
            None => groups.push((
                touch,
                (touch.from, touch.to),
                touch.to.saturating_sub(touch.from),
                touch,
            )),
        }
    }
    let told = |(first, bytes, sum, last): (&Touch, (u64, u64), u64, &Touch)| {
        let deed = if first.write { "written" } else { "read" };
        let course = first
            .op
            .map(|op| format!(" in {}", view.op_name(op)))
            .unwrap_or_default();
        let until = if first.at == last.at {
            String::new()
        } else {
            format!(" until {}", last.at)
        };
        LifeEvent {
            stage: LifeStage::Touched,
            who: first.who.clone(),
            at: first.at,
            bytes: Some(bytes),
            told: Cited::new(format!("{deed}{course}, {sum} bytes{until}"), first.id).and(last.id),
        }
    };
    groups.into_iter().map(told).collect()
}
