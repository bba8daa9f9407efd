//! Two runs side by side: where they part, what each saw on the way there, and every line of both.

use super::shell::page;
use super::text::{inline, plain, prose, readable, time};
use super::top::badge;
use crate::diff::{Comparison, DiffEvent, DiffLine, DiffRow, DiffSide};
use maud::{Markup, html};
use std::ops::Range;

/// A stretch of equal lines longer than this is folded, but for its ends.
const FOLDED: usize = 12;
/// How many lines of a folded stretch stay open at each end.
const OPEN: usize = 4;

/// The comparison of two runs as one self-contained page.
pub fn diff(comparison: &Comparison) -> String {
    let [one, two] = &comparison.sides;
    let title = format!("{}: {} and {}", comparison.id, one.name, two.name);
    page(&title, &body(comparison))
}

fn body(comparison: &Comparison) -> Markup {
    html! {
        main id="main" {
            (top(comparison))
            div class="two" { @for side in &comparison.sides { (run(side)) } }
            @if comparison.first.is_some() {
                h2 { "On the way to the first difference" }
                p class="soft small" { "What each side saw after the last line that is the same in both." }
                div class="two" {
                    @for (index, side) in comparison.sides.iter().enumerate() {
                        (lead(side, &comparison.lead[index], index, comparison))
                    }
                }
            }
            h2 { "Line by line" }
            p class="soft small" {
                "What must be the same on every engine: results, places, bytes, the readable keys. Equal lines stand beside each other."
            }
            (lines(comparison))
        }
        footer {
            "Written by Moonquake " (env!("CARGO_PKG_VERSION")) ". Events are numbered by each run as it sees them, so their numbers may differ where nothing else does."
        }
    }
}

fn top(comparison: &Comparison) -> Markup {
    let look = if comparison.same { "ok" } else { "bad" };
    html! {
        p class="id" { (plain(&comparison.id)) }
        h1 { (prose(&comparison.title)) }
        div class={ "answer " (look) } {
            p class="lead" { (answer(comparison)) }
            @if comparison.same {
                p class="small" { "SHA-256 of both projections: " code { (comparison.sides[0].projection_sha256) } }
            }
        }
    }
}

fn answer(comparison: &Comparison) -> Markup {
    let [one, two] = &comparison.sides;
    let Some(row) = comparison.first.and_then(|first| comparison.rows.get(first)) else {
        return html! {
            b { (plain(&one.name)) } " and " b { (plain(&two.name)) } " say the same in all " (one.lines) " lines."
        };
    };
    let there = row.lines.iter().flatten().next();
    let more = comparison.differing() - 1;
    html! {
        b { (plain(&one.name)) } " and " b { (plain(&two.name)) } " part at "
        a href="#first" { "line " (there.map_or(0, |line| line.line)) }
        @if let Some(step) = there.and_then(|line| line.step.as_deref()) { ", at " code { (inline(step)) } }
        ". "
        @match more {
            0 => "Nothing else differs.",
            1 => "One more line differs behind it.",
            many => { (many) " more lines differ behind it." },
        }
    }
}

fn run(side: &DiffSide) -> Markup {
    html! {
        section class="card" {
            h3 { (plain(&side.name)) }
            p {
                (badge(side.verdict)) " "
                @if side.claim_met { "as the file says" } @else { b class="late" { "not as the file says" } }
            }
            @if !side.failed.is_empty() { p { "Failed: " (inline(&side.failed.join(", "))) } }
            p class="soft small" {
                "Engine " (plain(&side.engine)) ", profile " (plain(&side.profile)) ", " (side.events) " events, " (side.lines) " lines."
            }
            p class="small" { code { (plain(&side.replay)) } }
        }
    }
}

/// The letter in the anchors of a side.
fn letter(side: usize) -> &'static str {
    if side == 0 { "a" } else { "b" }
}

