//! Two runs of one scenario, line by line: where what must be the same on every engine is not.

mod align;
mod square;
mod text;

pub use square::{Square, SquareCell, SquareRun, SquareState, square_text};
pub use text::{DiffMark, DiffText, diff_text};

use crate::words::step_name;
use align::aligned;
use moonquake_evidence::{EventId, Evidence, Projected, projected};
use moonquake_judge::Judgement;
use moonquake_scenario::{Plan, Verdict};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The version of the JSON form. It grows when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;
/// The most events of one side that are shown on the way to the first difference.
const MAX_LEAD: usize = 24;

/// Two runs of one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The version of this form.
    pub schema: u32,
    /// The scenario's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its file, as given by the caller.
    pub path: String,
    /// Whether the projections are equal.
    pub same: bool,
    /// The two runs.
    pub sides: [DiffSide; 2],
    /// The row of the first difference, from 0.
    pub first: Option<usize>,
    /// What each side saw between the last equal line and the first that differs.
    pub lead: [Vec<DiffEvent>; 2],
    /// Every line of both projections, equal ones beside each other.
    pub rows: Vec<DiffRow>,
}

/// One of the two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffSide {
    /// What it is called here: the engine, and the profile where that alone tells the two apart.
    pub name: String,
    /// The engine.
    pub engine: String,
    /// The profile.
    pub profile: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it is as the file says.
    pub claim_met: bool,
    /// The names of what failed.
    pub failed: Vec<String>,
    /// How many events the run has.
    pub events: usize,
    /// How many lines its projection has.
    pub lines: usize,
    /// SHA-256 of the projection.
    pub projection_sha256: String,
    /// The command that brings the same events back.
    pub replay: String,
}

/// A line of the one projection, of the other, or the same in both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffRow {
    /// Whether both say the same.
    pub same: bool,
    /// The line of each; none where it has nothing to set against the other.
    pub lines: [Option<DiffLine>; 2],
}

/// A line of a projection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// Its number, from 1.
    pub line: usize,
    /// The event that it is made from.
    pub event: EventId,
    /// The step of the timeline, if it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The line.
    pub text: String,
}

/// An event on the way to the first difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffEvent {
    /// Its id.
    pub event: EventId,
    /// The timeline's time.
    pub at_ns: u64,
    /// Whom it is about.
    pub actor: String,
    /// Who saw it.
    pub observer: String,
    /// What it was.
    pub text: String,
}

impl Comparison {
    /// Compares two runs of a plan, each given by its evidence, its judgement and its replay command.
    pub fn new(plan: &Plan, runs: [(&Evidence, &Judgement, &str); 2]) -> Comparison {
        let lines = runs.map(|(evidence, _, _)| projected(evidence));
        let rows = rows(plan, &lines);
        let first = rows.iter().position(|row| !row.same);
        let lead = [0, 1].map(|side| match first {
            Some(first) => lead(runs[side].0, &rows[..=first], side),
            None => Vec::new(),
        });
        let mut sides = [0, 1].map(|index| side(runs[index], &lines[index]));
        name(&mut sides);
        Comparison {
            schema: SCHEMA,
            id: plan.id.clone(),
            title: plan.title.clone(),
            path: plan.path.clone(),
            same: first.is_none(),
            sides,
            first,
            lead,
            rows,
        }
    }

    /// How many rows differ.
    pub fn differing(&self) -> usize {
        self.rows.iter().filter(|row| !row.same).count()
    }

    /// Whether both runs come out the same: verdict, and what fails. Runs with equal projections can still differ here, as the
    /// judge sees more than what must be the same on every engine.
    pub fn same_outcome(&self) -> bool {
        let [one, two] = &self.sides;
        one.verdict == two.verdict && one.failed == two.failed
    }

    /// The indented JSON form, with a line break at the end.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn side((evidence, judgement, replay): (&Evidence, &Judgement, &str), lines: &[Projected]) -> DiffSide {
    let findings = judgement.expectations.iter().chain(&judgement.invariants);
    let mut failed: Vec<String> = findings
        .filter(|finding| !finding.status.is_fine())
        .map(|finding| finding.name.clone())
        .collect();
    failed.dedup();
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let mut sha256 = String::with_capacity(64);
    for byte in Sha256::digest(texts.join("\n").as_bytes()) {
        let _infallible = write!(sha256, "{byte:02x}");
    }
    DiffSide {
        name: String::new(),
        engine: evidence.baseline.engine.clone(),
        profile: evidence.baseline.profile.clone(),
        verdict: judgement.verdict,
        claim_met: judgement.claim.as_ref().is_some_and(|claim| claim.met),
        failed,
        events: evidence.events.len(),
        lines: lines.len(),
        projection_sha256: sha256,
        replay: replay.to_owned(),
    }
}

/// The shortest names that tell the two apart.
fn name(sides: &mut [DiffSide; 2]) {
    let [one, two] = sides;
    let same_engine = one.engine == two.engine;
    let same_profile = one.profile == two.profile;
    for (number, side) in [(1, one), (2, two)] {
        side.name = match (same_engine, same_profile) {
            (false, true) => side.engine.clone(),
            (_, false) => format!("{}:{}", side.engine, side.profile),
            (true, true) => format!("{} ({number})", side.engine),
        };
    }
}

fn rows(plan: &Plan, lines: &[Vec<Projected>; 2]) -> Vec<DiffRow> {
    let texts = [0, 1].map(|side| {
        lines[side]
            .iter()
            .map(|line| line.text.as_str())
            .collect::<Vec<_>>()
    });
    let cell = |side: usize, index: usize| {
        let line = lines[side].get(index)?;
        let step = line
            .op
            .and_then(|op| plan.steps.get(usize::try_from(op.step).ok()?));
        Some(DiffLine {
            line: index + 1,
            event: line.id,
            step: step.map(|step| format!("{}: {}", step_name(step), step.text)),
            text: line.text.clone(),
        })
    };
    let pairs = aligned(&texts[0], &texts[1]).into_iter();
    pairs
        .map(|pair| DiffRow {
            same: pair.same,
            lines: [
                pair.one.and_then(|index| cell(0, index)),
                pair.two.and_then(|index| cell(1, index)),
            ],
        })
        .collect()
}

/// What a side saw after its last line before the last of the rows, up to its own line there.
fn lead(evidence: &Evidence, rows: &[DiffRow], side: usize) -> Vec<DiffEvent> {
    let Some((last, before)) = rows.split_last() else {
        return Vec::new();
    };
    let of = |row: &DiffRow| row.lines[side].as_ref().map(|line| line.event);
    let from = before.iter().rev().find_map(of);
    let to = of(last);
    let between = evidence
        .events
        .iter()
        .filter(|event| from.is_none_or(|from| event.id > from) && to.is_none_or(|to| event.id <= to));
    let mut found: Vec<DiffEvent> = between
        .map(|event| DiffEvent {
            event: event.id,
            at_ns: event.at.ns,
            actor: event.actor.clone(),
            observer: event.observer.name().to_owned(),
            text: event.kind.line(),
        })
        .collect();
    // A side that has nothing there is shown from its last line on, the other up to its line.
    if to.is_none() {
        found.truncate(MAX_LEAD);
    }
    let extra = found.len().saturating_sub(MAX_LEAD);
    found.drain(..extra);
    found
}
