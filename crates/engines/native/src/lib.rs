//! Engines on real processes.

#![allow(
    clippy::disallowed_methods,
    reason = "a real process is waited for in real time, with limits"
)]

pub mod agent;
mod engine;
pub mod process;

pub use engine::{MasterEngine, OPT_OUT, installed, opted_out, unavailable};
