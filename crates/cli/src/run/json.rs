//! The output for machines: one JSON object.

use super::compare::Difference;
use super::entry::{Entry, Outcome};
use super::natural::NaturalEntry;
use super::summary::Summary;
use super::{Results, Suite};
use moonquake_report::json_run;
use moonquake_scenario::{EngineKind, Verdict};
use serde::Serialize;
use serde_json::Value;

/// The version of the form. It grows when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    moonquake: &'static str,
    engines: Vec<&'static str>,
    profiles: Vec<&'static str>,
    seed: Option<u64>,
    times: u32,
    runs: Vec<Run>,
    skipped: Vec<Without<'a>>,
    failed: Vec<Without<'a>>,
    differences: Vec<Parted<'a>>,
    natural: Vec<Natural<'a>>,
    summary: Counts<'a>,
}

/// A run with a verdict: the fields of the report's own line, and where its postmortem is.
#[derive(Serialize)]
struct Run {
    #[serde(flatten)]
    line: Value,
    /// What goes into the hash of the suite: of the evidence, or of the projection where processes are real.
    stable_sha256: String,
    #[serde(flatten)]
    repeats: Times,
    postmortem: Option<Paths>,
}

/// How often it was run, and how often it came out as the file says.
#[derive(Serialize)]
struct Times {
    times: u32,
    done: u32,
    as_said: u32,
    differing: Vec<u32>,
}

impl Times {
    fn of(entry: &Entry) -> Times {
        match &entry.repeats {
            Some(repeats) => Times {
                times: repeats.times,
                done: repeats.done,
                as_said: repeats.as_said,
                differing: repeats.differing.clone(),
            },
            None => {
                let is_met = !entry.is_bad();
                Times {
                    times: 1,
                    done: 1,
                    as_said: u32::from(is_met),
                    differing: if is_met { Vec::new() } else { vec![1] },
                }
            }
        }
    }
}

/// A finding in real time.
#[derive(Serialize)]
struct Natural<'a> {
    id: &'a str,
    engine: &'static str,
    verdict: Option<Verdict>,
    said: Option<Verdict>,
    as_said: bool,
    deviations: &'a [String],
    times: u32,
    done: u32,
    differing: &'a [u32],
    markdown: Option<String>,
    replay: String,
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct Paths {
    html: String,
    markdown: String,
    json: String,
    record: String,
}

#[derive(Serialize)]
struct Without<'a> {
    id: &'a str,
    engine: &'static str,
    profile: &'static str,
    why: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<&'a str>,
    #[serde(flatten)]
    repeats: Option<Times>,
}

#[derive(Serialize)]
struct Parted<'a> {
    id: &'a str,
    profile: &'static str,
    engines: [&'static str; 2],
    line: usize,
    says: &'a [Option<String>; 2],
    is_declared: bool,
}

#[derive(Serialize)]
struct Counts<'a> {
    scenarios: usize,
    runs: usize,
    as_claimed: usize,
    violated: usize,
    not_reproduced: usize,
    failed: usize,
    skipped: usize,
    unwritten: usize,
    differences: usize,
    times: u32,
    done: u64,
    as_said: u64,
    is_cut_short: bool,
    evidence_sha256: &'a str,
    exit_code: u8,
}

/// The object, indented, with a line break at the end.
pub(crate) fn document(suite: &Suite, results: &Results, summary: &Summary) -> String {
    let document = Document {
        schema: SCHEMA,
        moonquake: env!("CARGO_PKG_VERSION"),
        engines: suite.engines.iter().map(|kind| kind.name()).collect(),
        profiles: suite.profiles.iter().map(|profile| profile.name()).collect(),
        seed: suite.seed,
        times: suite.times,
        runs: results.entries.iter().filter_map(run).collect(),
        skipped: results.entries.iter().filter_map(skipped).collect(),
        failed: results.entries.iter().filter_map(failed).collect(),
        differences: results.differences.iter().map(parted).collect(),
        natural: results.natural.iter().map(natural).collect(),
        summary: Counts {
            scenarios: summary.scenarios,
            runs: summary.ran,
            as_claimed: summary.as_claimed,
            violated: summary.violated,
            not_reproduced: summary.not_reproduced,
            failed: summary.failed,
            skipped: summary.skipped,
            unwritten: summary.unwritten,
            differences: summary.differences,
            times: suite.times,
            done: if suite.times == 1 {
                summary.ran as u64
            } else {
                summary.done
            },
            as_said: if suite.times == 1 {
                summary.as_claimed as u64
            } else {
                summary.as_said
            },
            is_cut_short: summary.is_cut_short,
            evidence_sha256: &summary.evidence_sha256,
            exit_code: summary.exit.code(),
        },
    };
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn run(entry: &Entry) -> Option<Run> {
    let Outcome::Ran(ran) = &entry.outcome else {
        return None;
    };
    Some(Run {
        line: serde_json::from_str(&json_run(&ran.postmortem)).unwrap_or_default(),
        stable_sha256: ran.sha256.clone(),
        repeats: Times::of(entry),
        postmortem: ran.files.as_ref().map(|files| Paths {
            html: files.html.display().to_string(),
            markdown: files.markdown.display().to_string(),
            json: files.json.display().to_string(),
            record: files.json.with_extension("record.json").display().to_string(),
        }),
    })
}

fn without<'a>(entry: &'a Entry, why: &'a str, replay: Option<&'a str>) -> Without<'a> {
    Without {
        id: &entry.id,
        engine: entry.engine.name(),
        profile: entry.profile.name(),
        why,
        replay,
        repeats: entry.repeats.is_some().then(|| Times::of(entry)),
    }
}

fn skipped(entry: &Entry) -> Option<Without<'_>> {
    match &entry.outcome {
        Outcome::Skipped(why) => Some(without(entry, why, None)),
        _ => None,
    }
}

fn failed(entry: &Entry) -> Option<Without<'_>> {
    match &entry.outcome {
        Outcome::Failed { why, .. } => Some(without(entry, why, Some(&entry.replay))),
        _ => None,
    }
}

fn natural(entry: &NaturalEntry) -> Natural<'_> {
    let run = entry.outcome.as_ref().ok();
    Natural {
        id: entry.id,
        engine: entry.engine.name(),
        verdict: run.map(|run| run.verdict),
        said: run.map(|run| run.said),
        as_said: run.is_some_and(|run| run.is_as_said()),
        deviations: run.map_or(&[], |run| &run.deviations),
        times: entry.repeats.times,
        done: entry.repeats.done,
        differing: &entry.repeats.differing,
        markdown: entry.markdown.as_ref().map(|path| path.display().to_string()),
        replay: entry.replay(),
        error: entry.outcome.as_ref().err().map(|(why, _)| why.as_str()),
    }
}

fn parted(difference: &Difference) -> Parted<'_> {
    Parted {
        id: &difference.id,
        profile: difference.profile.name(),
        engines: difference.engines.map(EngineKind::name),
        line: difference.line,
        says: &difference.says,
        is_declared: difference.is_declared,
    }
}
