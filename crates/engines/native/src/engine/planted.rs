//! The engine `hosted` with an access made on purpose: whoever says that nothing touched a buffer must see one that something did.

use super::real_clients::play_hosted;
use crate::clients::plant::Plant;
use moonquake_evidence::Evidence;
use moonquake_scenario::{EngineError, Plan, RunOptions};

/// Plays a plan with real clients and the Rust master; when the first operation has told that it failed, each buffer of its
/// client is touched once.
///
/// # Errors
/// As with the engine `hosted`.
pub fn run_planted(plan: &Plan, options: &RunOptions, plant: Plant) -> Result<Evidence, EngineError> {
    play_hosted(plan, options, Some(plant))
}
