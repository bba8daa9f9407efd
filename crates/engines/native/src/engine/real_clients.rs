//! The engines `native` and `hosted`: unmodified C++ clients, before the unmodified master and before the Rust one.

use super::{MasterEngine, installed, only_upstream, start_master, unavailable};
use crate::clients::plant::Plant;
use crate::clients::{MasterSide, RealClients};
use crate::process::{Client, Release};
use moonquake_evidence::Evidence;
use moonquake_model::{ModelEngine, ModelPorts, master_config};
use moonquake_net::Net;
use moonquake_scenario::{Engine, EngineError, EngineKind, Plan, RunOptions};

/// The engine `native`.
#[derive(Clone, Debug, Default)]
pub struct NativeEngine;

/// The engine `hosted`.
#[derive(Clone, Debug, Default)]
pub struct HostedEngine;

/// What is installed for the engines with real clients, in words.
///
/// # Errors
/// What is missing, with its cure.
pub fn clients_installed() -> Result<String, EngineError> {
    let client = client()?;
    Ok(format!(
        "{}; {} on CPython {}",
        installed()?,
        client.store().display(),
        client.python()
    ))
}

fn client() -> Result<Client, EngineError> {
    Release::locate()
        .and_then(|release| release.client())
        .map_err(EngineError::from)
}

/// Plays a plan with real clients before a master.
fn play<M: MasterSide>(
    kind: EngineKind,
    plan: &Plan,
    options: &RunOptions,
    plant: Option<Plant>,
    master: impl FnOnce(&Net) -> Result<M, EngineError>,
) -> Result<Evidence, EngineError> {
    only_upstream(options)?;
    let client = client()?;
    let library = crate::process::library::locate().map_err(EngineError::from)?;
    let net = Net::background(Net::LIMIT).map_err(|error| EngineError::Harness(error.to_string()))?;
    let master = master(&net)?;
    let ports = RealClients::new(master, net, client, library, plan).planting(plant);
    moonquake_stage::run(kind.name(), plan, options, ports)
}

impl NativeEngine {
    /// Why this engine has no words for the plan, if so, whatever the platform and the opt-out variable say.
    pub fn wordless(plan: &Plan) -> Option<String> {
        MasterEngine::wordless(plan).or_else(|| crate::clients::unsupported(plan))
    }
}

/// Plays a plan with real clients before the Rust master.
pub(super) fn play_hosted(
    plan: &Plan,
    options: &RunOptions,
    plant: Option<Plant>,
) -> Result<Evidence, EngineError> {
    play(EngineKind::Hosted, plan, options, plant, |_| {
        ModelPorts::new(master_config(plan, options)?)
    })
}

impl Engine for NativeEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Native
    }

    fn unsupported(&self, plan: &Plan) -> Option<String> {
        unavailable().or_else(|| NativeEngine::wordless(plan))
    }

    fn run(&mut self, plan: &Plan, options: &RunOptions) -> Result<Evidence, EngineError> {
        if let Some(why) = self.unsupported(plan) {
            return Err(EngineError::Unsupported(why));
        }
        play(EngineKind::Native, plan, options, None, |net| {
            start_master(plan, net.clone())
        })
    }
}

impl HostedEngine {
    /// Why this engine has no words for the plan, if so, whatever the platform and the opt-out variable say.
    pub fn wordless(plan: &Plan) -> Option<String> {
        ModelEngine
            .unsupported(plan)
            .or_else(|| crate::clients::unsupported(plan))
    }
}

impl Engine for HostedEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Hosted
    }

    fn unsupported(&self, plan: &Plan) -> Option<String> {
        unavailable().or_else(|| HostedEngine::wordless(plan))
    }

    fn run(&mut self, plan: &Plan, options: &RunOptions) -> Result<Evidence, EngineError> {
        if let Some(why) = self.unsupported(plan) {
            return Err(EngineError::Unsupported(why));
        }
        play_hosted(plan, options, None)
    }
}
