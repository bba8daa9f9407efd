//! The evidence: every event has its place here, and every citation on the page leads to it.

use super::text::{inline, plain, readable, time};
use crate::{Postmortem, Row, RowKind};
use maud::{Markup, PreEscaped, html};
use moonquake_evidence::EventId;

/// Above that many events those that no claim rests on and that a summary stands for are no targets of links: nothing
/// links to them, and a page stays small enough to forward.
const MAX_TARGETS: usize = 2_000;

/// The most rows. What is beyond is cut in the middle of uncited background, and the page says so.
const MAX_ROWS: usize = 600;

pub(super) fn evidence(postmortem: &Postmortem) -> Markup {
    let fault = postmortem.fault_at_ns.filter(|at| *at > 0);
    let rows = kept(&postmortem.timeline);
    let left_out = postmortem.timeline.len() - rows.len();
    html! {
        section id="evidence" class="pb" aria-labelledby="ev-h" {
            h2 id="ev-h" { "Evidence" }
            p class="soft small" {
                (postmortem.run.events) " events in order, each seen by the observer named. Times count from the start, on the timeline that \
                 the harness steers; none of them is measured. An empty time is the one above. "
                b { "✓" } " proves the injection, " b { "✗" } " shows what failed, " b { "⚡" } " is the injector's own word and proves nothing."
                @if left_out > 0 { " " (left_out) " rows that no claim rests on are left out here; the JSON form has them." }
            }
            details open {
                summary { "The record" }
                div class="box" {
                    table class="stack ev" {
                        thead { tr {
                            th scope="col" { "Event" } th scope="col" { "Time" }
                            @if fault.is_some() { th scope="col" { "From the fault" } }
                            th scope="col" { "Actor" } th scope="col" { "Seen by" } th scope="col" { "What" }
                        } }
                        tbody { (lines(postmortem, &rows, fault)) }
                    }
                }
            }
        }
    }
}

/// All rows, or those that somebody may look for.
fn kept(rows: &[Row]) -> Vec<&Row> {
    if rows.len() <= MAX_ROWS {
        return rows.iter().collect();
    }
    let matters = |row: &&Row| {
        row.proves
            || !row.fails.is_empty()
            || matches!(row.kind, RowKind::Step | RowKind::Result | RowKind::Injection)
    };
    let mut room = MAX_ROWS.saturating_sub(rows.iter().filter(matters).count());
    let keep = |row: &&Row| {
        let keeps = matters(row) || room > 0;
        room = room.saturating_sub(usize::from(!matters(row)));
        keeps
    };
    rows.iter().filter(keep).collect()
}

fn lines(postmortem: &Postmortem, rows: &[&Row], fault: Option<u64>) -> Markup {
    let all_targets = postmortem.run.events <= MAX_TARGETS;
    let mut last_time = None;
    let mut parts: Vec<Markup> = Vec::with_capacity(rows.len());
    for row in rows {
        let between = (row.at_ns, row.until_ns);
        let news = last_time != Some(between) || row.kind == RowKind::Step;
        last_time = Some(between);
        parts.push(html! {
            tr class=[look(row)] {
                td class="ids" { (ids(row, all_targets)) }
                td data-h="Time" class="nw" { @if news { (when(row, time)) } }
                @if let Some(fault) = fault {
                    td data-h="From the fault" class="nw" { @if news { (when(row, |at| from_fault(at, fault))) } }
                }
                td data-h="Actor" {
                    (inline(&row.actor))
                    @if let Some(off) = &row.clock_off { " " span class="soft small" { "(" (inline(off)) ")" } }
                }
                td data-h="Seen by" class="soft" { (inline(&row.observer)) }
                td { (what(row)) }
            }
        });
    }
    PreEscaped(parts.into_iter().map(|part| part.0).collect())
}

fn look(row: &Row) -> Option<&'static str> {
    match row.kind {
        _ if !row.fails.is_empty() => Some("bad"),
        RowKind::Injection => Some("inj"),
        RowKind::Step => Some("st"),
        RowKind::Setup | RowKind::Background => Some("bg"),
        RowKind::Result | RowKind::Event => None,
    }
}

/// The ids of a row, each a target of links.
fn ids(row: &Row, all_targets: bool) -> Markup {
    let summary = matches!(row.kind, RowKind::Setup | RowKind::Background) && row.events.len() > 1;
    let targets: &[EventId] = if summary && !all_targets { &[] } else { &row.events };
    html! {
        @for id in targets { i id=(id) {} }
        @match row.events.as_slice() {
            [] => {}
            [only] => (only),
            [first, .., last] => { (first) "–" (last) }
        }
    }
}

fn when(row: &Row, shown: impl Fn(u64) -> String) -> String {
    if row.at_ns == row.until_ns {
        shown(row.at_ns)
    } else {
        format!("{} to {}", shown(row.at_ns), shown(row.until_ns))
    }
}

fn from_fault(at: u64, fault: u64) -> String {
    if at >= fault {
        format!("+ {}", time(at - fault))
    } else {
        format!("− {}", time(fault - at))
    }
}

fn what(row: &Row) -> Markup {
    let text = plain(&readable(&inline(row.text.trim())));
    html! {
        @match row.kind {
            RowKind::Step => {
                b { (text) }
                @if let Some(instant) = &row.instant { " at " code { (inline(instant)) } }
            }
            RowKind::Injection => { b { "⚡ " (text) } }
            RowKind::Setup => { "Setup: " (text) }
            RowKind::Background | RowKind::Result | RowKind::Event => (text),
        }
        @if row.proves { " " span class="tag s-ok" { "✓ proves the injection" } }
        @if !row.fails.is_empty() { " " span class="tag s-bad" style="white-space:normal" { "✗ " (inline(&row.fails.join(", "))) } }
    }
}
