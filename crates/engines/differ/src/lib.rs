//! Random histories into two masters at once: the Rust master in this process and the unmodified real one under control.

mod cast;
mod compare;
mod coverage;
mod error;
mod generator;
mod operation;
mod pair;
mod reset;
mod setup;
mod shrink;
mod sides;
mod simpler;
mod source;
mod words;
mod write;

pub use compare::{Difference, Parted};
pub use coverage::Coverage;
pub use error::DifferError;
pub use operation::{History, Operation};
pub use pair::{Pair, Ran, States};
pub use setup::{START, Setup};
pub use shrink::{read_history, shrink};
pub use sides::{KeySeen, Outcome, RealSide, ReplicaSeen, RustSide, State};
pub use write::{Scenario, scenario};
