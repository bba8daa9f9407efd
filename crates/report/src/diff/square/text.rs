//! The square for a terminal.

use super::{Square, SquareCell, SquareState};
use crate::diff::text::pair_text;
use crate::diff::{DiffMark, DiffText};

/// The square as lines: the table, what is to say about a cell, each pair, and what the pattern means.
pub fn square_text(square: &Square) -> Vec<DiffText> {
    let mut lines = vec![format!("{}: {}", square.id, square.title), String::new()];
    lines.extend(table(square));
    let notes: Vec<String> = square.cells.iter().flat_map(notes).collect();
    if !notes.is_empty() {
        lines.push(String::new());
        lines.extend(notes);
    }
    let mut lines: Vec<DiffText> = lines.into_iter().map(both).collect();
    for (index, pair) in square.pairs.iter().enumerate() {
        // Pairs that do the same stand in one block.
        let is_first_of_block = index == 0 || !pair.same || !square.pairs[index - 1].same;
        if is_first_of_block {
            lines.push(both(String::new()));
        }
        lines.extend(pair_text(pair));
    }
    lines.push(both(String::new()));
    lines.push(both(square.meaning.clone()));
    lines
}

fn both(text: String) -> DiffText {
    DiffText {
        mark: DiffMark::Both,
        text,
    }
}

fn table(square: &Square) -> Vec<String> {
    let cells: Vec<String> = square
        .cells
        .iter()
        .map(|cell| format!("{:<6}  {}", cell.engine, outcome(cell)))
        .collect();
    let row = |name: &str, left: &str, right: &str| {
        let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        format!("  {name:<11}  {left:<width$}  {right}")
            .trim_end()
            .to_owned()
    };
    let mut lines = vec![row("", "Rust master", "real master")];
    for (name, pair) in ["Rust client", "real client"].into_iter().zip(cells.chunks(2)) {
        let of = |index: usize| pair.get(index).map_or("", String::as_str);
        lines.push(row(name, of(0), of(1)));
    }
    lines
}

fn outcome(cell: &SquareCell) -> String {
    match &cell.run {
        Some(run) if run.claim_met => format!("{}, as the file says", run.verdict),
        Some(run) => format!("{}, NOT as the file says", run.verdict),
        None => cell.state.words().to_owned(),
    }
}

/// What does not fit into the table.
fn notes(cell: &SquareCell) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if let Some(why) = &cell.why {
        notes.extend(why.lines().map(|line| line.trim().to_owned()));
    }
    if let Some(run) = &cell.run
        && !run.failed.is_empty()
    {
        notes.push(format!("what fails: {}", run.failed.join(", ")));
    }
    let is_unexpected = cell.run.as_ref().is_some_and(|run| !run.claim_met);
    if is_unexpected || cell.state == SquareState::Failed {
        notes.push(format!("replay: {}", cell.replay));
    }
    let mut name = cell.engine;
    let mut named = Vec::with_capacity(notes.len());
    for note in notes {
        named.push(format!("  {name:<6}  {note}"));
        name = "";
    }
    named
}
