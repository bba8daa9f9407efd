//! The leases that readers were told.

use crate::rpc::{self, Family};
use crate::view::{Pos, View};
use moonquake_clock::Span;
use moonquake_evidence::{Leg, Op, Range};
use moonquake_scenario::Verb;

/// A lease that a reader was told, with the bytes that it is about.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// Who was told.
    pub(crate) reader: String,
    pub(crate) op: Option<Op>,
    /// Where the query left the reader; the lease counts from there.
    pub(crate) sent: Pos,
    /// Where the master granted it.
    pub(crate) granted: Pos,
    /// Where the reader was told.
    pub(crate) told: Pos,
    /// Its end, on the timeline's own time.
    pub(crate) until: Span,
    pub(crate) ranges: Vec<Range>,
    pub(crate) key: Option<String>,
}

/// Every lease that some reader was told.
pub(crate) fn all_told(view: &View<'_>) -> Vec<Told> {
    let answers = view
        .frames
        .iter()
        .filter(|frame| frame.leg == Leg::ResponseDelivered && rpc::family(frame.rpc) == Some(Family::Query));
    answers
        .filter_map(|frame| {
            let lease = Span::from_ms(frame.lease_ms?);
            if frame.ranges.is_empty() {
                return None;
            }
            let sent = view.leg(frame.message, Leg::RequestSent)?.pos;
            let granted = view
                .leg(frame.message, Leg::RequestHandled)
                .map_or(frame.pos, |frame| frame.pos);
            Some(Told {
                reader: frame.event.actor.clone(),
                op: frame.event.op,
                sent,
                granted,
                told: frame.pos,
                until: view.at(sent) + lease,
                ranges: frame.ranges.to_vec(),
                key: frame.key.map(str::to_owned),
            })
        })
        .collect()
}

/// The leases that a read rests on: those its own query was told, or those of the session that it uses.
pub(crate) fn told_to(view: &View<'_>, op: Op) -> Vec<Told> {
    let all = all_told(view);
    let own: Vec<Told> = all.iter().filter(|told| told.op == Some(op)).cloned().collect();
    if !own.is_empty() {
        return own;
    }
    session(view, op).map_or_else(Vec::new, |session| {
        all.into_iter().filter(|told| told.op == Some(session)).collect()
    })
}

/// The `get_start` whose descriptors a `get_read` uses: the one named, or the client's latest before it.
pub(crate) fn session(view: &View<'_>, op: Op) -> Option<Op> {
    let action = view.action(op)?;
    if action.verb != Verb::GetRead {
        return None;
    }
    let began = view.runs.get(&op)?.began?;
    let candidates = view.runs.iter().filter(|(other, run)| {
        let Some(start) = view.action(**other) else {
            return false;
        };
        let named = action
            .use_step
            .is_none_or(|step| usize::try_from(other.step) == Ok(step));
        named
            && start.verb == Verb::GetStart
            && start.who == action.who
            && run.began.is_some_and(|pos| pos < began)
    });
    candidates
        .max_by_key(|(_, run)| run.began)
        .map(|(other, _)| *other)
}
