//! Upstream's own cases on this master, in virtual time.
//!
//! Each test is named after the case that it tells, in snake case, and asserts what that case asserts; `fixtures/
//! upstream-cases.toml` says which case is told by which test. Where a case sleeps, a test moves the clock; where a case
//! waits for a background thread, a test lets that thread make a round.

mod batch_removal;
mod batches;
mod checksums;
mod clears;
mod copies;
mod drains;
mod eviction;
mod graceful;
mod groups;
mod hosts;
mod leases;
mod patterns;
mod pins;
mod placement;
mod puts;
mod removal;
mod rig;
mod segments;
mod tasks;
mod tenants;
mod upserts;
mod wishes;
mod without;
