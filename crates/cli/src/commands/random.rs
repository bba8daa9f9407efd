//! `moonquake diff --random` and `--replay`.

use crate::error::CliError;
use crate::exit::Exit;
use crate::folder::try_folder;
use crate::out::Out;
use crate::run::Format;
use crate::stop::Stop;
use indicatif::{ProgressBar, ProgressStyle};
use moonquake_differ::{
    Campaign, Coverage, DifferError, Difference, Files, Found, History, Pair, Parted, Progress, Ran,
    Recurrence, Setup, SetupReport, States,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What belongs to random histories.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Compare random histories on the Rust master and on the unmodified one
    #[arg(long, conflicts_with_all = ["name", "one", "two", "profile", "html", "scenarios"])]
    random: bool,
    /// Run the history in this file on both masters
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "one", "two", "random", "profile", "html", "scenarios", "seed"])]
    replay: Option<PathBuf>,
    /// How many operations in all, divided between the configurations
    #[arg(long, value_name = "N", default_value_t = 20_000, requires = "random", conflicts_with = "replay",
        value_parser = clap::value_parser!(u64).range(1..))]
    ops: u64,
    /// Pairs of masters beside each other, each on a processor core of its own
    #[arg(long, value_name = "N", default_value_t = 1, requires = "random", conflicts_with = "replay", value_parser = at_least_one)]
    jobs: usize,
    /// Only this configuration; may be given several times
    #[arg(long, value_name = "NAME", requires = "random", conflicts_with = "replay", value_parser = setup)]
    setup: Vec<Setup>,
    /// Give a configuration up after so many differences
    #[arg(long, value_name = "N", default_value_t = 1, requires = "random", conflicts_with = "replay", value_parser = at_least_one)]
    differences: usize,
    /// Compare the state, beside every answer, after so many operations and at the end; 1: after each
    #[arg(long, value_name = "N", default_value_t = 512, requires = "random", conflicts_with = "replay", value_parser = at_least_one)]
    look: usize,
    /// The folder for histories that part
    #[arg(
        long,
        value_name = "DIR",
        default_value = "moonquake-diffs",
        requires = "random",
        conflicts_with = "replay"
    )]
    out: PathBuf,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let number: usize = text
        .parse()
        .map_err(|_| "write a whole number from 1 on".to_owned())?;
    if number == 0 {
        return Err("0 compares nothing; write a whole number from 1 on".to_owned());
    }
    Ok(number)
}

fn setup(name: &str) -> Result<Setup, String> {
    Setup::named(name).ok_or_else(|| {
        let all: Vec<String> = Setup::all().into_iter().map(|setup| setup.name).collect();
        format!("there are {}", all.join(", "))
    })
}

impl Args {
    /// The configurations, each once.
    fn setups(&self) -> Vec<Setup> {
        if self.setup.is_empty() {
            return Setup::all();
        }
        let mut setups: Vec<Setup> = Vec::new();
        for setup in &self.setup {
            if !setups.contains(setup) {
                setups.push(setup.clone());
            }
        }
        setups
    }

    /// Whether no file is to be compared.
    pub(crate) fn is_asked(&self) -> bool {
        self.random || self.replay.is_some()
    }
}

impl From<DifferError> for CliError {
    fn from(error: DifferError) -> CliError {
        if error.is_not_installed() {
            return CliError::NotInstalled {
                engine: "master",
                what: error.to_string(),
                cure: "see `moonquake doctor`".to_owned(),
            };
        }
        let what = error.to_string();
        match error {
            // Only a history that somebody wrote has flags that the Rust master refuses.
            DifferError::File { .. } | DifferError::History { .. } | DifferError::Config { .. } => {
                CliError::DifferFile { what }
            }
            _ => CliError::Differ { what },
        }
    }
}

/// Compares.
pub(crate) fn execute(args: &Args, seed: u64, format: Format, out: &mut Out) -> Result<Exit, CliError> {
    if let Some(why) = moonquake_native::unavailable() {
        return Err(CliError::NotInstalled {
            engine: "master",
            what: why,
            cure: "see `moonquake doctor`".to_owned(),
        });
    }
    match &args.replay {
        Some(path) => replay(path, format, out),
        None => random(args, seed, format, out),
    }
}

/// A difference with what was written about it.
struct Written<'a> {
    found: &'a Found,
    difference: &'a Difference,
    files: Files,
}

