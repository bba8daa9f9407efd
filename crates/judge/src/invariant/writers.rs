//! `one-writer-per-key`: at most one unfinished write per key.
//!
//! A PutStart may be granted while another attempt on the key is unfinished only if that attempt is older than the
//! discard timeout (strictly, on the timeline's own time). An attempt is unfinished from its PutStart until a PutEnd
//! completes it, a PutRevoke ends it, a later attempt preempts it, or its memory goes with the segment or the master.
//! UpsertStart takes a key over at any age by its contract, and is not looked at.

use super::Judged;
use crate::attempts::{Attempts, Fate};
use crate::view::{Pos, View};

pub(super) fn judge(view: &View<'_>, attempts: &Attempts) -> Judged {
    let discard = view.plan.world.timeouts.discard;
    let mut failures = Vec::new();
    let mut places: Vec<Pos> = Vec::new();
    for attempt in &attempts.all {
        places.push(attempt.start);
        let Some(Fate::Preempted(at)) = attempt.fate else {
            continue;
        };
        let age = view.at(at) - view.at(attempt.start);
        if !attempt.lost_at(at) && age <= discard {
            let text = format!(
                "a PutStart of {} by {} was granted when the unfinished attempt of {} was {age} old",
                attempt.key, view.events[at].actor, attempt.client
            );
            failures.push((text, vec![attempt.start, at]));
        }
    }
    Judged::over(failures, &places, "granted PutStart|", "no PutStart was granted")
}
