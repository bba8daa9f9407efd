//! The postmortem of a run in real time: the same columns, from what was seen, with figures that are measured and say so.

use crate::escape::{block, inline, prose, sentence};
use crate::markdown::table::Table;
use moonquake_figures::{Cell, Measured, Table as Figures, Unit};
use moonquake_scenario::{Measure, MeasuredAnswer, MeasuredClaim, MeasuredRun, SeenId, Verdict};
use std::time::Duration;

/// The run as Markdown.
pub fn measured_markdown(run: &MeasuredRun) -> String {
    let mut text = format!(
        "# {}: {}\n\n{}\n\n{}, on engine `{}`, in real time: no two runs give the same figures.\n\n",
        capital(run.verdict),
        inline(&run.id),
        block(&run.title),
        standing(run),
        run.engine
    );
    text += &baseline(run);
    text += "## What happened\n\n";
    let mut columns = Table::new(&["Injected", "Expected", "Actual evidence", "Repair or degradation"]);
    columns.row(vec![
        claims(run, &run.injected),
        prose(&run.expected),
        claims(run, &run.found),
        prose(&run.repair),
    ]);
    text += &columns.finish();
    text += "\n## Buffer after failure\n\n";
    for buffer in &run.buffers {
        let answer = match &buffer.answer {
            MeasuredAnswer::No => "**no**".to_owned(),
            MeasuredAnswer::CouldNotSee => "**could not see**".to_owned(),
            MeasuredAnswer::Yes(words) => format!("**yes**: {}", sentence(words)),
        };
        let ids = ids(run, &buffer.rests_on);
        text += &format!("- {}: {answer} ({ids})\n", inline(&buffer.name));
        text += &format!("  - {}\n", prose(&buffer.sight));
    }
    text += "\n## Measured\n\n```text\n";
    text += figures(run).text().trim_end();
    text += "\n```\n\n## Evidence\n\nTimes of this machine since the run began.\n\n";
    let mut seen: Vec<_> = run.seen.iter().zip(1..).collect();
    seen.sort_by_key(|(seen, _)| seen.at);
    let mut events = Table::new(&["Event", "Time", "Seen by", "What"]);
    for (seen, number) in seen {
        let anchor = format!("<a id=\"m{number}\"></a>m{number}");
        events.row(vec![
            anchor,
            seconds(seen.at),
            inline(&seen.observer),
            sentence(&seen.what),
        ]);
    }
    text += &events.finish();
    text += &format!("\n## Again\n\n`{}`\n", run.replay);
    text
}

fn baseline(run: &MeasuredRun) -> String {
    let mut table = Table::new(&["Before the fault", ""]);
    table.row(vec!["Why".to_owned(), prose(&run.why)]);
    for (name, value) in &run.setting {
        table.row(vec![inline(name), prose(value)]);
    }
    format!("## Baseline\n\n{}\n", table.finish())
}

/// How it came out, against how it is known to.
fn standing(run: &MeasuredRun) -> String {
    if run.is_as_said() {
        return format!("**{}**, as is known", capital(run.verdict));
    }
    let why: Vec<String> = run.deviations.iter().map(|why| sentence(why)).collect();
    let why = if why.is_empty() {
        String::new()
    } else {
        format!(": {}", why.join("; "))
    };
    format!(
        "**{}**, where **{}** is known{why}",
        capital(run.verdict),
        run.said
    )
}

fn claims(run: &MeasuredRun, claims: &[MeasuredClaim]) -> String {
    let with_ids = |claim: &MeasuredClaim| {
        let ids = ids(run, &claim.rests_on);
        // What nobody saw is not said.
        (!ids.is_empty()).then(|| format!("{} ({ids})", sentence(&claim.words)))
    };
    let words: Vec<String> = claims.iter().filter_map(with_ids).collect();
    words.join("<br>")
}

