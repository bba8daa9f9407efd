//! The output for people: one line a run, more for what went wrong, and nothing that differs from run to run.

use super::compare::Difference;
use super::entry::{Entry, Outcome, Ran, Repeats};
use super::natural::NaturalEntry;
use super::summary::Summary;
use super::{Format, Results, Suite};
use crate::exit::Exit;
use crate::out::{self, Out};
use indicatif::{ProgressBar, ProgressStyle};
use moonquake_scenario::EngineKind;
use std::path::Path;
use std::time::Duration;

/// Shows runs as they come. Says nothing where the output is for machines.
#[derive(Debug)]
pub(crate) struct Human {
    is_silent: bool,
    shows_time: bool,
    id_width: usize,
    seed: Option<u64>,
    // On a terminal alone; elsewhere it draws nothing.
    bar: ProgressBar,
}

impl Human {
    /// For a suite.
    pub(crate) fn new(suite: &Suite) -> Human {
        let bar = ProgressBar::new(suite.runs() as u64);
        if let Ok(style) = ProgressStyle::with_template("{pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        let ids = suite.selected.iter().map(|selected| selected.plan.id.len());
        let ids = ids.chain(suite.natural.iter().map(|form| form.id().len()));
        Human {
            is_silent: suite.format == Format::Json,
            shows_time: suite.is_verbose || out::is_terminal(),
            id_width: ids.max().unwrap_or(0).min(60),
            seed: suite.seed,
            bar,
        }
    }

    /// Says what is about to be run.
    pub(crate) fn begin(&self, suite: &Suite, out: &mut Out) {
        let engines: Vec<&str> = suite.engines.iter().map(|kind| kind.name()).collect();
        let profiles: Vec<&str> = suite.profiles.iter().map(|profile| profile.name()).collect();
        let seed = suite
            .seed
            .map(|seed| format!(", seed {seed}"))
            .unwrap_or_default();
        let scenarios = Some(suite.selected.len()).filter(|number| *number > 0 || suite.natural.is_empty());
        let natural = Some(suite.natural.len()).filter(|number| *number > 0);
        let what = [
            scenarios.map(|number| count(number, "scenario")),
            natural.map(|number| format!("{} in real time", count(number, "finding"))),
        ];
        let line = format!(
            "moonquake {}: {} on {}, profile {}{seed}",
            env!("CARGO_PKG_VERSION"),
            what.into_iter().flatten().collect::<Vec<_>>().join(" and "),
            engines.join(" and "),
            profiles.join(" and "),
        );
        self.lines(out, &[line]);
    }

    /// Says on a terminal what runs now.
    pub(crate) fn doing(&self, id: &str, kind: EngineKind) {
        self.bar.set_message(format!("{id} on {kind}"));
    }

    /// One run.
    pub(crate) fn entry(&self, entry: &Entry, out: &mut Out) {
        self.bar.inc(1);
        let repeats = entry.repeats.as_ref().map(of_runs).unwrap_or_default();
        let (mark, verdict, words) = match &entry.outcome {
            Outcome::Ran(ran) if ran.is_met() && entry.is_bad() => {
                ("BAD", ran.postmortem.verdict.to_string(), "runs part".to_owned())
            }
            Outcome::Ran(ran) if ran.is_met() => ("ok", ran.postmortem.verdict.to_string(), as_claimed(ran)),
            Outcome::Ran(ran) if ran.postmortem.claim.is.is_none() => (
                "BAD",
                ran.postmortem.verdict.to_string(),
                "the file says nothing about this".to_owned(),
            ),
            Outcome::Ran(ran) => (
                "BAD",
                ran.postmortem.verdict.to_string(),
                match self.seed {
                    // Claims are made for the order first in, first out.
                    Some(seed) => {
                        format!("NOT as the file says, with the deliveries shuffled by seed {seed}")
                    }
                    None => "NOT as the file says".to_owned(),
                },
            ),
            Outcome::Skipped(why) => ("skip", "-".to_owned(), why.clone()),
            Outcome::Failed { .. } => ("FAIL", "-".to_owned(), "no verdict".to_owned()),
        };
        let time = match &entry.outcome {
            Outcome::Skipped(_) => String::new(),
            _ if self.shows_time => format!("  [{}]", seconds(entry.took)),
            _ => String::new(),
        };
        let mut lines = vec![format!(
            "{mark:<4}  {verdict:<14}  {:<width$}  {:<6}  {:<8}  {words}{repeats}{time}",
            entry.id,
            entry.engine.name(),
            entry.profile.name(),
            width = self.id_width,
        )];
        if entry.is_bad() {
            lines.extend(details(entry));
        }
        self.lines(out, &lines);
    }

    /// A finding in real time.
    pub(crate) fn natural(&self, entry: &NaturalEntry, out: &mut Out) {
        let (mark, verdict, words) = match &entry.outcome {
            Ok(run) if run.is_as_said() => ("ok", run.verdict.to_string(), "as is known"),
            Ok(run) => ("BAD", run.verdict.to_string(), "NOT as is known"),
            Err(_) => ("FAIL", "-".to_owned(), "no verdict"),
        };
        let id = entry.id;
        let repeats = match entry.repeats.times {
            1 => String::new(),
            _ => of_runs(&entry.repeats),
        };
        let mut lines = vec![format!(
            "{mark:<4}  {verdict:<14}  {id:<width$}  {:<6}  {:<8}  {words}{repeats}",
            entry.engine.name(),
            "upstream",
            width = self.id_width,
        )];
        match &entry.outcome {
            Ok(run) => lines.extend(run.deviations.iter().map(|why| format!("      - {why}"))),
            Err((why, _)) => lines.extend(why.lines().map(|line| format!("      {line}"))),
        }
        let markdown = entry.markdown.as_ref();
        lines.extend(markdown.map(|path| format!("      postmortem: {}", path.display())));
        if entry.exit() != Exit::Ok {
            lines.push(format!("      replay: {}", entry.replay()));
        }
        self.lines(out, &lines);
    }

    /// Two engines that part.
    pub(crate) fn difference(&self, difference: &Difference, out: &mut Out) {
        let [one, two] = difference.engines;
        let mark = if difference.is_declared { "ok" } else { "BAD" };
        let declared = if difference.is_declared {
            ", as the file says"
        } else {
            ""
        };
        let mut lines = vec![format!(
            "{mark:<4}  {one} and {two} part in {} ({}) at line {} of what must be the same{declared}:",
            difference.id,
            difference.profile.name(),
            difference.line,
        )];
        for (engine, said) in difference.engines.iter().zip(&difference.says) {
            let said = said.as_deref().unwrap_or("(nothing: it ends here)");
            lines.push(format!("      {:<6}  {said}", engine.name()));
        }
        self.lines(out, &lines);
    }

    /// The summary; then, for runs that went wrong, the commands that bring the same events back.
    pub(crate) fn end(
        &self,
        suite: &Suite,
        results: &Results,
        summary: &Summary,
        index: Option<&Path>,
        out: &mut Out,
    ) {
        self.bar.finish_and_clear();
        let mut lines = vec![String::new()];
        if summary.scenarios > 0 || suite.natural.is_empty() {
            lines.push(counts(summary));
        }
        if suite.times > 1 && summary.scenarios > 0 {
            lines.push(format!(
                "each {} times: {} of {} runs as the files say, with the same events",
                suite.times, summary.as_said, summary.done
            ));
        }
        if summary.is_cut_short {
            let missing = summary.planned - results.entries.len();
            lines.push(format!(
                "ended on request: {} did not take place",
                count(missing, "run")
            ));
        }
        if !results.natural.is_empty() {
            let known = |entry: &&NaturalEntry| entry.exit() == Exit::Ok;
            let as_known = results.natural.iter().filter(known).count();
            lines.push(format!(
                "in real time: {as_known} of {} as is known",
                results.natural.len()
            ));
        }
        if summary.ran == 0 && results.natural.is_empty() {
            lines.push("nothing was run, so nothing is known".to_owned());
        } else if summary.ran > 0 {
            let folder = suite.report.display();
            lines.push(match summary.unwritten {
                0 => format!("postmortems: {folder}/"),
                some => format!("postmortems: {some} of {} could not be written", summary.ran),
            });
            lines.push(format!("evidence sha256: {}", summary.evidence_sha256));
        }
        lines.extend(index.map(|index| format!("to look at: {}", index.display())));
        if self.shows_time {
            let all: Duration = results.entries.iter().map(|entry| entry.took).sum();
            lines.push(format!("in {}", seconds(all)));
        }
        let replays: Vec<String> = results
            .entries
            .iter()
            .filter(|entry| entry.is_bad())
            .map(|entry| format!("  {}", entry.replay))
            .collect();
        if !replays.is_empty() {
            lines.push(format!("to see {} again:", count(replays.len(), "bad run")));
            lines.extend(replays);
        }
        self.lines(out, &lines);
    }

    fn lines(&self, out: &mut Out, lines: &[String]) {
        if self.is_silent {
            return;
        }
        self.bar.suspend(|| lines.iter().for_each(|line| out.line(line)));
    }
}

/// What the file says about a run that came out so.
fn as_claimed(ran: &Ran) -> String {
    let claim = &ran.postmortem.claim;
    if claim.violates.is_empty() {
        "as the file says".to_owned()
    } else {
        format!("as the file says: {}", claim.violates.join(", "))
    }
}

/// More about a run that went wrong. The last line is the command that brings it back.
fn details(entry: &Entry) -> Vec<String> {
    let mut lines = Vec::new();
    match &entry.outcome {
        Outcome::Ran(ran) => {
            lines.extend(
                ran.deviations
                    .iter()
                    .map(|deviation| format!("      - {deviation}")),
            );
            lines.push(match &ran.files {
                Some(files) => format!("      postmortem: {}", files.markdown.display()),
                None => "      postmortem: not written".to_owned(),
            });
            lines.extend(
                ran.files
                    .as_ref()
                    .map(|files| format!("      to look at: {}", files.html.display())),
            );
        }
        Outcome::Failed { why, .. } => lines.extend(why.lines().map(|line| format!("      {line}"))),
        Outcome::Skipped(_) => {}
    }
    lines.push(format!("      replay: {}", entry.replay));
    lines
}

/// How often it came out so.
fn of_runs(repeats: &Repeats) -> String {
    let mut words = format!(", {} of {}", repeats.as_said, repeats.times);
    if repeats.done < repeats.times {
        words += &format!(" ({} took place)", repeats.done);
    }
    if !repeats.differing.is_empty() {
        let numbers: Vec<String> = repeats.differing.iter().map(u32::to_string).collect();
        words += &format!("; otherwise: {}", numbers.join(", "));
    }
    words
}

fn counts(summary: &Summary) -> String {
    let mut parts = vec![format!("{} as the file says", summary.as_claimed)];
    let others = [
        (summary.violated, "otherwise"),
        (summary.not_reproduced, "not reproduced"),
        (summary.failed, "without a verdict"),
        (summary.skipped, "skipped"),
    ];
    for (number, words) in others {
        if number > 0 {
            parts.push(format!("{number} {words}"));
        }
    }
    if summary.differences > 0 {
        parts.push(format!("engines part {}", times(summary.differences)));
    }
    format!(
        "{}, {}: {}",
        count(summary.scenarios, "scenario"),
        count(summary.ran, "run"),
        parts.join(", ")
    )
}

fn count(number: usize, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {what}{ending}")
}

fn times(number: usize) -> String {
    if number == 1 {
        "once".to_owned()
    } else {
        format!("{number} times")
    }
}

fn seconds(span: Duration) -> String {
    format!("{:.3} s", span.as_secs_f64())
}
