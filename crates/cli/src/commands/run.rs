//! `moonquake run`.

use crate::engines::{Availability, availability, has_profile};
use crate::error::CliError;
use crate::exit::Exit;
use crate::folder::try_folder;
use crate::library::Library;
use crate::out::Out;
use crate::run::{Format, Suite, run_suite};
use crate::select::{Selected, select};
use crate::stop::Stop;
use moonquake_faults::{Dimension, Profile};
use moonquake_native::Natural;
use moonquake_scenario::EngineKind;
use std::ffi::OsString;
use std::path::PathBuf;

/// Run scenarios, judge them, and write a postmortem of each run.
///
/// Without a name, every scenario runs. A name is a scenario file, a folder with scenario files, an id, a pattern such as
/// `crash/*`, or any part of an id or path. With several engines each scenario runs on all of them, and where they part,
/// the first differing line of both is shown.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Scenario files, folders, ids, patterns, or parts of ids
    #[arg(value_name = "FILTER|FILE")]
    names: Vec<OsString>,
    /// The engines to run on: model needs nothing, master is the unmodified C++ master; with unmodified C++ clients, native has that
    /// master and hosted the Rust one
    ///
    /// [default: model; with --long native,hosted]
    #[arg(long, value_delimiter = ',', value_parser = super::engine, value_name = "E[,E]")]
    engine: Vec<EngineKind>,
    /// How the store behaves: upstream as the pinned release does, strict as the contract says (model only)
    #[arg(long, value_delimiter = ',', default_value = "upstream", value_parser = super::profile, value_name = "P[,P]")]
    profile: Vec<Profile>,
    /// Shuffle the order of deliveries by this seed; without one it is first in, first out, and that is the order of which the files speak
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
    /// The folder for the postmortems
    #[arg(long, default_value = "moonquake-runs", value_name = "DIR")]
    report: PathBuf,
    /// Only scenarios of these dimensions, such as lease or clock
    #[arg(long, value_delimiter = ',', value_parser = super::dimension, value_name = "D[,D]")]
    dimension: Vec<Dimension>,
    /// The folder with the scenarios, instead of `scenarios` here or further up, or else those built in
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
    /// Run each scenario so often on each engine; every run must come out as the file says, and with the same events
    ///
    /// [default: 1; with --long 20, and 1 for what runs in real time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    times: Option<u32>,
    /// The long suite: each scenario 20 times on the real engines, then the findings in real time (`natural/...`), minutes each
    #[arg(long)]
    long: bool,
    /// Lines for people, or one JSON object for machines
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Also show how long each run took, which makes the output differ from run to run
    #[arg(long, short)]
    verbose: bool,
}

const EXAMPLES: &str = "\
Examples:
  moonquake run                                 every scenario on the model
  moonquake run lease/remove-at-the-boundary    one, by its id
  moonquake run 'crash/*' --engine model,master a group, on the model and on the real master
  moonquake run mine.scenario.toml --profile upstream,strict
  moonquake run --format json | jq .summary
  moonquake run 'crash/*' --long                a group 20 times on native and hosted
  moonquake run natural --long --engine native  the findings about late access to buffers, in real time, nothing preloaded

Each run ends in a verdict: holds, violated, or not-reproduced where the injection could not be proven. A file says which
is right for it. A run that comes out otherwise ends with the command that brings the same events back.

In the folder for postmortems each run leaves its postmortem and its record (`*.record.json`), which is begun before the
fault strikes; `record.md` has the records of all runs, with what was not reproduced and why.

JSON (`--format json`) is one object. schema, moonquake (the version), engines, profiles, seed; runs, skipped, failed,
differences, summary. Each of runs: id, path, engine, profile, seed, verdict, claimed (by the file), claim_met, failed (steps
and invariants), failed_unclaimed, claimed_unfailed, buffer (no, yes, could-not-see or
late-by-others, for each that is watched), replay, evidence_sha256, stable_sha256 (of what is the same in every run), postmortem (paths: html, markdown, json, record), null if
it could not be written. Each of skipped and failed: id, engine, profile, why; failed also replay. Each of differences: id,
profile, engines, line (from 1), says (by both), is_declared (by the file). summary: scenarios, runs, as_claimed, violated
(and not claimed), not_reproduced, failed, skipped, unwritten, differences (not declared), is_cut_short, evidence_sha256, exit_code. Fields may
be added; schema grows when one changes its meaning or goes away. times (how often each run was asked for) stands beside seed
and in each of runs, with done, as_said and differing (the numbers of the runs that came out otherwise, or with other events).
natural has the findings in real time: id, engine, verdict, said (what is known), as_said, deviations, times, done, differing,
markdown, replay, error.

