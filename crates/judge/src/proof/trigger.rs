//! Where the fault struck: at its phase, or right after its step.

use super::Gathered;
use super::phase::{self, Done};
use super::progress::Progress;
use crate::instant;
use crate::view::{Pos, View};
use moonquake_evidence::{Kind, Observer, Op};
use moonquake_faults::Moment;
use moonquake_scenario::{Fault, Trigger, What};

/// The injector's claim must at least be about the fault of the plan.
pub(crate) fn claim_fits(gathered: &mut Gathered<'_, '_>, injected: Pos) {
    let fault = &gathered.view.plan.fault;
    let Some(Kind::Injected { dimension, phase, .. }) =
        gathered.view.events.get(injected).map(|event| &event.kind)
    else {
        return;
    };
    if dimension != fault.dimension.row().name {
        let text = format!(
            "the injector claims {dimension}, the plan says {}",
            fault.dimension.row().name
        );
        gathered.lacks(text, [injected]);
    }
    if let Trigger::At { phase: planned, .. } = &fault.trigger
        && phase.as_deref().is_some_and(|phase| phase != planned.name())
    {
        let claimed = phase.clone().unwrap_or_default();
        gathered.lacks(
            format!("the injector claims {claimed}, the plan says {planned}"),
            [injected],
        );
    }
}

/// Says why nothing was injected.
pub(crate) fn never_reached(gathered: &mut Gathered<'_, '_>) {
    let view = gathered.view;
    let fault = &view.plan.fault;
    match &fault.trigger {
        Trigger::At { phase, of, hit } => {
            let wanted = match hit {
                1 => format!("{phase} was never reached"),
                _ => format!("{phase} was not reached {hit} times"),
            };
            let steps: Vec<Op> = view
                .runs
                .keys()
                .copied()
                .filter(|op| match of {
                    Some(step) => usize::try_from(op.step) == Ok(*step),
                    None => phase::actor_of(view, *op) == Some(fault.target.as_str()),
                })
                .collect();
            let ends: Vec<(String, Pos)> = steps
                .into_iter()
                .filter_map(|op| view.ended(op).map(|ended| (op, ended)))
                .map(|(op, ended)| {
                    (
                        format!("{} ended with {}", view.op_name(op), ended.outcome),
                        ended.pos,
                    )
                })
                .collect();
            let words: Vec<String> = ends.iter().map(|(words, _)| words.clone()).collect();
            let text = if words.is_empty() {
                format!("{wanted}: no operation of that kind ended")
            } else {
                format!("{wanted}: {}", words.join(", "))
            };
            gathered.lacks(text, ends.into_iter().map(|(_, pos)| pos));
        }
        Trigger::After(step) => {
            let text = format!(
                "nothing was injected after {}: it has no result",
                view.name(*step)
            );
            let ends: Vec<Pos> = view
                .repetitions(*step)
                .iter()
                .filter_map(|(_, run)| run.ended)
                .collect();
            let text = if ends.is_empty() {
                text
            } else {
                format!("nothing was injected after {}", view.name(*step))
            };
            gathered.lacks(text, ends);
        }
        Trigger::Deadline(_) | Trigger::Steps(_) => {}
    }
}

/// The operation that the injector says it struck: the one its event names, or the owner of its message or transfer.
pub(crate) fn struck(view: &View<'_>, injected: Pos) -> Option<Op> {
    let event = view.events.get(injected)?;
    let Kind::Injected {
        message, transfer, ..
    } = &event.kind
    else {
        return None;
    };
    let Fault { trigger, .. } = &view.plan.fault;
    let Trigger::At { of, .. } = trigger else {
        return event.op;
    };
    let by_message = message.and_then(|message| view.message(message).next().and_then(|f| f.event.op));
    let by_transfer = transfer.and_then(|transfer| view.transfers.get(&transfer).and_then(|t| t.op));
    // Last resort: the repetition of the step meant that was under way.
    let under_way = of.and_then(|step| {
        view.repetitions(step)
            .into_iter()
            .rfind(|(_, run)| run.began.is_some_and(|began| began < injected))
            .map(|(op, _)| op)
    });
    event.op.or(by_message).or(by_transfer).or(under_way)
}

/// Demands that the fault struck where the plan says, judged at `pos`: the injection itself, or the moment at which a
/// second observer saw its effect. Returns the progress of the operation struck, for a trigger at a phase.
pub(crate) fn struck_in_place(
    gathered: &mut Gathered<'_, '_>,
    injected: Pos,
    pos: Pos,
    done: Done,
) -> Option<(Op, Progress)> {
    match gathered.view.plan.fault.trigger {
        Trigger::At { .. } => at_phase(gathered, injected, pos, done),
        Trigger::After(step) => {
            after_step(gathered, step, pos);
            None
        }
        Trigger::Deadline(_) | Trigger::Steps(_) => None,
    }
}

