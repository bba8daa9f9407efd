//! Loads that are generated from a seed, the same on every machine.

mod asks;
mod chains;
mod dice;
mod shape;
#[cfg(test)]
mod tests;

pub(crate) use chains::MOST_REFERENCES;
pub use chains::{Ask, trace_of};
pub use dice::{Dice, Zipf};
pub use shape::Shape;

use crate::Trace;
use crate::sim::SimError;

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Workload {
    /// One prefix after the other, round and round: the same distance between any two uses.
    Scan,
    /// Few prefixes are asked for often and many seldom (Zipf).
    Zipf,
    /// As `Zipf`, but requests come in bursts, a burst for one prefix: many want the same at once.
    Burst,
    /// As `Zipf`, until a new version of the model makes all that is cached useless at one instant.
    Switch,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 4] = [Workload::Scan, Workload::Zipf, Workload::Burst, Workload::Switch];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Scan => "scan",
            Workload::Zipf => "zipf",
            Workload::Burst => "burst",
            Workload::Switch => "switch",
        }
    }

    /// By that name.
    pub fn from_name(name: &str) -> Option<Workload> {
        Workload::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// Makes one, from a seed.
    ///
    /// # Errors
    ///
    /// If a field of the shape is zero that must not be, or there are more blocks than a trace numbers.
    pub fn generate(self, seed: u64, shape: &Shape) -> Result<Trace, SimError> {
        trace_of(&self.asks(seed, shape)?, shape.block_tokens)
    }
}
