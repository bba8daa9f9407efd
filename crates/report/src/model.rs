//! What a postmortem says. This is the JSON form as it stands, and what every other form is made from.

use crate::{Claim, Lanes, Row};
use moonquake_evidence::Observer;
use moonquake_judge::Status;
use moonquake_scenario::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;

/// The version of the JSON form. It grows when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// The postmortem of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Postmortem {
    /// The version of this form, [`SCHEMA`].
    pub schema: u32,
    /// The file that was run.
    pub scenario: Scenario,
    /// On what, and with which record.
    pub run: Run,
    /// What came out.
    pub verdict: Verdict,
    /// What the file claims, and whether that is what came out.
    pub claim: FileClaim,
    /// Before the fault.
    pub baseline: Before,
    /// Column one: the fault of the plan, and its injection as it was seen.
    pub injected: Injected,
    /// Column two: what should happen, in the words of the scenario.
    pub expected: String,
    /// Column three: what happened, failures first.
    pub actual: Vec<Claim>,
    /// Column four: what to do about it, in the words of the scenario.
    pub repair: String,
    /// Whether the buffers of the failed operation were still touched.
    pub buffer: BufferAnswer,
    /// How the injection was proven, or why it could not be.
    pub proof: Proof,
    /// Every expectation, failed ones first.
    pub expectations: Vec<Expectation>,
    /// Every invariant, failed ones first.
    pub invariants: Vec<Invariant>,
    /// The time of the injection from the start, in nanoseconds, if it took place.
    pub fault_at_ns: Option<u64>,
    /// The run as lanes of time: actors and bytes.
    pub lanes: Lanes,
    /// The evidence, row by row.
    pub timeline: Vec<Row>,
    /// The command that brings the same events back.
    pub replay: String,
}

/// The file that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scenario {
    /// Its id.
    pub id: String,
    /// One line.
    pub title: String,
    /// Why it exists.
    pub why: String,
    /// `owner/repo#n` or URLs.
    pub see: Vec<String>,
    /// The path as it was given.
    pub path: String,
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub sha256: String,
}

/// On what the scenario ran, and with which record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// The engine.
    pub engine: String,
    /// The profile, or the quirks that were switched one by one.
    pub profile: String,
    /// The seed of the order of deliveries; none means first in, first out.
    pub seed: Option<u64>,
    /// The number of events.
    pub events: usize,
    /// SHA-256 of the evidence, in hexadecimal; of its projection where the form is projected.
    pub evidence_sha256: String,
}

/// What the scenario file claims for this engine and profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileClaim {
    /// The verdict claimed; none if no line of the file fits.
    pub is: Option<Verdict>,
    /// Why, in the words of the file.
    pub because: Option<String>,
    /// The steps and invariants that the file says fail.
    pub violates: Vec<String>,
    /// Whether everything came out as claimed.
    pub met: bool,
    /// Steps and invariants that failed, and the file does not say so.
    pub failed_unclaimed: Vec<String>,
    /// Steps and invariants that the file says fail, and that did not.
    pub claimed_unfailed: Vec<String>,
}

/// Before the fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Before {
    /// Nodes with their capacity in bytes.
    pub segments: BTreeMap<String, u64>,
    /// Clients without a segment.
    pub clients: Vec<String>,
    /// The configuration in force.
    pub configuration: BTreeMap<String, String>,
    /// Who is who: versions and hashes of binaries.
    pub versions: BTreeMap<String, String>,
    /// What real processes did in real time, by actor.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub real_time: BTreeMap<String, String>,
    /// The last state that the observer read before the fault.
    pub state: Option<Claim>,
}

/// Column one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Injected {
    /// The one dimension that the scenario changes.
    pub dimension: String,
    /// The fault of the plan, in words. No claim: this is what was asked for.
    pub planned: String,
    /// The same in a sentence for people who do not know the words of scenario files.
    pub story: String,
    /// The injection, as the injector tells it.
    pub told: Option<Claim>,
}

