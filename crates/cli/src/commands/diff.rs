//! `moonquake diff`.

mod square;

use crate::engines::{Availability, availability, engine, has_profile};
use crate::error::CliError;
use crate::exit::Exit;
use crate::library::Library;
use crate::out::{self, Out};
use crate::replace::replace;
use crate::run::{Format, replay, unless_asked};
use crate::select::{Selected, select};
use crate::stop::Stop;
use moonquake_evidence::Evidence;
use moonquake_faults::Profile;
use moonquake_judge::{Judgement, judge};
use moonquake_report::{Comparison, DiffMark, DiffText, diff_text, html};
use moonquake_scenario::{EngineError, EngineKind, Interrupt, Plan, RunOptions};
use std::ffi::OsString;
use std::path::PathBuf;

/// Run one scenario twice, or on all four pairings of a client with a master, and show where the runs part.
///
/// Without engines it runs on `model` (Rust client, Rust master), `master` (Rust, real), `hosted` (real, Rust) and `native`
/// (real, real), shows a table of the four, compares each with the model, and says what the pattern of differences means.
///
/// Compared is what must be the same on every engine: results, places, bytes and the readable keys. The first line that
/// differs is shown with what each side saw on the way there. A side is an engine, or an engine with a profile, so that
/// the same engine can be compared with itself: `model:strict model:upstream`.
///
/// With `--random` no file is needed: histories made by a seed run on the Rust master and on the unmodified one, and every
/// answer and the state are compared. A difference is shrunk and written as a scenario file.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A scenario file, an id, or a part of one that only one scenario has
    #[arg(value_name = "FILE", required_unless_present_any = ["random", "replay"])]
    name: Option<OsString>,
    /// The first run; without engines all four pairings are run
    #[arg(value_name = "ENGINE[:PROFILE]", value_parser = side, requires = "two")]
    one: Option<Side>,
    /// The second run
    #[arg(value_name = "ENGINE[:PROFILE]", value_parser = side)]
    two: Option<Side>,
    #[command(flatten)]
    random: super::random::Args,
    /// The profile of the runs that name none: one for both, or two, in their order
    #[arg(long, value_delimiter = ',', num_args = 1..=2, value_parser = super::profile, value_name = "P[,P]")]
    profile: Vec<Profile>,
    /// Shuffle the order of deliveries by this seed; without one it is first in, first out. With --random: what the
    /// histories follow from (0)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Also write both runs side by side into this file, as one page; needs two engines
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Lines for people, or one JSON object for machines
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// The folder with the scenarios, instead of `scenarios` here or further up, or else those built in
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  moonquake diff lease/remove-at-the-boundary
  moonquake diff lease/remove-at-the-boundary model master
  moonquake diff mine.scenario.toml model:strict model:upstream --html parted.html
  moonquake diff mine.scenario.toml model model --profile strict,upstream
  moonquake diff --random --ops 100000 --seed 7
  moonquake diff --replay moonquake-diffs/defaults-0123456789abcdef.history.json

JSON (`--format json`): schema, same, id, title, path; sides, each with name, engine, profile, verdict, claim_met, failed,
events, lines, projection_sha256, replay; first, the row of the first difference from 0, or null; lead, for each side the
events on the way there (event, at_ns, actor, observer, text); rows, each with same and the two lines (line, event, step,
text), null where a side has none.

Without engines: schema, same (lines, verdicts and what fails; null if fewer than two ran), id, title, path; cells, one for
each engine, each with engine, client and master (rust or real), state (ran, no-words, not-here, not-installed, failed), why
where it did not run, run where it did (as one of the sides), replay; pairs, the model with each other engine that ran, each
as the object for two engines; meaning.

With --random: schema, same, seed, operations, histories, stopped; setups, each with name, flags, operations, histories,
seconds, differences; differences, each with setup, seed, recurrence (parted, replays: how often its history
parts when it is run again), operations (how many are left), operation, parted, scenario, history, left_out; coverage, for each operation how often each result came. With --replay: schema, same, operations, stopped, difference, recurrence.

Exit codes: 0 all that ran say the same, 3 they part (without engines: or come out differently), 64 wrong command line or
file, 69 an engine cannot be had here (without engines: one is not installed, or fewer than two ran), 70 a fault of the harness
or of the disk, 129 SIGHUP, 130 Ctrl-C, 131 SIGQUIT, 143 SIGTERM. Without engines everything is shown first, and of several codes the one counts that
says most about the whole: 70, 69, 3.";

/// What to run on.
#[derive(Clone, Copy, Debug)]
struct Side {
    engine: EngineKind,
    profile: Option<Profile>,
}

fn side(text: &str) -> Result<Side, String> {
    let (engine, profile) = match text.split_once(':') {
        Some((engine, profile)) => (engine, Some(super::profile(profile)?)),
        None => (text, None),
    };
    let engine = super::engine(engine)?;
    Ok(Side { engine, profile })
}

/// A run with what the judge says of it.
struct Ran {
    evidence: Evidence,
    judgement: Judgement,
    replay: String,
}

/// Compares.
pub(crate) fn execute(args: &Args, out: &mut Out) -> Result<Exit, CliError> {
    if args.random.is_asked() {
        return super::random::execute(&args.random, args.seed.unwrap_or(0), args.format, out);
    }
    let Some(name) = &args.name else {
        return Err(CliError::Harness {
            what: "a file is missing".to_owned(),
        });
    };
    let selected = one_scenario(args, name)?;
    match (args.one, args.two) {
        (Some(one), Some(two)) => both(args, &selected, [one, two], out),
        _ => square::execute(args, &selected, out),
    }
}

