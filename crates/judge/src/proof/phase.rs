//! Whether an operation stood exactly at a phase, told from its neighbours.

use super::progress::{Call, Progress, reported};
use crate::rpc::{self, Family, ReplicationEnd};
use crate::view::{Pos, View};
use moonquake_evidence::{Leg, Op};
use moonquake_faults::{Moment, PhaseId};
use moonquake_protocol::Rpc;
use moonquake_scenario::Verb;

/// What a fault at a phase is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// To an actor: the response of a `*_response` phase has arrived.
    ToActor,
    /// To the message or stream: the response of a `*_response` phase may be on its way still.
    ToMessage,
}

/// How far `op` had come before `pos`; and why that is not `phase`, if it is not.
pub(crate) fn at_phase(
    view: &View<'_>,
    op: Op,
    phase: PhaseId,
    pos: Pos,
    done: Done,
) -> (Progress, Option<String>) {
    let progress = Progress::of(view, op, pos);
    let there = !reported(view, op, pos) && fits(view, op, &progress, phase, pos, done);
    let why = (!there).then(|| {
        format!(
            "{} did not stand at {phase}: {}",
            view.op_name(op),
            progress.words()
        )
    });
    (progress, why)
}

fn fits(view: &View<'_>, op: Op, progress: &Progress, phase: PhaseId, pos: Pos, done: Done) -> bool {
    let p = progress;
    let untouched = p.transfers == 0;
    let no_end = p.end.is_none() && p.revoke.is_none();
    let sent = |call: Option<Call>| call.is_some_and(|call| is_sent(view, call, pos, done));
    let answered = |call: Option<Call>| call.is_some_and(|call| is_answered(call, done));
    let settled = |call: Option<Call>| call.is_some_and(|call| call.delivered.is_some());
    // Calls made one by one pass the phases of their own part of the whole operation.
    let by_itself = p.start.is_none() && untouched;
    let started = p.start.is_none() || settled(p.start);
    let written = p.wrote == Some(true);
    let read = p.wrote == Some(false);
    match phase {
        PhaseId::PutStartBefore => p.began.is_some() && p.start.is_none() && untouched && no_end,
        PhaseId::PutStartSent => sent(p.start) && untouched && no_end,
        PhaseId::PutStartResponse => answered(p.start) && untouched && no_end,
        PhaseId::PutPayloadPart => written && started && p.open > 0 && p.parts_landed > 0 && no_end,
        PhaseId::PutPayloadDone => written && started && all_landed(p) && no_end,
        PhaseId::PutEndSent => sent(p.end) && p.revoke.is_none() && (by_itself || all_landed(p)),
        PhaseId::PutEndResponse => answered(p.end) && p.revoke.is_none() && (by_itself || all_landed(p)),
        PhaseId::RevokeBefore if is_revoke(view, op) => p.began.is_some() && p.revoke.is_none(),
        PhaseId::RevokeBefore => settled(p.start) && no_end && given_up(view, p, pos),
        PhaseId::RevokeSent => sent(p.revoke),
        PhaseId::RevokeResponse => answered(p.revoke),
        PhaseId::GetQueryBefore => p.began.is_some() && p.query.is_none() && untouched,
        PhaseId::GetQuerySent => sent(p.query) && untouched,
        PhaseId::GetQueryResponse => answered(p.query) && untouched,
        PhaseId::GetPayloadPart => read && p.open > 0 && p.parts_landed > 0,
        PhaseId::GetPayloadDone => read && all_landed(p),
        PhaseId::RemoveBefore => p.began.is_some() && p.remove.is_none(),
        PhaseId::RemoveSent => sent(p.remove),
        PhaseId::RemoveResponse => answered(p.remove),
        PhaseId::MountBefore => p.began.is_some() && p.mount.is_none(),
        PhaseId::MountSent => sent(p.mount),
        PhaseId::MountResponse => answered(p.mount),
        PhaseId::CopyStartBefore => copy_can_begin(view, op, pos),
        PhaseId::CopyStartSent => sent(p.copy) && is_fresh(p),
        PhaseId::CopyStartResponse => answered(p.copy) && is_fresh(p),
        PhaseId::CopyPayloadPart => written && copies(p) && p.open > 0,
        PhaseId::CopyPayloadDone => written && copies(p) && all_landed(p),
        PhaseId::CopyEndSent => sent(p.copied) && is_latest(p, p.copied) && (untouched || all_landed(p)),
        PhaseId::CopyEndResponse => {
            answered(p.copied) && is_latest(p, p.copied) && (untouched || all_landed(p))
        }
    }
}

/// Whether the next thing that an operation sends is the start of a copy: nothing was sent, or, of one that executes
/// tasks, they were fetched and none is at work.
fn copy_can_begin(view: &View<'_>, op: Op, pos: Pos) -> bool {
    let last = view.frames_of(op).filter(|frame| frame.pos < pos).last();
    match (view.verb(op), last) {
        (Some(Verb::RunTasks), Some(last)) => {
            let between = matches!(last.rpc, "FetchTasks" | "MarkTaskToComplete");
            let refused = rpc::is_replication_start(last.rpc) && last.code != Some("ok");
            last.leg == Leg::ResponseDelivered && (between || refused)
        }
        (Some(Verb::RunTasks), None) => false,
        (_, last) => last.is_none(),
    }
}

