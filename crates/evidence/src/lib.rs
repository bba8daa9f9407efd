//! The numbered, ordered log of everything that was seen in a run.
//!
//! Engines write it, the judge and the report read it; nobody else decides anything. Each event names who saw it
//! ([`Observer`]), so that a claim of the injector can be told from the sight of somebody else.

mod content;
mod event;
mod kind;
mod line;
mod log;
mod projection;
mod tenant;

pub use content::{Content, Run};
pub use event::{Event, EventId, Observer, Op};
pub use kind::{Block, Change, Kind, Leg, Range, State, staging_of};
pub use log::{Baseline, Evidence, Log};
pub use projection::{Projected, projected, projection};
pub use tenant::key_of_tenant;
