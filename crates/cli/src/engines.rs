//! Which engines there are, and whether they can be had here.

use moonquake_faults::Profile;
use moonquake_scenario::{Engine, EngineError, EngineKind};

/// Whether an engine can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    /// It can; with what it consists of.
    Available(String),
    /// Something is missing that can be installed.
    NotInstalled {
        /// What is missing.
        what: String,
        /// What to do about it.
        cure: String,
    },
    /// Not on this platform, or left out on purpose; with the reason.
    NotHere(String),
    /// This version of Moonquake does not have it.
    NotBuilt,
}

/// Whether the engine can be had here.
pub(crate) fn availability(kind: EngineKind) -> Availability {
    match kind {
        EngineKind::Model => Availability::Available("built in".to_owned()),
        EngineKind::Master => real(moonquake_native::installed),
        EngineKind::Native | EngineKind::Hosted => real(moonquake_native::clients_installed),
        EngineKind::Ffi | EngineKind::Rdma => Availability::NotBuilt,
    }
}

/// Whether an engine of unmodified processes can be had here.
fn real(installed: impl FnOnce() -> Result<String, EngineError>) -> Availability {
    if let Some(why) = moonquake_native::unavailable() {
        return Availability::NotHere(why);
    }
    match installed() {
        Ok(with) => Availability::Available(with),
        Err(EngineError::NotInstalled { what, cure }) => Availability::NotInstalled { what, cure },
        Err(other) => Availability::NotInstalled {
            what: other.to_string(),
            cure: "mend what is said above, then look again with `moonquake doctor`".to_owned(),
        },
    }
}

/// The engine, if this version has it.
pub(crate) fn engine(kind: EngineKind) -> Option<Box<dyn Engine>> {
    match kind {
        EngineKind::Model => Some(Box::new(moonquake_model::ModelEngine)),
        EngineKind::Master => Some(Box::new(moonquake_native::MasterEngine)),
        EngineKind::Native => Some(Box::new(moonquake_native::NativeEngine)),
        EngineKind::Hosted => Some(Box::new(moonquake_native::HostedEngine)),
        EngineKind::Ffi | EngineKind::Rdma => None,
    }
}

/// Whether the engine runs processes that are not ours. Only their projection is the same in every run.
pub(crate) fn is_real(kind: EngineKind) -> bool {
    kind != EngineKind::Model
}

/// Whether the engine can behave as the profile says. Real processes are as they are.
pub(crate) fn has_profile(kind: EngineKind, profile: Profile) -> bool {
    !is_real(kind) || profile == Profile::Upstream
}
