//! Memory under watch: patterns that tell whose bytes are where, regions that remember who touched them, and witnesses of
//! memory that is not reached through a guard.

#[cfg(target_os = "linux")]
pub mod canary;
#[cfg(target_os = "linux")]
pub mod faults;
mod guarded;
#[cfg(target_os = "linux")]
mod mapping;
mod pattern;
mod region;
pub mod selftest;
mod sight;
pub mod socket;
mod witness;

#[cfg(target_os = "linux")]
pub use canary::Canary;
#[cfg(target_os = "linux")]
pub use faults::{FaultMode, FaultWitness};
pub use guarded::Guarded;
#[cfg(target_os = "linux")]
pub use mapping::{Mapping, page_size};
pub use pattern::{classify, classify_at, fill, pattern_byte};
pub use region::{Region, RegionError};
pub use sight::{AccessKind, Grain, Sight, Way};
pub use witness::{Access, How, Witness, WitnessError};
