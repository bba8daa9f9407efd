//! What simulated runs came to, for people and for machines: tables, charts, sentences, and a page of all of them.

mod blocks;
mod charts;
mod findings;
mod forms;
mod machine;
mod measure;
mod slow_link;
mod spread;
mod tables;

pub use blocks::{BlockHits, BlockReport};
pub use measure::{MEASURES, Measure, nearest_rank};
pub use spread::Spread;

use crate::Outcome;
use crate::sim::Config;

/// The runs of one policy with one decision under one workload, one for each seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The policy's name, as on the command line.
    pub policy: String,
    /// Blocks that the cache holds.
    pub capacity_blocks: u64,
    /// The name of the decision between fetching and computing, as on the command line.
    pub decision: String,
    /// In the order of their seeds; the same seeds for all cases of a workload.
    pub outcomes: Vec<Outcome>,
}

/// All cases under one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The workload's name, or the trace file.
    pub workload: String,
    /// What was found and done while reading or making it, a sentence each.
    pub notes: Vec<String>,
    /// The machine that was simulated. Its decision is not told: each case has its own. So is its capacity where cases differ in
    /// it.
    pub machine: Config,
    /// In the order in which they are shown.
    pub cases: Vec<Case>,
}

/// What was asked for, and what came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The machine that flags describe, for people: a load may have another one, and says so in a note.
    pub machine: Config,
    /// In the order in which they are shown.
    pub loads: Vec<Load>,
}

/// How percentiles are taken.
pub const PERCENTILES: &str = "Percentiles are by nearest rank: of n times in ascending order, P99 is the one at place \
                               ceil(0.99 n). Over several seeds, each figure is taken for each seed by itself; mean, least and most \
                               of those are shown.";

/// What no run of the simulation can show.
pub const LIMITS: &str = "What this cannot show: prefill is a formula and not a kernel, the link is one pipe without packet loss, \
                          NUMA, disk tiers or copies, decoding takes no time and no memory, arrivals do not slow down when answers \
                          are late, and nothing fails. Read differences between policies off it, not the latency of your cluster.";

impl Case {
    /// Whether both are the same but for the decision.
    fn is_beside(&self, other: &Case) -> bool {
        self.policy == other.policy && self.capacity_blocks == other.capacity_blocks
    }

    fn spread(&self, measure: Measure) -> Spread {
        Spread::of(self.outcomes.iter().map(|outcome| measure.of(outcome)))
    }
}

impl Load {
    fn has_several_seeds(&self) -> bool {
        self.cases.iter().any(|case| case.outcomes.len() > 1)
    }

    fn has_several_capacities(&self) -> bool {
        let mut pairs = self.cases.windows(2);
        pairs.any(|pair| pair[0].capacity_blocks != pair[1].capacity_blocks)
    }

    /// How a case is called for people: its policy, and its capacity where cases differ in it.
    fn label(&self, case: &Case) -> String {
        match self.has_several_capacities() {
            true => format!("{}, {} blocks", case.policy, case.capacity_blocks),
            false => case.policy.clone(),
        }
    }

    /// The decisions, each once, in their order.
    fn decisions(&self) -> Vec<&str> {
        each_once(self.cases.iter().map(|case| case.decision.as_str()))
    }

    /// The labels of cases, each once, in their order.
    fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        for case in &self.cases {
            let label = self.label(case);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }

    fn case(&self, label: &str, decision: &str) -> Option<&Case> {
        let mut cases = self.cases.iter();
        cases.find(|case| case.decision == decision && self.label(case) == label)
    }
}

fn each_once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}
