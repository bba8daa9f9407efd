//! The engine `model`: Rust client, Rust master, stepped clock. Needs nothing, and the same input gives the same
//! evidence to the byte.

mod link;
mod owner;
mod ports;

use moonquake_evidence::Evidence;
use moonquake_master::MasterConfig;
use moonquake_scenario::{Engine, EngineError, EngineKind, Plan, RunOptions};
pub use ports::ModelPorts;

/// The engine `model`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelEngine;

/// The master's configuration for a plan.
///
/// # Errors
/// When a flag of the plan is unknown to this master.
pub fn master_config(plan: &Plan, options: &RunOptions) -> Result<MasterConfig, EngineError> {
    let timeouts = &plan.world.timeouts;
    let config = MasterConfig {
        lease: timeouts.lease,
        soft_pin: timeouts.soft_pin,
        discard: timeouts.discard,
        release: timeouts.release,
        client_ttl: timeouts.client_ttl,
        quirks: options.quirks.clone(),
        rules: options.rules.clone(),
        guards: options.guards.clone(),
        ..MasterConfig::default()
    };
    config
        .with_flags(&plan.world.flags)
        .map_err(|error| EngineError::Unsupported(error.to_string()))
}

impl Engine for ModelEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Model
    }

    fn unsupported(&self, plan: &Plan) -> Option<String> {
        let options = RunOptions::new(moonquake_faults::Profile::Upstream);
        let words = moonquake_stage::unsupported(plan);
        words.or_else(|| match master_config(plan, &options) {
            Err(EngineError::Unsupported(why)) => Some(why),
            _ => None,
        })
    }

    fn run(&mut self, plan: &Plan, options: &RunOptions) -> Result<Evidence, EngineError> {
        if let Some(why) = self.unsupported(plan) {
            return Err(EngineError::Unsupported(why));
        }
        let ports = ModelPorts::new(master_config(plan, options)?)?;
        moonquake_stage::run(EngineKind::Model.name(), plan, options, ports)
    }
}
