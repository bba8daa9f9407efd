//! Whether an operation stood exactly at a phase, told from its neighbours.

use super::progress::{Call, Progress, reported};
use crate::rpc::{self, Family};
use crate::view::{Pos, View};
use moonquake_evidence::{Leg, Op};
use moonquake_faults::{Moment, PhaseId};
use moonquake_scenario::Verb;

/// What a fault at a phase is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// To an actor: the response of a `*_response` phase has arrived.
    ToActor,
    /// To the message or stream: the response of a `*_response` phase may be on its way still.
    ToMessage,
}

/// Whether `op` stood at `phase` before `pos`; the reason if not.
pub(crate) fn at_phase(
    view: &View<'_>,
    op: Op,
    phase: PhaseId,
    pos: Pos,
    done: Done,
) -> Result<Progress, (String, Progress)> {
    let progress = Progress::of(view, op, pos);
    let fits = !reported(view, op, pos) && fits(view, &progress, phase, pos, done);
    if fits {
        Ok(progress)
    } else {
        let words = format!(
            "{} did not stand at {phase}: {}",
            view.op_name(op),
            progress.words()
        );
        Err((words, progress))
    }
}

fn fits(view: &View<'_>, progress: &Progress, phase: PhaseId, pos: Pos, done: Done) -> bool {
    let p = progress;
    let untouched = p.transfers == 0;
    let no_end = p.end.is_none() && p.revoke.is_none();
    let sent = |call: Option<Call>| call.is_some_and(|call| is_sent(view, call, pos, done));
    let answered = |call: Option<Call>| call.is_some_and(|call| is_answered(call, done));
    let settled = |call: Option<Call>| call.is_some_and(|call| call.delivered.is_some());
    match phase {
        PhaseId::PutStartBefore => p.began.is_some() && p.start.is_none() && untouched && no_end,
        PhaseId::PutStartSent => sent(p.start) && untouched && no_end,
        PhaseId::PutStartResponse => answered(p.start) && untouched && no_end,
        PhaseId::PutPayloadPart => settled(p.start) && p.open > 0 && p.parts_landed > 0 && no_end,
        PhaseId::PutPayloadDone => settled(p.start) && all_landed(p) && no_end,
        PhaseId::PutEndSent => sent(p.end) && p.revoke.is_none() && all_landed(p),
        PhaseId::PutEndResponse => answered(p.end) && p.revoke.is_none() && all_landed(p),
        PhaseId::RevokeBefore => settled(p.start) && no_end && given_up(view, p, pos),
        PhaseId::RevokeSent => sent(p.revoke),
        PhaseId::RevokeResponse => answered(p.revoke),
        PhaseId::GetQueryBefore => p.began.is_some() && p.query.is_none() && untouched,
        PhaseId::GetQuerySent => sent(p.query) && untouched,
        PhaseId::GetQueryResponse => answered(p.query) && untouched,
        PhaseId::GetPayloadPart => p.open > 0 && p.parts_landed > 0,
        PhaseId::GetPayloadDone => all_landed(p),
    }
}

/// On its way and not handled. A request may reach the master after the death of its sender, at the same instant.
fn is_sent(view: &View<'_>, call: Call, pos: Pos, done: Done) -> bool {
    let on_its_way = match call.handled {
        None => true,
        Some(handled) => done == Done::ToActor && view.at(handled) == view.at(pos.min(view.end() - 1)),
    };
    call.sent.is_some() && call.delivered.is_none() && on_its_way
}

fn is_answered(call: Call, done: Done) -> bool {
    match done {
        Done::ToActor => call.delivered.is_some(),
        Done::ToMessage => call.handled.is_some() || call.delivered.is_some(),
    }
}

fn all_landed(progress: &Progress) -> bool {
    progress.transfers > 0
        && progress.complete == progress.transfers
        && progress.parts_landed == progress.parts_known
}

/// Whether the put had given its transfer up: the transport closed it, or the client's limit was over.
fn given_up(view: &View<'_>, progress: &Progress, pos: Pos) -> bool {
    let limit = view.plan.world.timeouts.transfer;
    let now = view.at(pos.min(view.end() - 1));
    progress.broken > 0
        || progress
            .first_open
            .is_some_and(|opened| now - view.at(opened) >= limit)
}

/// How often the phase had been reached before `pos`, `op` itself included, by the operations that the trigger means:
/// the repetitions of the step `of`, or else all of `target`'s.
pub(crate) fn hits(
    view: &View<'_>,
    op: Op,
    phase: PhaseId,
    of: Option<usize>,
    target: &str,
    pos: Pos,
) -> u64 {
    let operations = view.runs.keys().copied().filter(|other| {
        let meant = match of {
            Some(step) => usize::try_from(other.step) == Ok(step),
            None => *other == op || actor_of(view, *other) == Some(target),
        };
        meant && (*other == op || passes(view, *other, phase))
    });
    operations
        .map(|other| hits_of(view, other, phase, pos, other == op))
        .sum()
}

/// Who does an operation.
pub(crate) fn actor_of<'a>(view: &View<'a>, op: Op) -> Option<&'a str> {
    view.action(op)?.who.as_deref()
}

/// Whether an operation of that verb is one whose phases the catalogue names.
fn passes(view: &View<'_>, op: Op, phase: PhaseId) -> bool {
    match view.verb(op) {
        Some(Verb::Put | Verb::Upsert | Verb::BatchPut | Verb::BatchUpsert) => phase.row().operation != "get",
        Some(Verb::Get | Verb::BatchGet | Verb::GetStart | Verb::GetRead) => phase.row().operation == "get",
        Some(Verb::PutWrite) => matches!(phase, PhaseId::PutPayloadPart | PhaseId::PutPayloadDone),
        _ => false,
    }
}

fn hits_of(view: &View<'_>, op: Op, phase: PhaseId, pos: Pos, current: bool) -> u64 {
    let progress = Progress::of(view, op, pos);
    let once = |reached: bool| u64::from(reached);
    match phase.row().moment {
        Moment::Part => progress.parts_landed,
        // The current operation stands at the phase, which its caller checks.
        Moment::Before => once(current || progress.call(phase).is_some()),
        Moment::Done => once(current || all_landed(&progress)),
        Moment::Sent => count(view, op, phase, pos, Leg::RequestSent),
        Moment::Response if current => count(view, op, phase, pos, Leg::RequestHandled),
        Moment::Response => count(view, op, phase, pos, Leg::ResponseDelivered),
    }
}

fn count(view: &View<'_>, op: Op, phase: PhaseId, pos: Pos, leg: Leg) -> u64 {
    let wanted = family_of(phase);
    let frames = view.frames_of(op).filter(|frame| {
        frame.leg == leg && frame.pos < pos && wanted.is_some() && rpc::family(frame.rpc) == wanted
    });
    frames.count() as u64
}

/// The calls that a phase surrounds.
fn family_of(phase: PhaseId) -> Option<Family> {
    Some(match phase {
        PhaseId::PutStartBefore | PhaseId::PutStartSent | PhaseId::PutStartResponse => Family::Start,
        PhaseId::PutEndSent | PhaseId::PutEndResponse => Family::End,
        PhaseId::RevokeBefore | PhaseId::RevokeSent | PhaseId::RevokeResponse => Family::Revoke,
        PhaseId::GetQueryBefore | PhaseId::GetQuerySent | PhaseId::GetQueryResponse => Family::Query,
        _ => return None,
    })
}
