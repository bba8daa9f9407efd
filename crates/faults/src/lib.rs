//! The catalogue of phases, the dimensions of faults and their actions, and the bridge to `fail`.
//!
//! Scenario validation, `moonquake catalog`, the engines and the docs all read the tables of this crate.

mod action;
mod dimension;
pub mod failpoint;
mod guard;
mod nearest;
mod phase;
mod quirk;

pub use action::{ACTIONS, ActionKind, ActionRow};
pub use dimension::{DIMENSIONS, Dimension, DimensionRow, TriggerKind};
pub use guard::{GUARDS, Guard, GuardRow, GuardedBy, Guards};
pub use nearest::nearest;
pub use phase::{Moment, PHASES, Phase, PhaseId};
pub use quirk::{Profile, QUIRKS, Quirk, QuirkRow, Quirks};
