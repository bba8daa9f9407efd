//! `moonquake policy`.

mod args;
mod load;
mod refuse;
mod values;

pub(crate) use args::Args;

use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::replace::replace;
use load::Load;
use moonquake_policy::flat;
use moonquake_policy::policies::Kind;
use moonquake_policy::report::{self, BlockHits, BlockReport, Case, Report};
use moonquake_policy::sim::{self, Capacity, Config, Decision};
use serde_json::Value;
use std::path::Path;
use values::{DECISIONS, Format};

/// Compares.
pub(crate) fn execute(args: &Args, out: &mut Out) -> Result<Exit, CliError> {
    refuse::refuse(args)?;
    let seeds = seeds(args)?;
    let loads = load::loads(args, &seeds)?;
    let command = command();
    if args.blocks_only {
        let report = blocks(args, &loads)?;
        let svg = || loads.first().map(|load| report.chart(&load.name).svg());
        show(args, out, || report.text(), || report.json());
        return write(args, || report.page(&command), svg);
    }
    let report = simulated(args, &loads, &seeds)?;
    let svg = || report.loads.first().map(|load| load.goodput().svg());
    show(args, out, || report.text(), || report.json());
    write(args, || report.page(&command), svg)
}

fn seeds(args: &Args) -> Result<Vec<u64>, CliError> {
    let first = args.seed.unwrap_or(1);
    match first.checked_add(args.seeds.unwrap_or(1) - 1) {
        Some(last) => Ok((first..=last).collect()),
        None => Err(CliError::Flags {
            what: format!("--seeds counts up from --seed {first}, past the largest number"),
            help: "give a smaller --seed".to_owned(),
        }),
    }
}

fn kinds(args: &Args) -> Vec<Kind> {
    match args.policy.is_empty() {
        true => Kind::ALL.to_vec(),
        false => each_once(&args.policy),
    }
}

/// What was named, each once.
fn each_once<T: Copy + PartialEq>(named: &[T]) -> Vec<T> {
    let mut once = Vec::new();
    for one in named {
        if !once.contains(one) {
            once.push(*one);
        }
    }
    once
}

fn blocks(args: &Args, loads: &[Load]) -> Result<BlockReport, CliError> {
    let mut capacities = each_once(&args.capacity_blocks);
    if capacities.is_empty() {
        capacities.push(10_000);
    }
    let mut report = BlockReport::default();
    for load in loads {
        let read = load
            .references(args.seed.unwrap_or(1))
            .map_err(|error| load::simulation(&error))?;
        let (references, blocks) = (&read.references, read.blocks);
        let row = |policy: &str, capacity_blocks, hits: flat::Hits| BlockHits {
            workload: load.name.clone(),
            policy: policy.to_owned(),
            capacity_blocks,
            hits: hits.hits,
            references: hits.hits + hits.misses,
        };
        for kind in kinds(args) {
            for capacity in &capacities {
                // A cache larger than all blocks is one of all blocks.
                let room = usize::try_from(*capacity).map_or(blocks, |room| room.min(blocks));
                let hits = flat::replay_kind(kind, references, blocks, room);
                report.rows.push(row(kind.name(), Some(*capacity), hits));
            }
        }
        let hits = flat::infinite(references, blocks);
        report.rows.push(row("infinite", None, hits));
        report.notes.extend(read.notes.iter().cloned());
    }
    Ok(report)
}

fn config(args: &Args) -> Config {
    let default = Config::default();
    let blocks = args.capacity_blocks.first().copied().map(Capacity::Blocks);
    Config {
        capacity: args
            .capacity
            .map(Capacity::Bytes)
            .or(blocks)
            .unwrap_or(default.capacity),
        block_tokens: args.chunk.unwrap_or(default.block_tokens),
        bytes_per_token: args.bytes_per_token.unwrap_or(default.bytes_per_token),
        bandwidth_bytes_per_s: args.bandwidth.unwrap_or(default.bandwidth_bytes_per_s),
        link: args.link.unwrap_or(default.link),
        writes: args.writes.unwrap_or(default.writes),
        lookup_ns: args.lookup.unwrap_or(default.lookup_ns),
        prefill: args.prefill.unwrap_or(default.prefill),
        servers: args.servers.unwrap_or(default.servers),
        queue: args.queue.unwrap_or(default.queue),
        prefetch_deadline_ns: args.prefetch_deadline,
        decision: default.decision,
        twins: args.flight.unwrap_or(default.twins),
        slo_ns: args.slo.unwrap_or(default.slo_ns),
    }
}

