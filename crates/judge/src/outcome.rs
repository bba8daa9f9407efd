//! The words in which results are told.

/// Whether a result tells of success: `ok`, a truth value, or a ping that asks for a remount.
pub(crate) fn is_success(outcome: &str) -> bool {
    matches!(outcome, "ok" | "true" | "false" | "NEED_REMOUNT")
}

/// Whether a step has no result of its own: its actor died, or it could not begin.
pub(crate) fn is_void(outcome: &str) -> bool {
    is_dead(outcome) || is_not_run(outcome)
}

/// Whether the actor of an operation died under it.
pub(crate) fn is_dead(outcome: &str) -> bool {
    outcome == "no result"
}

/// Whether a step could not begin.
pub(crate) fn is_not_run(outcome: &str) -> bool {
    outcome == "not run"
}

/// Whether a result tells of a failure of the operation.
pub(crate) fn is_failure(outcome: &str) -> bool {
    !is_success(outcome) && !is_void(outcome)
}
