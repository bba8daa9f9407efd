//! Flags that do not go together, each with what to do instead.

use super::args::Args;
use super::values::Ticks;
use crate::error::CliError;
use std::path::Path;

/// As many numbers in a row are readable on a page.
const PAGE_CAPACITIES: usize = 50;

fn wrong<T>(what: impl Into<String>, help: impl Into<String>) -> Result<T, CliError> {
    Err(CliError::Flags {
        what: what.into(),
        help: help.into(),
    })
}

/// Refuses what would be ignored, or would overwrite what is read.
pub(super) fn refuse(args: &Args) -> Result<(), CliError> {
    load(args)?;
    if args.capacity.is_some() && !args.capacity_blocks.is_empty() {
        return wrong(
            "--capacity and --capacity-blocks both say how much the cache holds",
            "give one of them",
        );
    }
    if args.html.is_some() && args.capacity_blocks.len() > PAGE_CAPACITIES {
        return wrong(
            format!(
                "--capacity-blocks has {} numbers, too many for the page of --html",
                args.capacity_blocks.len()
            ),
            format!("give at most {PAGE_CAPACITIES}, or leave --html out: --format json has room for all"),
        );
    }
    if args.blocks_only {
        blocks_only(args)?;
    } else if args.capacity_blocks.len() > 1 {
        return wrong(
            format!(
                "--capacity-blocks has {} numbers, and a simulation has one cache",
                args.capacity_blocks.len()
            ),
            "give one number, or add --blocks-only for a curve of hits over capacity",
        );
    }
    files(args)
}

fn load(args: &Args) -> Result<(), CliError> {
    if args.trace.is_none() {
        if args.ticks.is_some() {
            return wrong(
                "--ticks is about the timestamps of a trace, and there is none",
                "add --trace FILE, or leave --ticks out: generated loads have exact times",
            );
        }
        return Ok(());
    }
    if !args.workload.is_empty() {
        return wrong(
            "--trace and --workload both say which requests come",
            "give one of them",
        );
    }
    if args.requests.is_some() {
        return wrong(
            "--requests is how many are generated, and a trace has its own",
            "leave --requests out, or cut the file: head -n N FILE",
        );
    }
    let shape = [
        ("--prefixes", args.prefixes.is_some()),
        ("--prefix-tokens", args.prefix_tokens.is_some()),
        ("--suffix-tokens", args.suffix_tokens.is_some()),
        ("--gap", args.gap.is_some()),
    ];
    if let Some((flag, _)) = shape.iter().find(|(_, given)| *given) {
        return wrong(
            format!("{flag} is about generated loads, and a trace has its own"),
            format!("leave {flag} out, or give --workload instead of --trace"),
        );
    }
    if args.blocks_only && args.seed.is_some() && args.ticks.is_none() {
        return wrong(
            "--seed makes no difference to the references of a trace",
            "leave --seed out",
        );
    }
    let is_spread = args.ticks == Some(Ticks::Spread) || args.blocks_only;
    let seeds = [("--seed", args.seed.is_some()), ("--seeds", args.seeds.is_some())];
    if let Some((flag, _)) = seeds.iter().find(|(_, given)| *given && !is_spread) {
        return wrong(
            format!("{flag} makes no difference to a trace whose ticks are raw"),
            format!("add --ticks spread, or leave {flag} out"),
        );
    }
    Ok(())
}

/// Of a replay without time, what has to do with time or bytes.
fn blocks_only(args: &Args) -> Result<(), CliError> {
    if args.capacity.is_some() {
        return wrong(
            "--capacity is in bytes, and with --blocks-only a block has none",
            "give --capacity-blocks N instead",
        );
    }
    if args.seeds.is_some() {
        return match args.trace {
            Some(_) => wrong(
                "--seeds makes no difference to the references of a trace",
                "leave --seeds out",
            ),
            None => wrong(
                "--seeds is refused with --blocks-only, whose hits are exact counts for one seed and not a spread over several",
                "give one with --seed N and run once for each, or leave --blocks-only out to simulate all",
            ),
        };
    }
    let given = [
        ("--ticks", args.ticks.is_some()),
        ("--bytes-per-token", args.bytes_per_token.is_some()),
        ("--bandwidth", args.bandwidth.is_some()),
        ("--link", args.link.is_some()),
        ("--writes", args.writes.is_some()),
        ("--lookup", args.lookup.is_some()),
        ("--servers", args.servers.is_some()),
        ("--prefill", args.prefill.is_some()),
        ("--queue", args.queue.is_some()),
        ("--decision", !args.decision.is_empty()),
        ("--prefetch-deadline", args.prefetch_deadline.is_some()),
        ("--flight", args.flight.is_some()),
        ("--slo", args.slo.is_some()),
        ("--threads", args.threads.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => wrong(
            format!("{flag} makes no difference with --blocks-only, which has no time and no bytes"),
            format!("leave {flag} out, or leave --blocks-only out to simulate"),
        ),
        None => Ok(()),
    }
}

fn files(args: &Args) -> Result<(), CliError> {
    let loads = if args.trace.is_some() {
        1
    } else {
        args.workload.len()
    };
    if args.svg.is_some() && loads != 1 {
        return wrong(
            "--svg is the plot of one load, and there are several",
            "name one with --workload, or write a page of all with --html FILE",
        );
    }
    let same = |one: &Option<std::path::PathBuf>, two: &Option<std::path::PathBuf>| match (one, two) {
        (Some(one), Some(two)) => is_same(one, two),
        _ => false,
    };
    if same(&args.html, &args.svg) {
        return wrong("--html and --svg name the same file", "name two files");
    }
    for (flag, file) in [("--html", &args.html), ("--svg", &args.svg)] {
        if same(file, &args.trace) {
            return wrong(
                format!("{flag} would overwrite the trace, and nothing was written"),
                format!("name another file with {flag}"),
            );
        }
    }
    Ok(())
}

/// Whether two paths are one file, which need not be there yet.
fn is_same(one: &Path, two: &Path) -> bool {
    let real = |path: &Path| {
        path.canonicalize().unwrap_or_else(|_| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
            path.file_name().map_or(folder.clone(), |name| folder.join(name))
        })
    };
    real(one) == real(two)
}