/// The one scenario that is meant.
fn one_scenario(args: &Args, name: &OsString) -> Result<Selected, CliError> {
    let library = Library::find(args.scenarios.as_deref())?;
    let mut selected = select(&library, std::slice::from_ref(name))?;
    if selected.len() > 1 {
        let ids: Vec<String> = selected.into_iter().map(|one| one.plan.id).collect();
        return Err(CliError::ManyScenarios {
            name: name.to_string_lossy().into_owned(),
            ids: crate::suggest::some(&ids),
        });
    }
    selected.pop().ok_or_else(|| CliError::NoScenarios {
        folder: PathBuf::from("scenarios"),
    })
}

/// Two runs, side by side.
fn both(args: &Args, selected: &Selected, sides: [Side; 2], out: &mut Out) -> Result<Exit, CliError> {
    let profiles = [args.profile.first(), args.profile.get(1).or(args.profile.first())];
    let with_profile = |index: usize| {
        let default = profiles[index].copied().unwrap_or(Profile::Upstream);
        (sides[index].engine, sides[index].profile.unwrap_or(default))
    };
    let pairs = [with_profile(0), with_profile(1)];
    for (kind, profile) in pairs {
        demand(kind, profile, &selected.plan)?;
    }
    let stop = Stop::listen()?;
    let asked = stop.clone();
    let interrupt = Interrupt::new(move || asked.asked().is_some());
    let run = |pair| run(selected, pair, args.seed, &interrupt);
    let Some(one) = run(pairs[0])? else {
        return Ok(stop.asked().unwrap_or(Exit::Interrupted));
    };
    let Some(two) = run(pairs[1])? else {
        return Ok(stop.asked().unwrap_or(Exit::Interrupted));
    };
    let runs = [&one, &two].map(|ran| (&ran.evidence, &ran.judgement, ran.replay.as_str()));
    let comparison = Comparison::new(&selected.plan, runs);
    show(args, &comparison, out)?;
    Ok(if comparison.same { Exit::Ok } else { Exit::Disagree })
}

/// Refuses what cannot be run here.
fn demand(kind: EngineKind, profile: Profile, plan: &Plan) -> Result<(), CliError> {
    let missing = |what: String, cure: String| {
        Err(CliError::NotInstalled {
            engine: kind.name(),
            what,
            cure,
        })
    };
    if !has_profile(kind, profile) {
        return Err(CliError::Profile { engine: kind.name() });
    }
    match availability(kind) {
        Availability::Available(_) => {}
        Availability::NotInstalled { what, cure } => return missing(what, cure),
        Availability::NotHere(why) => {
            return missing(why, "compare engines that this platform has".to_owned());
        }
        Availability::NotBuilt => {
            let what = "this version of Moonquake does not have it yet".to_owned();
            return missing(what, "use model, master, hosted or native".to_owned());
        }
    }
    match engine(kind).and_then(|engine| engine.unsupported(plan)) {
        Some(why) => Err(CliError::Unsupported {
            engine: kind.name(),
            why,
        }),
        None => Ok(()),
    }
}

/// One run, or nothing if the end was asked for.
fn run(
    selected: &Selected,
    (kind, profile): (EngineKind, Profile),
    seed: Option<u64>,
    interrupt: &Interrupt,
) -> Result<Option<Ran>, CliError> {
    let Some(mut engine) = engine(kind) else {
        return Err(CliError::Harness {
            what: format!("there is no engine {kind}"),
        });
    };
    let options = RunOptions {
        seed,
        interrupt: Some(interrupt.clone()),
        ..RunOptions::new(profile)
    };
    let evidence = match engine.run(&selected.plan, &options) {
        Ok(evidence) => evidence,
        Err(EngineError::Interrupted) => return Ok(None),
        Err(error) => return Err(failed(kind, error)),
    };
    let plan = selected.plan.clone();
    let judged = unless_asked(Some(interrupt), move || {
        (judge(&plan, &evidence, profile, kind), evidence)
    });
    Ok(judged.map(|(judgement, evidence)| Ran {
        judgement,
        replay: replay(&selected.name, kind, profile, seed),
        evidence,
    }))
}

fn failed(kind: EngineKind, error: EngineError) -> CliError {
    match error {
        EngineError::NotInstalled { what, cure } => CliError::NotInstalled {
            engine: kind.name(),
            what,
            cure,
        },
        EngineError::Unsupported(why) => CliError::Unsupported {
            engine: kind.name(),
            why,
        },
        EngineError::Interrupted => CliError::Harness {
            what: EngineError::Interrupted.to_string(),
        },
        EngineError::Harness(what) => CliError::Harness { what },
    }
}

fn show(args: &Args, comparison: &Comparison, out: &mut Out) -> Result<(), CliError> {
    match args.format {
        Format::Json => out.text(&comparison.json()),
        Format::Human => print(&diff_text(comparison), out),
    }
    if let Some(path) = &args.html {
        replace(path, &html::diff(comparison)).map_err(|source| CliError::Written {
            flag: "--html",
            path: path.clone(),
            source,
        })?;
    }
    Ok(())
}

fn print(lines: &[DiffText], out: &mut Out) {
    let is_coloured = out::is_terminal() && std::env::var_os("NO_COLOR").is_none();
    for line in lines {
        out.painted(&line.text, colour(line).filter(|_| is_coloured));
    }
}

fn colour(line: &DiffText) -> Option<&'static str> {
    match line.mark {
        DiffMark::Both => None,
        DiffMark::One => Some("36"),
        DiffMark::Two => Some("33"),
    }
}
