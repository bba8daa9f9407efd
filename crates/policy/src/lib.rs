//! Which cache policy helps under which load: replays of block references, and a discrete-event simulation of requests that
//! share servers, a link and a cache. Integer nanoseconds, bytes and tokens; the same seed gives the same bytes of output.

pub mod flat;
mod outcome;
pub mod policies;
pub mod report;
pub mod sim;
pub mod trace;
pub mod workload;

pub use outcome::Outcome;
pub use policies::{Block, NEVER, Policy, Use};
pub use trace::{Request, Trace};