fn decisions(args: &Args) -> Vec<Decision> {
    match args.decision.is_empty() {
        true => vec![Decision::Fetch, Decision::Faster],
        false => each_once(&args.decision),
    }
}

fn simulated(args: &Args, loads: &[Load], seeds: &[u64]) -> Result<Report, CliError> {
    let machine = config(args);
    let mut runs = Vec::new();
    for kind in kinds(args) {
        for decision in decisions(args) {
            runs.push((
                kind,
                Config {
                    decision,
                    ..machine.clone()
                },
            ));
        }
    }
    let threads = args.threads.map_or_else(processors, usize::from);
    let mut report = Report {
        machine,
        loads: Vec::new(),
    };
    for load in loads {
        let make = |seed| load.make(seed, seeds);
        let named = sim::Load {
            name: &load.name,
            make: &make,
        };
        let outcomes = sim::sweep(&named, &runs, seeds, threads).map_err(|error| load::simulation(&error))?;
        let cases = runs.iter().zip(outcomes.chunks(seeds.len()));
        report.loads.push(report::Load {
            workload: load.name.clone(),
            notes: load.notes(seeds),
            machine: report.machine.clone(),
            cases: cases
                .map(|((kind, config), outcomes)| case(*kind, config, outcomes))
                .collect(),
        });
    }
    if args.trace.is_none() && args.workload.is_empty() {
        // The case that is known to hurt is shown beside the loads.
        let known = report::Load::slow_link(seeds, threads);
        report
            .loads
            .push(known.map_err(|error| load::simulation(&error))?);
    }
    Ok(report)
}

fn case(kind: Kind, config: &Config, outcomes: &[moonquake_policy::Outcome]) -> Case {
    let name = DECISIONS.iter().find(|(_, one)| *one == config.decision);
    Case {
        policy: kind.name().to_owned(),
        capacity_blocks: config.capacity_blocks().unwrap_or(0),
        decision: name.map_or("", |(name, _)| name).to_owned(),
        outcomes: outcomes.to_vec(),
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn show(args: &Args, out: &mut Out, text: impl Fn() -> String, json: impl Fn() -> Value) {
    match args.format {
        Format::Table => out.text(&text()),
        Format::Json => out.text(&format!("{:#}\n", json())),
    }
}

fn write(args: &Args, page: impl Fn() -> String, svg: impl Fn() -> Option<String>) -> Result<Exit, CliError> {
    let put = |flag: &'static str, path: &Path, text: &str| {
        replace(path, text).map_err(|source| CliError::Written {
            flag,
            path: path.to_owned(),
            source,
        })
    };
    if let Some(path) = &args.html {
        put("--html", path, &page())?;
    }
    if let (Some(path), Some(text)) = (&args.svg, svg()) {
        put("--svg", path, &text)?;
    }
    Ok(Exit::Ok)
}

/// The command that was given, without what makes no difference to the content.
fn command() -> String {
    const OTHER: [&str; 4] = ["--threads", "--html", "--svg", "--format"];
    let mut words = vec!["moonquake".to_owned()];
    let mut given = std::env::args_os().skip(1);
    while let Some(word) = given.next() {
        let word = word.to_string_lossy();
        if OTHER.contains(&&*word) {
            given.next();
        } else if !OTHER
            .iter()
            .any(|flag| word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
        {
            words.push(quoted(&word));
        }
    }
    words.join(" ")
}

/// As a shell reads it as one word.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
