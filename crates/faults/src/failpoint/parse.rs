//! The text of a plan. The syntax is `fail`'s; the names are those of the catalogue, and nothing is guessed.

use crate::phase::PhaseId;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

/// How long a pause lasts at most unless `pause(ms)` says otherwise.
pub const PAUSE_BOUND: Duration = Duration::from_secs(30);

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FailpointError {
    /// No phase has that name.
    #[error("no phase is called {name:?}; the nearest is {nearest:?} (`moonquake catalog` lists all)")]
    UnknownPhase {
        /// The name.
        name: String,
        /// The nearest in the catalogue.
        nearest: &'static str,
    },
    /// An entry is not `phase=action`.
    #[error("{entry:?} is not phase=action, such as client.put.start_sent=pause")]
    Entry {
        /// The entry.
        entry: String,
    },
    /// A phase has two entries.
    #[error("{phase} is named twice; join its actions with ->")]
    Twice {
        /// The phase.
        phase: PhaseId,
    },
    /// An action cannot be read.
    #[error("at {phase}, {action:?}: {why}")]
    Action {
        /// The phase.
        phase: PhaseId,
        /// The action.
        action: String,
        /// What is wrong with it.
        why: String,
    },
    /// The variable is no text.
    #[error("the FAILPOINTS variable is not UTF-8")]
    NotText,
    /// A plan is set already.
    #[error("failpoints are set already; one plan at a time, since they are the process's")]
    AlreadySet,
    /// The `fail` crate refused.
    #[error("the fail crate refuses {phase}: {why}")]
    Fail {
        /// The phase.
        phase: PhaseId,
        /// What it says.
        why: String,
    },
}

/// What an action does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// `off`: nothing.
    Off,
    /// `return` or `return(argument)`.
    Return(Option<String>),
    /// `sleep(ms)`.
    Sleep(Duration),
    /// `delay(ms)`, which `fail` spends in a busy loop; here it is a sleep.
    Delay(Duration),
    /// `panic` or `panic(message)`.
    Panic(Option<String>),
    /// `print` or `print(message)`.
    Print(Option<String>),
    /// `pause`, or `pause(ms)` with a bound of one's own.
    Pause(Duration),
    /// `yield`.
    Yield,
}

/// One action with its probability and the times it is left.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) percent: Option<f64>,
    pub(super) left: Option<u64>,
    pub(super) task: Task,
}

/// A plan that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub(super) points: BTreeMap<PhaseId, Vec<Step>>,
}

impl Plan {
    /// Every phase of the plan with what it can do, in the order of the catalogue.
    pub fn tasks(&self) -> impl Iterator<Item = (PhaseId, &Task)> {
        self.points
            .iter()
            .flat_map(|(&phase, steps)| steps.iter().map(move |step| (phase, &step.task)))
    }
}

impl FromStr for Plan {
    type Err = FailpointError;

    fn from_str(spec: &str) -> Result<Plan, FailpointError> {
        let mut points = BTreeMap::new();
        for entry in spec.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, actions) = entry.split_once('=').ok_or_else(|| FailpointError::Entry {
                entry: entry.to_owned(),
            })?;
            let name = name.trim();
            let phase = PhaseId::from_name(name).ok_or_else(|| FailpointError::UnknownPhase {
                name: name.to_owned(),
                nearest: PhaseId::nearest(name),
            })?;
            let steps = actions.split("->").map(|action| {
                parse_step(action.trim()).map_err(|why| FailpointError::Action {
                    phase,
                    action: action.trim().to_owned(),
                    why,
                })
            });
            let steps = steps.collect::<Result<Vec<_>, _>>()?;
            if points.insert(phase, steps).is_some() {
                return Err(FailpointError::Twice { phase });
            }
        }
        Ok(Plan { points })
    }
}

/// `[p%][n*]task[(argument)]`. The argument is cut off first, as it may contain anything.
fn parse_step(text: &str) -> Result<Step, String> {
    let (mut rest, argument) = match text.split_once('(') {
        Some((before, after)) => {
            let argument = after.strip_suffix(')').ok_or("its parentheses do not match")?;
            (before, Some(argument))
        }
        None => (text, None),
    };
    let mut percent = None;
    if let Some((before, after)) = rest.split_once('%') {
        let value: f64 = before
            .trim()
            .parse()
            .map_err(|_| format!("{before:?} is no probability"))?;
        if !(0.0..=100.0).contains(&value) {
            return Err(format!(
                "a probability lies between 0% and 100%, not at {before}%"
            ));
        }
        percent = Some(value);
        rest = after;
    }
    let mut left = None;
    if let Some((before, after)) = rest.split_once('*') {
        left = Some(
            before
                .trim()
                .parse()
                .map_err(|_| format!("{before:?} is no count"))?,
        );
        rest = after;
    }
    Ok(Step {
        percent,
        left,
        task: parse_task(rest.trim(), argument)?,
    })
}

/// The words of [`parse_task`].
const ACTIONS: [&str; 8] = [
    "off", "return", "sleep", "delay", "panic", "print", "pause", "yield",
];

fn parse_task(word: &str, argument: Option<&str>) -> Result<Task, String> {
    let text = || argument.map(str::to_owned);
    let duration = |argument: &str| {
        let milliseconds: u64 = argument
            .trim()
            .parse()
            .map_err(|_| format!("{argument:?} is no number of milliseconds"))?;
        Ok::<_, String>(Duration::from_millis(milliseconds))
    };
    let needed = || argument.ok_or_else(|| format!("{word} needs milliseconds, such as {word}(100)"));
    match word {
        "off" => Ok(Task::Off),
        "return" => Ok(Task::Return(text())),
        "panic" => Ok(Task::Panic(text())),
        "print" => Ok(Task::Print(text())),
        "yield" => Ok(Task::Yield),
        "pause" => Ok(Task::Pause(argument.map_or(Ok(PAUSE_BOUND), duration)?)),
        "sleep" => Ok(Task::Sleep(duration(needed()?)?)),
        "delay" => Ok(Task::Delay(duration(needed()?)?)),
        other => {
            let near = crate::nearest(other, ACTIONS).map(|name| format!("; did you mean {name}?"));
            Err(format!(
                "there is no action {other:?}; there are {}{}",
                ACTIONS.join(", "),
                near.unwrap_or_default()
            ))
        }
    }
}
