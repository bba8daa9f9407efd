//! `no-success-after-lease`: a read that ended at or after the end of its lease is not reported as success.
//!
//! The lease is the one that the read's own query was told, or the session that it reads with, counted from the moment
//! the query was sent, on the timeline's own time. It is over at its last instant.

use super::Judged;
use crate::lease;
use crate::outcome;
use crate::view::View;
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
        // A session that was queried anew rests on its latest lease.
        let Some(told) = lease::told_to(view, op)
            .into_iter()
            .rfind(|told| told.told < ended.pos)
        else {
            continue;
        };
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
