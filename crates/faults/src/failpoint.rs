//! The bridge from the catalogue to the `fail` crate: a plan on the command line or in the `FAILPOINTS` variable reaches
//! every phase in processes of ours.
//!
//! The syntax is that of `fail`, `phase=action;phase=action`, with `[p%][n*]task[(argument)]` joined by `->` as an
//! action. `fail` is the switch; what a phase then does is decided here, since `fail` accepts misspelt names, draws
//! unseeded random numbers and blocks the thread on `pause` without saying so. Here an unknown name is an error,
//! probabilities come from our seed, a pause is bounded and announced, and hits are counted. [`hit`] never blocks.

mod parse;
mod pause;

pub use parse::{FailpointError, PAUSE_BOUND, Plan, Task};
pub use pause::{Pause, PausedAt};

use crate::phase::{PHASES, PhaseId};
use parse::Step;
use pause::Pauses;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The variable that [`setup_from_environment`] reads, as `fail` calls it.
pub const VARIABLE: &str = "FAILPOINTS";

/// What whoever passes a phase has to do now.
#[derive(Debug)]
#[must_use]
pub enum Verdict {
    /// Go on.
    Go,
    /// `return(argument)`: leave the operation; the argument says with what.
    Return(Option<String>),
    /// `sleep(ms)` or `delay(ms)`: go on after that long.
    Wait(Duration),
    /// `pause`: go on when it is released, at the latest after its bound.
    Pause(Pause),
    /// `yield`: let others run.
    Yield,
    /// `panic(message)`: the worker that got here dies.
    Panic(String),
}

struct Point {
    steps: Vec<Step>,
    random: ChaCha8Rng,
}

impl Point {
    /// The first action whose probability and count allow it.
    fn next(&mut self) -> Option<Task> {
        for step in &mut self.steps {
            if step.left == Some(0) {
                continue;
            }
            if let Some(percent) = step.percent {
                // Below 1 in any case, so that 100% always happens and 0% never does.
                let drawn = f64::from(self.random.next_u32()) / 2_f64.powi(32);
                if drawn * 100.0 >= percent {
                    continue;
                }
            }
            step.left = step.left.map(|left| left - 1);
            return Some(step.task.clone());
        }
        None
    }
}

struct Active {
    points: BTreeMap<PhaseId, Point>,
    hits: BTreeMap<PhaseId, u64>,
    pauses: Arc<Pauses>,
}

/// So that a phase costs one load where no plan is set.
static IS_SET: AtomicBool = AtomicBool::new(false);
/// The plan of the process: `fail`'s registry is as global.
static ACTIVE: Mutex<Option<Active>> = Mutex::new(None);

fn active() -> MutexGuard<'static, Option<Active>> {
    ACTIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets a plan for the whole process, until the guard is dropped. The same plan and seed give the same verdicts at the
/// n-th hit of each phase, whatever happens at the others.
///
/// # Errors
/// [`FailpointError`] for what is wrong in the plan, or when another plan is set.
pub fn setup(spec: &str, seed: u64) -> Result<Guard, FailpointError> {
    setup_plan(spec.parse()?, seed)
}

/// The same with the `FAILPOINTS` variable; `None` if it is not set or empty.
///
/// # Errors
/// [`FailpointError`], as [`setup`].
pub fn setup_from_environment(seed: u64) -> Result<Option<Guard>, FailpointError> {
    match std::env::var(VARIABLE) {
        Ok(spec) if !spec.trim().is_empty() => setup(&spec, seed).map(Some),
        Ok(_) | Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(FailpointError::NotText),
    }
}

/// The same with a plan that was parsed, and perhaps checked, before.
///
/// # Errors
/// [`FailpointError::AlreadySet`].
pub fn setup_plan(plan: Plan, seed: u64) -> Result<Guard, FailpointError> {
    let mut active = active();
    if active.is_some() {
        return Err(FailpointError::AlreadySet);
    }
    let mut points = BTreeMap::new();
    for (phase, steps) in plan.points {
        // `fail` only says whether the phase is on; `return` never blocks and never draws.
        fail::cfg(phase.name(), "return").map_err(|why| FailpointError::Fail { phase, why })?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(place(phase));
        points.insert(phase, Point { steps, random });
    }
    let pauses = Arc::new(Pauses::default());
    *active = Some(Active {
        points,
        hits: BTreeMap::new(),
        pauses: pauses.clone(),
    });
    IS_SET.store(true, Ordering::Release);
    Ok(Guard { pauses })
}

/// The place of a phase in the catalogue: each phase draws from a stream of its own.
fn place(phase: PhaseId) -> u64 {
    PHASES.iter().take_while(|row| row.id != phase).count() as u64
}

/// A phase is passed. Counts the hit and says what to do. Never blocks.
pub fn hit(phase: PhaseId) -> Verdict {
    if !IS_SET.load(Ordering::Acquire) {
        return Verdict::Go;
    }
    let is_on = fail::eval(phase.name(), |_| ()).is_some();
    let (task, hit, pauses) = {
        let mut active = active();
        let Some(active) = active.as_mut() else {
            return Verdict::Go;
        };
        let hits = active.hits.entry(phase).or_default();
        *hits += 1;
        let point = active.points.get_mut(&phase).filter(|_| is_on);
        (point.and_then(Point::next), *hits, active.pauses.clone())
    };
    match task {
        None | Some(Task::Off) => Verdict::Go,
        Some(Task::Return(argument)) => Verdict::Return(argument),
        Some(Task::Sleep(span) | Task::Delay(span)) => Verdict::Wait(span),
        Some(Task::Panic(message)) => {
            Verdict::Panic(message.unwrap_or_else(|| format!("failpoint {phase} panics")))
        }
        Some(Task::Print(message)) => {
            let message = message.unwrap_or_else(|| "passed".to_owned());
            tracing::info!(%phase, hit, "failpoint: {message}");
            Verdict::Go
        }
        Some(Task::Pause(bound)) => Verdict::Pause(pauses.begin(PausedAt { phase, hit, bound })),
        Some(Task::Yield) => Verdict::Yield,
    }
}

/// The plan that is set. Dropping it ends every pause and clears the plan.
#[must_use]
pub struct Guard {
    pauses: Arc<Pauses>,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard")
            .field("paused", &self.paused())
            .finish_non_exhaustive()
    }
}

impl Guard {
    /// How often a phase was passed since the plan was set, whether it did something or not.
    pub fn hits(&self, phase: PhaseId) -> u64 {
        active()
            .as_ref()
            .and_then(|active| active.hits.get(&phase).copied())
            .unwrap_or(0)
    }

    /// Whoever is paused now, in the order in which they got there.
    pub fn paused(&self) -> Vec<PausedAt> {
        self.pauses.list()
    }

    /// Waits, blocking this thread, until somebody is paused at that phase. `None` if nobody is within `limit`.
    pub fn wait_paused(&self, phase: PhaseId, limit: Duration) -> Option<PausedAt> {
        self.pauses.wait(phase, limit)
    }

    /// Calls `announce` at every pause that begins from now on. It must not block.
    pub fn on_pause(&self, announce: impl Fn(PausedAt) + Send + Sync + 'static) {
        self.pauses.announce_to(Box::new(announce));
    }

    /// Lets whoever is paused at that phase go on; returns how many there were.
    pub fn resume(&self, phase: PhaseId) -> usize {
        self.pauses.release(Some(phase))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        IS_SET.store(false, Ordering::Release);
        if let Some(active) = active().take() {
            active.points.keys().for_each(|phase| fail::remove(phase.name()));
        }
        self.pauses.release(None);
    }
}
