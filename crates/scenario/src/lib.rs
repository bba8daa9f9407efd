//! The scenario language: from a `*.scenario.toml` file to a [`Plan`], and the [`Engine`] trait that runs one.

mod engine;
mod plan;

pub use engine::{Engine, EngineError, EngineKind, RunOptions};
pub use plan::*;
