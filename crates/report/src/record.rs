//! The record of an experiment, as a study keeps it: what was there before the fault, the one thing that was changed,
//! what came of it, and what could not be reproduced.
//!
//! It is begun before the fault strikes and completed when the verdict is there; a run that never ends leaves what was
//! known by then.

mod markdown;

pub use markdown::records_markdown;

use crate::words::fault_in_words;
use crate::{BufferAnswer, Claim, Postmortem};
use moonquake_clock::Span;
use moonquake_evidence::{Baseline, State};
use moonquake_scenario::{Plan, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// The version of the JSON form. It grows when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;

/// One run as an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// The version of this form.
    pub schema: u32,
    /// How far the run had come when this was written.
    pub status: RecordStatus,
    /// The scenario's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its file, as given by the caller.
    pub path: String,
    /// The engine.
    pub engine: String,
    /// The profile.
    pub profile: String,
    /// The seed of the order of deliveries; none means first in, first out.
    pub seed: Option<u64>,
    /// The one dimension that is changed.
    pub changed: Changed,
    /// Who is who.
    pub versions: BTreeMap<String, String>,
    /// SHA-256 of the scenario and, where processes are real, of the binary and of the library that steers it.
    pub hashes: BTreeMap<String, String>,
    /// The configuration in force.
    pub configuration: BTreeMap<String, String>,
    /// What stood before the fault.
    pub baseline: Saved,
    /// Once there is a verdict: what came of it.
    pub result: Option<Outcome>,
    /// Why there is no verdict, if there will be none.
    pub failure: Option<String>,
    /// The command that brings the same events back.
    pub replay: String,
    /// Facts of the machine. Nothing else here differs from one to another, but for the hash of the preload library, which
    /// is that of a build.
    pub machine: Machine,
}

/// How far a run had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordStatus {
    /// The world was about to be set up.
    Begun,
    /// The world stood, and no step had been done.
    Ready,
    /// The fault was about to strike.
    BeforeFault,
    /// There is a verdict.
    Complete,
    /// There is none, and there will be none.
    Failed,
}

/// The one thing that is changed against an undisturbed run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The dimension.
    pub dimension: String,
    /// The actor it is done to.
    pub target: String,
    /// What, to whom, when.
    pub words: String,
}

/// What stood before the fault, saved before it struck.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Saved {
    /// When the world stood and no step had been done.
    pub at_start: Option<State>,
    /// The time of the fault from the start, in nanoseconds; none if none struck.
    pub fault_at_ns: Option<u64>,
    /// How many events had been seen before it.
    pub events_before_fault: Option<usize>,
    /// The last state that was read before it.
    pub before_fault: Option<State>,
}

/// What came of it: the four columns, the buffer question and the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// What came out.
    pub verdict: Verdict,
    /// Whether that is what the file claims.
    pub claim_met: bool,
    /// Column one.
    pub injected: String,
    /// Column two.
    pub expected: String,
    /// Column three.
    pub actual: Vec<Claim>,
    /// Column four.
    pub repair: String,
    /// Whether the buffers of the failed operation were still touched.
    pub buffer: BufferAnswer,
    /// What was missing for a proof of the injection; empty if it is proven.
    pub not_reproduced: Vec<Claim>,
    /// SHA-256 of the evidence.
    pub evidence_sha256: String,
    /// The name of the postmortem without its ending, beside this record.
    pub postmortem: String,
}

/// Facts of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// The operating system.
    pub os: String,
    /// The processor.
    pub arch: String,
}

impl Record {
    /// The record of a run that is about to begin.
    pub fn begin(
        plan: &Plan,
        engine: &str,
        profile: &str,
        seed: Option<u64>,
        replay: &str,
        machine: Machine,
    ) -> Record {
        let scenario = ("scenario".to_owned(), plan.sha256.clone());
        Record {
            schema: SCHEMA,
            status: RecordStatus::Begun,
            id: plan.id.clone(),
            title: plan.title.clone(),
            path: plan.path.clone(),
            engine: engine.to_owned(),
            profile: profile.to_owned(),
            seed,
            changed: Changed {
                dimension: plan.fault.dimension.row().name.to_owned(),
                target: plan.fault.target.clone(),
                words: fault_in_words(plan),
            },
            versions: BTreeMap::new(),
            hashes: BTreeMap::from([scenario]),
            configuration: BTreeMap::new(),
            baseline: Saved::default(),
            result: None,
            failure: None,
            replay: replay.to_owned(),
            machine,
        }
    }

    /// The world stands, and no step has been done. Versions that are hashes are kept as such.
    pub fn ready(&mut self, baseline: &Baseline, state: Option<&State>) {
        self.status = RecordStatus::Ready;
        for (name, value) in &baseline.versions {
            match name.strip_suffix(" sha256") {
                Some(of) => self.hashes.insert(of.to_owned(), value.clone()),
                // The scenario's is its hash, which is there already.
                None if name == "scenario" => None,
                None => self.versions.insert(name.clone(), value.clone()),
            };
        }
        self.configuration.clone_from(&baseline.configuration);
        self.baseline.at_start = state.cloned();
    }

    /// The fault strikes next.
    pub fn before_fault(&mut self, at: Span, events: usize, state: Option<&State>) {
        self.status = RecordStatus::BeforeFault;
        self.baseline.fault_at_ns = Some(at.ns);
        self.baseline.events_before_fault = Some(events);
        self.baseline.before_fault = state.cloned();
    }

    /// There is a verdict. `stem` is the name of the postmortem without its ending.
    pub fn complete(&mut self, postmortem: &Postmortem, stem: &str) {
        self.status = RecordStatus::Complete;
        self.result = Some(Outcome {
            verdict: postmortem.verdict,
            claim_met: postmortem.claim.met,
            injected: postmortem.injected.planned.clone(),
            expected: postmortem.expected.clone(),
            actual: postmortem.actual.clone(),
            repair: postmortem.repair.clone(),
            buffer: postmortem.buffer.clone(),
            not_reproduced: postmortem.proof.missing.clone(),
            evidence_sha256: postmortem.run.evidence_sha256.clone(),
            postmortem: stem.to_owned(),
        });
    }

    /// There will be no verdict.
    pub fn fail(&mut self, why: &str) {
        self.status = RecordStatus::Failed;
        self.failure = Some(why.to_owned());
    }

    /// The indented JSON form, with a line break at the end.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
