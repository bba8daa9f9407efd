//! Memory under watch: patterns that tell whose bytes are where, regions that remember who touched them, and witnesses of
//! memory that is not reached through a guard.

mod canary;
mod faults;
mod mapping;
mod pattern;
mod region;
pub mod selftest;
mod sight;
pub mod socket;
mod witness;

pub use canary::Canary;
pub use faults::{FaultMode, FaultWitness};
pub use mapping::Mapping;
pub use pattern::{classify, classify_at, fill, pattern_byte};
pub use region::{Region, RegionError};
pub use sight::{AccessKind, Grain, Sight, Way};
pub use witness::{Access, How, Witness, WitnessError};
