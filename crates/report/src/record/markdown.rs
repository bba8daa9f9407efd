//! The records of one invocation as one page of Markdown.

use super::{Outcome, Record};
use crate::Claim;
use crate::escape::{code, inline, prose, sentence};
use crate::markdown::{counted, links_into, table};
use crate::model::Answer;
use moonquake_clock::Span;
use moonquake_evidence::State;
use moonquake_scenario::Verdict;
use std::collections::BTreeMap;

/// The most claims of column three that are spelt out for one run; its postmortem has all of them.
const MAX_CLAIMS: usize = 4;

/// All runs of an invocation: what was used, what came of each, what was not reproduced, and what was not run.
/// `skipped` names what the engines cannot do, with the reason.
pub fn records_markdown(records: &[Record], skipped: &[(String, String)]) -> String {
    let mut text = "# Record of an experiment\n\n".to_owned();
    text += "Each run changes exactly one thing against an undisturbed world. What stood before the fault was saved \
             before it struck, in the `*.record.json` file beside this one.\n\n";
    text += &used(records);
    text += &overview(records);
    text += &columns(records);
    text += &not_reproduced(records);
    text += &without(records, skipped);
    text += &machine(records);
    text
}

/// What was the same in all runs, and what they were made with.
fn used(records: &[Record]) -> String {
    let mut rows = table(&["What was used", ""]);
    for (title, of) in [
        (
            "version of",
            (|record: &Record| &record.versions) as fn(&Record) -> &BTreeMap<String, String>,
        ),
        ("SHA-256 of", |record| &record.hashes),
    ] {
        let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, value) in records.iter().flat_map(of) {
            let known = values.entry(name).or_default();
            if !known.contains(&value.as_str()) {
                known.push(value);
            }
        }
        for (name, values) in values {
            let shown = match values.as_slice() {
                [one] => code(one),
                many => format!("{}, see the record of each run", counted(many.len(), "value")),
            };
            rows.row(vec![format!("{title} {}", inline(name)), shown]);
        }
    }
    format!("## Made with\n\n{}\n", rows.finish())
}

fn overview(records: &[Record]) -> String {
    let mut rows = table(&[
        "Scenario",
        "Engine",
        "Profile",
        "Changed",
        "Before the fault",
        "Verdict",
        "As the file says",
        "Buffer touched after the failure",
    ]);
    for record in records {
        let (verdict, met, buffer) = match &record.result {
            Some(result) => (
                result.verdict.to_string(),
                if result.claim_met { "yes" } else { "**no**" },
                touched(result),
            ),
            None => ("none".to_owned(), "**no**", String::new()),
        };
        let name = match &record.result {
            Some(result) => format!("[{}]({}.md)", inline(&record.id), result.postmortem),
            None => inline(&record.id),
        };
        rows.row(vec![
            name,
            inline(&record.engine),
            inline(&record.profile),
            inline(&record.changed.dimension),
            before(record),
            verdict,
            met.to_owned(),
            buffer,
        ]);
    }
    format!("## Runs\n\n{}\n", rows.finish())
}

fn before(record: &Record) -> String {
    let state = record
        .baseline
        .before_fault
        .as_ref()
        .or(record.baseline.at_start.as_ref());
    match state {
        None => "not read".to_owned(),
        Some(State {
            allocated_bytes,
            capacity_bytes,
            keys,
            ..
        }) => {
            let shown: Vec<String> = keys.keys().take(MAX_CLAIMS).map(|key| code(key)).collect();
            let more = keys.len().saturating_sub(MAX_CLAIMS);
            let readable = match (shown.is_empty(), more) {
                (true, _) => "nothing".to_owned(),
                (false, 0) => shown.join(", "),
                (false, more) => format!("{} and {more} more", shown.join(", ")),
            };
            format!("{allocated_bytes} of {capacity_bytes} bytes, readable: {readable}")
        }
    }
}

fn touched(result: &Outcome) -> String {
    if result.buffer.watched.is_empty() {
        return "nobody looked".to_owned();
    }
    let answers = result.buffer.watched.iter().map(|watched| {
        let word = match Answer::from(watched) {
            Answer::LateByOthers => "**late, by others**",
            Answer::No => "no",
            Answer::Yes => "**yes**",
            Answer::CouldNotSee => "could not see",
        };
        format!("{} {word}", code(&watched.name))
    });
    answers.collect::<Vec<_>>().join("<br>")
}

fn columns(records: &[Record]) -> String {
    let mut rows = table(&[
        "Scenario",
        "Injected",
        "Expected",
        "Actual evidence",
        "Repair or degradation",
    ]);
    for record in records {
        let Some(result) = &record.result else { continue };
        let at = record.baseline.fault_at_ns.map(Span::from_ns);
        let at = at.map(|at| format!(", at {at}")).unwrap_or_default();
        let mut actual: Vec<String> = result
            .actual
            .iter()
            .take(MAX_CLAIMS)
            .map(|claim| cited(claim, result))
            .collect();
        let more = result.actual.len().saturating_sub(MAX_CLAIMS);
        if more > 0 {
            actual.push(format!("{more} more in the postmortem"));
        }
        rows.row(vec![
            format!(
                "{}, {} {}",
                inline(&record.id),
                inline(&record.engine),
                inline(&record.profile)
            ),
            format!("{}{at}", sentence(&result.injected)),
            prose(&result.expected),
            actual.join("<br>"),
            prose(&result.repair),
        ]);
    }
    format!("## The four columns\n\n{}\n", rows.finish())
}

/// A claim with links to its events in the postmortem.
fn cited(claim: &Claim, result: &Outcome) -> String {
    let file = format!("{}.md", result.postmortem);
    format!(
        "{} ({})",
        sentence(claim.text()),
        links_into(&file, claim.events())
    )
}

fn not_reproduced(records: &[Record]) -> String {
    let mut text = "## Not reproduced\n\n".to_owned();
    let mut found = false;
    for record in records {
        let Some(result) = &record.result else { continue };
        if result.verdict != Verdict::NotReproduced {
            continue;
        }
        found = true;
        text += &format!("- {}\n", run_name(record));
        for missing in &result.not_reproduced {
            text += &format!("  - missing: {}\n", cited(missing, result));
        }
    }
    if !found {
        text += "Every injection was proven at its exact phase.\n";
    }
    text.push('\n');
    text
}

fn run_name(record: &Record) -> String {
    format!(
        "{} on {}, profile {}: {}",
        code(&record.id),
        inline(&record.engine),
        inline(&record.profile),
        inline(&record.changed.words)
    )
}

fn without(records: &[Record], skipped: &[(String, String)]) -> String {
    let mut text = String::new();
    for record in records {
        if let Some(why) = &record.failure {
            text += &format!("- {}: no verdict, {}\n", run_name(record), inline(why));
        }
    }
    for (run, why) in skipped {
        text += &format!("- {}: not run, {}\n", inline(run), inline(why));
    }
    if text.is_empty() {
        return text;
    }
    format!("## Without a verdict\n\n{text}\n")
}

fn machine(records: &[Record]) -> String {
    let Some(record) = records.first() else {
        return String::new();
    };
    let mut rows = table(&["On this machine", ""]);
    rows.row(vec!["Operating system".to_owned(), inline(&record.machine.os)]);
    rows.row(vec!["Processor".to_owned(), inline(&record.machine.arch)]);
    format!(
        "## Machine\n\nNothing above depends on it, but for the hash of the preload library, which is that of this build.\n\n{}",
        rows.finish()
    )
}
