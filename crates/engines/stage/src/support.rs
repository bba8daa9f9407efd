//! What the stage has no words for. Static: it looks at the plan alone.

use moonquake_faults::{ActionKind, Moment};
use moonquake_scenario::{Action, Plan, Trigger};

/// Why the stage cannot play a plan, if so.
pub fn unsupported(plan: &Plan) -> Option<String> {
    unsupported_fault(plan)
}

fn unsupported_fault(plan: &Plan) -> Option<String> {
    let (Trigger::At { phase, .. }, Some(action)) = (&plan.fault.trigger, &plan.fault.action) else {
        return None;
    };
    let moment = phase.row().moment;
    let needs_message = matches!(
        action.kind(),
        ActionKind::Hold
            | ActionKind::Drop
            | ActionKind::Duplicate
            | ActionKind::Delay
            | ActionKind::Cut
            | ActionKind::Error
    );
    if needs_message && matches!(moment, Moment::Before | Moment::Done) {
        let word = action.kind().word();
        return Some(format!(
            "{word} needs a message or a stream, and at {phase} there is none; use the next phase"
        ));
    }
    if *action == Action::Duplicate && moment != Moment::Sent {
        return Some(format!(
            "duplicate needs a request on its way, and at {phase} there is none"
        ));
    }
    None
}
