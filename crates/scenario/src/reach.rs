//! Which operation passes which phase.

use crate::Verb;
use moonquake_faults::PhaseId;
use moonquake_protocol::Rpc;

/// Whether an operation of this verb can pass the phase. Sessions and single RPCs pass those phases that belong to
/// their part of the whole operation.
pub(crate) fn reaches(verb: Verb, phase: PhaseId) -> bool {
    use PhaseId as P;
    match phase {
        P::PutStartBefore | P::PutStartSent | P::PutStartResponse => {
            whole_put(verb)
                || is_call(
                    verb,
                    &[
                        Rpc::PutStart,
                        Rpc::BatchPutStart,
                        Rpc::UpsertStart,
                        Rpc::BatchUpsertStart,
                    ],
                )
        }
        P::PutPayloadPart | P::PutPayloadDone => whole_put(verb) || verb == Verb::PutWrite,
        P::PutEndSent | P::PutEndResponse => {
            whole_put(verb)
                || is_call(
                    verb,
                    &[Rpc::PutEnd, Rpc::BatchPutEnd, Rpc::UpsertEnd, Rpc::BatchUpsertEnd],
                )
        }
        P::GetQueryBefore | P::GetQuerySent | P::GetQueryResponse => {
            matches!(verb, Verb::Get | Verb::BatchGet | Verb::GetStart)
                || is_call(verb, &[Rpc::GetReplicaList, Rpc::BatchGetReplicaList])
        }
        P::GetPayloadPart | P::GetPayloadDone => verb.reads_payload(),
        P::RevokeBefore | P::RevokeSent | P::RevokeResponse => {
            whole_put(verb)
                || is_call(
                    verb,
                    &[
                        Rpc::PutRevoke,
                        Rpc::BatchPutRevoke,
                        Rpc::UpsertRevoke,
                        Rpc::BatchUpsertRevoke,
                    ],
                )
        }
        P::RemoveBefore | P::RemoveSent | P::RemoveResponse => matches!(
            verb,
            Verb::Remove | Verb::BatchRemove | Verb::RemoveByRegex | Verb::RemoveAll
        ),
        P::CopyStartBefore | P::CopyStartSent | P::CopyStartResponse => {
            verb.executes_tasks()
                || is_call(
                    verb,
                    &[Rpc::CopyStart, Rpc::MoveStart, Rpc::DynamicReplicaCopyStart],
                )
        }
        P::CopyPayloadPart | P::CopyPayloadDone => verb.executes_tasks(),
        P::CopyEndSent | P::CopyEndResponse => {
            verb.executes_tasks() || is_call(verb, &[Rpc::CopyEnd, Rpc::MoveEnd, Rpc::DynamicReplicaCopyEnd])
        }
        P::MountBefore | P::MountSent | P::MountResponse => is_call(verb, &[Rpc::MountSegment]),
    }
}

fn whole_put(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Put | Verb::Upsert | Verb::BatchPut | Verb::BatchUpsert
    )
}

fn is_call(verb: Verb, calls: &[Rpc]) -> bool {
    matches!(verb, Verb::Rpc(rpc) if calls.contains(&rpc))
}

/// Whether the phase belongs to the first request of an operation that reaches it.
pub(crate) fn is_first_request(verb: Verb, phase: PhaseId) -> bool {
    if verb == Verb::RunTasks {
        // It fetches first.
        return false;
    }
    let first = ["PutStart", "GetReplicaList"];
    !whole_put(verb) || phase.row().rpc.is_some_and(|rpc| first.contains(&rpc))
}
