//! Stories told in evidence, and what the judge makes of them.

mod cases;
mod phases;
mod proofs;
mod telling;