fn random(args: &Args, seed: u64, format: Format, out: &mut Out) -> Result<Exit, CliError> {
    try_folder("--out", &args.out)?;
    let stop = Stop::listen()?;
    let campaign = Campaign {
        operations: args.ops,
        seed,
        jobs: args.jobs,
        setups: args.setups(),
        look_every: args.look,
        differences: args.differences,
    };
    let bar = progress_bar(args.ops);
    let tell = |progress: Progress| {
        bar.set_position(progress.operations.min(args.ops));
        bar.set_message(match progress.differences {
            0 => String::new(),
            count => format!(", differences: {count}"),
        });
    };
    let reports = moonquake_differ::run(&campaign, &tell, &|| stop.asked().is_some());
    bar.finish_and_clear();
    let (reports, mut ended) = reports;
    // Where nothing was compared there is nothing to tell but why.
    if total(&reports).0 == 0 {
        ended.map_err(|error| told_with_its_file(error, &args.out))?;
        ended = Ok(());
    }
    let mut written = Vec::new();
    for found in reports.iter().flat_map(|report| &report.found) {
        if let Some(difference) = &found.ran.difference {
            // What cannot be written is still told, and the error after it.
            let files = moonquake_differ::write(&args.out, &found.ran.history, difference, found.seed)
                .unwrap_or_else(|error| {
                    ended = Err(error);
                    Files::default()
                });
            written.push(Written {
                found,
                difference,
                files,
            });
        }
    }
    let stopped = stop.asked();
    match format {
        Format::Json => out.text(&format!(
            "{:#}\n",
            as_json(seed, &reports, &written, stopped.is_some())
        )),
        Format::Human => show(seed, &reports, &written, stopped.is_some(), out),
    }
    ended.map_err(|error| told_with_its_file(error, &args.out))?;
    let verdict = if written.is_empty() {
        Exit::Ok
    } else {
        Exit::Disagree
    };
    Ok(stopped.map_or(verdict, |stopped| stopped.worst(verdict)))
}

/// A history in which the real master was lost is written, and the error says where.
fn told_with_its_file(error: DifferError, folder: &Path) -> CliError {
    let place = match &error {
        DifferError::Lost(lost) => match moonquake_differ::write_history(folder, &lost.history) {
            Ok(path) => format!("\nmoonquake diff --replay {}", path.display()),
            Err(unwritten) => format!("\nIts history is not written: {unwritten}"),
        },
        _ => return error.into(),
    };
    CliError::Differ {
        what: format!("{error}{place}"),
    }
}

fn progress_bar(operations: u64) -> ProgressBar {
    let bar = ProgressBar::new(operations);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} operations, {per_sec}{msg}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

fn total(reports: &[SetupReport]) -> (u64, u64) {
    reports.iter().fold((0, 0), |(operations, histories), report| {
        (operations + report.operations, histories + report.histories)
    })
}

fn coverage(reports: &[SetupReport]) -> Coverage {
    let mut all = Coverage::default();
    reports.iter().for_each(|report| all.merge(&report.coverage));
    all
}

