//! The eight invariants, judged on every run whether asked for or not. Each file defines one of them precisely.

mod access;
mod bytes;
mod crash;
mod foreign;
mod late_success;
mod lease;
mod visible;
mod writers;

use crate::attempts::Attempts;
use crate::judgement::{Finding, Status};
use crate::regions::Lanes;
use crate::view::{Pos, View};
pub use moonquake_scenario::INVARIANTS;

/// What each invariant demands, in the same order.
const DEMANDS: [&str; 8] = [
    "a read returns only bytes that a completed put of that key wrote",
    "a key is readable only once the PutEnd of its current attempt was handled",
    "while a reader's lease lives nobody else gets or writes its bytes",
    "a read that ended after its lease is not reported as success",
    "at most one unfinished write per key that is not older than the discard timeout",
    "allocated bytes are those of live, unfinished and quarantined replicas",
    "after a crash the key becomes writable and the bytes come back within the configured bounds",
    "no access to a buffer after its operation reported failure",
];

/// What became of one invariant.
pub(crate) struct Judged {
    status: Status,
    text: String,
    places: Vec<Pos>,
}

impl Judged {
    fn held(text: impl Into<String>, places: impl IntoIterator<Item = Pos>) -> Judged {
        Judged::new(Status::Held, text, places)
    }

    fn failed(text: impl Into<String>, places: impl IntoIterator<Item = Pos>) -> Judged {
        Judged::new(Status::Failed, text, places)
    }

    fn idle(text: impl Into<String>) -> Judged {
        Judged::new(Status::NotApplicable, text, None)
    }

    fn new(status: Status, text: impl Into<String>, places: impl IntoIterator<Item = Pos>) -> Judged {
        Judged {
            status,
            text: text.into(),
            places: places.into_iter().collect(),
        }
    }

    /// Failed with the first of `failures` (and the number of the others), or held over what was `looked_at`, or not
    /// applicable if that is nothing.
    fn over(failures: Vec<(String, Vec<Pos>)>, looked_at: &[Pos], what: &str, idle: &str) -> Judged {
        let more = failures.len().saturating_sub(1);
        match failures.into_iter().next() {
            Some((text, places)) if more == 0 => Judged::failed(text, places),
            Some((text, places)) => Judged::failed(format!("{text}; and {more} more times"), places),
            None if looked_at.is_empty() => Judged::idle(idle),
            None => {
                let ends = looked_at.iter().take(1).chain(looked_at.last()).copied();
                Judged::held(counted(looked_at.len(), what), ends)
            }
        }
    }
}

/// `1 state looked at`, `2 states looked at`; `what` is the singular, its first `|` is where the plural takes its s.
fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {} looked at", what.replacen('|', plural, 1))
}

/// All eight, in order.
pub(crate) fn findings(view: &View<'_>, lanes: &Lanes) -> Vec<Finding> {
    let attempts = Attempts::of(view);
    let accounts = bytes::accounts(view, &attempts);
    let judged = [
        foreign::judge(view, &attempts, lanes),
        visible::judge(view, &attempts),
        lease::judge(view),
        late_success::judge(view),
        writers::judge(view, &attempts),
        bytes::judge(view, &accounts),
        crash::judge(view, &attempts, &accounts),
        access::judge(view, lanes),
    ];
    INVARIANTS
        .iter()
        .zip(DEMANDS)
        .zip(judged)
        .map(|((name, demand), judged)| Finding {
            name: (*name).to_owned(),
            op: None,
            status: judged.status,
            expected: demand.to_owned(),
            actual: view.cited(judged.text, judged.places),
        })
        .collect()
}
