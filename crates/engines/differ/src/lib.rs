//! Random histories into two masters at once: the Rust master in this process and the unmodified real one under control.
//!
//! A generator makes operations from what the Rust master answers (`generator`), a few dozen at a time; the real master then does the
//! same ones in one go, and every answer and what an observer sees is compared (`pair`). Between histories both are brought back to
//! how they started, without a restart (`reset`), and the random engines of the real process are set back in its memory
//! (`sides/engines`), so that the Rust master predicts every placement and each history stands for itself. A history that parts
//! shrinks (`shrink`) and becomes a scenario file (`write`) with the exact history beside it.

#![allow(
    clippy::disallowed_methods,
    reason = "how fast histories run is measured; nothing else looks at a clock"
)]

mod campaign;
mod cast;
mod compare;
mod coverage;
mod error;
mod files;
mod generator;
mod operation;
mod pair;
mod plain;
mod reference;
mod reset;
mod setup;
mod shrink;
mod sides;
mod simpler;
mod source;
mod words;
mod write;

pub use campaign::{Campaign, Found, Progress, SetupReport, history_seed, run};
pub use compare::{Difference, Parted};
pub use coverage::Coverage;
pub use error::{DifferError, Lost};
pub use files::{Files, read, write, write_history};
pub use operation::{History, Operation};
pub use pair::{Pair, Ran, Recurrence, States};
pub use reference::Reference;
pub use setup::{START, Setup, Theme};
pub use shrink::shrink;
pub use sides::{JobSeen, KeySeen, MountSeen, Outcome, RealSide, ReplicaSeen, RustSide, State};
pub use write::{Scenario, scenario};
