//! The ten dimensions of a fault, and what each may be triggered by, do, and be proven with.

use crate::ActionKind;
use serde::Serialize;

/// A fault dimension. A scenario selects exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// A process dies. Mirrors a killed inference pod.
    Crash,
    /// A lease ends at a chosen instant. Mirrors `IsLeaseExpired`.
    Lease,
    /// One clock of one process moves alone. Mirrors a time daemon's step.
    Clock,
    /// A process stands still past its ttl. Mirrors `ClientMonitorFunc`.
    Liveness,
    /// The pool has no room. Mirrors `BatchEvict` and `NO_AVAILABLE_HANDLE`.
    Pressure,
    /// A message is late, lost, doubled or answered with an error.
    Network,
    /// A process comes back without its state.
    Restart,
    /// A transfer outlives or loses its operation. Mirrors `transfer_task.cpp`.
    Buffer,
    /// Two messages change their order.
    Race,
    /// A caller breaks the protocol.
    Misuse,
}

/// The kinds of trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    /// `at` (with `of`, `hit`): a phase.
    At,
    /// `after`: a step's result.
    After,
    /// `deadline`: an instant.
    Deadline,
    /// `step`: the stimulus is the fault.
    Step,
}

/// A row of the dimension table.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DimensionRow {
    /// Which dimension.
    pub id: Dimension,
    /// Its name in scenarios.
    pub name: &'static str,
    /// Allowed combinations of a trigger with actions; an empty list of actions means that none may be given.
    pub allowed: &'static [(TriggerKind, &'static [ActionKind])],
    /// What a second observer must have seen.
    pub proof: &'static str,
}

use ActionKind as A;
use TriggerKind as T;

/// All dimensions.
pub const DIMENSIONS: &[DimensionRow] = &[
    DimensionRow {
        id: Dimension::Crash,
        name: "crash",
        allowed: &[(T::At, &[A::Kill]), (T::After, &[A::Kill])],
        proof: "the phase's frame is the target's last one; the exit status of a process",
    },
    DimensionRow {
        id: Dimension::Lease,
        name: "lease",
        allowed: &[(T::Deadline, &[]), (T::At, &[A::Hold, A::Delay, A::Rate])],
        proof: "both sides visited; the transfer open across the deadline",
    },
    DimensionRow {
        id: Dimension::Clock,
        name: "clock",
        allowed: &[(T::At, &[A::ClockStep]), (T::After, &[A::ClockStep])],
        proof: "the target's own clock read back, the others' unmoved",
    },
    DimensionRow {
        id: Dimension::Liveness,
        name: "liveness",
        allowed: &[(T::At, &[A::Freeze]), (T::After, &[A::Freeze])],
        proof: "no ping in the frame log",
    },
    DimensionRow {
        id: Dimension::Pressure,
        name: "pressure",
        allowed: &[(T::Step, &[])],
        proof: "the allocator view before and after",
    },
    DimensionRow {
        id: Dimension::Network,
        name: "network",
        allowed: &[(
            T::At,
            &[
                A::Hold,
                A::Drop,
                A::Duplicate,
                A::Delay,
                A::Cut,
                A::Error,
                A::Rate,
            ],
        )],
        proof: "the frame log on both sides of the link",
    },
    DimensionRow {
        id: Dimension::Restart,
        name: "restart",
        allowed: &[(T::At, &[A::Restart]), (T::After, &[A::Restart])],
        proof: "a new process or instance, its first answers",
    },
    DimensionRow {
        id: Dimension::Buffer,
        name: "buffer",
        allowed: &[(T::At, &[A::Freeze, A::Hold, A::Cut, A::Error, A::Rate])],
        proof: "the frame log; the witness saw the transfer open",
    },
    DimensionRow {
        id: Dimension::Race,
        name: "race",
        allowed: &[(T::At, &[A::Hold, A::Delay, A::Duplicate])],
        proof: "the order of the frames",
    },
    DimensionRow {
        id: Dimension::Misuse,
        name: "misuse",
        allowed: &[(T::Step, &[])],
        proof: "the request in the frame log",
    },
];

impl Dimension {
    /// The row of the table.
    pub fn row(self) -> &'static DimensionRow {
        DIMENSIONS
            .iter()
            .find(|row| row.id == self)
            .unwrap_or(&DIMENSIONS[0])
    }

    /// The dimension of that name.
    pub fn from_name(name: &str) -> Option<Dimension> {
        DIMENSIONS.iter().find(|row| row.name == name).map(|row| row.id)
    }

    /// The actions allowed with a trigger: `None` if the trigger does not fit, an empty list if no action may be given.
    pub fn actions(self, trigger: TriggerKind) -> Option<&'static [ActionKind]> {
        self.row()
            .allowed
            .iter()
            .find(|(kind, _)| *kind == trigger)
            .map(|(_, actions)| *actions)
    }
}

impl TriggerKind {
    /// The key that gives this trigger.
    pub fn key(self) -> &'static str {
        match self {
            TriggerKind::At => "at",
            TriggerKind::After => "after",
            TriggerKind::Deadline => "deadline",
            TriggerKind::Step => "step",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dimension_has_a_row_and_a_trigger() {
        for row in DIMENSIONS {
            assert_eq!(Dimension::from_name(row.name), Some(row.id));
            assert!(!row.allowed.is_empty());
        }
        assert_eq!(Dimension::Lease.actions(TriggerKind::Deadline), Some(&[][..]));
        assert_eq!(Dimension::Crash.actions(TriggerKind::Deadline), None);
    }
}
