//! The evidence: every event has its place here, and every citation on the page leads to it.

mod kept;

pub(super) use kept::Linked;

use super::text::{inline, plain, readable, time};
use super::trim::Trim;
use crate::markdown::counted;
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

pub(super) fn evidence(postmortem: &Postmortem, trim: &Trim, linked: &Linked) -> Markup {
    let fault = postmortem.fault_at_ns.filter(|at| *at > 0);
    let (rows, targets) = match trim.rows {
        None => (kept(&postmortem.timeline), Targets::of(postmortem)),
        Some(most) => (
            kept::folded(&postmortem.timeline, most, linked),
            Targets::These(linked.all()),
        ),
    };
    let folds = trim.rows.is_some();
    html! {
        section id="evidence" class="pb" aria-labelledby="ev-h" {
            h2 id="ev-h" { "Evidence" }
            p class="soft small" {
                (postmortem.run.events) " events in order, each seen by the observer named. Times count from the start, on the timeline that \
                 the harness steers; none of them is measured. An empty time is the one above. "
                b { "✓" } " proves the injection, " b { "✗" } " shows what failed, " b { "⚡" } " is the injector's own word and proves nothing."
            }
            @if folds { p class="soft small" { (shown(&rows, postmortem.timeline.len())) } }
            details open {
                summary { "The record" }
                div class="box" {
                    table class="ev" {
                        thead { tr {
                            th scope="col" { "Event" } th scope="col" { "Time" }
                            @if fault.is_some() { th scope="col" { "From the fault" } }
                            th scope="col" { "Actor" } th scope="col" { "Seen by" } th scope="col" { "What" }
                        } }
                        tbody { (lines(&rows, fault, &targets, folds)) }
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

/// How much of a long record is here, and where the whole is.
fn shown(lines: &[Line<'_>], all: usize) -> Markup {
    let rows = lines.iter().filter(|line| matches!(line, Line::Row(_))).count();
    html! {
        "The run is long: " b { (rows) " of " (counted(all, "row")) } " are shown, so that the page stays small enough to forward. \
         They are the first and the last, those around the fault, and, as far as there is room, those that a claim, the proof or a failure rests on. \
         Where rows are left out a line says how many. The Markdown and the JSON next to this page have all of them."
    }
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

fn lines(rows: &[Line<'_>], fault: Option<u64>, targets: &Targets, folds: bool) -> Markup {
    let mut last_time = None;
    let mut parts: Vec<Markup> = Vec::with_capacity(rows.len());
    for line in rows {
        match line {
            Line::Gap(gap) if folds => {
                last_time = None;
                parts.push(folded_away(gap, fault.is_some(), targets));
            }
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

/// Rows that are left out to keep the page small, as one. Links to their events lead here.
fn folded_away(gap: &[&Row], has_fault: bool, targets: &Targets) -> Markup {
    let events: Vec<EventId> = gap.iter().flat_map(|row| row.events.iter().copied()).collect();
    let failed = gap.iter().filter(|row| !row.fails.is_empty()).count();
    let (first, last) = (
        gap.first().map_or(0, |row| row.at_ns),
        gap.last().map_or(0, |row| row.until_ns),
    );
    html! {
        tr class="bg" {
            td class="ids" { (targets.mark(&events)) (ids(&events)) }
            td class="nw" { (time(first)) @if first != last { " to " (time(last)) } }
            @if has_fault { td {} }
            td {}
            td {}
            td class="wh" {
                (counted(gap.len(), "row")) " left out"
                @if failed > 0 { ", " b class="late" { (failed) " of them with a failure" } }
                "; the Markdown and the JSON next to this page have " @if gap.len() == 1 { "it" } @else { "them" }
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