/// Whether a call was sent after every other one of the copy that was sent last.
fn is_latest(progress: &Progress, call: Option<Call>) -> bool {
    let sent = |call: Option<Call>| call.and_then(|call| call.sent);
    let others = [progress.copy, progress.copied, progress.uncopied];
    sent(call).is_some() && others.into_iter().all(|other| sent(other) <= sent(call))
}

/// Whether nothing was sent or copied since the start of the copy that was sent last.
fn is_fresh(progress: &Progress) -> bool {
    let start = progress.copy.and_then(|call| call.sent);
    is_latest(progress, progress.copy) && progress.data.last().copied() < start
}

/// Whether bytes were copied since the start of the copy that was sent last, which was answered.
fn copies(progress: &Progress) -> bool {
    let answered = progress.copy.and_then(|call| call.delivered);
    answered.is_some() && is_latest(progress, progress.copy) && progress.data.last().copied() > answered
}

/// Whether an operation passes phases of the kind of `phase`: those of copies belong to operations that copy.
fn passes(view: &View<'_>, op: Op, phase: PhaseId) -> bool {
    view.verb(op).is_some_and(Verb::executes_tasks) == (phase.row().operation == "copy")
}

/// Whether an operation is nothing but a revoke.
fn is_revoke(view: &View<'_>, op: Op) -> bool {
    matches!(
        view.verb(op),
        Some(Verb::Rpc(
            Rpc::PutRevoke | Rpc::UpsertRevoke | Rpc::BatchPutRevoke | Rpc::BatchUpsertRevoke
        ))
    )
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
    let operations = view.runs.keys().copied().filter(|other| match of {
        Some(step) => usize::try_from(other.step) == Ok(step),
        None => *other == op || actor_of(view, *other) == Some(target),
    });
    operations
        .map(|other| hits_of(view, other, phase, pos, other == op))
        .sum()
}

/// Who does an operation.
pub(crate) fn actor_of<'a>(view: &View<'a>, op: Op) -> Option<&'a str> {
    view.action(op)?.who.as_deref()
}

fn hits_of(view: &View<'_>, op: Op, phase: PhaseId, pos: Pos, current: bool) -> u64 {
    let progress = Progress::of(view, op, pos);
    let once = |reached: bool| u64::from(reached);
    let same_way = progress.wrote == Some(phase.row().operation != "get") && passes(view, op, phase);
    let executes = view.verb(op).is_some_and(Verb::executes_tasks) && phase.row().operation == "copy";
    match phase.row().moment {
        // One operation executes many tasks.
        Moment::Before if executes => count(view, op, phase, pos, Leg::RequestSent) + u64::from(current),
        Moment::Done if executes => progress.complete as u64,
        Moment::Part if same_way => progress.parts_landed,
        Moment::Part => 0,
        // The current operation stands at the phase, which its caller checks.
        Moment::Before => once(current || progress.call(phase).is_some()),
        Moment::Done => once(current || (same_way && all_landed(&progress))),
        Moment::Sent => count(view, op, phase, pos, Leg::RequestSent),
        Moment::Response if current => count(view, op, phase, pos, Leg::RequestHandled),
        Moment::Response => count(view, op, phase, pos, Leg::ResponseDelivered),
    }
}

fn count(view: &View<'_>, op: Op, phase: PhaseId, pos: Pos, leg: Leg) -> u64 {
    let frames = view
        .frames_of(op)
        .filter(|frame| frame.leg == leg && frame.pos < pos && surrounds(phase, frame.rpc));
    frames.count() as u64
}

/// Whether a phase surrounds a call of that name.
fn surrounds(phase: PhaseId, rpc: &str) -> bool {
    let family = match phase {
        PhaseId::PutStartBefore | PhaseId::PutStartSent | PhaseId::PutStartResponse => Family::Start,
        PhaseId::PutEndSent | PhaseId::PutEndResponse => Family::End,
        PhaseId::RevokeBefore | PhaseId::RevokeSent | PhaseId::RevokeResponse => Family::Revoke,
        PhaseId::GetQueryBefore | PhaseId::GetQuerySent | PhaseId::GetQueryResponse => Family::Query,
        PhaseId::RemoveBefore | PhaseId::RemoveSent | PhaseId::RemoveResponse => {
            return rpc::is_removal(rpc);
        }
        PhaseId::MountBefore | PhaseId::MountSent | PhaseId::MountResponse => return rpc == "MountSegment",
        PhaseId::CopyStartBefore | PhaseId::CopyStartSent | PhaseId::CopyStartResponse => {
            return rpc::is_replication_start(rpc);
        }
        PhaseId::CopyEndSent | PhaseId::CopyEndResponse => {
            return matches!(rpc::replication_end(rpc), Some(ReplicationEnd::Commit { .. }));
        }
        PhaseId::CopyPayloadPart
        | PhaseId::CopyPayloadDone
        | PhaseId::PutPayloadPart
        | PhaseId::PutPayloadDone
        | PhaseId::GetPayloadPart
        | PhaseId::GetPayloadDone => return false,
    };
    rpc::family(rpc) == Some(family)
}