fn lead(side: &DiffSide, events: &[DiffEvent], index: usize, comparison: &Comparison) -> Markup {
    let is_row = |event: &DiffEvent| {
        let mut lines = comparison.rows.iter().filter_map(|row| row.lines[index].as_ref());
        lines.any(|line| line.event == event.event)
    };
    html! {
        section class="card" {
            h3 { (plain(&side.name)) }
            @if events.is_empty() { p class="soft" { "Nothing." } }
            @else {
                table class="stack" {
                    thead { tr { th scope="col" { "Event" } th scope="col" { "Time" } th scope="col" { "Who" } th scope="col" { "What" } } }
                    tbody {
                        @for event in events {
                            tr {
                                td class="ids" {
                                    @if is_row(event) { a href={ "#" (letter(index)) "-" (event.event) } { (event.event) } }
                                    @else { (event.event) }
                                }
                                td data-h="Time" { (time(event.at_ns)) }
                                td data-h="Who" { (inline(&event.actor)) span class="soft" { " (" (inline(&event.observer)) ")" } }
                                td data-h="What" { (readable(&inline(&event.text))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The rows in pieces: open ones, and long stretches of equal lines, which are folded but for what stands next to a
/// difference.
fn pieces(rows: &[DiffRow]) -> Vec<(Range<usize>, bool)> {
    let mut pieces: Vec<(Range<usize>, bool)> = Vec::new();
    let mut from = 0;
    for chunk in rows.chunk_by(|one, two| one.same == two.same) {
        let (start, end) = (from, from + chunk.len());
        from = end;
        let is_folded = chunk[0].same && chunk.len() > FOLDED;
        if !is_folded {
            open(&mut pieces, start..end);
            continue;
        }
        let first = if start == 0 { start } else { start + OPEN };
        let last = if end == rows.len() { end } else { end - OPEN };
        open(&mut pieces, start..first);
        pieces.push((first..last, true));
        open(&mut pieces, last..end);
    }
    pieces
}

/// Adds open rows, to the piece before them if that is open too.
fn open(pieces: &mut Vec<(Range<usize>, bool)>, rows: Range<usize>) {
    match pieces.last_mut() {
        _ if rows.is_empty() => {}
        Some((last, false)) => last.end = rows.end,
        _ => pieces.push((rows, false)),
    }
}

fn lines(comparison: &Comparison) -> Markup {
    html! {
        @for (rows, is_folded) in pieces(&comparison.rows) {
            @if is_folded {
                details {
                    summary { (rows.len()) " equal lines" }
                    (table(comparison, rows))
                }
            } @else {
                (table(comparison, rows))
            }
        }
    }
}

fn table(comparison: &Comparison, rows: Range<usize>) -> Markup {
    let [one, two] = &comparison.sides;
    html! {
        div class="box" {
            table class="stack" style="table-layout:fixed" {
                colgroup { col style="width:4rem"; col; col style="width:4rem"; col; }
                thead { tr {
                    th scope="col" colspan="2" { (plain(&one.name)) }
                    th scope="col" colspan="2" { (plain(&two.name)) }
                } }
                tbody {
                    @for index in rows {
                        @let row = &comparison.rows[index];
                        @let is_first = comparison.first == Some(index);
                        tr id=[is_first.then_some("first")] class=[(!row.same).then_some("bad")] {
                            (half(one, row.lines[0].as_ref(), 0, is_first))
                            (half(two, row.lines[1].as_ref(), 1, is_first))
                        }
                    }
                }
            }
        }
    }
}

fn half(side: &DiffSide, line: Option<&DiffLine>, index: usize, is_first: bool) -> Markup {
    html! {
        td class="ids" {
            @if let Some(line) = line { i id={ (letter(index)) "-" (line.event) } {} (line.event) }
        }
        td data-h=(plain(&side.name)) {
            @if is_first { span class="tag s-bad" { "✗ first difference" } " " }
            @match line {
                Some(line) => (readable(&inline(&line.text))),
                None => span class="soft" { "nothing" },
            }
        }
    }
}
