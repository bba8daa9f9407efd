//! Stories told in evidence, and what the judge makes of them.

mod batches;
mod bounded;
mod cases;
mod expectations;
mod held;
mod invariants;
mod near_misses;
mod phases;
mod proofs;
mod regions;
mod telling;
mod verdicts;
