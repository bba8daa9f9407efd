//! Where more hits are worse.

use super::{Capacity, Config, Decision};
use crate::workload::{Shape, Workload};

/// A load and machines that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitsHurt {
    /// Which load.
    pub workload: Workload,
    /// And how large.
    pub shape: Shape,
    /// A small cache behind a slow link; what is in it is always fetched.
    pub few_hits: Config,
    /// The same with a large cache: a higher hit rate and a lower goodput. The servers are bored, the link is not.
    pub many_hits: Config,
    /// The large cache, where what is faster is done: the goodput is back.
    pub mended: Config,
}

/// The case in which a higher hit rate lowers the goodput: the link is slower than the servers, and always fetching makes it
/// the bottleneck as soon as there is much to fetch.
pub fn where_hits_hurt() -> HitsHurt {
    let few_hits = Config {
        capacity: Capacity::Blocks(500),
        bandwidth_bytes_per_s: 2 << 30,
        decision: Decision::Fetch,
        ..Config::default()
    };
    let many_hits = Config {
        capacity: Capacity::Blocks(30_000),
        ..few_hits.clone()
    };
    let workload = Workload::Zipf;
    HitsHurt {
        workload,
        shape: Shape {
            prefixes: 500,
            gap_ns: 300_000_000,
            ..workload.shape()
        },
        mended: Config {
            decision: Decision::Faster,
            ..many_hits.clone()
        },
        few_hits,
        many_hits,
    }
}
