//! Parts of a plan in words.

use moonquake_clock::{Domain, Span};
use moonquake_scenario::{Action, Plan, Step, Trigger};

/// The step's id, or its number from 1 where it has none.
pub(crate) fn step_name(step: &Step) -> String {
    match &step.id {
        Some(id) => id.clone(),
        None => format!("step {}", step.index.saturating_add(1)),
    }
}

/// The one fault: what, to whom, when.
pub(crate) fn fault_in_words(plan: &Plan) -> String {
    let fault = &plan.fault;
    let dimension = fault.dimension.row().name;
    let name = |index: &usize| {
        plan.steps
            .get(*index)
            .map_or_else(|| format!("step {}", index.saturating_add(1)), step_name)
    };
    let action = fault.action.as_ref().map(|action| action.words());
    let what = match &action {
        Some(action) => format!("{dimension} of {}: {action}", fault.target),
        None => format!("{dimension} of {}", fault.target),
    };
    match &fault.trigger {
        Trigger::At { phase, of, hit } => {
            let of = of
                .as_ref()
                .map(|of| format!(" of {}", name(of)))
                .unwrap_or_default();
            let hit = if *hit == 1 {
                String::new()
            } else {
                format!(", time {hit}")
            };
            format!("{what} at {phase}{of}{hit}")
        }
        Trigger::After(step) => format!("{what} after {}", name(step)),
        Trigger::Deadline(instant) => format!("{what}: the boundary {} is the fault", instant.text),
        Trigger::Steps(steps) => {
            let names: Vec<String> = steps.iter().map(name).collect();
            format!("{what}: the stimulus {} is the fault", names.join(", "))
        }
    }
}

/// The one fault as a sentence without its full stop: `w1 is killed once the answer to PutStart has arrived ...`.
pub(crate) fn fault_in_a_sentence(plan: &Plan) -> String {
    let fault = &plan.fault;
    let target = &fault.target;
    let name = |index: &usize| {
        plan.steps
            .get(*index)
            .map_or_else(|| format!("step {}", index.saturating_add(1)), step_name)
    };
    let what = fault.action.as_ref().map(|action| happens_to(target, action));
    let dimension = fault.dimension.row().name;
    match (&fault.trigger, what) {
        (Trigger::At { phase, of, hit }, what) => {
            let of = of
                .as_ref()
                .map(|of| format!(" in {}", name(of)))
                .unwrap_or_default();
            let hit = if *hit == 1 {
                String::new()
            } else {
                format!(", time {hit}")
            };
            let what = what.unwrap_or_else(|| format!("{target} is watched"));
            format!("{what} at {phase}{of}{hit} ({})", phase.row().meaning)
        }
        (Trigger::After(step), what) => {
            let what = what.unwrap_or_else(|| format!("{target} is watched"));
            format!("{what} right after {}", name(step))
        }
        (Trigger::Deadline(instant), _) => format!(
            "The boundary {} is the fault: steps run on both sides of its instant",
            instant.text
        ),
        (Trigger::Steps(steps), _) => {
            let names: Vec<String> = steps.iter().map(name).collect();
            format!(
                "{target} does what is the fault here ({dimension}): {}",
                names.join(", ")
            )
        }
    }
}

/// What an action means for its target, in present tense.
fn happens_to(target: &str, action: &Action) -> String {
    match action {
        Action::Kill => format!("{target} is killed"),
        Action::Freeze => format!("{target} is frozen"),
        Action::Hold => format!("What {target} has on the wire is held back"),
        Action::Drop => format!("A message of {target} is lost"),
        Action::Duplicate => format!("A message of {target} is delivered twice"),
        Action::Cut => format!("The connection of {target} is cut"),
        Action::Restart(down) if down.ns > 0 => format!("{target} is killed and comes back {down} later"),
        Action::Restart(_) => format!("{target} is restarted without its state"),
        Action::Delay(by) => format!("A message of {target} arrives {by} late"),
        Action::Error(code) => format!("{target} is answered with {code}"),
        Action::Rate(bytes) => format!("The stream of {target} is slowed down to {bytes} B/s"),
        Action::ClockStep { by_ns, clock } => {
            let which = match clock {
                Domain::Realtime => "wall",
                Domain::Monotonic => "monotonic",
            };
            let way = if *by_ns < 0 { "back" } else { "forward" };
            let by = Span::from_ns(by_ns.unsigned_abs());
            format!("The {which} clock of {target} alone is stepped {way} by {by}")
        }
    }
}
