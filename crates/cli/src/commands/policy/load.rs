//! The loads that flags name.

use super::args::Args;
use super::each_once;
use super::values::Ticks as Wanted;
use crate::error::CliError;
use moonquake_policy::Trace;
use moonquake_policy::sim::SimError;
use moonquake_policy::trace::{self, Flaw, MOONCAKE_BLOCK_TOKENS, Reading, References, Ticks, TraceError};
use moonquake_policy::workload::{Shape, Workload};
use std::path::Path;

/// Where requests come from.
enum Source {
    Generated(Workload, Shape),
    /// A trace for each seed, or one alone if its ticks are raw.
    Traced(Vec<Trace>),
    References(References),
}

/// Requests with a name.
pub(super) struct Load {
    pub(super) name: String,
    source: Source,
}

/// All loads that were asked for; those of a trace for these seeds.
pub(super) fn loads(args: &Args, seeds: &[u64]) -> Result<Vec<Load>, CliError> {
    if let Some(path) = &args.trace {
        let name = path.file_name().unwrap_or(path.as_os_str());
        return Ok(vec![Load {
            name: name.to_string_lossy().into_owned(),
            source: traced(args, path, seeds).map_err(|error| refused(&error))?,
        }]);
    }
    let workloads = match args.workload.is_empty() {
        true => Workload::ALL.to_vec(),
        false => each_once(&args.workload),
    };
    let generated = workloads.into_iter().map(|workload| Load {
        name: workload.name().to_owned(),
        source: Source::Generated(workload, shape(args, workload)),
    });
    Ok(generated.collect())
}

fn traced(args: &Args, path: &Path, seeds: &[u64]) -> Result<Source, TraceError> {
    let block_tokens = args.chunk.unwrap_or(MOONCAKE_BLOCK_TOKENS);
    if args.blocks_only {
        return trace::read_references(path, block_tokens).map(Source::References);
    }
    let read = |ticks| trace::read(path, &Reading { block_tokens, ticks });
    let traces = match args.ticks {
        Some(Wanted::Spread) => seeds
            .iter()
            .map(|seed| read(Ticks::Spread { seed: *seed }))
            .collect(),
        Some(Wanted::Raw) | None => read(Ticks::Raw).map(|trace| vec![trace]),
    };
    traces.map(Source::Traced)
}

fn shape(args: &Args, workload: Workload) -> Shape {
    let shape = workload.shape();
    Shape {
        requests: args.requests.unwrap_or(shape.requests),
        block_tokens: args.chunk.unwrap_or(shape.block_tokens),
        prefixes: args.prefixes.unwrap_or(shape.prefixes),
        prefix_tokens: args.prefix_tokens.unwrap_or(shape.prefix_tokens),
        suffix_tokens: args.suffix_tokens.unwrap_or(shape.suffix_tokens),
        gap_ns: args.gap.unwrap_or(shape.gap_ns),
        ..shape
    }
}

impl Load {
    /// The requests of a seed, one of `seeds`.
    pub(super) fn make(&self, seed: u64, seeds: &[u64]) -> Result<Trace, SimError> {
        match &self.source {
            Source::Generated(workload, shape) => workload.generate(seed, shape),
            Source::Traced(traces) => {
                let place = seeds.iter().position(|one| *one == seed).unwrap_or(0);
                let trace = traces.get(place).or(traces.first());
                trace.cloned().ok_or(SimError::Workload { field: "seeds" })
            }
            Source::References(_) => Err(SimError::Workload { field: "requests" }),
        }
    }

    /// References alone.
    pub(super) fn references(&self, seed: u64) -> Result<References, SimError> {
        if let Source::References(read) = &self.source {
            return Ok(read.clone());
        }
        let trace = self.make(seed, &[seed])?;
        Ok(References {
            blocks: trace.blocks(),
            references: trace.references,
            notes: vec![format!("{}: from seed {seed}.", self.name)],
        })
    }

    /// What was found and done while reading or making it.
    pub(super) fn notes(&self, seeds: &[u64]) -> Vec<String> {
        let span = match seeds {
            [] => String::new(),
            [one] => format!("seed {one}"),
            [first, .., last] => format!("seeds {first} to {last}"),
        };
        match &self.source {
            Source::Generated(workload, shape) => vec![format!(
                "{}: {} requests from {span}, for {} prefixes of {} tokens, at exact times without ticks.",
                workload.name(),
                shape.requests,
                shape.prefixes,
                shape.prefix_tokens
            )],
            Source::Traced(traces) => {
                let mut notes: Vec<String> = traces
                    .first()
                    .map(|trace| trace.notes.clone())
                    .unwrap_or_default();
                if notes.is_empty() {
                    notes.push(
                        "No ticks were found in the timestamps; they were taken as they are.".to_owned(),
                    );
                }
                if traces.len() > 1 {
                    notes.push(format!("The same was done with each of {span}."));
                }
                notes
            }
            Source::References(read) => read.notes.clone(),
        }
    }
}

/// What is wrong with a trace: file, line and flaw, and the mend behind the semicolon.
fn refused(error: &TraceError) -> CliError {
    let text = error.to_string();
    let (what, help) = text
        .split_once("; ")
        .unwrap_or((&text, "name another with --trace FILE"));
    let flag = match error {
        TraceError::Line {
            flaw: Flaw::Blocks { .. },
            ..
        } => " with --chunk",
        TraceError::Unreadable { .. } | TraceError::Empty { .. } => " (--trace)",
        _ => "",
    };
    CliError::Input {
        what: what.to_owned(),
        help: format!("{help}{flag}"),
    }
}

/// What the simulation refuses, with the flag where it has one.
pub(super) fn simulation(error: &SimError) -> CliError {
    let flag = match error {
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
