//! Which rows of a long record stay: those that somebody looks for first.

use super::Line;
use crate::{Row, RowKind};
use moonquake_evidence::EventId;
use std::collections::BTreeSet;

/// How many rows at each end of the record stay.
const ENDS: usize = 24;
/// How many rows before and after the injection stay.
const AROUND_FAULT: usize = 12;
/// How many rows before and after one that shows a failure stay.
const AROUND_FAILURE: usize = 3;

/// The events that the rest of the page links to.
#[derive(Debug, Default)]
pub(in crate::html) struct Linked {
    /// Those that the answer, the proof and the claims rest on.
    pub(in crate::html) claims: BTreeSet<EventId>,
    /// Those of tables and of the picture.
    pub(in crate::html) others: BTreeSet<EventId>,
}

impl Linked {
    pub(super) fn all(&self) -> BTreeSet<EventId> {
        self.claims.union(&self.others).copied().collect()
    }
}

/// At most that many rows, the rest as gaps where they were.
pub(super) fn folded<'a>(rows: &'a [Row], most: usize, linked: &Linked) -> Vec<Line<'a>> {
    let kept = kept(rows, most, linked);
    let mut lines: Vec<Line<'a>> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        if kept.contains(&index) {
            lines.push(Line::Row(row));
        } else if let Some(Line::Gap(gap)) = lines.last_mut() {
            gap.push(row);
        } else {
            lines.push(Line::Gap(vec![row]));
        }
    }
    lines
}

fn kept(rows: &[Row], most: usize, linked: &Linked) -> BTreeSet<usize> {
    let such = |is: &dyn Fn(&Row) -> bool| -> Vec<usize> {
        let all = rows.iter().enumerate();
        all.filter(|(_, row)| is(row)).map(|(index, _)| index).collect()
    };
    let around = |middles: &[usize], reach: usize| -> Vec<usize> {
        let near = middles
            .iter()
            .flat_map(|middle| middle.saturating_sub(reach)..=middle + reach);
        near.filter(|index| *index < rows.len()).collect()
    };
    let cited = |row: &Row| row.events.iter().any(|id| linked.claims.contains(id));
    let linked_to = |row: &Row| row.events.iter().any(|id| linked.others.contains(id));
    let fault = such(&|row| row.kind == RowKind::Injection);
    let failures = such(&|row| !row.fails.is_empty());
    // From both ends inwards.
    let ends = (0..ENDS.min(rows.len())).flat_map(|index| [index, rows.len() - 1 - index]);
    // What matters most first. Neither may take all the room: a thousand failures look alike, the end is worth a look too.
    let ranks: [Vec<usize>; 8] = [
        fault.iter().take(2).copied().collect(),
        such(&|row| row.proves),
        failures.clone(),
        around(&fault[..fault.len().min(1)], AROUND_FAULT),
        ends.collect(),
        around(&failures, AROUND_FAILURE),
        such(&cited),
        such(&linked_to),
    ];
    let mut kept = BTreeSet::new();
    for share in [2, 1] {
        for rank in &ranks {
            let room = most.saturating_sub(kept.len()).div_ceil(share);
            let new: Vec<usize> = rank
                .iter()
                .copied()
                .filter(|index| !kept.contains(index))
                .collect();
            kept.extend(new.into_iter().take(room));
        }
    }
    kept
}
