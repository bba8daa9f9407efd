//! Time in two domains that do not compare, and every deadline of the store in one table.
//!
//! Upstream compares leases, put-start, discard and release times on the wall clock, and client liveness and the
//! client's own lease check on the monotonic clock. [`RealtimeNs`] and [`MonotonicNs`] keep them apart:
//!
//! ```compile_fail
//! use moonquake_clock::{MonotonicNs, RealtimeNs};
//! let mixed = RealtimeNs(1) < MonotonicNs(2); // the two clocks do not compare
//! ```

mod deadline;
mod domain;
mod marks;
mod rules;
mod source;
mod span;
mod thread;

pub use deadline::{Actor, Compare, DEADLINES, Deadline, DeadlineId, Length};
pub use domain::{Clocks, Domain, MonotonicNs, RealtimeNs};
pub use marks::Marks;
pub use rules::{Flip, Rule, Rules};
pub use source::{ClockSource, SteppedClock, SystemClock};
pub use span::{ParseSpanError, Span};
pub use thread::Thread;
