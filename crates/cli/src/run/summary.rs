//! What all runs together amount to.

use super::entry::Outcome;
use super::one::hex_sha256;
use super::{Results, Suite};
use crate::exit::Exit;
use moonquake_scenario::Verdict;
use std::fmt::Write as _;

/// Counts, the hash of everything, and the exit code.
#[derive(Debug)]
pub(crate) struct Summary {
    /// Scenarios that were selected.
    pub(crate) scenarios: usize,
    /// Runs that were planned, skipped ones included.
    pub(crate) planned: usize,
    /// Runs with a verdict.
    pub(crate) ran: usize,
    /// Runs that came out as their file says.
    pub(crate) as_claimed: usize,
    /// Runs whose injection could not be proven although the file does not say so.
    pub(crate) not_reproduced: usize,
    /// Runs that came out otherwise for another reason.
    pub(crate) violated: usize,
    /// Runs that the engine cannot do.
    pub(crate) skipped: usize,
    /// Runs in which something failed that must not.
    pub(crate) failed: usize,
    /// Postmortems that could not be written.
    pub(crate) unwritten: usize,
    /// Scenarios whose engines part where the file does not say so.
    pub(crate) differences: usize,
    /// Runs that took place, all of each scenario counted, where several were asked for.
    pub(crate) done: u64,
    /// Of those, runs that came out as their file says and with the events of the first.
    pub(crate) as_said: u64,
    /// SHA-256 over every run that has a verdict, with its evidence (model) or projection (real processes).
    pub(crate) evidence_sha256: String,
    /// Whether somebody asked to end before everything was run.
    pub(crate) is_cut_short: bool,
    /// How the program ends.
    pub(crate) exit: Exit,
}

impl Summary {
    /// Counts.
    pub(crate) fn of(suite: &Suite, results: &Results, asked: Option<Exit>) -> Summary {
        let mut summary = Summary {
            scenarios: suite.selected.len(),
            planned: suite.runs(),
            ran: 0,
            as_claimed: 0,
            not_reproduced: 0,
            violated: 0,
            skipped: 0,
            failed: 0,
            unwritten: 0,
            differences: 0,
            done: 0,
            as_said: 0,
            evidence_sha256: String::new(),
            is_cut_short: asked.is_some(),
            exit: asked.unwrap_or(Exit::Ok),
        };
        let mut hashed = String::new();
        for entry in &results.entries {
            summary.exit = summary.exit.worst(entry.exit());
            if let Some(repeats) = &entry.repeats {
                summary.done += u64::from(repeats.done);
                summary.as_said += u64::from(repeats.as_said);
            }
            match &entry.outcome {
                Outcome::Skipped(_) => summary.skipped += 1,
                Outcome::Failed { .. } => summary.failed += 1,
                Outcome::Ran(ran) => {
                    summary.ran += 1;
                    summary.unwritten += usize::from(ran.files.is_none());
                    match ran.postmortem.verdict {
                        _ if ran.is_met() => summary.as_claimed += 1,
                        Verdict::NotReproduced => summary.not_reproduced += 1,
                        Verdict::Holds | Verdict::Violated => summary.violated += 1,
                    }
                    let (id, engine, profile) = (&entry.id, entry.engine, entry.profile.name());
                    let _infallible = writeln!(hashed, "{id} {engine} {profile} {}", ran.sha256);
                }
            }
        }
        for natural in &results.natural {
            summary.exit = summary.exit.worst(natural.exit());
        }
        summary.differences = results
            .differences
            .iter()
            .filter(|difference| !difference.is_declared)
            .count();
        if summary.differences > 0 {
            summary.exit = summary.exit.worst(Exit::Disagree);
        }
        if let Some(error) = &results.unwritten {
            summary.exit = summary.exit.worst(error.exit());
        }
        summary.evidence_sha256 = hex_sha256(&hashed);
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::Difference;
    use super::super::entry::Entry;
    use super::super::{Format, Suite};
    use super::*;
    use moonquake_faults::Profile;
    use moonquake_scenario::EngineKind;
    use std::path::PathBuf;
    use std::time::Duration;

    fn suite() -> Suite {
        Suite {
            selected: Vec::new(),
            natural: Vec::new(),
            times: 1,
            natural_times: 1,
            engines: vec![EngineKind::Model, EngineKind::Master],
            profiles: vec![Profile::Upstream],
            seed: None,
            report: PathBuf::new(),
            format: Format::Human,
            is_verbose: false,
        }
    }

    fn parted(is_declared: bool) -> Difference {
        Difference {
            id: "a".to_owned(),
            profile: Profile::Upstream,
            engines: [EngineKind::Model, EngineKind::Master],
            line: 1,
            says: [Some("x".to_owned()), None],
            is_declared,
        }
    }

    fn failed(exit: Exit) -> Entry {
        Entry {
            id: "a".to_owned(),
            title: String::new(),
            dimension: "crash",
            engine: EngineKind::Master,
            profile: Profile::Upstream,
            replay: String::new(),
            record: None,
            repeats: None,
            outcome: Outcome::Failed {
                why: String::new(),
                exit,
            },
            took: Duration::ZERO,
        }
    }

    #[test]
    fn engines_that_part_count_only_if_no_file_says_so_and_nothing_is_worse() {
        let mut results = Results::default();
        let exit = |results: &Results, asked| Summary::of(&suite(), results, asked).exit;
        assert_eq!(exit(&results, None), Exit::Ok);
        results.differences = vec![parted(true)];
        assert_eq!(exit(&results, None), Exit::Ok);
        results.differences.push(parted(false));
        assert_eq!(exit(&results, None), Exit::Disagree);
        assert_eq!(Summary::of(&suite(), &results, None).differences, 1);
        results.entries = vec![failed(Exit::Harness), failed(Exit::NotInstalled)];
        assert_eq!(exit(&results, None), Exit::Harness);
        assert_eq!(exit(&results, Some(Exit::Interrupted)), Exit::Interrupted);
    }
}