fn as_json(seed: u64, reports: &[SetupReport], written: &[Written<'_>], stopped: bool) -> Value {
    let (operations, histories) = total(reports);
    let setups: Vec<Value> = reports
        .iter()
        .map(|report| {
            json!({
                "name": report.setup.name,
                "flags": report.setup.flags,
                "operations": report.operations,
                "histories": report.histories,
                "seconds": report.seconds,
                "differences": report.found.len(),
            })
        })
        .collect();
    let differences: Vec<Value> = written
        .iter()
        .map(|found| {
            json!({
                "setup": found.found.ran.history.setup.name,
                "seed": found.found.seed,
                "recurrence": found.found.recurrence,
                "operations": found.found.ran.history.operations.len(),
                "operation": found.difference.operation,
                "parted": found.difference.parted,
                "scenario": found.files.scenario,
                "history": found.files.history,
                "left_out": found.files.left_out,
            })
        })
        .collect();
    json!({
        "schema": 1,
        "same": written.is_empty(),
        "seed": seed,
        "operations": operations,
        "histories": histories,
        "stopped": stopped,
        "setups": setups,
        "differences": differences,
        "coverage": coverage(reports).counts,
    })
}

fn show(seed: u64, reports: &[SetupReport], written: &[Written<'_>], stopped: bool, out: &mut Out) {
    out.line("What was asked, and how often each result came:");
    for (operation, results) in &coverage(reports).counts {
        let results: Vec<String> = results
            .iter()
            .map(|(result, count)| format!("{result} {count}"))
            .collect();
        out.line(&format!("  {operation:<26} {}", results.join(", ")));
    }
    out.line("");
    for report in reports {
        let speed = report.operations as f64 / report.seconds.max(1e-9);
        let found = match report.found.len() {
            0 if report.operations == 0 => "nothing compared".to_owned(),
            0 => "the same".to_owned(),
            count => format!("differences: {count}"),
        };
        out.line(&format!(
            "{:<18} {:>9} operations in {:>5} histories, {speed:>7.0}/s, {found}",
            report.setup.name, report.operations, report.histories
        ));
    }
    for found in written {
        out.line("");
        show_difference(&found.found.ran.history, found.difference, out);
        out.line(&format!("  {}", recurs(found.found.recurrence)));
        for line in &found.files.left_out {
            out.line(&format!("  the scenario leaves out: {line}"));
        }
        if found.files == Files::default() {
            continue;
        }
        out.line(&format!(
            "  moonquake diff {} model master",
            found.files.scenario.display()
        ));
        out.line(&format!(
            "  moonquake diff --replay {}",
            found.files.history.display()
        ));
    }
    let (operations, histories) = total(reports);
    let end = if stopped { ", stopped before the end" } else { "" };
    out.line("");
    out.line(&format!(
        "seed {seed}: {operations} operations in {histories} histories, {} differences{end}",
        written.len()
    ));
}

fn show_difference(history: &History, difference: &Difference, out: &mut Out) {
    out.line(&format!(
        "{}: the masters part after operation {} of {}:",
        history.setup.name,
        difference.index + 1,
        history.operations.len()
    ));
    out.line(&format!("  operation {}", shown(&difference.operation)));
    match &difference.parted {
        Parted::Outcome { rust, real } => {
            out.line(&format!("  rust      {}", shown(rust)));
            out.line(&format!("  real      {}", shown(real)));
        }
        Parted::State { rust, real } => {
            out.line(&format!("  rust      {}", shown(rust)));
            out.line(&format!("  real      {}", shown(real)));
        }
        Parted::Draws => out.line("  by then one has drawn random numbers that the other has not"),
    }
}

/// One line of JSON, cut to a length that people read.
fn shown(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.chars().take(1_000).collect()
}

/// How often the same operations part again, in words.
fn recurs(recurrence: Recurrence) -> String {
    let Recurrence { parted, replays } = recurrence;
    match parted {
        0 if replays == 0 => "not replayed".to_owned(),
        0 => format!("did not recur: the masters parted in 0 of {replays} replays"),
        _ => format!("recurs: the masters parted in {parted} of {replays} replays"),
    }
}

/// So often a file that parts is run again.
const AGAIN: u32 = 2;

fn replay(path: &Path, format: Format, out: &mut Out) -> Result<Exit, CliError> {
    let history = moonquake_differ::read(path)?;
    let stop = Stop::listen()?;
    let asked = || stop.asked().is_some();
    let lost = |error: DifferError| {
        if error.is_not_installed() {
            return error.into();
        }
        CliError::Replay {
            what: error.to_string(),
            path: path.to_owned(),
        }
    };
    let mut pair = Pair::start(&history.setup).map_err(lost)?;
    let ran = pair
        .run_until(&history.operations, States::Each, &asked)
        .map_err(lost)?;
    let recurrence = match &ran.difference {
        Some(_) => pair
            .recur(&history.operations, States::Each, AGAIN, &asked)
            .map_err(lost)?,
        None => Recurrence::default(),
    };
    let same = ran.difference.is_none();
    match format {
        Format::Json => {
            let value = json!({
                "schema": 1,
                "same": same,
                "operations": ran.history.operations.len(),
                "stopped": asked(),
                "difference": ran.difference,
                "recurrence": recurrence,
            });
            out.text(&format!("{value:#}\n"));
        }
        Format::Human => show_replay(&history, &ran, recurrence, asked(), out),
    }
    let verdict = if same { Exit::Ok } else { Exit::Disagree };
    Ok(stop.asked().map_or(verdict, |stopped| stopped.worst(verdict)))
}

fn show_replay(history: &History, ran: &Ran, recurrence: Recurrence, stopped: bool, out: &mut Out) {
    match &ran.difference {
        None if stopped => out.line(&format!(
            "stopped after {} of {} operations; both masters say the same so far",
            ran.history.operations.len(),
            history.operations.len()
        )),
        None => out.line(&format!(
            "{} operations, and both masters say the same",
            history.operations.len()
        )),
        Some(difference) => {
            show_difference(&ran.history, difference, out);
            out.line(&format!("  {}", recurs(recurrence)));
        }
    }
}
