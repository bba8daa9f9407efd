//! What the stage has no words for. Static: it looks at the plan alone.

use moonquake_faults::{ActionKind, Moment};
use moonquake_protocol::Rpc;
use moonquake_scenario::{Action, Plan, Trigger, Verb, What};

const RPCS: &[Rpc] = &[
    Rpc::ExistKey,
    Rpc::GetReplicaList,
    Rpc::Remove,
    Rpc::RemoveAll,
    Rpc::RemoveByRegex,
    Rpc::BatchExistKey,
    Rpc::BatchRemove,
    Rpc::BatchGetReplicaList,
    Rpc::GetReplicaListByRegex,
    Rpc::PutStart,
    Rpc::PutEnd,
    Rpc::PutRevoke,
    Rpc::UpsertStart,
    Rpc::UpsertEnd,
    Rpc::UpsertRevoke,
    Rpc::BatchPutStart,
    Rpc::BatchPutEnd,
    Rpc::BatchPutRevoke,
    Rpc::Ping,
    Rpc::ServiceReady,
    Rpc::MountSegment,
    Rpc::ReMountSegment,
    Rpc::UnmountSegment,
];

/// Why the stage cannot play a plan, if so.
pub fn unsupported(plan: &Plan) -> Option<String> {
    let verbs = plan.steps.iter().find_map(|step| match &step.what {
        What::Do(action) => match action.verb {
            Verb::BatchPut | Verb::BatchUpsert | Verb::BatchGet => Some(format!(
                "no words for {} yet (step {})",
                action.verb.name(),
                step.index + 1
            )),
            Verb::Rpc(rpc) if !RPCS.contains(&rpc) => Some(format!(
                "no words for {} yet (step {})",
                rpc.verb(),
                step.index + 1
            )),
            _ => None,
        },
        _ => None,
    });
    verbs.or_else(|| unsupported_fault(plan))
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
