//! The scenario language: from a `*.scenario.toml` file to a [`Plan`], and the [`Engine`] trait that runs one.

mod engine;
mod error;
mod explain;
mod forecast;
mod format;
pub mod instant;
mod measured;
pub mod parse;
mod plan;
mod reach;
mod remarks;
pub mod schema;
mod words;

pub use engine::{Engine, EngineError, EngineKind, Interrupt, Listener, Milestone, RunOptions};
pub use error::{Problem, ProblemKind, ScenarioErrors};
pub use explain::explain;
pub use format::{FormatError, format};
pub use measured::{
    Measure, MeasuredAnswer, MeasuredBuffer, MeasuredClaim, MeasuredFigure, MeasuredRun, Seen, SeenId,
};
pub use plan::*;
pub use remarks::remarks;
pub use words::size as size_words;
