//! Tests of the rules, in virtual time.
//!
//! Upstream's own cases are told in `crates/master/tests/upstream`; `tests/UPSTREAM-CASES.md` says which test tells which.

mod bases;
mod beside;
mod bounds;
mod closing;
mod contract;
mod copies;
mod deadlines;
mod disks;
mod drains;
mod draws;
mod evictions;
mod groups;
mod halves;
mod harness;
mod lifted;
mod optional;
mod owners;
mod pins;
mod placement;
mod puts;
mod random;
mod reads;
mod removals;
mod second_pass;
mod segments;
mod strict;
mod sweeps;
mod tasks;
mod ticks;
mod told;
mod upserts;
