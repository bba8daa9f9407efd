//! One scenario on four engines: the client and the master, each as the Rust machine and as the unmodified program.

mod meaning;
mod text;

pub use text::square_text;

use super::{Comparison, DiffSide, side};
use moonquake_evidence::{Evidence, projected};
use moonquake_judge::Judgement;
use moonquake_scenario::{EngineKind, Plan};
use serde::Serialize;

/// The version of the JSON form. It grows when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;

/// One scenario on every pairing of a client with a master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Square {
    /// The version of this form.
    pub schema: u32,
    /// The scenario's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its file, as given by the caller.
    pub path: String,
    /// Whether all that ran have equal projections and come out the same; nothing if fewer than two ran.
    pub same: Option<bool>,
    /// The four engines, in the order of [`Square::ENGINES`].
    pub cells: Vec<SquareCell>,
    /// The first engine that ran, which is the model if that did, beside each other one that ran.
    pub pairs: Vec<Comparison>,
    /// What the pattern of differences says.
    pub meaning: String,
}

/// One of the four engines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SquareCell {
    /// The engine.
    pub engine: &'static str,
    /// `rust` or `real`.
    pub client: &'static str,
    /// `rust` or `real`.
    pub master: &'static str,
    /// Whether it ran.
    pub state: SquareState,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<DiffSide>,
    /// The command that runs this engine alone.
    pub replay: String,
}

/// Whether an engine ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SquareState {
    /// It brought evidence.
    Ran,
    /// It has no words for the scenario.
    NoWords,
    /// This platform does not have it, or it is left out on purpose.
    NotHere,
    /// Something that can be installed is missing.
    NotInstalled,
    /// The harness failed; no verdict can rest on the run.
    Failed,
}

impl SquareState {
    fn words(self) -> &'static str {
        match self {
            SquareState::Ran => "ran",
            SquareState::NoWords => "no words for it",
            SquareState::NotHere => "not here",
            SquareState::NotInstalled => "not installed",
            SquareState::Failed => "FAILED, no verdict",
        }
    }
}

/// What became of one engine, before anything is compared.
#[derive(Clone, Debug)]
pub enum SquareRun<'a> {
    /// It ran.
    Ran(&'a Evidence, &'a Judgement),
    /// It did not, and why.
    Without(SquareState, String),
}

impl Square {
    /// The four engines: Rust and Rust, then the real master alone, the real client alone, and both.
    pub const ENGINES: [EngineKind; 4] = [
        EngineKind::Model,
        EngineKind::Master,
        EngineKind::Hosted,
        EngineKind::Native,
    ];

    /// Compares the runs of a plan, given in the order of [`Square::ENGINES`], each with its replay command.
    pub fn new(plan: &Plan, runs: [(SquareRun<'_>, String); 4]) -> Square {
        let base = runs.iter().position(|(run, _)| matches!(run, SquareRun::Ran(..)));
        let compared = |index: usize| match (base.map(|base| &runs[base]), &runs[index]) {
            (
                Some((SquareRun::Ran(evidence, judgement), replay)),
                (SquareRun::Ran(other, its_judgement), its_replay),
            ) if base != Some(index) => {
                let one = (*evidence, *judgement, replay.as_str());
                let two = (*other, *its_judgement, its_replay.as_str());
                Some(Comparison::new(plan, [one, two]))
            }
            _ => None,
        };
        let compared = [0, 1, 2, 3].map(compared);
        let meaning = meaning::of(base, &compared);
        let pairs: Vec<Comparison> = compared.into_iter().flatten().collect();
        Square {
            schema: SCHEMA,
            id: plan.id.clone(),
            title: plan.title.clone(),
            path: plan.path.clone(),
            same: (!pairs.is_empty()).then(|| pairs.iter().all(is_same)),
            cells: Square::ENGINES
                .into_iter()
                .zip(runs)
                .map(|(kind, run)| cell(kind, run))
                .collect(),
            pairs,
            meaning,
        }
    }

    /// How many engines ran.
    pub fn ran(&self) -> usize {
        self.cells.iter().filter(|cell| cell.run.is_some()).count()
    }

    /// Whether any engine is in that state.
    pub fn has(&self, state: SquareState) -> bool {
        self.cells.iter().any(|cell| cell.state == state)
    }

    /// The indented JSON form, with a line break at the end.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// Whether a pair has equal projections and comes out the same.
fn is_same(pair: &Comparison) -> bool {
    pair.same && pair.same_outcome()
}

fn cell(kind: EngineKind, (run, replay): (SquareRun<'_>, String)) -> SquareCell {
    let half = |is_real: bool| if is_real { "real" } else { "rust" };
    let (state, why, run) = match run {
        SquareRun::Ran(evidence, judgement) => {
            let mut run = side((evidence, judgement, &replay), &projected(evidence));
            kind.name().clone_into(&mut run.name);
            (SquareState::Ran, None, Some(run))
        }
        SquareRun::Without(state, why) => (state, Some(why), None),
    };
    SquareCell {
        engine: kind.name(),
        client: half(matches!(kind, EngineKind::Hosted | EngineKind::Native)),
        master: half(matches!(kind, EngineKind::Master | EngineKind::Native)),
        state,
        why,
        run,
        replay,
    }
}
