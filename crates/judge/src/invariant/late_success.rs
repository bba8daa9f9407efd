//! `no-success-after-lease`: a read that ended at or after the end of its lease is not reported as success.
//!
//! The lease is the one that the read's own query was told, or the session that it reads with, counted from the moment
//! the query was sent, on the timeline's own time. It is over at its last instant. In a batch each key is a read by
//! itself, which ended when the last of its bytes had landed. So are the ranges of one get, which has as many results; it
//! may renew its lease on the way.

use super::Judged;
use crate::lease::{self, Told};
use crate::outcome;
use crate::rpc;
use crate::view::{Pos, View};
use moonquake_evidence::Op;
use moonquake_scenario::Verb;

pub(super) fn judge(view: &View<'_>) -> Judged {
    let mut failures = Vec::new();
    let mut reads = Vec::new();
    for op in view.runs.keys().copied() {
        if !matches!(view.verb(op), Some(Verb::Get | Verb::GetRead | Verb::BatchGet)) {
            continue;
        }
        let Some(ended) = view.ended(op) else { continue };
        if !outcome::is_success(ended.outcome) {
            continue;
        }
        if view.action(op).is_some_and(|action| !action.ranges.is_empty()) && !ended.entries.is_empty() {
            ranges(view, op, ended.entries, &mut reads, &mut failures);
            continue;
        }
        // A session that was queried anew rests on its latest lease.
        let Some(told) = lease::told_to(view, op)
            .into_iter()
            .rfind(|told| told.told < ended.pos)
        else {
            continue;
        };
        if view.verb(op) == Some(Verb::BatchGet) {
            batch(view, op, &told, ended.entries, &mut reads, &mut failures);
            continue;
        }
        reads.push(ended.pos);
        if view.at(ended.pos) >= told.until {
            let text = format!(
                "{} ended with {} at {}, its lease was over at {}",
                view.op_name(op),
                ended.outcome,
                ended.event.at,
                told.until
            );
            failures.push((text, vec![told.sent, told.told, ended.pos]));
        }
    }
    Judged::over(
        failures,
        &reads,
        "successful read| with a lease",
        "no read with a lease succeeded",
    )
}

/// The ranges of one get: what moved for one that is reported as read ended within the latest lease that the reader was
/// told by then. Ranges that failed before anything moved have no transfer, and the others have theirs in order.
fn ranges(
    view: &View<'_>,
    op: Op,
    results: &[String],
    reads: &mut Vec<Pos>,
    failures: &mut Vec<(String, Vec<Pos>)>,
) {
    if !results.iter().any(|result| result == "ok") {
        return;
    }
    let told = lease::told_to(view, op);
    let landed = view
        .transfers_of(op)
        .filter_map(|(_, transfer)| transfer.complete_at(view.end()));
    for landed in landed {
        let Some(told) = told.iter().rfind(|told| told.told < landed) else {
            continue;
        };
        reads.push(landed);
        let is_told_so = results.iter().any(|result| result == "LEASE_EXPIRED");
        if view.at(landed) >= told.until && !is_told_so {
            let text = format!(
                "{} reported ranges as read, one of which was complete at {} and its lease was over at {}",
                view.op_name(op),
                view.at(landed),
                told.until
            );
            failures.push((text, vec![told.sent, told.told, landed]));
        }
    }
}

/// The keys of a batch that were reported as success: each is a read that ended when its own bytes had landed.
fn batch(
    view: &View<'_>,
    op: Op,
    told: &Told,
    results: &[String],
    reads: &mut Vec<Pos>,
    failures: &mut Vec<(String, Vec<Pos>)>,
) {
    let answer = view
        .frames_of(op)
        .find(|frame| frame.pos == told.told)
        .map(|frame| rpc::entries(view, frame));
    for (entry, _) in answer
        .unwrap_or_default()
        .iter()
        .zip(results)
        .filter(|(_, result)| *result == "ok")
    {
        let mut own = view.transfers_over(op, &entry.ranges);
        let landed = own.find_map(|transfer| transfer.complete_at(view.end()));
        let Some(landed) = landed else { continue };
        reads.push(landed);
        if view.at(landed) >= told.until {
            let text = format!(
                "{} reported {} as read, its bytes were complete at {} and its lease was over at {}",
                view.op_name(op),
                entry.key,
                view.at(landed),
                told.until
            );
            failures.push((text, vec![told.sent, told.told, landed]));
        }
    }
}
