//! `crash-is-bounded`: after a crash in any phase the key becomes writable and the bytes come back within the
//! configured bounds.
//!
//! Judged when somebody other than the injector saw the target of a crash (or of a restart) end with an attempt
//! unfinished. From then on
//!
//! - a PutStart of the key that is handled later than PutStart + discard is not refused because of that attempt;
//! - once an eviction round that certainly swept came after PutStart + release, its bytes are not allocated any more.
//!   Without pressure such a round comes by PutStart + 2 * release at the latest.

use super::Judged;
use super::bytes::Accounts;
use crate::attempts::{Attempt, Attempts, Fate};
use crate::rpc::{self, Family};
use crate::view::{Frame, Pos, View};
use moonquake_evidence::{Change, Leg};
use moonquake_faults::Dimension;
use std::collections::BTreeMap;

pub(super) fn judge(view: &View<'_>, attempts: &Attempts, accounts: &Accounts) -> Judged {
    if !matches!(view.plan.fault.dimension, Dimension::Crash | Dimension::Restart) {
        return Judged::idle("nothing crashes in this scenario");
    }
    let target = view.plan.fault.target.as_str();
    let death = view
        .changes(target)
        .find(|(_, change)| *change == Change::Killed)
        .map(|(pos, _)| pos);
    let Some(death) = death else {
        return Judged::idle(format!("nobody saw {target} end"));
    };
    let left: Vec<(usize, &Attempt)> = attempts
        .all
        .iter()
        .enumerate()
        .filter(|(_, attempt)| attempt.client == target && attempt.unfinished_at(death))
        .collect();
    if left.is_empty() {
        return Judged::new(
            crate::Status::NotApplicable,
            format!("{target} left no unfinished write behind"),
            [death],
        );
    }
    let mut failures = Vec::new();
    let mut seen = vec![death];
    let starts = starts_after(view, death);
    for (index, attempt) in left {
        locked_out(view, attempt, (death, &starts), &mut failures, &mut seen);
        leaked(view, attempt, index, accounts, &mut failures, &mut seen);
    }
    seen.sort_unstable();
    if failures.is_empty() && seen.len() == 1 {
        let text = format!("the run ended before the bounds of what {target} left behind");
        return Judged::new(crate::Status::NotApplicable, text, seen);
    }
    Judged::over(failures, &seen, "moment| of what the crash left behind", "")
}

type Failures = Vec<(String, Vec<Pos>)>;

/// The PutStarts of each key after a death, with their answers.
type Starts<'a> = BTreeMap<String, Vec<(&'a Frame<'a>, Option<&'a str>)>>;

fn starts_after<'a>(view: &'a View<'a>, death: Pos) -> Starts<'a> {
    let mut starts = Starts::new();
    for frame in view.frames.iter().filter(|frame| frame.pos > death) {
        let is_start = rpc::family(frame.rpc) == Some(Family::Start) && !frame.rpc.contains("Upsert");
        if !is_start || frame.leg != Leg::RequestHandled {
            continue;
        }
        for entry in rpc::entries(view, frame) {
            starts.entry(entry.key).or_default().push((frame, entry.code));
        }
    }
    starts
}

/// PutStarts of the key after the discard timeout that were refused because of the attempt.
fn locked_out(
    view: &View<'_>,
    attempt: &Attempt,
    (death, starts): (Pos, &Starts<'_>),
    failures: &mut Failures,
    seen: &mut Vec<Pos>,
) {
    let bound = view.at(attempt.start) + view.plan.world.timeouts.discard;
    for (frame, code) in starts.get(&attempt.key).into_iter().flatten() {
        if view.at(frame.pos) <= bound || !attempt.unfinished_at(frame.pos) {
            continue;
        }
        seen.push(frame.pos);
        // An old value that is still readable is reason enough.
        let is_readable = view
            .state_before(frame.pos)
            .is_some_and(|(_, state)| state.keys.contains_key(&attempt.key));
        if *code == Some("OBJECT_ALREADY_EXISTS") && !is_readable {
            let text = format!(
                "{} was still refused to {} at {}, the crashed attempt could be discarded after {bound}",
                attempt.key,
                frame.event.actor,
                view.at(frame.pos)
            );
            failures.push((text, vec![attempt.start, death, frame.pos]));
        }
    }
    // The PutStart that took the key over shows that it became writable.
    if let Some(Fate::Preempted(at) | Fate::Overtaken(at)) = attempt.fate {
        seen.push(at);
    }
}

/// States after the bytes must have come back that say more than everything else accounts for.
fn leaked(
    view: &View<'_>,
    attempt: &Attempt,
    index: usize,
    accounts: &Accounts,
    failures: &mut Failures,
    seen: &mut Vec<Pos>,
) {
    let Ok(accounts) = accounts else { return };
    for account in accounts {
        // They are in the order of the attempts.
        let Ok(place) = account
            .overdue
            .binary_search_by_key(&index, |(attempt, _)| *attempt)
        else {
            continue;
        };
        let (_, bytes) = &account.overdue[place];
        seen.push(account.pos);
        let without = account.upper.saturating_sub(*bytes);
        if account.allocated > without {
            let text = format!(
                "{bytes} bytes of the crashed attempt on {} are still allocated at {}",
                attempt.key,
                view.at(account.pos)
            );
            failures.push((text, vec![attempt.start, account.pos]));
        }
    }
}
