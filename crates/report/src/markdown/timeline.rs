//! The timeline of the Markdown form.

use super::table::{Table, anchors};
use crate::escape::{code, inline};
use crate::{Postmortem, Row, RowKind};
use moonquake_clock::Span;

pub(super) fn timeline(postmortem: &Postmortem) -> String {
    // With the fault at the very start both times are the same, so one column will do.
    let fault = postmortem.fault_at_ns.filter(|at| *at > 0);
    let mut heads = vec!["Event", "Time"];
    if fault.is_some() {
        heads.push("From the fault");
    }
    heads.extend(["Actor", "Seen by", "What"]);
    let mut table = Table::new(&heads);
    let mut last_time = None;
    for row in &postmortem.timeline {
        let time = (row.at_ns, row.until_ns);
        let news = last_time != Some(time) || row.kind == RowKind::Step;
        last_time = Some(time);
        let mut cells = vec![ids(row), String::new()];
        if news {
            cells[1] = row.when(|at| Span::from_ns(at).to_string());
        }
        if let Some(fault) = fault {
            cells.push(if news {
                row.when(|at| from_fault(at, fault))
            } else {
                String::new()
            });
        }
        cells.extend([actor(row), inline(&row.observer), what(row)]);
        table.row(cells);
    }
    let unit = "Times count from the start, on the timeline that the harness steers; none of them is measured. \
                An empty time is the one above. ✓ proves the injection, ✗ shows what failed.";
    format!("## Timeline\n\n{unit}\n\n{}", table.finish())
}

/// The ids of a row; the summaries need no targets, since no claim rests on them.
fn ids(row: &Row) -> String {
    match (row.kind, row.events.as_slice()) {
        (RowKind::Setup | RowKind::Background, [first, .., last]) if first != last => {
            format!("{first}–{last}")
        }
        (_, ids) => anchors(ids),
    }
}

fn from_fault(at: u64, fault: u64) -> String {
    if at >= fault {
        Span::from_ns(at - fault).to_string()
    } else {
        format!("{} before", Span::from_ns(fault - at))
    }
}

fn actor(row: &Row) -> String {
    match &row.clock_off {
        Some(off) => format!("{} ({})", inline(&row.actor), inline(off)),
        None => inline(&row.actor),
    }
}

fn what(row: &Row) -> String {
    let text = inline(row.text.trim());
    let mut what = match row.kind {
        RowKind::Step => match &row.instant {
            Some(instant) => format!("**{text}** at {}", code(instant)),
            None => format!("**{text}**"),
        },
        RowKind::Injection => format!("**⚡ {text}**"),
        RowKind::Setup => format!("*Setup: {text}*"),
        RowKind::Background => format!("*{text}*"),
        RowKind::Result | RowKind::Event => text,
    };
    if row.proves {
        what += " ✓";
    }
    if !row.fails.is_empty() {
        what += &format!(" **✗ {}**", inline(&row.fails.join(", ")));
    }
    what
}
