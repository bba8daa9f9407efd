//! The engine `master`: the Rust client machine over TCP, an unmodified `mooncake_master` under the clock page.

mod links;
mod observe;
mod owners;
mod planted;
mod ports;
mod real_clients;

pub use crate::clients::plant::{Plant, PlantedBy, PlantedIn};
pub use planted::run_planted;
pub use real_clients::{HostedEngine, NativeEngine, clients_installed};

use crate::process::{MasterProcess, ProcessError, Release, StartOptions};
use moonquake_clock::Span;
use moonquake_evidence::Evidence;
use moonquake_faults::Profile;
use moonquake_master::MasterConfig;
use moonquake_net::Net;
use moonquake_scenario::{Engine, EngineError, EngineKind, Plan, RunOptions, Step};
pub(crate) use ports::RealPorts;
use std::collections::BTreeMap;

/// The variable that leaves the real engines out, with any value but `0`.
pub const OPT_OUT: &str = "MOONQUAKE_NO_REAL";

/// The engine `master`.
#[derive(Clone, Debug, Default)]
pub struct MasterEngine;

impl From<ProcessError> for EngineError {
    fn from(error: ProcessError) -> EngineError {
        match &error {
            ProcessError::ReleaseMissing { cure, .. }
            | ProcessError::ReleaseIncomplete { cure, .. }
            | ProcessError::WrongBinary { cure, .. }
            | ProcessError::ClientMissing { cure, .. }
            | ProcessError::WrongClient { cure, .. } => EngineError::NotInstalled {
                what: error.to_string(),
                cure: format!("run `{cure}` in the workspace"),
            },
            ProcessError::LibraryMissing { .. } => EngineError::NotInstalled {
                what: error.to_string(),
                cure: "run `cargo build -p moonquake-clockpage` with the profile of this program".to_owned(),
            },
            _ => EngineError::Harness(error.to_string()),
        }
    }
}

/// Whether the opt-out variable is set.
pub fn opted_out() -> bool {
    std::env::var_os(OPT_OUT).is_some_and(|value| value != "0" && !value.is_empty())
}

/// Why the engine cannot run on this platform or is left out, if so. Nothing that can be installed is looked at.
pub fn unavailable() -> Option<String> {
    if opted_out() {
        return Some(format!("left out by {OPT_OUT}"));
    }
    let here = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    (!here).then(|| "needs Linux on x86-64".to_owned())
}

/// What is installed for this engine, in words.
///
/// # Errors
/// What is missing, with its cure.
pub fn installed() -> Result<String, EngineError> {
    let release = Release::locate().map_err(EngineError::from)?;
    let library = crate::process::library::locate().map_err(EngineError::from)?;
    Ok(format!(
        "{} and {}",
        release.master().display(),
        library.display()
    ))
}

/// A flag's value in whole units of the flag.
fn whole(name: &str, length: Span, unit_ns: u64, unit: &str) -> Result<String, String> {
    if length.ns.is_multiple_of(unit_ns) {
        return Ok((length.ns / unit_ns).to_string());
    }
    Err(format!(
        "the real master takes {name} in whole {unit}, and {length} is none"
    ))
}

/// The master's flags for a plan.
fn flags(plan: &Plan) -> Result<BTreeMap<String, String>, String> {
    const MS: u64 = 1_000_000;
    const S: u64 = 1_000_000_000;
    let timeouts = &plan.world.timeouts;
    let mut flags = plan.world.flags.clone();
    let mut set = |flag: &str, value: String| flags.insert(flag.to_owned(), value);
    set("default_kv_lease_ttl", whole("lease", timeouts.lease, MS, "ms")?);
    set(
        "default_kv_soft_pin_ttl",
        whole("soft_pin", timeouts.soft_pin, MS, "ms")?,
    );
    set(
        "put_start_discard_timeout_sec",
        whole("discard", timeouts.discard, S, "s")?,
    );
    set(
        "put_start_release_timeout_sec",
        whole("release", timeouts.release, S, "s")?,
    );
    set("client_ttl", whole("client_ttl", timeouts.client_ttl, S, "s")?);
    // The model of the master knows which flags base mode has and what its constructor refuses.
    let config = MasterConfig {
        soft_pin: timeouts.soft_pin,
        discard: timeouts.discard,
        release: timeouts.release,
        ..MasterConfig::default()
    };
    config
        .with_flags(&plan.world.flags)
        .map_err(|error| error.to_string())?;
    Ok(flags)
}

/// The master's admin endpoint lists keys line by line and takes several of them with commas between.
fn unlistable(plan: &Plan) -> Option<String> {
    let keys = plan
        .steps
        .iter()
        .filter_map(Step::operation)
        .flat_map(|action| action.key.iter().chain(&action.keys));
    let odd = |key: &&String| key.contains([',', '\n', '\r']);
    let key = keys.into_iter().find(odd)?;
    Some(format!(
        "the observer cannot tell the key {key:?}: it has a comma or a line break"
    ))
}

impl MasterEngine {
    /// Why this engine has no words for the plan, if so, whatever the platform and the opt-out variable say.
    pub fn wordless(plan: &Plan) -> Option<String> {
        moonquake_stage::unsupported(plan)
            .or_else(|| flags(plan).err())
            .or_else(|| unlistable(plan))
    }
}

impl Engine for MasterEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Master
    }

    fn unsupported(&self, plan: &Plan) -> Option<String> {
        unavailable().or_else(|| MasterEngine::wordless(plan))
    }

    fn run(&mut self, plan: &Plan, options: &RunOptions) -> Result<Evidence, EngineError> {
        if let Some(why) = self.unsupported(plan) {
            return Err(EngineError::Unsupported(why));
        }
        only_upstream(options)?;
        let net = Net::stepped(Net::LIMIT).map_err(|error| EngineError::Harness(error.to_string()))?;
        let ports = start_master(plan, net)?;
        moonquake_stage::run(EngineKind::Master.name(), plan, options, ports)
    }
}

/// Real processes are as they are.
fn only_upstream(options: &RunOptions) -> Result<(), EngineError> {
    if options.profile == Profile::Upstream {
        return Ok(());
    }
    let why = "a real process has one profile, upstream".to_owned();
    Err(EngineError::Unsupported(why))
}

/// An unmodified master for a plan, once it has shown that it is of the pinned release.
fn start_master(plan: &Plan, net: Net) -> Result<RealPorts, EngineError> {
    let start = StartOptions {
        flags: flags(plan).map_err(EngineError::Unsupported)?,
        clocks: moonquake_stage::start_clocks(),
        seed: 0,
        ..StartOptions::default()
    };
    let process = MasterProcess::start(start)?;
    moonquake_net::fingerprint::check_at(&net, process.rpc_addr())
        .map_err(|error| EngineError::Harness(error.to_string()))?;
    Ok(RealPorts::new(process, net))
}
