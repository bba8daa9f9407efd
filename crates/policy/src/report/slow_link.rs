//! The known case in which more hits are worse, as a load that a comparison of everything ends with.

use super::{Case, Load, machine};
use crate::policies::Kind;
use crate::sim::{self, Config, SimError, sweep, where_hits_hurt};

impl Load {
    /// A small cache, a large one, and the large one with the mend, behind a link that is slower than the servers.
    ///
    /// # Errors
    ///
    /// As for [`sim::run`].
    pub fn slow_link(seeds: &[u64], threads: usize) -> Result<Load, SimError> {
        let known = where_hits_hurt();
        let rows = [
            ("fetch", &known.few_hits),
            ("fetch", &known.many_hits),
            ("faster", &known.mended),
        ];
        let load = sim::Load {
            name: "slow-link",
            make: &|seed| known.workload.generate(seed, &known.shape),
        };
        let runs = rows.map(|(_, config)| (Kind::Lru, config.clone()));
        let outcomes = sweep(&load, &runs, seeds, threads)?;
        let cases = rows.iter().zip(outcomes.chunks(seeds.len().max(1)));
        let case = |decision: &str, config: &Config, outcomes: &[crate::Outcome]| {
            Ok(Case {
                policy: Kind::Lru.name().to_owned(),
                capacity_blocks: config.capacity_blocks()?,
                decision: decision.to_owned(),
                outcomes: outcomes.to_vec(),
            })
        };
        let cases = cases.map(|((decision, config), outcomes)| case(decision, config, outcomes));
        Ok(Load {
            workload: load.name.to_owned(),
            notes: vec![
                format!(
                    "slow-link is {} with {} prefixes on a machine of its own, whatever flags say, so that a link slower than \
                     the servers is always among the loads; its caches differ in size.",
                    known.workload.name(),
                    known.shape.prefixes
                ),
                machine::sentences(&known.many_hits).join(" "),
            ],
            machine: known.many_hits.clone(),
            cases: cases.collect::<Result<_, SimError>>()?,
        })
    }
}
