//! `scenarios/MATRIX.md`: what can be broken, and which scenarios notice.

use crate::breaks::{Break, Flip, Notice, Noticing, words};
use moonquake_clock::DEADLINES;
use moonquake_faults::{GUARDS, QUIRKS};
use std::fmt::Write as _;

const INTRO: &str = "\
# What notices what

Everything that a test can break in the model, one thing at a time, and the scenarios that come out differently: another
verdict, or other steps and invariants that fail. Nothing here can break without a scenario that tells, and no scenario
is so blunt that nothing breaks it; `tests/tables.rs` demands both, and lists what it excuses with the reason.

";

/// The scenarios that notice a break, each with how it comes out.
fn noticed(rows: &[Noticing], broken: Break) -> impl Iterator<Item = (&str, &Notice)> {
    rows.iter().filter_map(move |row| {
        let notice = row.notices.iter().find(|notice| notice.broken == broken)?;
        Some((row.id.as_str(), notice))
    })
}

fn names(rows: &[Noticing], broken: Break) -> String {
    let names: Vec<&str> = noticed(rows, broken).map(|(id, _)| id).collect();
    format!("{} | {}", names.len(), names.join(", "))
}

fn ends(notice: &Notice) -> String {
    let failed: Vec<String> = notice
        .outcome
        .failed
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    if failed.is_empty() {
        notice.outcome.verdict.to_string()
    } else {
        format!("{}: {}", notice.outcome.verdict, failed.join(", "))
    }
}

fn quirks(text: &mut String, rows: &[Noticing]) {
    *text += "## Quirks\n\n\
              Each quirk alone, on a master and clients that are strict otherwise.\n\n\
              | Quirk | Upstream place | Scenario | Comes out as |\n|---|---|---|---|\n";
    for row in QUIRKS {
        let mut head = format!("| `{}` | {} |", row.name, row.mirrors);
        for (id, notice) in noticed(rows, Break::Quirk(row.id)) {
            let _ = writeln!(text, "{head} {id} | {} |", ends(notice));
            "| | |".clone_into(&mut head);
        }
    }
}

fn flips(text: &mut String, rows: &[Noticing]) {
    *text += "\n## Deadlines\n\n\
              Each part of each deadline turned around: when it is reached, on which clock, from which instant.\n\n\
              | Deadline | Upstream place | Turned around | Scenarios | Noticed by |\n|---|---|---|---|---|\n";
    for row in DEADLINES {
        for flip in [Flip::Compare, Flip::Clock, Flip::Base] {
            if flip == Flip::Base && row.mistaken.is_none() {
                continue;
            }
            let found = names(rows, Break::Flip(row.id, flip));
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {found} |",
                row.name,
                row.mirrors,
                words(flip, row)
            );
        }
    }
}

fn guards(text: &mut String, rows: &[Noticing]) {
    *text += "\n## Guards\n\n\
              Each check that the store and the model both make, lifted.\n\n\
              | Guard | Upstream place | Keeps | Lifted | Scenarios | Noticed by |\n|---|---|---|---|---|---|\n";
    for row in GUARDS {
        let found = names(rows, Break::Guard(row.id));
        let (name, place) = (row.name, row.mirrors);
        let _ = writeln!(
            text,
            "| `{name}` | {place} | {} | {} | {found} |",
            row.keeps, row.lifted
        );
    }
}

fn grid(text: &mut String, rows: &[Noticing]) {
    *text += "\n## Scenarios\n\nThe columns are the quirks in the order above; the last two count deadlines and guards.\n\n";
    for (index, row) in QUIRKS.iter().enumerate() {
        let _ = writeln!(text, "{}. `{}`", index + 1, row.name);
    }
    *text += "\n| Scenario |";
    for index in 1..=QUIRKS.len() {
        let _ = write!(text, " {index} |");
    }
    *text += " Deadlines | Guards |\n|---|";
    *text += &":-:|".repeat(QUIRKS.len());
    *text += "--:|--:|\n";
    for row in rows {
        let has = |broken: Break| row.notices.iter().any(|notice| notice.broken == broken);
        let _ = write!(text, "| {} |", row.id);
        for quirk in QUIRKS {
            *text += if has(Break::Quirk(quirk.id)) { " x |" } else { " |" };
        }
        let count =
            |wanted: fn(&Break) -> bool| row.notices.iter().filter(|notice| wanted(&notice.broken)).count();
        let flips = count(|broken| matches!(broken, Break::Flip(..)));
        let guards = count(|broken| matches!(broken, Break::Guard(_)));
        let _ = writeln!(text, " {flips} | {guards} |");
    }
}

/// The file.
pub fn render(rows: &[Noticing]) -> String {
    let mut text = INTRO.to_owned();
    let _ = writeln!(text, "Made by that test; renew with `{}`.\n", crate::kept::RENEW);
    quirks(&mut text, rows);
    flips(&mut text, rows);
    guards(&mut text, rows);
    grid(&mut text, rows);
    text
}

/// What nothing notices, and the scenarios that nothing breaks, but for those that are excused.
pub fn gaps(rows: &[Noticing], excused: &[&str]) -> Vec<String> {
    let breaks = Break::all().into_iter();
    let unnoticed = breaks.filter(|broken| noticed(rows, *broken).next().is_none());
    let mut gaps: Vec<String> = unnoticed
        .map(|broken| format!("no scenario notices {}", broken.name()))
        .collect();
    let blunt = rows
        .iter()
        .filter(|row| row.notices.is_empty() && !excused.contains(&row.id.as_str()));
    gaps.extend(blunt.map(|row| format!("nothing breaks {}", row.id)));
    let needless = excused
        .iter()
        .filter(|id| !rows.iter().any(|row| row.id == **id && row.notices.is_empty()));
    gaps.extend(needless.map(|id| format!("{id} needs no excuse")));
    gaps
}
