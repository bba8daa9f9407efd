//! Running many scenarios: one after the other, judged, written down and shown.

mod aside;
mod compare;
mod entry;
mod files;
mod human;
mod json;
mod natural;
mod one;
mod record;
mod repeat;
mod summary;

use crate::engines::{Availability, availability};
use crate::engines::{engine, has_profile};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::select::Selected;
use crate::stop::Stop;
pub(crate) use aside::unless_asked;
use clap::ValueEnum;
use compare::Difference;
use entry::{Entry, Outcome};
use moonquake_faults::Profile;
use moonquake_native::Natural;
use moonquake_scenario::{EngineKind, Interrupt, RunOptions};
pub(crate) use one::replay;
use record::Keeper;
use std::path::PathBuf;
use std::time::Duration;
use summary::Summary;

/// For whom the output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines for people
    Human,
    /// JSON for machines
    Json,
}

/// What to run, and how.
#[derive(Debug)]
pub(crate) struct Suite {
    /// The scenarios in order; each id once.
    pub(crate) selected: Vec<Selected>,
    /// The natural forms to run afterwards.
    pub(crate) natural: Vec<Natural>,
    /// The engines in order; the others are compared with the first.
    pub(crate) engines: Vec<EngineKind>,
    /// The profiles in order.
    pub(crate) profiles: Vec<Profile>,
    /// The seed of the order of deliveries.
    pub(crate) seed: Option<u64>,
    /// How often each scenario runs on each engine.
    pub(crate) times: u32,
    /// How often each natural form runs.
    pub(crate) natural_times: u32,
    /// The folder for postmortems.
    pub(crate) report: PathBuf,
    /// For whom the output is.
    pub(crate) format: Format,
    /// Whether times of the machine are shown.
    pub(crate) is_verbose: bool,
}

impl Suite {
    /// The number of runs if every engine can do everything.
    fn runs(&self) -> usize {
        self.selected.len() * self.engines.len() * self.profiles.len()
    }
}

/// Everything that came out.
#[derive(Debug, Default)]
struct Results {
    entries: Vec<Entry>,
    differences: Vec<Difference>,
    natural: Vec<natural::NaturalEntry>,
    /// The run that was under way when somebody asked for the end.
    interrupted: Option<Entry>,
    /// The first postmortem that could not be written, and why.
    unwritten: Option<CliError>,
}

/// Runs everything. The postmortems are on the disk when this returns.
pub(crate) fn run_suite(suite: &Suite, stop: &Stop, out: &mut Out) -> Exit {
    let mut results = Results::default();
    let human = human::Human::new(suite);
    human.begin(suite, out);
    let asked = 'all: {
        for selected in &suite.selected {
            for profile in &suite.profiles {
                let first = results.entries.len();
                for kind in &suite.engines {
                    if let Some(exit) = stop.asked() {
                        break 'all Some(exit);
                    }
                    human.doing(&selected.plan.id, *kind);
                    let entry =
                        repeat::run(suite, selected, (*kind, *profile), (stop, &mut results.unwritten));
                    if let (Outcome::Failed { .. }, Some(exit)) = (&entry.outcome, stop.asked()) {
                        results.interrupted = Some(entry);
                        break 'all Some(exit);
                    }
                    human.entry(&entry, out);
                    results.entries.push(entry);
                }
                let differences = compare::differences(selected, *profile, &results.entries[first..]);
                differences
                    .iter()
                    .for_each(|difference| human.difference(difference, out));
                results.differences.extend(differences);
            }
        }
        natural::run_all(suite, (stop, &human), &mut results, out);
        stop.asked()
    };
    let index = write_index(suite, &mut results);
    write_record(suite, &mut results);
    let summary = Summary::of(suite, &results, asked);
    match suite.format {
        Format::Human => human.end(suite, &results, &summary, index.as_deref(), out),
        Format::Json => out.text(&json::document(suite, &results, &summary)),
    }
    if let Some(error) = &results.unwritten {
        error.show();
    }
    let nothing_known = summary.ran == 0 && results.natural.is_empty() && can_run(suite);
    // What asked for runs and got none is not as the files say: a filter, a flag or a step is wrong.
    if nothing_known {
        summary.exit.worst(Exit::Usage)
    } else {
        summary.exit
    }
}

