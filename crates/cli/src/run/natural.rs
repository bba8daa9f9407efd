//! The findings in real time, after the scenarios.

use super::entry::Repeats;
use super::human::Human;
use super::{Results, Suite, files, repeat};
use crate::exit::Exit;
use crate::out::Out;
use crate::stop::Stop;
use moonquake_faults::{Dimension, Profile};
use moonquake_native::{Natural, NaturalError};
use moonquake_report::html::{IndexOutcome, IndexRun};
use moonquake_report::measured_markdown;
use moonquake_scenario::{EngineKind, Interrupt, MeasuredRun, Verdict};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// One form on one engine.
#[derive(Debug)]
pub(crate) struct NaturalEntry {
    /// Its name.
    pub(crate) id: &'static str,
    /// The engine.
    pub(crate) engine: EngineKind,
    /// How often it came out as is known. What stands beside it is of the first run that did not, or else of the first.
    pub(crate) repeats: Repeats,
    /// What came, or why nothing did and how the program ends because of it.
    pub(crate) outcome: Result<Box<MeasuredRun>, (String, Exit)>,
    /// Where its postmortem is.
    pub(crate) markdown: Option<PathBuf>,
}

impl NaturalEntry {
    /// The command that runs it again.
    pub(crate) fn replay(&self) -> String {
        format!("moonquake run {} --long --engine {}", self.id, self.engine)
    }

    /// How the program ends because of it alone.
    pub(crate) fn exit(&self) -> Exit {
        match &self.outcome {
            Err((_, exit)) => *exit,
            Ok(run) if run.is_as_said() => Exit::Ok,
            Ok(run) if run.verdict == Verdict::NotReproduced => Exit::NotReproduced,
            Ok(_) => Exit::Violated,
        }
    }

    /// Its line on the page that lists all runs.
    pub(super) fn index_run(&self) -> IndexRun {
        let (title, outcome) = match &self.outcome {
            Ok(run) => {
                let outcome = IndexOutcome::Judged {
                    verdict: run.verdict,
                    is_met: run.is_as_said(),
                };
                (run.title.clone(), outcome)
            }
            Err((why, _)) => (String::new(), IndexOutcome::Failed(why.clone())),
        };
        let file = self.markdown.as_ref().and_then(|path| path.file_name());
        IndexRun {
            id: self.id.to_owned(),
            title,
            dimension: Dimension::Buffer.row().name.to_owned(),
            engine: self.engine.name().to_owned(),
            profile: Profile::Upstream.name().to_owned(),
            outcome,
            file: file.map(|name| name.to_string_lossy().into_owned()),
        }
    }
}

/// Runs the forms that are asked for on each engine that has the unmodified client.
pub(super) fn run_all(suite: &Suite, (stop, human): (&Stop, &Human), results: &mut Results, out: &mut Out) {
    let has_client = |kind: &&EngineKind| matches!(kind, EngineKind::Native | EngineKind::Hosted);
    for kind in suite.engines.iter().filter(has_client) {
        for form in &suite.natural {
            if stop.asked().is_some() {
                return;
            }
            human.doing(form.id(), *kind);
            let entry = run_often(suite, (*form, *kind), stop, results);
            human.natural(&entry, out);
            results.natural.push(entry);
        }
    }
}

/// All runs of one form. The postmortem of the first is kept, and those of every run that came out otherwise.
fn run_often(
    suite: &Suite,
    (form, kind): (Natural, EngineKind),
    stop: &Stop,
    results: &mut Results,
) -> NaturalEntry {
    let mut shown = run_one(form, kind, stop);
    keep(suite, &mut shown, 1, results);
    let mut repeats = Repeats {
        times: suite.natural_times,
        ..Repeats::default()
    };
    count(&mut repeats, &shown, 1);
    for number in 2..=suite.natural_times {
        if stop.asked().is_some() {
            break;
        }
        let mut next = run_one(form, kind, stop);
        if next.outcome.is_err() && stop.asked().is_some() {
            break;
        }
        let is_first_bad = repeats.differing.is_empty() && next.exit() != Exit::Ok;
        count(&mut repeats, &next, number);
        if next.exit() != Exit::Ok {
            keep(suite, &mut next, number, results);
        }
        if is_first_bad {
            shown = next;
        }
    }
    shown.repeats = repeats;
    shown
}

fn count(repeats: &mut Repeats, entry: &NaturalEntry, number: u32) {
    repeats.done += 1;
    if entry.exit() == Exit::Ok {
        repeats.as_said += 1;
    } else {
        repeats.differing.push(number);
    }
}

fn keep(suite: &Suite, entry: &mut NaturalEntry, number: u32, results: &mut Results) {
    let Ok(run) = &entry.outcome else { return };
    let stem = format!("{}.{}", entry.id.replace('/', "."), entry.engine);
    let name = format!("{}.md", repeat::stem(stem, number));
    match files::put(&suite.report, &name, &measured_markdown(run)) {
        Ok(path) => entry.markdown = Some(path),
        Err(error) => results.unwritten = results.unwritten.take().or(Some(error)),
    }
}

fn run_one(form: Natural, kind: EngineKind, stop: &Stop) -> NaturalEntry {
    let asked = stop.clone();
    let interrupt = Interrupt::new(move || asked.asked().is_some());
    // A defect met in one must not cost the others; its processes end with what holds them.
    let done = catch_unwind(AssertUnwindSafe(|| form.run(kind, &interrupt)));
    let outcome = match done {
        Ok(Ok(run)) => Ok(Box::new(run)),
        Ok(Err(NaturalError::Interrupted)) => {
            let exit = stop.asked().unwrap_or(Exit::Interrupted);
            Err((NaturalError::Interrupted.to_string(), exit))
        }
        Ok(Err(error)) => Err((error.to_string(), Exit::Harness)),
        Err(_) => {
            let why = "the harness panicked; its message is on standard error";
            Err((why.to_owned(), Exit::Harness))
        }
    };
    NaturalEntry {
        id: form.id(),
        engine: kind,
        repeats: Repeats::default(),
        outcome,
        markdown: None,
    }
}