Exit codes: 0 as the files say, 1 a verdict differs, 2 an injection could not be proven, 3 engines or runs disagree,
64 wrong command line or file (nothing was run), 69 an engine is not installed (nothing was run), 70 a fault of the
harness or of the disk, 129 SIGHUP, 130 Ctrl-C, 131 SIGQUIT, 143 SIGTERM.";

/// How often the long suite runs each scenario.
const LONG_TIMES: u32 = 20;

/// Runs what was asked for.
pub(crate) fn execute(args: Args, out: &mut Out) -> Result<Exit, CliError> {
    let (natural, names) = natural(&args);
    let mut selected = Vec::new();
    if natural.is_empty() || args.names.is_empty() || !names.is_empty() {
        let library = Library::find(args.scenarios.as_deref())?;
        selected = select(&library, &names)?;
    }
    let is_asked_for =
        |one: &Selected| args.dimension.is_empty() || args.dimension.contains(&one.plan.fault.dimension);
    selected.retain(is_asked_for);
    if selected.is_empty() && natural.is_empty() {
        return Err(CliError::NoneOfDimension {
            names: args
                .dimension
                .iter()
                .map(|one| one.row().name)
                .collect::<Vec<_>>()
                .join(" or "),
        });
    }
    let suite = Suite {
        selected,
        natural,
        engines: engines(args.engine, args.long),
        profiles: unique(args.profile),
        seed: args.seed,
        times: args.times.unwrap_or(if args.long { LONG_TIMES } else { 1 }),
        natural_times: args.times.unwrap_or(1),
        report: args.report,
        format: args.format,
        is_verbose: args.verbose,
    };
    for kind in &suite.engines {
        demand(*kind, &suite.profiles)?;
    }
    try_folder("--report", &suite.report)?;
    let stop = Stop::listen()?;
    Ok(run_suite(&suite, &stop, out))
}

/// The natural forms that are asked for, and the names that are left for scenarios. A name that begins with `natural` and fits a
/// form is none of a scenario.
fn natural(args: &Args) -> (Vec<Natural>, Vec<OsString>) {
    let fits_dimension = args.dimension.is_empty() || args.dimension.contains(&Dimension::Buffer);
    if !args.long || !fits_dimension {
        return (Vec::new(), args.names.clone());
    }
    let fits = |form: &Natural, name: &str| {
        let pattern = glob::Pattern::new(name);
        let is_named = name.starts_with("natural") && form.id().starts_with(name);
        is_named || name.starts_with("natural") && pattern.is_ok_and(|pattern| pattern.matches(form.id()))
    };
    let is_form = |name: &OsString| {
        let name = name.to_string_lossy();
        Natural::ALL.iter().any(|form| fits(form, &name))
    };
    let (ours, others): (Vec<OsString>, Vec<OsString>) = args.names.iter().cloned().partition(is_form);
    let is_asked_for =
        |form: &Natural| args.names.is_empty() || ours.iter().any(|name| fits(form, &name.to_string_lossy()));
    (Natural::ALL.into_iter().filter(is_asked_for).collect(), others)
}

/// The engines that are asked for, or those of the suite.
fn engines(asked: Vec<EngineKind>, is_long: bool) -> Vec<EngineKind> {
    match (asked.is_empty(), is_long) {
        (false, _) => unique(asked),
        (true, true) => vec![EngineKind::Native, EngineKind::Hosted],
        (true, false) => vec![EngineKind::Model],
    }
}

/// Refuses an engine that cannot run anything here because something is missing, or for which no profile is left.
fn demand(kind: EngineKind, profiles: &[Profile]) -> Result<(), CliError> {
    if !profiles.iter().any(|profile| has_profile(kind, *profile)) {
        return Err(CliError::Profile { engine: kind.name() });
    }
    match availability(kind) {
        // One that does not exist on this platform is no failure: its scenarios are listed as skipped.
        Availability::Available(_) | Availability::NotHere(_) => Ok(()),
        Availability::NotInstalled { what, cure } => Err(CliError::NotInstalled {
            engine: kind.name(),
            what,
            cure,
        }),
        Availability::NotBuilt => Err(CliError::NotInstalled {
            engine: kind.name(),
            what: "this version of Moonquake does not have it yet".to_owned(),
            cure: "use model, master, hosted or native".to_owned(),
        }),
    }
}

/// Each value once, in the order in which they were given.
fn unique<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}