/// The answer to "was the buffer still touched?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Touched {
    /// A witness that sees every kind of access saw none.
    No,
    /// At least one access was seen.
    Yes,
    /// No access was seen, but the witness is blind to some.
    CouldNotSee,
}

/// The answer for the buffers of the failed operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BufferAnswer {
    /// The operations that failed or lost their actor.
    pub failures: Vec<Claim>,
    /// One entry for each watched name.
    pub watched: Vec<Watched>,
}

/// The answer for one watched buffer or range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Watched {
    /// Its name.
    pub name: String,
    /// The answer.
    pub touched: Touched,
    /// The kinds of access that nobody here could see.
    pub blind: Vec<String>,
    /// From where on accesses count.
    pub since: Claim,
    /// The late accesses (who, when, which bytes), or who watched and what that witness sees.
    pub shown_by: Vec<Claim>,
    /// Late accesses by operations that had not failed: the bytes belonged to somebody else, or to nobody.
    pub late_by_others: Vec<Claim>,
    /// Other accesses by operations that had not failed; they are not late.
    pub by_others: Vec<Claim>,
    /// What became of a caller's buffer, in order; empty for ranges and staging memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub life: Vec<LifeRow>,
}

/// The answer in one word, for a line about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    No,
    Yes,
    CouldNotSee,
    /// No failed operation touched it, but others did when it was not theirs.
    LateByOthers,
}

impl From<&Watched> for Answer {
    fn from(watched: &Watched) -> Answer {
        match watched.touched {
            Touched::Yes => Answer::Yes,
            _ if !watched.late_by_others.is_empty() => Answer::LateByOthers,
            Touched::No => Answer::No,
            Touched::CouldNotSee => Answer::CouldNotSee,
        }
    }
}

/// The most events of a life that a page spells out; JSON has all of them.
const MAX_LIFE: usize = 12;

impl Watched {
    /// The events of its life that a page shows, the first and the last ones, and how many between them it leaves out.
    pub(crate) fn life_shown(&self) -> (Vec<&LifeRow>, usize) {
        let skipped = self.life.len().saturating_sub(MAX_LIFE);
        let (half, behind) = (MAX_LIFE / 2, MAX_LIFE / 2 + skipped);
        let shown = |index: &usize| skipped == 0 || *index < half || *index >= behind;
        let rows = self.life.iter().enumerate().filter(|(index, _)| shown(index));
        (rows.map(|(_, row)| row).collect(), skipped)
    }
}

/// One event in the life of a caller's buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LifeRow {
    /// `registered`, `lent`, `returned`, `touched`, `unregistered`.
    pub what: &'static str,
    /// By which client.
    pub who: String,
    /// When, in nanoseconds from the start.
    pub at_ns: u64,
    /// The bytes that were touched: the first, and one past the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<(u64, u64)>,
    /// In words.
    pub told: Claim,
}

/// How the injection was proven, or why it could not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Whether somebody else than the injector saw it, at its exact place.
    pub proven: bool,
    /// The observers who saw it.
    pub by: Vec<Observer>,
    /// What they saw.
    pub seen: Vec<Claim>,
    /// What should have been seen and was not.
    pub missing: Vec<Claim>,
}

/// One expectation of a step. Repetitions that came out alike stand in one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Expectation {
    /// The step: its id, or its number from 1.
    pub step: String,
    /// The step in words.
    pub text: String,
    /// The first and the last repetition that this is about, from 1.
    pub repetitions: (u32, u32),
    /// The instant it was planned for, as the scenario writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instant: Option<String>,
    /// The time of its result from the start, in nanoseconds.
    pub at_ns: Option<u64>,
    /// What became of it.
    pub status: Status,
    /// What the scenario demands.
    pub expected: String,
    /// What happened.
    pub actual: Claim,
}

/// One invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Invariant {
    /// Its name in scenario files.
    pub name: String,
    /// What became of it.
    pub status: Status,
    /// What it demands.
    pub expected: String,
    /// What was found.
    pub actual: Claim,
}
