//! One scenario on one engine, as often as was asked for.

use super::entry::{Entry, Outcome, Repeats};
use super::{Suite, run_one};
use crate::error::CliError;
use crate::select::Selected;
use crate::stop::Stop;
use moonquake_faults::Profile;
use moonquake_scenario::EngineKind;

/// The name under which the files of a run lie.
pub(super) fn stem(stem: String, number: u32) -> String {
    if number == 1 {
        stem
    } else {
        format!("{stem}.run-{number}")
    }
}

/// All runs. The files of the first are kept, and those of every run that came out otherwise.
pub(super) fn run(
    suite: &Suite,
    selected: &Selected,
    (kind, profile): (EngineKind, Profile),
    (stop, unwritten): (&Stop, &mut Option<CliError>),
) -> Entry {
    let mut shown = run_one(suite, selected, (kind, profile, 1), (stop, unwritten));
    let is_interrupted = matches!(shown.outcome, Outcome::Failed { .. }) && stop.asked().is_some();
    if suite.times == 1 || matches!(shown.outcome, Outcome::Skipped(_)) || is_interrupted {
        return shown;
    }
    let first = sha256(&shown.outcome).map(str::to_owned);
    let mut repeats = Repeats {
        times: suite.times,
        done: 1,
        as_said: u32::from(is_met(&shown.outcome)),
        differing: Vec::new(),
    };
    if repeats.as_said == 0 {
        repeats.differing.push(1);
    }
    for number in 2..=suite.times {
        if stop.asked().is_some() {
            break;
        }
        let next = run_one(suite, selected, (kind, profile, number), (stop, unwritten));
        if matches!(next.outcome, Outcome::Failed { .. }) && stop.asked().is_some() {
            break;
        }
        repeats.done += 1;
        shown.took += next.took;
        let is_same = first
            .as_deref()
            .is_some_and(|first| sha256(&next.outcome) == Some(first));
        if is_met(&next.outcome) && (is_same || first.is_none()) {
            repeats.as_said += 1;
            forget(suite, &next, number);
            continue;
        }
        // The first that went wrong is the one to look at.
        if repeats.differing.is_empty() {
            let took = shown.took;
            shown = Entry { took, ..next };
        }
        repeats.differing.push(number);
    }
    shown.repeats = Some(repeats);
    shown
}

fn sha256(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Ran(ran) => Some(&ran.sha256),
        _ => None,
    }
}

fn is_met(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Ran(ran) if ran.is_met())
}

/// Removes the files of a run that says what the first one says.
fn forget(suite: &Suite, entry: &Entry, number: u32) {
    let name = super::files::stem(&entry.id, entry.engine, entry.profile, suite.seed);
    let name = stem(name, number);
    for ending in ["html", "md", "json", "record.json"] {
        // What is not there need not go, and what cannot go does no harm.
        let _ = std::fs::remove_file(suite.report.join(format!("{name}.{ending}")));
    }
}
