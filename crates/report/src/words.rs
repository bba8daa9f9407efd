//! Parts of a plan in words.

use moonquake_scenario::{Plan, Step, Trigger};

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