/// Links to what is there.
fn ids(run: &MeasuredRun, ids: &[SeenId]) -> String {
    let there = ids.iter().filter(|id| (1..=run.seen.len()).contains(&id.0));
    let links: Vec<String> = there.map(|id| format!("[m{0}](#m{0})", id.0)).collect();
    links.join(", ")
}

fn figures(run: &MeasuredRun) -> Figures<Measured> {
    let mut table = Figures::<Measured>::new("figures", "Measured in this run")
        .column("what", "What")
        .column("value", "Value")
        .column("exact", "Exactly");
    for figure in &run.figures {
        let (unit, value) = match figure.value {
            Measure::Bytes(bytes) => (Unit::Bytes, bytes),
            Measure::Time(time) => (
                Unit::Nanoseconds,
                u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            ),
        };
        table.row([
            Cell::Text(figure.name.clone()),
            Cell::of(unit, value),
            Cell::of(Unit::Count, value),
        ]);
    }
    table
}

fn seconds(at: Duration) -> String {
    format!("{}.{:03} s", at.as_secs(), at.subsec_millis())
}

fn capital(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "Holds",
        Verdict::Violated => "Violated",
        Verdict::NotReproduced => "Not reproduced",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonquake_scenario::{EngineKind, MeasuredBuffer, MeasuredFigure, Seen};

    fn run() -> MeasuredRun {
        let claim = |words: &str, ids: &[usize]| MeasuredClaim {
            words: words.to_owned(),
            rests_on: ids.iter().map(|id| SeenId(*id)).collect(),
        };
        MeasuredRun {
            id: "natural/x".to_owned(),
            title: "A title | with a pipe".to_owned(),
            why: "Why".to_owned(),
            engine: EngineKind::Native,
            setting: vec![("Client".to_owned(), "unmodified".to_owned())],
            seen: vec![Seen {
                at: Duration::from_millis(60_012),
                observer: "agent r1".to_owned(),
                what: "get_into returns -800".to_owned(),
            }],
            injected: vec![claim("It is slow.", &[1])],
            expected: "Nothing is written.".to_owned(),
            found: vec![
                claim("Seen.", &[1]),
                claim("Said by nobody.", &[]),
                claim("Not there.", &[7]),
            ],
            repair: "Drain.".to_owned(),
            buffers: vec![MeasuredBuffer {
                name: "buffer of r1".to_owned(),
                answer: MeasuredAnswer::Yes("r1 writes [0, 4)".to_owned()),
                rests_on: vec![SeenId(1)],
                sight: "All.".to_owned(),
            }],
            figures: vec![MeasuredFigure {
                name: "late".to_owned(),
                value: Measure::Bytes(13_000_000),
            }],
            verdict: Verdict::Violated,
            said: Verdict::Violated,
            deviations: Vec::new(),
            replay: "moonquake run natural/x --long".to_owned(),
        }
    }

    #[test]
    fn it_has_the_four_columns_the_answer_and_the_figures() {
        let text = measured_markdown(&run());
        for part in [
            "# Violated: natural/x",
            "| Injected | Expected | Actual evidence | Repair or degradation |",
            "| It is slow. ([m1](#m1)) | Nothing is written. | Seen. ([m1](#m1)) | Drain. |",
            "- buffer of r1: **yes**: r1 writes",
            "13000000",
            "<a id=\"m1\"></a>m1 | 60.012 s | agent r1 |",
            "**Violated**, as is known",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn what_nobody_saw_is_not_said_and_what_is_not_as_known_is() {
        let mut run = run();
        run.deviations = vec!["get_into returned 0".to_owned()];
        run.verdict = Verdict::NotReproduced;
        let text = measured_markdown(&run);
        assert!(
            !text.contains("Said by nobody") && !text.contains("Not there"),
            "{text}"
        );
        assert!(
            text.contains("**Not reproduced**, where **violated** is known: get_into returned 0"),
            "{text}"
        );
    }
}
