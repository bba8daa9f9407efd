//! The findings in real time, after the scenarios.

use super::human::Human;
use super::{Results, Suite, files};
use crate::exit::Exit;
use crate::out::Out;
use crate::stop::Stop;
use moonquake_native::{Natural, NaturalError};
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
            let mut entry = run_one(*form, *kind, stop);
            if let Ok(run) = &entry.outcome {
                let name = format!("{}.{kind}.md", form.id().replace('/', "."));
                match files::put(&suite.report, &name, &measured_markdown(run)) {
                    Ok(path) => entry.markdown = Some(path),
                    Err(error) => results.unwritten = results.unwritten.take().or(Some(error)),
                }
            }
            human.natural(&entry, out);
            results.natural.push(entry);
        }
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
        outcome,
        markdown: None,
    }
}
