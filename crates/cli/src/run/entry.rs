//! What became of one run.

use super::files::{Files, Forms};
use crate::exit::Exit;
use moonquake_faults::Profile;
use moonquake_report::html::{IndexOutcome, IndexRun};
use moonquake_report::{Postmortem, Record};
use moonquake_scenario::{EngineKind, Verdict};
use std::time::Duration;

/// One scenario on one engine under one profile.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The scenario.
    pub(crate) id: String,
    /// Its title.
    pub(crate) title: String,
    /// The fault dimension.
    pub(crate) dimension: &'static str,
    /// The engine.
    pub(crate) engine: EngineKind,
    /// The profile.
    pub(crate) profile: Profile,
    /// The command that brings the same events back.
    pub(crate) replay: String,
    /// What became of it.
    pub(crate) outcome: Outcome,
    /// What became of all its runs, where it was asked for several.
    pub(crate) repeats: Option<Repeats>,
    /// Its record; none if it was not tried.
    pub(crate) record: Option<Record>,
    /// Time of this machine that it took.
    pub(crate) took: Duration,
}

/// Several runs of one scenario on one engine. What stands beside it is of the first run that went wrong, or else of the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Repeats {
    /// How many were asked for.
    pub(crate) times: u32,
    /// How many took place.
    pub(crate) done: u32,
    /// How many came out as the file says, with the events of the first.
    pub(crate) as_said: u32,
    /// The numbers of the others.
    pub(crate) differing: Vec<u32>,
}

/// What became of a run.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It has a verdict.
    Ran(Box<Ran>),
    /// The engine cannot do it, which is known without trying.
    Skipped(String),
    /// It has none because something failed that must not.
    Failed {
        /// What.
        why: String,
        /// How the program ends because of it.
        exit: Exit,
    },
}

/// A run with a verdict.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its postmortem.
    pub(crate) postmortem: Postmortem,
    /// The same in all its forms, until they are written.
    pub(crate) forms: Option<Forms>,
    /// The verdict line of the file that counts, from 0; none if none fits.
    pub(crate) claim_line: Option<usize>,
    /// Where it differs from what the file says, in words.
    pub(crate) deviations: Vec<String>,
    /// What must be the same on every engine.
    pub(crate) projection: Vec<String>,
    /// SHA-256 of what must be the same in every run: the evidence of the model, the projection of real processes.
    pub(crate) sha256: String,
    /// Where the postmortem is; none if it could not be written.
    pub(crate) files: Option<Files>,
}

impl Ran {
    /// Whether everything is as the file says.
    pub(crate) fn is_met(&self) -> bool {
        self.postmortem.claim.met
    }
}

impl Entry {
    /// How the program ends because of this run alone.
    pub(crate) fn exit(&self) -> Exit {
        match &self.outcome {
            Outcome::Skipped(_) => Exit::Ok,
            Outcome::Failed { exit, .. } => *exit,
            Outcome::Ran(ran) if ran.is_met() => self.exit_of_repeats(),
            Outcome::Ran(ran) if ran.postmortem.verdict == Verdict::NotReproduced => Exit::NotReproduced,
            Outcome::Ran(_) => Exit::Violated,
        }
    }

    /// Runs of one engine that part are like engines that part.
    fn exit_of_repeats(&self) -> Exit {
        let part = |repeats: &Repeats| !repeats.differing.is_empty();
        if self.repeats.as_ref().is_some_and(part) {
            Exit::Disagree
        } else {
            Exit::Ok
        }
    }

    /// Its line on the page that lists all runs.
    pub(crate) fn index_run(&self) -> IndexRun {
        let (outcome, file) = match &self.outcome {
            Outcome::Skipped(why) => (IndexOutcome::Skipped(why.clone()), None),
            Outcome::Failed { why, .. } => (IndexOutcome::Failed(why.clone()), None),
            Outcome::Ran(ran) => {
                let outcome = IndexOutcome::Judged {
                    verdict: ran.postmortem.verdict,
                    is_met: ran.is_met(),
                };
                (
                    outcome,
                    ran.files.as_ref().and_then(|files| files.html.file_name()),
                )
            }
        };
        IndexRun {
            id: self.id.clone(),
            title: self.title.clone(),
            dimension: self.dimension.to_owned(),
            engine: self.engine.name().to_owned(),
            profile: self.profile.name().to_owned(),
            outcome,
            file: file.map(|name| name.to_string_lossy().into_owned()),
        }
    }

    /// Whether it went wrong.
    pub(crate) fn is_bad(&self) -> bool {
        self.exit() != Exit::Ok
    }
}
