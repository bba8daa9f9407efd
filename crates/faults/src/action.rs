//! What a fault does at its phase.

use serde::Serialize;

/// The kind of an action, without its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// The actor ends at once, nothing is cleaned up. Mirrors a SIGKILL.
    Kill,
    /// The process stands still, what is sent to it waits. Mirrors a SIGSTOP or a long pause.
    Freeze,
    /// The message or stream at the phase waits in the network, both ends live on. Mirrors a congested link.
    Hold,
    /// The message is lost. Mirrors a packet that never arrives and a connection that stays open.
    Drop,
    /// The message arrives twice, the second right after the first. Mirrors a retransmission by a middlebox.
    Duplicate,
    /// The connection closes here. Mirrors a reset.
    Cut,
    /// The actor is killed and comes back, state lost. Mirrors a process restart.
    Restart,
    /// The message arrives later. Mirrors a slow link.
    Delay,
    /// The answer is this error code. Mirrors a failing RPC.
    Error,
    /// The stream moves at this rate from here on. Mirrors a slow link.
    Rate,
    /// One clock of the target steps. Mirrors `clock_settime` by an operator or a time daemon.
    ClockStep,
}

/// A row of the action table.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ActionRow {
    /// Which action.
    pub kind: ActionKind,
    /// How it is written in a scenario.
    pub written: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// All actions.
pub const ACTIONS: &[ActionRow] = &[
    ActionRow {
        kind: ActionKind::Kill,
        written: "\"kill\"",
        meaning: "ends at once, nothing is cleaned up",
    },
    ActionRow {
        kind: ActionKind::Freeze,
        written: "\"freeze\"",
        meaning: "the process stands still, what is sent to it waits",
    },
    ActionRow {
        kind: ActionKind::Hold,
        written: "\"hold\"",
        meaning: "the message or stream waits in the network",
    },
    ActionRow {
        kind: ActionKind::Drop,
        written: "\"drop\"",
        meaning: "the message is lost",
    },
    ActionRow {
        kind: ActionKind::Duplicate,
        written: "\"duplicate\"",
        meaning: "the message arrives twice in a row",
    },
    ActionRow {
        kind: ActionKind::Cut,
        written: "\"cut\"",
        meaning: "the connection closes here",
    },
    ActionRow {
        kind: ActionKind::Restart,
        written: "\"restart\" or { restart = \"5s\" }",
        meaning: "killed, down that long, state lost",
    },
    ActionRow {
        kind: ActionKind::Delay,
        written: "{ delay = \"1s\" }",
        meaning: "the message arrives that much later",
    },
    ActionRow {
        kind: ActionKind::Error,
        written: "{ error = \"RPC_FAIL\" }",
        meaning: "the answer is this code",
    },
    ActionRow {
        kind: ActionKind::Rate,
        written: "{ rate = \"1MiB/s\" }",
        meaning: "this stream moves at that rate from here on",
    },
    ActionRow {
        kind: ActionKind::ClockStep,
        written: "{ step = \"+61s\", clock = \"realtime\" }",
        meaning: "one clock of the target steps",
    },
];

impl ActionKind {
    /// The word that names the action in a scenario.
    pub fn word(self) -> &'static str {
        match self {
            ActionKind::Kill => "kill",
            ActionKind::Freeze => "freeze",
            ActionKind::Hold => "hold",
            ActionKind::Drop => "drop",
            ActionKind::Duplicate => "duplicate",
            ActionKind::Cut => "cut",
            ActionKind::Restart => "restart",
            ActionKind::Delay => "delay",
            ActionKind::Error => "error",
            ActionKind::Rate => "rate",
            ActionKind::ClockStep => "step",
        }
    }
}
