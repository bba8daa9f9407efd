//! The one fault of a scenario.

use super::{Instant, Name};
use moonquake_clock::{Domain, Span};
use moonquake_faults::{ActionKind, Dimension, PhaseId, TriggerKind};
use moonquake_protocol::ErrorCode;

/// The fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its dimension.
    pub dimension: Dimension,
    /// The actor it is done to: a client, a node or `master`.
    pub target: Name,
    /// When it strikes.
    pub trigger: Trigger,
    /// What it does; none where the boundary or the stimulus is the fault.
    pub action: Option<Action>,
}

/// When the fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// At a phase of an operation.
    At {
        /// The phase.
        phase: PhaseId,
        /// The step whose operation is meant; without it the target's first operation that gets there.
        of: Option<usize>,
        /// The n-th time, from 1.
        hit: u32,
    },
    /// Once the result of this step is reported, before the next step.
    After(usize),
    /// An instant; the boundary itself is the fault.
    Deadline(Instant),
    /// These steps are the stimulus.
    Steps(Vec<usize>),
}

impl Trigger {
    /// Its kind, as in the dimension table.
    pub fn kind(&self) -> TriggerKind {
        match self {
            Trigger::At { .. } => TriggerKind::At,
            Trigger::After(_) => TriggerKind::After,
            Trigger::Deadline(_) => TriggerKind::Deadline,
            Trigger::Steps(_) => TriggerKind::Step,
        }
    }
}

/// What the fault does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// See [`ActionKind::Kill`].
    Kill,
    /// See [`ActionKind::Freeze`].
    Freeze,
    /// See [`ActionKind::Hold`].
    Hold,
    /// See [`ActionKind::Drop`].
    Drop,
    /// See [`ActionKind::Duplicate`].
    Duplicate,
    /// See [`ActionKind::Cut`].
    Cut,
    /// Killed, down that long (zero: back at once), state lost.
    Restart(Span),
    /// The message arrives that much later.
    Delay(Span),
    /// The answer is this code.
    Error(ErrorCode),
    /// The stream moves at that many bytes per second from here on.
    Rate(u64),
    /// One clock of the target moves by that many nanoseconds, forward or back.
    ClockStep {
        /// Nanoseconds, signed.
        by_ns: i64,
        /// Which clock.
        clock: Domain,
    },
}

impl Action {
    /// Its kind, as in the action table.
    pub fn kind(&self) -> ActionKind {
        match self {
            Action::Kill => ActionKind::Kill,
            Action::Freeze => ActionKind::Freeze,
            Action::Hold => ActionKind::Hold,
            Action::Drop => ActionKind::Drop,
            Action::Duplicate => ActionKind::Duplicate,
            Action::Cut => ActionKind::Cut,
            Action::Restart(_) => ActionKind::Restart,
            Action::Delay(_) => ActionKind::Delay,
            Action::Error(_) => ActionKind::Error,
            Action::Rate(_) => ActionKind::Rate,
            Action::ClockStep { .. } => ActionKind::ClockStep,
        }
    }

    /// The action in words for reports.
    pub fn words(&self) -> String {
        match self {
            Action::Restart(down) if down.ns > 0 => format!("restart, down for {down}"),
            Action::Delay(by) => format!("delay by {by}"),
            Action::Error(code) => format!("answer {code}"),
            Action::Rate(bytes) => format!("limit to {bytes} B/s"),
            Action::ClockStep { by_ns, clock } => {
                let sign = if *by_ns < 0 { '-' } else { '+' };
                let which = if *clock == Domain::Realtime {
                    "wall"
                } else {
                    "monotonic"
                };
                format!(
                    "step the {which} clock by {sign}{}",
                    Span::from_ns(by_ns.unsigned_abs())
                )
            }
            plain => plain.kind().word().to_owned(),
        }
    }
}