/// Writes the page that lists the runs, if any has a verdict.
fn write_index(suite: &Suite, results: &mut Results) -> Option<PathBuf> {
    let has_verdict = |entry: &Entry| matches!(entry.outcome, Outcome::Ran(_));
    let scenarios = results.entries.iter();
    if !scenarios.clone().any(has_verdict) && results.natural.iter().all(|entry| entry.outcome.is_err()) {
        return None;
    }
    let natural = results.natural.iter().map(natural::NaturalEntry::index_run);
    let listed: Vec<_> = scenarios.map(Entry::index_run).chain(natural).collect();
    match files::write_index(&suite.report, &listed) {
        Ok(path) => Some(path),
        Err(error) => {
            results.unwritten = results.unwritten.take().or(Some(error));
            None
        }
    }
}

/// Writes the page with the records of all runs, if any was tried.
fn write_record(suite: &Suite, results: &mut Results) {
    let tried = results.entries.iter().chain(&results.interrupted);
    if tried.into_iter().all(|entry| entry.record.is_none()) {
        return;
    }
    let done = results.entries.len() + usize::from(results.interrupted.is_some());
    let cut = (results.interrupted.as_ref(), suite.runs().saturating_sub(done));
    if let Err(error) = record::write_all(&suite.report, &results.entries, cut) {
        results.unwritten = results.unwritten.take().or(Some(error));
    }
}

/// Whether one of the engines exists on this platform.
fn can_run(suite: &Suite) -> bool {
    let here = |kind: &EngineKind| !matches!(availability(*kind), Availability::NotHere(_));
    suite.engines.iter().any(here)
}

/// One run with its postmortem, or why there is none. The first has the number 1.
fn run_one(
    suite: &Suite,
    selected: &Selected,
    (kind, profile, number): (EngineKind, Profile, u32),
    (stop, unwritten): (&Stop, &mut Option<CliError>),
) -> Entry {
    let mut entry = Entry {
        id: selected.plan.id.clone(),
        title: selected.plan.title.clone(),
        dimension: selected.plan.fault.dimension.row().name,
        engine: kind,
        profile,
        replay: one::replay(&selected.name, kind, profile, suite.seed),
        record: None,
        repeats: None,
        outcome: Outcome::Skipped("this version of Moonquake does not have the engine".to_owned()),
        took: Duration::ZERO,
    };
    let Some(mut engine) = engine(kind) else {
        return entry;
    };
    if !has_profile(kind, profile) {
        entry.outcome = Outcome::Skipped("a real master has one profile, upstream".to_owned());
        return entry;
    }
    if let Some(why) = engine.unsupported(&selected.plan) {
        entry.outcome = Outcome::Skipped(why);
        return entry;
    }
    let stem = repeat::stem(files::stem(&entry.id, kind, profile, suite.seed), number);
    let how = (kind, profile, suite.seed);
    let keeper = Keeper::begin(&suite.report, &stem, &selected.plan, how, &entry.replay);
    let begin = now();
    let mut options = RunOptions::new(profile);
    options.seed = suite.seed;
    options.listener = Some(keeper.listener());
    let asked = stop.clone();
    options.interrupt = Some(Interrupt::new(move || asked.asked().is_some()));
    entry.outcome = one::run(&mut *engine, &selected.plan, &options, &entry.replay);
    entry.took = begin.elapsed();
    let (record, error) = keeper.finish(&stem, &entry.outcome);
    entry.record = Some(record);
    *unwritten = unwritten.take().or(error);
    if let Outcome::Ran(ran) = &mut entry.outcome
        && let Some(forms) = ran.forms.take()
    {
        match files::write(&suite.report, &stem, &forms) {
            Ok(files) => ran.files = Some(files),
            Err(error) => *unwritten = unwritten.take().or(Some(error)),
        }
    }
    entry
}

/// How long a run takes is told to people and decides nothing.
#[allow(
    clippy::disallowed_methods,
    reason = "the time of this machine is shown and never judged"
)]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
