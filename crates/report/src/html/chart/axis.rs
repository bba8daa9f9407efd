//! Where slots and instants lie across the page: strips one below the other, like staves.

use super::scene::Scene;
use super::width_of;
use crate::html::text::time;

/// Pixels from slot to slot.
const SLOT: i32 = 14;
/// Pixels inside a column before its first and after its last slot.
const PAD: i32 = 9;
/// The most that a strip is stretched, in percent.
const STRETCH: i32 = 230;

/// A column: one instant, or a part of it that goes on in the next strip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) at_ns: u64,
    pub(super) x0: i32,
    pub(super) x1: i32,
}

/// One strip of the picture.
#[derive(Clone, Debug)]
pub(super) struct Strip {
    pub(super) columns: Vec<Column>,
    /// The x of each slot, counted from the first slot of the strip.
    xs: Vec<i32>,
    first: usize,
    pub(super) left: i32,
    pub(super) right: i32,
    /// The time before this strip, where it is not the first.
    pub(super) before_ns: Option<u64>,
}

impl Strip {
    /// The x of a slot of this strip.
    pub(super) fn x(&self, slot: usize) -> Option<i32> {
        self.xs.get(slot.checked_sub(self.first)?).copied()
    }

    /// The x of a slot; of one before the strip its left edge, of one after it its right edge.
    pub(super) fn x_clamped(&self, slot: usize) -> i32 {
        if slot < self.first {
            return self.left;
        }
        self.x(slot).unwrap_or(self.right)
    }

    /// Whether from `first` to `last` (to the end without one) anything falls into this strip.
    pub(super) fn touches(&self, first: usize, last: Option<usize>) -> bool {
        let end = self.first + self.xs.len();
        first < end && last.is_none_or(|last| last >= self.first)
    }

    /// The x of an instant: the left edge of its column, or its place between two columns.
    pub(super) fn x_of_time(&self, ns: u64) -> Option<i32> {
        let mut before = self.before_ns.map(|at| (at, self.left));
        for column in &self.columns {
            if column.at_ns == ns {
                // A column that goes on from the strip before began there.
                return (self.before_ns != Some(ns)).then_some(column.x0);
            }
            if column.at_ns > ns {
                let (from_ns, from_x) = before.filter(|(from_ns, _)| *from_ns <= ns)?;
                return Some(between(ns, from_ns, column.at_ns, from_x, column.x0));
            }
            before = Some((column.at_ns, column.x1));
        }
        None
    }
}

/// A place between two columns, near neither edge.
fn between(ns: u64, from_ns: u64, to_ns: u64, from_x: i32, to_x: i32) -> i32 {
    let share =
        u128::from(ns.saturating_sub(from_ns)) * 1_000 / u128::from(to_ns.saturating_sub(from_ns).max(1));
    let room = to_x - from_x;
    let x = from_x + i32::try_from(share).unwrap_or(500) * room / 1_000;
    x.clamp(from_x + (room / 3).min(4), to_x - (room / 3).min(4))
}

/// Pixels between two columns: the longer the time, the wider, but by its logarithm.
fn gap(from_ns: u64, to_ns: u64) -> i32 {
    let digits = i32::try_from(to_ns.saturating_sub(from_ns).max(1).ilog10()).unwrap_or(0);
    14 + 4 * digits
}

/// A piece of a group with the pixels that it needs, the gap before it apart.
struct Piece {
    at_ns: u64,
    first: usize,
    last: usize,
    gap: i32,
    width: i32,
}

/// All strips for a picture of that width.
pub(super) fn strips(scene: &Scene, left: i32, right: i32) -> Vec<Strip> {
    let room = right - left;
    let pieces = pieces(scene, room);
    let total: i32 = pieces.iter().map(|piece| piece.gap + piece.width).sum();
    let count = (total + room - 1) / room;
    // Strips of about the same length, with a little slack so that the last is not a crumb.
    let aim = (total / count.max(1) + 60).min(room);
    let mut rows: Vec<Vec<Piece>> = Vec::new();
    let mut used = 0;
    for piece in pieces {
        let needs = piece.gap + piece.width;
        if rows.is_empty() || used + needs > aim {
            rows.push(Vec::new());
            used = 0;
        }
        used += needs;
        if let Some(row) = rows.last_mut() {
            row.push(piece);
        }
    }
    let ends: Vec<u64> = rows
        .iter()
        .map(|row| row.last().map_or(0, |piece| piece.at_ns))
        .collect();
    let strip = |(index, row): (usize, &Vec<Piece>)| {
        let before = index.checked_sub(1).and_then(|before| ends.get(before)).copied();
        lay_out(row, left, right, before, index + 1 == ends.len())
    };
    rows.iter().enumerate().map(strip).collect()
}

fn pieces(scene: &Scene, room: i32) -> Vec<Piece> {
    let most = usize::try_from((room - 2 * PAD) / SLOT).unwrap_or(1).max(1);
    let mut pieces = Vec::new();
    let mut before: Option<u64> = None;
    for group in &scene.groups {
        let mut first = group.first;
        while first <= group.last {
            let last = group.last.min(first + most - 1);
            let slots = i32::try_from(last - first).unwrap_or(0);
            let named = width_of(&time(group.at_ns));
            pieces.push(Piece {
                at_ns: group.at_ns,
                first,
                last,
                gap: before.map_or(0, |before| {
                    if before == group.at_ns {
                        0
                    } else {
                        gap(before, group.at_ns)
                    }
                }),
                // Three rows of labels under the axis: each column needs a third of its own, and some air.
                width: (slots * SLOT + 2 * PAD).max(named / 3 + 6),
            });
            before = Some(group.at_ns);
            first = last + 1;
        }
    }
    pieces
}

fn lay_out(row: &[Piece], left: i32, right: i32, before_ns: Option<u64>, is_last: bool) -> Strip {
    let edge = if before_ns.is_some() { 14 } else { 0 };
    let gap_of = |index: usize, piece: &Piece| if index == 0 { edge } else { piece.gap };
    let natural: i32 = row
        .iter()
        .enumerate()
        .map(|(index, piece)| gap_of(index, piece) + piece.width)
        .sum();
    let percent = ((right - left - 10) * 100 / natural.max(1)).clamp(60, STRETCH);
    let mut strip = Strip {
        columns: Vec::new(),
        xs: Vec::new(),
        first: row.first().map_or(0, |piece| piece.first),
        left,
        right,
        before_ns,
    };
    let mut x = left;
    for (index, piece) in row.iter().enumerate() {
        let x0 = x + gap_of(index, piece) * percent / 100;
        let x1 = x0 + piece.width * percent / 100;
        let slots = i32::try_from(piece.last - piece.first).unwrap_or(0);
        let (from, to) = (x0 + PAD, x1 - PAD);
        for slot in 0..=slots {
            strip.xs.push(match slots {
                0 => (from + to) / 2,
                slots => from + (to - from) * slot / slots,
            });
        }
        strip.columns.push(Column {
            at_ns: piece.at_ns,
            x0,
            x1,
        });
        x = x1;
    }
    if is_last {
        strip.right = (x + 40).min(right);
    }
    strip
}
