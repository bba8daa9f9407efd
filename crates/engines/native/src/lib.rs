//! Engines on real processes.

pub mod process;
