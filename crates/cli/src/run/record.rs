//! The record of each run: begun on the disk before the fault strikes, completed when there is a verdict.

use super::entry::{Entry, Outcome};
use super::files::put;
use super::one::hex_sha256_of;
use crate::engines::is_real;
use crate::error::CliError;
use moonquake_faults::Profile;
use moonquake_native::process::library;
use moonquake_report::{Machine, Record, records_markdown};
use moonquake_scenario::{EngineKind, Listener, Milestone, Plan};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of the page with all runs of an invocation.
const ALL: &str = "record.md";

/// Keeps the record of one run.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug)]
struct Kept {
    record: Record,
    folder: PathBuf,
    name: String,
    /// The first time that it could not be written, and why.
    unwritten: Option<CliError>,
}

impl Kept {
    fn save(&mut self) {
        if self.unwritten.is_none() {
            self.unwritten = put(&self.folder, &self.name, &self.record.json()).err();
        }
    }
}

impl Keeper {
    /// Begins, on the disk too.
    pub(crate) fn begin(
        folder: &Path,
        stem: &str,
        plan: &Plan,
        (kind, profile, seed): (EngineKind, Profile, Option<u64>),
        replay: &str,
    ) -> Keeper {
        let machine = Machine {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
        };
        let mut record = Record::begin(plan, kind.name(), profile.name(), seed, replay, machine);
        if let Some(sha256) = is_real(kind).then(preload_sha256).flatten() {
            record.hashes.insert("preload library".to_owned(), sha256);
        }
        let mut kept = Kept {
            record,
            folder: folder.to_owned(),
            name: format!("{stem}.record.json"),
            unwritten: None,
        };
        kept.save();
        Keeper {
            kept: Arc::new(Mutex::new(kept)),
        }
    }

    /// Hears the milestones of the run, and writes each down before the run goes on.
    pub(crate) fn listener(&self) -> Listener {
        let kept = self.kept.clone();
        Listener::new(move |milestone| {
            let mut kept = lock(&kept);
            match milestone {
                Milestone::Ready { baseline, state } => kept.record.ready(baseline, state),
                Milestone::BeforeFault { at, events, state } => kept.record.before_fault(at, events, state),
            }
            kept.save();
        })
    }

    /// Completes the record.
    pub(crate) fn finish(&self, stem: &str, outcome: &Outcome) -> (Record, Option<CliError>) {
        let mut kept = lock(&self.kept);
        match outcome {
            Outcome::Ran(ran) => kept.record.complete(&ran.postmortem, stem),
            Outcome::Failed { why, .. } | Outcome::Skipped(why) => kept.record.fail(why),
        }
        kept.save();
        (kept.record.clone(), kept.unwritten.take())
    }
}

/// A run that panicked while it told something has left a record all the same.
fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn preload_sha256() -> Option<String> {
    let path = library::locate().ok()?;
    Some(hex_sha256_of(&std::fs::read(path).ok()?))
}

/// Writes the page with all runs of an invocation; with them the run that was interrupted, and how many were not begun.
pub(crate) fn write_all(
    folder: &Path,
    entries: &[Entry],
    (interrupted, missing): (Option<&Entry>, usize),
) -> Result<PathBuf, CliError> {
    let name = |entry: &Entry| {
        let profile = entry.profile.name();
        format!("{} on {}, profile {profile}", entry.id, entry.engine)
    };
    let records: Vec<Record> = entries.iter().filter_map(|entry| entry.record.clone()).collect();
    let mut skipped: Vec<(String, String)> = entries
        .iter()
        .filter_map(|entry| match &entry.outcome {
            Outcome::Skipped(why) => Some((name(entry), why.clone())),
            _ => None,
        })
        .collect();
    if let Some(entry) = interrupted {
        skipped.push((name(entry), "interrupted on request".to_owned()));
    }
    if missing > 0 {
        let others = format!("{missing} further");
        skipped.push((others, "not begun: ended on request".to_owned()));
    }
    put(folder, ALL, &records_markdown(&records, &skipped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonquake_model::ModelEngine;
    use moonquake_scenario::{Engine, RunOptions, parse};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn on_disk(folder: &Path) -> serde_json::Value {
        let text = std::fs::read(folder.join("stem.record.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn the_baseline_is_on_the_disk_before_the_fault_strikes_and_survives_the_harness() {
        let text = include_bytes!("../self_check.scenario.toml");
        let plan = parse::from_str("self-check", text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let how = (EngineKind::Model, Profile::Upstream, None);
        let keeper = Keeper::begin(&path, "stem", &plan, how, "moonquake run self-check");
        assert_eq!(on_disk(&path)["status"], "begun");
        let kept = keeper.listener();
        let mut options = RunOptions::new(Profile::Upstream);
        options.listener = Some(Listener::new(move |milestone| {
            kept.tell(milestone);
            let record = on_disk(&path);
            assert_eq!(record["hashes"]["scenario"].as_str().map(str::len), Some(64));
            if let Milestone::BeforeFault { at, .. } = milestone {
                assert_eq!(record["baseline"]["fault_at_ns"], at.ns);
                panic!("the harness dies");
            }
            assert_eq!(record["status"], "ready");
        }));
        let died = catch_unwind(AssertUnwindSafe(|| ModelEngine.run(&plan, &options)));
        assert!(died.is_err());
        let record = on_disk(folder.path());
        assert_eq!(record["status"], "before-fault");
        assert_eq!(record["result"], serde_json::Value::Null);
        assert!(record["baseline"]["at_start"]["capacity_bytes"].as_u64() > Some(0));
        assert!(record["baseline"]["before_fault"]["capacity_bytes"].as_u64() > Some(0));
        assert!(record["configuration"]["timeouts.lease"].is_string());
        // A run that is known to have failed says so.
        let failed = Outcome::Failed {
            why: "it died".to_owned(),
            exit: crate::exit::Exit::Harness,
        };
        assert!(keeper.finish("stem", &failed).1.is_none());
        assert_eq!(on_disk(folder.path())["status"], "failed");
        assert_eq!(on_disk(folder.path())["failure"], "it died");
    }
}
