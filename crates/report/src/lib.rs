//! The postmortem of one run: what was injected, what was expected, what was seen, and what to do about it.
//!
//! [`Postmortem::new`] puts plan, evidence and judgement together; every form is made from that and nothing else, one
//! file a form: [`markdown`], [`json`], [`html`]. A [`Claim`] cannot be made without events, and not with events that are not in
//! the evidence, so a report cannot say what nobody saw.
//!
//! All times in a [`Postmortem`] are times of the timeline, which the harness steers. What was measured on the clock of a machine has
//! types and tables of its own: [`measured_markdown`].

mod build;
mod cite;
mod diff;
mod escape;
pub mod html;
mod lanes;
mod markdown;
mod measured;
mod model;
mod project;
mod record;
mod summary;
mod timeline;
mod words;

pub use cite::{Cites, Claim, ReportError};
pub use diff::{
    Comparison, DiffEvent, DiffLine, DiffMark, DiffRow, DiffSide, DiffText, Square, SquareCell, SquareRun,
    SquareState, diff_text, square_text,
};
pub use lanes::{
    ActorLane, Change, DeadlineLine, Epoch, FaultLine, Lanes, Message, Operation, PlaceLane, Point,
    RegionAccess, Role, Stretch, Transfer,
};
pub use markdown::markdown;
pub use measured::measured_markdown;
pub use model::{
    Before, BufferAnswer, Expectation, FileClaim, Injected, Invariant, LifeRow, Postmortem, Proof, Run,
    SCHEMA, Scenario, Touched, Watched,
};
pub use record::{Changed, Machine, Outcome, Record, RecordStatus, Saved, records_markdown};
pub use summary::{json, json_run, summary_line};
pub use timeline::{Row, RowKind};
