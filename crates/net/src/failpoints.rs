//! What a failpoint does to a message of ours.
//!
//! `return(CODE)` answers with that error of the store, `return` with RPC_FAIL, `return(drop)` loses the message,
//! `return(cut)` closes the connection, and so does `panic`, after it was logged. `sleep`, `delay`, `pause` and `yield`
//! let the message wait without blocking the thread.

use moonquake_faults::failpoint::{self, FailpointError, Guard, Pause, Plan, Task, Verdict};
use moonquake_faults::{Moment, PHASES, PhaseId, nearest};
use moonquake_protocol::{ErrorCode, Rpc};
use std::sync::LazyLock;
use std::time::Duration;

/// What is wrong with a plan for messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The plan itself.
    #[error(transparent)]
    Plan(#[from] FailpointError),
    /// The argument of a `return` says nothing.
    #[error(
        "at {phase}, return({argument}): write an error of the store such as RPC_FAIL, or drop, or cut{}",
        hint.map_or_else(String::new, |name| format!("; the nearest is {name}"))
    )]
    Argument {
        /// The phase.
        phase: PhaseId,
        /// The argument.
        argument: String,
        /// The nearest that would do, if one is near.
        hint: Option<&'static str>,
    },
}

/// Sets the plan, after the arguments of its `return` were checked.
///
/// # Errors
/// [`SetupError`].
pub fn setup(spec: &str, seed: u64) -> Result<Guard, SetupError> {
    let plan: Plan = spec.parse()?;
    check(&plan)?;
    Ok(failpoint::setup_plan(plan, seed)?)
}

/// The same with the `FAILPOINTS` variable; `None` if it is not set or empty.
///
/// # Errors
/// [`SetupError`].
pub fn setup_from_environment(seed: u64) -> Result<Option<Guard>, SetupError> {
    match std::env::var_os(failpoint::VARIABLE) {
        None => Ok(None),
        Some(spec) if spec.is_empty() => Ok(None),
        Some(spec) => setup(spec.to_str().ok_or(FailpointError::NotText)?, seed).map(Some),
    }
}

fn check(plan: &Plan) -> Result<(), SetupError> {
    for (phase, task) in plan.tasks() {
        let Task::Return(Some(argument)) = task else {
            continue;
        };
        if Effect::of_return(Some(argument)).is_none() {
            let upper = argument.to_uppercase();
            let names = || ErrorCode::ALL.iter().filter_map(|code| code.name());
            let known = names().chain(["drop", "cut"]);
            let hint = names()
                .find(|name| name.starts_with(&upper))
                .or_else(|| nearest(argument, known));
            return Err(SetupError::Argument {
                phase,
                argument: argument.clone(),
                hint,
            });
        }
    }
    Ok(())
}

/// What becomes of a message at a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It goes on.
    Go,
    /// This code is the answer.
    Answer(ErrorCode),
    /// It is lost.
    Drop,
    /// Its connection is closed.
    Cut,
}

impl Effect {
    fn of_return(argument: Option<&str>) -> Option<Effect> {
        match argument {
            None => Some(Effect::Answer(ErrorCode::RpcFail)),
            Some("drop") => Some(Effect::Drop),
            Some("cut") => Some(Effect::Cut),
            Some(name) => ErrorCode::from_name(name).map(Effect::Answer),
        }
    }
}

/// What a message meets at a phase.
#[derive(Debug)]
pub(crate) enum Strike {
    /// Something happens to it now.
    Now(Effect),
    /// It goes on after that long; the delay is what the plan asks for.
    Wait(Duration),
    /// It goes on when it is released, at the latest after the bound of the pause. Released or not, it goes on; the pause
    /// itself says which it was.
    Pause(Pause),
    /// It goes on after others had their turn.
    Yield,
}

/// A message is at a phase.
pub(crate) fn strike(phase: Option<PhaseId>) -> Strike {
    let Some(phase) = phase else {
        return Strike::Now(Effect::Go);
    };
    match failpoint::hit(phase) {
        Verdict::Go => Strike::Now(Effect::Go),
        // A plan that was set without `setup` may say anything; then the message fails as a whole.
        Verdict::Return(argument) => {
            Strike::Now(Effect::of_return(argument.as_deref()).unwrap_or(Effect::Answer(ErrorCode::RpcFail)))
        }
        Verdict::Wait(span) => Strike::Wait(span),
        Verdict::Pause(pause) => Strike::Pause(pause),
        Verdict::Yield => Strike::Yield,
        Verdict::Panic(message) => {
            tracing::error!(%phase, "failpoint: {message}");
            Strike::Now(Effect::Cut)
        }
    }
}

/// Passes a phase and waits as long as it says.
pub(crate) async fn pass(phase: Option<PhaseId>) -> Effect {
    match strike(phase) {
        Strike::Now(effect) => return effect,
        Strike::Wait(span) => tokio::time::sleep(span).await,
        Strike::Pause(pause) => {
            let bound = pause.bound();
            let _ = tokio::time::timeout(bound, pause).await;
        }
        Strike::Yield => tokio::task::yield_now().await,
    }
    Effect::Go
}

/// The phase of a call at one kind of moment.
pub(crate) fn phase_of(rpc: Rpc, moment: Moment) -> Option<PhaseId> {
    let phases = &PHASES_OF_RPCS[rpc as usize];
    phases
        .iter()
        .find(|(at, _)| *at == moment)
        .map(|(_, phase)| *phase)
}

/// The phases of each method, at the place of the method in [`Rpc::ALL`]: a server asks twice a request.
static PHASES_OF_RPCS: LazyLock<Vec<Vec<(Moment, PhaseId)>>> = LazyLock::new(|| {
    let of = |rpc: &Rpc| {
        let rows = PHASES.iter().filter(|row| row.rpc == Some(rpc.name()));
        rows.map(|row| (row.moment, row.id)).collect()
    };
    Rpc::ALL.iter().map(of).collect()
});
