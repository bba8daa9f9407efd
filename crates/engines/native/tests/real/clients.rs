//! The unmodified client at both masters, on real clocks: nothing is preloaded, nothing is steered.

pub(crate) mod agent;
pub(crate) mod life;
pub(crate) mod many;
mod recorder;
mod rig;
pub(crate) mod session;
pub(crate) mod sight;
