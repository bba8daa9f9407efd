//! What the tests across the workspace share: finding the scenarios, running and judging them.

pub mod breaks;
pub mod engines;
pub mod field_cases;
mod fixtures;
pub mod kept;
pub mod matrix;
pub mod named;
pub mod sharp_edges;
pub mod upstream_cases;

use moonquake_evidence::Evidence;
use moonquake_faults::Profile;
use moonquake_judge::{Judgement, judge};
use moonquake_model::ModelEngine;
use moonquake_native::{HostedEngine, MasterEngine, NativeEngine};
use moonquake_scenario::{Engine, EngineError, EngineKind, Plan, RunOptions};
use std::path::{Path, PathBuf};

/// The folder of the scenarios.
pub fn scenarios_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios")
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.to_string_lossy().ends_with(".scenario.toml") {
            files.push(path);
        }
    }
}

/// Every scenario file, sorted.
pub fn scenario_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(&scenarios_folder(), &mut files);
    files.sort();
    files
}

/// A file's name below the folder of the scenarios, without its ending: `crash/put-start-sent`.
pub fn short_name(file: &Path) -> String {
    let folder = scenarios_folder();
    let name = file
        .strip_prefix(&folder)
        .unwrap_or(file)
        .to_string_lossy()
        .replace('\\', "/");
    name.trim_end_matches(".scenario.toml").to_owned()
}

/// Reads a scenario. The plan carries its path below the workspace, so that no report depends on where that lies.
///
/// # Panics
/// When the file does not parse.
pub fn plan_of(file: &Path) -> Plan {
    let text = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let path = format!("scenarios/{}.scenario.toml", short_name(file));
    moonquake_scenario::parse::from_str(&path, &text).unwrap_or_else(|errors| panic!("{}", errors.plain()))
}

/// Every scenario, in the order of their files.
pub fn plans() -> Vec<Plan> {
    scenario_files().iter().map(|file| plan_of(file)).collect()
}

/// Runs a plan on an engine.
///
/// # Errors
/// Those of the engine.
pub fn run(engine: EngineKind, plan: &Plan, options: &RunOptions) -> Result<Evidence, EngineError> {
    match engine {
        EngineKind::Model => ModelEngine.run(plan, options),
        EngineKind::Master => MasterEngine.run(plan, options),
        EngineKind::Native => NativeEngine.run(plan, options),
        EngineKind::Hosted => HostedEngine.run(plan, options),
        other => Err(EngineError::Unsupported(format!(
            "there is no engine {other} yet"
        ))),
    }
}

/// Runs a plan on the model and judges it.
///
/// # Panics
/// When the harness fails.
pub fn judged(plan: &Plan, options: &RunOptions) -> (Evidence, Judgement) {
    let evidence =
        run(EngineKind::Model, plan, options).unwrap_or_else(|error| panic!("{}: {error}", plan.id));
    let judgement = judge(plan, &evidence, options.profile, EngineKind::Model);
    (evidence, judgement)
}

/// Both profiles.
pub const PROFILES: [Profile; 2] = [Profile::Upstream, Profile::Strict];