fn at_phase(gathered: &mut Gathered<'_, '_>, injected: Pos, pos: Pos, done: Done) -> Option<(Op, Progress)> {
    let view = gathered.view;
    let fault = &view.plan.fault;
    let Trigger::At { phase, of, hit } = &fault.trigger else {
        return None;
    };
    let Some(op) = struck(view, injected) else {
        gathered.lacks(format!("no operation was seen to reach {phase}"), [injected]);
        return None;
    };
    let meant = match of {
        Some(step) => usize::try_from(op.step) == Ok(*step),
        None => {
            fault.target == "master"
                || phase::actor_of(view, op) == Some(&fault.target)
                || is_node(view, &fault.target)
        }
    };
    if !meant {
        let text = format!("{} was struck, which the trigger does not mean", view.op_name(op));
        gathered.lacks(text, [injected]);
        return None;
    }
    let (progress, why) = phase::at_phase(view, op, *phase, pos, done);
    if let Some(why) = why {
        gathered.lacks(why, progress.places().into_iter().chain([injected]));
        return None;
    }
    let hits = phase::hits(view, op, *phase, *of, &fault.target, pos);
    let name = view.op_name(op);
    let words = progress.words();
    let what = match phase.row().moment {
        Moment::Part => format!("part {hits}"),
        _ => format!("time {hits}"),
    };
    let right = hits == u64::from(*hit);
    gathered.demand(
        right,
        format!("{name} stood at {phase} ({words})"),
        format!("{name} stood at {phase}, but at {what} instead of {hit} ({words})"),
        progress.places(),
    );
    right.then_some((op, progress))
}

fn is_node(view: &View<'_>, name: &str) -> bool {
    view.plan.world.segments.iter().any(|(node, _)| node == name)
}

/// The result of the step is the last thing that the timeline wrote down before `pos`, and the step does not run again.
fn after_step(gathered: &mut Gathered<'_, '_>, step: usize, pos: Pos) {
    let view = gathered.view;
    let runs = view.repetitions(step);
    let last_end = runs
        .iter()
        .filter_map(|(_, run)| run.ended)
        .filter(|end| *end < pos)
        .max();
    let name = view.name(step);
    let Some(end) = last_end else {
        gathered.lacks(format!("{name} had no result yet"), [pos]);
        return;
    };
    let between = (end + 1..pos.min(view.end())).find(|pos| {
        let event = &view.events[*pos];
        event.observer == Observer::Timeline && matches!(event.kind, Kind::StepBegan { .. })
    });
    let again = runs
        .iter()
        .filter_map(|(_, run)| run.began)
        .find(|began| *began > pos);
    match between.or(again) {
        None => gathered.saw(
            format!("it struck right after {name}, before the next step"),
            [end],
        ),
        Some(other) => {
            gathered.lacks(format!("it did not strike right after {name}"), [end, other]);
        }
    }
}

/// Every step ran at its instant. One whose base never came to be, or whose instant had passed, makes the run
/// not reproduced.
pub(crate) fn steps_ran(gathered: &mut Gathered<'_, '_>) {
    let view = gathered.view;
    for step in &view.plan.steps {
        let Some(wanted) = &step.at else { continue };
        let runs = view.repetitions(step.index);
        let first = runs.first().copied();
        let name = view.name(step.index);
        let place = first.and_then(|(_, run)| run.ended.or(run.began));
        let Some(instant) = instant::resolve(view, wanted) else {
            let text = format!(
                "{name} could not run at {}: its base never came to be",
                wanted.text
            );
            gathered.lacks(text, place);
            continue;
        };
        let Some((op, run)) = first else {
            gathered.lacks(format!("{name} never ran"), None);
            continue;
        };
        let not_run = view
            .ended(op)
            .is_some_and(|ended| crate::outcome::is_not_run(ended.outcome));
        let ran_at = run.began.map(|pos| view.at(pos));
        if let Some(ran_at) = ran_at.filter(|ran_at| *ran_at > instant.at) {
            let text = format!(
                "{name} could not run at {}, which is {}: it was {ran_at} already",
                wanted.text, instant.at
            );
            gathered.lacks(text, place);
        } else if ran_at.is_some_and(|ran_at| ran_at < instant.at)
            && !not_run
            && !matches!(step.what, What::Check(_))
        {
            let text = format!("{name} ran before {}, which is {}", wanted.text, instant.at);
            gathered.lacks(text, place);
        }
    }
}
