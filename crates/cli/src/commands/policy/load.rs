//! The loads that flags name.

use super::args::Args;
use super::each_once;
use super::values::Ticks;
use crate::error::CliError;
use moonquake_policy::Trace;
use moonquake_policy::sim::SimError;
use moonquake_policy::workload::{Shape, Workload};

/// Where requests come from.
enum Source {
    Generated(Workload, Shape),
    Traced(Trace, Ticks),
}

/// Requests with a name.
pub(super) struct Load {
    pub(super) name: String,
    source: Source,
}

/// All loads that were asked for.
pub(super) fn loads(args: &Args) -> Result<Vec<Load>, CliError> {
    if let Some(path) = &args.trace {
        todo!("{path:?}");
    }
    let workloads = match args.workload.is_empty() {
        true => Workload::ALL.to_vec(),
        false => each_once(&args.workload),
    };
    let generated = workloads.into_iter().map(|workload| {
        let shape = workload.shape();
        let shape = Shape {
            requests: args.requests.unwrap_or(shape.requests),
            block_tokens: args.chunk.unwrap_or(shape.block_tokens),
            prefixes: args.prefixes.unwrap_or(shape.prefixes),
            prefix_tokens: args.prefix_tokens.unwrap_or(shape.prefix_tokens),
            suffix_tokens: args.suffix_tokens.unwrap_or(shape.suffix_tokens),
            gap_ns: args.gap.unwrap_or(shape.gap_ns),
            ..shape
        };
        Load {
            name: workload.name().to_owned(),
            source: Source::Generated(workload, shape),
        }
    });
    Ok(generated.collect())
}

impl Load {
    /// The requests of a seed.
    pub(super) fn make(&self, seed: u64) -> Result<Trace, SimError> {
        match &self.source {
            Source::Generated(workload, shape) => workload.generate(seed, shape),
            Source::Traced(trace, _) => Ok(trace.clone()),
        }
    }

    /// What was found and done while reading or making it.
    pub(super) fn notes(&self, seeds: &[u64]) -> Vec<String> {
        let seeds = match seeds {
            [one] => format!("seed {one}"),
            many => format!("seeds {} to {}", many[0], many[many.len() - 1]),
        };
        match &self.source {
            Source::Generated(workload, shape) => {
                vec![format!(
                    "{}: {} requests from {seeds}, at exact times.",
                    workload.name(),
                    shape.requests
                )]
            }
            Source::Traced(trace, _) => trace.notes.clone(),
        }
    }
}

/// What the simulation refuses, with the flag where it has one.
pub(super) fn simulation(error: SimError) -> CliError {
    let flag = match &error {
        SimError::NoBlock { .. } => "--capacity",
        SimError::BlockSize { .. } => "--chunk",
        _ => "",
    };
    let text = error.to_string();
    // The mend stands behind the last semicolon.
    let (what, help) = text.rsplit_once("; ").unwrap_or((&text, "give smaller numbers"));
    CliError::Flags {
        what: if flag.is_empty() {
            what.to_owned()
        } else {
            format!("{flag}: {what}")
        },
        help: help.to_owned(),
    }
}
