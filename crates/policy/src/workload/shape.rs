//! How large a generated load is.

use super::Workload;
use crate::sim::SimError;

/// The numbers behind a generated load. [`Workload::shape`] has the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many requests.
    pub requests: u32,
    /// Tokens of a block.
    pub block_tokens: u64,
    /// How many different prefixes there are.
    pub prefixes: u32,
    /// Tokens of each prefix. What does not fill a block is in a block with the suffix, and not shared.
    pub prefix_tokens: u64,
    /// Tokens behind the prefix that no other request has, in the mean; from 1 to twice that, all alike.
    pub suffix_tokens: u64,
    /// From one request to the next, in nanoseconds, in the mean; exponential, with bursts between the bursts.
    pub gap_ns: u64,
    /// The exponent of the Zipf law, in thousandths. 0: all prefixes alike.
    pub zipf_exponent_milli: u32,
    /// Requests of a burst, in the mean; from 1 to twice that, all alike.
    pub burst_requests: u64,
    /// From one request of a burst to the next, in nanoseconds, in the mean; exponential.
    pub burst_gap_ns: u64,
    /// The share of the requests after which a new version of the model comes, in thousandths.
    pub switch_permille: u32,
}

impl Workload {
    /// The defaults: 3,000 requests for prefixes of 8,192 tokens with 1,024 of their own. With the defaults of
    /// [`Config`](crate::sim::Config), LRU keeps the servers between 0.7 and 0.9 busy, so that there are queues.
    pub fn shape(self) -> Shape {
        let shape = Shape {
            requests: 3_000,
            block_tokens: 512,
            prefixes: 2_000,
            prefix_tokens: 8_192,
            suffix_tokens: 1_024,
            gap_ns: 140_000_000,
            zipf_exponent_milli: 900,
            burst_requests: 8,
            burst_gap_ns: 5_000_000,
            switch_permille: 500,
        };
        match self {
            Workload::Scan => Shape {
                prefixes: 1_000,
                gap_ns: 280_000_000,
                ..shape
            },
            Workload::Zipf => shape,
            Workload::Burst => Shape {
                gap_ns: 60_000_000,
                burst_requests: 5,
                ..shape
            },
            Workload::Switch => shape,
        }
    }
}

impl Shape {
    pub(super) fn check(&self) -> Result<(), SimError> {
        let positive = [
            ("block_tokens", self.block_tokens),
            ("prefixes", u64::from(self.prefixes)),
            ("suffix_tokens", self.suffix_tokens),
            ("burst_requests", self.burst_requests),
        ];
        match positive.into_iter().find(|(_, value)| *value == 0) {
            Some((field, _)) => Err(SimError::Workload { field }),
            None => Ok(()),
        }
    }
}
