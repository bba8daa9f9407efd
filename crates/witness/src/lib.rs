//! Memory under watch: patterns that tell whose bytes are where, and regions that remember who touched them.

mod pattern;
mod region;

pub use pattern::{classify, classify_at, fill, pattern_byte};
pub use region::{Region, RegionError};
