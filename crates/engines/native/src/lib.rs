//! Engines on real processes.

#![allow(
    clippy::disallowed_methods,
    reason = "a real process is waited for in real time, with limits"
)]

pub mod agent;
mod clients;
mod engine;
mod natural;
pub mod process;
pub mod selftest;

pub use engine::{
    HostedEngine, MasterEngine, NativeEngine, OPT_OUT, Plant, PlantedBy, PlantedIn, clients_installed,
    installed, opted_out, run_planted, unavailable,
};
pub use natural::{Natural, NaturalError};
