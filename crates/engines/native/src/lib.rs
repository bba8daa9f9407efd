//! Engines on real processes.

mod engine;
pub mod process;

pub use engine::{MasterEngine, OPT_OUT, installed, opted_out, unavailable};
