//! What every engine is to the rest of the house: something that turns a plan into evidence.

use crate::Plan;
use moonquake_clock::{Rules, Span};
use moonquake_evidence::{Baseline, Evidence, State};
use moonquake_faults::{Guards, Profile, Quirks};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What a scenario runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// Rust client, Rust master, stepped clock.
    Model,
    /// Rust client over TCP, unmodified `mooncake_master`.
    Master,
    /// Unmodified C++ client and master.
    Native,
    /// Unmodified C++ client on the Rust master.
    Hosted,
    /// Rust client, C++ `MasterService` in process.
    Ffi,
    /// Unmodified C++ client over RDMA.
    Rdma,
}

impl EngineKind {
    /// Every engine of the design.
    pub const ALL: [EngineKind; 6] = [
        EngineKind::Model,
        EngineKind::Master,
        EngineKind::Native,
        EngineKind::Hosted,
        EngineKind::Ffi,
        EngineKind::Rdma,
    ];

    /// The word on the command line and in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Model => "model",
            EngineKind::Master => "master",
            EngineKind::Native => "native",
            EngineKind::Hosted => "hosted",
            EngineKind::Ffi => "ffi",
            EngineKind::Rdma => "rdma",
        }
    }

    /// The engine of that name.
    pub fn from_name(name: &str) -> Option<EngineKind> {
        EngineKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a plan is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The profile whose claim counts.
    pub profile: Profile,
    /// The quirks of the model; those of the profile unless a test switches them one by one.
    pub quirks: Quirks,
    /// The comparisons of the model; the table unless a test flips one.
    pub rules: Rules,
    /// The checks that the model makes; all unless a test lifts one.
    pub guards: Guards,
    /// The seed of the order of deliveries; without one, first in, first out.
    pub seed: Option<u64>,
    /// For tests of the judge: the engine claims the injection and does not make it.
    pub claim_only: bool,
    /// Who is told of milestones while the run goes on. It changes nothing in the run.
    pub listener: Option<Listener>,
    /// Who may end the run before its end, as with Ctrl-C. It is asked before each step and whenever time moves.
    pub interrupt: Option<Interrupt>,
}

/// What is known at a moment of a run, to be kept in case the run never ends.
#[derive(Clone, Copy, Debug)]
pub enum Milestone<'a> {
    /// The world stands, and no step has been done.
    Ready {
        /// Configuration and versions.
        baseline: &'a Baseline,
        /// The state that the observer read.
        state: Option<&'a State>,
    },
    /// The fault strikes as soon as the listener returns.
    BeforeFault {
        /// The timeline's time.
        at: Span,
        /// How many events were seen so far.
        events: usize,
        /// The last state that the observer read.
        state: Option<&'a State>,
    },
}

/// Somebody who is told of milestones.
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(Milestone<'_>) + Send + Sync>);

impl Listener {
    /// One that does this at each milestone.
    pub fn new(hears: impl Fn(Milestone<'_>) + Send + Sync + 'static) -> Listener {
        Listener(Arc::new(hears))
    }

    /// Tells it.
    pub fn tell(&self, milestone: Milestone<'_>) {
        (self.0)(milestone);
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// Somebody who may end a run before its end.
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> bool + Send + Sync>);

impl Interrupt {
    /// One that ends the run when this says so.
    pub fn new(asks: impl Fn() -> bool + Send + Sync + 'static) -> Interrupt {
        Interrupt(Arc::new(asks))
    }

    /// Whether the run shall end.
    pub fn is_asked(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

impl RunOptions {
    /// A plain run of a profile.
    pub fn new(profile: Profile) -> RunOptions {
        RunOptions {
            profile,
            quirks: profile.quirks(),
            rules: Rules::default(),
            guards: Guards::default(),
            seed: None,
            claim_only: false,
            listener: None,
            interrupt: None,
        }
    }
}

/// Why an engine brought no evidence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// Something the engine needs is not installed.
    #[error("{what}\n  to mend this: {cure}")]
    NotInstalled {
        /// What is missing.
        what: String,
        /// The command or step that mends it.
        cure: String,
    },
    /// The engine cannot run this plan on this platform, or has no words for a step.
    #[error("the engine cannot run this scenario: {0}")]
    Unsupported(String),
    /// Somebody ended the run before its end; no verdict can rest on it.
    #[error("the run was interrupted")]
    Interrupted,
    /// The harness itself failed; no verdict can rest on the run.
    #[error("the harness failed: {0}")]
    Harness(String),
}

/// Turns a plan into evidence. Never judges.
pub trait Engine {
    /// Which engine it is.
    fn kind(&self) -> EngineKind;

    /// Why this engine has no words for the plan, if so. Static: nothing is started or looked up.
    fn unsupported(&self, plan: &Plan) -> Option<String>;

    /// Runs the plan.
    ///
    /// # Errors
    /// When the engine is not installed, has no words for the plan, or the harness fails.
    fn run(&mut self, plan: &Plan, options: &RunOptions) -> Result<Evidence, EngineError>;
}
