//! The discrete-event simulation: `k` servers, one link and one cache, which no request has to itself.
//!
//! A request looks its prompt up (a fixed time after its arrival), block by block until the first that is missing. What was
//! found is fetched over the link or passed by; then the request waits for one of the servers, which computes everything
//! else in one go. Its end is the first token. What was computed is stored from that instant on. No server is held while a
//! fetch is under way.
//!
//! Tokens: a block of the chain brings its own tokens, the last one as many as are in it, and takes the place of a full block
//! in the cache. At least one token is always computed, so a prompt that lies in the cache as a whole has all but one of its
//! tokens from there; its bytes move all the same. Always: hit + computed = input.
//!
//! Time is whole nanoseconds. See `engine` for the order of what happens at one, `link` for how nothing gets lost on the way,
//! and `check` for why no number overflows.

mod cache;
mod check;
mod config;
mod engine;
mod error;
mod future;
mod hurt;
mod job;
mod link;
mod observer;
mod ready;
mod saved;
mod sweep;
#[cfg(test)]
mod tests;

pub use config::{Capacity, Config, Decision, Discipline, Prefill, Queue, SECOND_NS, Twins, Writes};
pub use error::SimError;
pub use hurt::{HitsHurt, where_hits_hurt};
pub use observer::{Observer, Seen, Story};
pub use sweep::{Load, sweep};

use crate::policies::Kind;
use crate::{Outcome, Policy, Trace, with_policy};

/// Runs a trace to the end. Names and seed of the outcome are for the caller to fill in, but for the policy's.
///
/// # Errors
///
/// Before the first event, if the configuration is one that no machine has, the trace does not fit it, or time or bytes could
/// outgrow 62 bits.
pub fn run<P: Policy>(trace: &Trace, config: &Config) -> Result<Outcome, SimError> {
    run_seen::<P, ()>(trace, config, &mut ())
}

/// As [`run`], with somebody who sees it from inside.
///
/// # Errors
///
/// As for [`run`].
pub fn run_seen<P: Policy, O: Observer>(
    trace: &Trace,
    config: &Config,
    observer: &mut O,
) -> Result<Outcome, SimError> {
    check::check(trace, config)?;
    Ok(engine::Engine::<P, O>::new(trace, config, observer)?.run())
}

/// As [`run`], for a policy that is known by its kind.
///
/// # Errors
///
/// As for [`run`].
pub fn run_kind(kind: Kind, trace: &Trace, config: &Config) -> Result<Outcome, SimError> {
    with_policy!(kind, P => run::<P>(trace, config))
}
