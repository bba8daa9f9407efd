//! The evidence: every event has its place here, and every citation on the page leads to it.

use super::text::{inline, plain, readable, time};
use crate::{Postmortem, Row, RowKind};
use maud::{Markup, PreEscaped, html};
use moonquake_evidence::EventId;
use std::collections::BTreeSet;

/// Above that many events only those are targets that something on the page links to: a page stays small enough to forward.
const MAX_TARGETS: usize = 2_000;

/// The most rows. What is beyond, and no claim rests on, is summed up where it was.
const MAX_ROWS: usize = 500;

/// A line of the table.
enum Line<'a> {
    Row(&'a Row),
    /// Rows that are left out.
    Gap(Vec<&'a Row>),
}

pub(super) fn evidence(postmortem: &Postmortem) -> Markup {
    let fault = postmortem.fault_at_ns.filter(|at| *at > 0);
    let rows = kept(&postmortem.timeline);
    let targets = Targets::of(postmortem);
    html! {
        section id="evidence" class="pb" aria-labelledby="ev-h" {
            h2 id="ev-h" { "Evidence" }
            p class="soft small" {
                (postmortem.run.events) " events in order, each seen by the observer named. Times count from the start, on the timeline that \
                 the harness steers; none of them is measured. An empty time is the one above. "
                b { "✓" } " proves the injection, " b { "✗" } " shows what failed, " b { "⚡" } " is the injector's own word and proves nothing."
            }
            details open {
                summary { "The record" }
                div class="box" {
                    table class="ev" {
                        thead { tr {
                            th scope="col" { "Event" } th scope="col" { "Time" }
                            @if fault.is_some() { th scope="col" { "From the fault" } }
                            th scope="col" { "Actor" } th scope="col" { "Seen by" } th scope="col" { "What" }
                        } }
                        tbody { (lines(&rows, fault, &targets)) }
                    }
                }
            }
        }
    }
}

/// All rows, or those that somebody may look for.
fn kept(rows: &[Row]) -> Vec<Line<'_>> {
    let matters = |row: &Row| {
        row.proves
            || !row.fails.is_empty()
            || matches!(row.kind, RowKind::Step | RowKind::Result | RowKind::Injection)
    };
    let mut room = MAX_ROWS.saturating_sub(rows.iter().filter(|row| matters(row)).count());
    let mut lines: Vec<Line<'_>> = Vec::new();
    for row in rows {
        if rows.len() <= MAX_ROWS || matters(row) || room > 0 {
            room = room.saturating_sub(usize::from(!matters(row)));
            lines.push(Line::Row(row));
        } else if let Some(Line::Gap(gap)) = lines.last_mut() {
            gap.push(row);
        } else {
            lines.push(Line::Gap(vec![row]));
        }
    }
    lines
}

/// Which events are targets of links.
enum Targets {
    All,
    These(BTreeSet<EventId>),
}

impl Targets {
    fn of(postmortem: &Postmortem) -> Targets {
        if postmortem.run.events <= MAX_TARGETS {
            return Targets::All;
        }
        let mut ids: BTreeSet<EventId> = postmortem.lanes.events().collect();
        let summed = |row: &&Row| !matches!(row.kind, RowKind::Setup | RowKind::Background);
        ids.extend(
            postmortem
                .timeline
                .iter()
                .filter(summed)
                .flat_map(|row| row.events.iter().copied()),
        );
        Targets::These(ids)
    }

    fn mark(&self, events: &[EventId]) -> Markup {
        let is_one = |id: &&EventId| match self {
            Targets::All => true,
            Targets::These(ids) => ids.contains(id),
        };
        html! { @for id in events.iter().filter(is_one) { i id=(id) {} } }
    }
}

fn lines(rows: &[Line<'_>], fault: Option<u64>, targets: &Targets) -> Markup {
    let mut last_time = None;
    let mut parts: Vec<Markup> = Vec::with_capacity(rows.len());
    for line in rows {
        match line {
            Line::Gap(gap) => parts.push(left_out(gap, fault.is_some(), targets)),
            Line::Row(row) => {
                let between = (row.at_ns, row.until_ns);
                let news = last_time != Some(between) || row.kind == RowKind::Step;
                last_time = Some(between);
                parts.push(one(row, news, fault, targets));
            }
        }
    }
    PreEscaped(parts.into_iter().map(|part| part.0).collect())
}

fn one(row: &Row, news: bool, fault: Option<u64>, targets: &Targets) -> Markup {
    html! {
        tr class=[look(row)] {
            td class="ids" { (targets.mark(&row.events)) (ids(&row.events)) }
            td class="nw" { @if news { (row.when(time)) } }
            @if let Some(fault) = fault {
                td class="nw" { @if news { (row.when(|at| from_fault(at, fault))) } }
            }
            td {
                (inline(&row.actor))
                @if let Some(off) = &row.clock_off { " " span class="soft small" { "(" (inline(off)) ")" } }
            }
            td class="soft" { (inline(&row.observer)) }
            td class="wh" { (what(row)) }
        }
    }
}

/// Rows that no claim rests on, as one.
fn left_out(gap: &[&Row], has_fault: bool, targets: &Targets) -> Markup {
    let events: Vec<EventId> = gap.iter().flat_map(|row| row.events.iter().copied()).collect();
    html! {
        tr class="bg" {
            td class="ids" { (targets.mark(&events)) (ids(&events)) }
            td {}
            @if has_fault { td {} }
            td {}
            td {}
            td class="wh" {
                (gap.len()) @if gap.len() == 1 { " row" } @else { " rows" }
                " that no claim rests on; the JSON form has them"
            }
        }
    }
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

/// The ids of a row.
fn ids(events: &[EventId]) -> Markup {
    html! {
        @match events {
            [] => {}
            [only] => (only),
            [first, .., last] => { (first) "–" (last) }
        }
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
