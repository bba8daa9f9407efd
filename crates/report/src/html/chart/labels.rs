//! Labels that never lie on each other: each takes the first place that is free, or none.

use super::{fit, width_of};
use maud::{Markup, html};

/// A box in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) x0: i32,
    pub(super) y0: i32,
    pub(super) x1: i32,
    pub(super) y1: i32,
}

impl Area {
    fn meets(&self, other: &Area) -> bool {
        self.x0 < other.x1 && other.x0 < self.x1 && self.y0 < other.y1 && other.y0 < self.y1
    }
}

/// Where a label may stand: the left end of its text and its base line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) x: i32,
    pub(super) y: i32,
}

/// The labels of one strip.
#[derive(Debug)]
pub(super) struct Labels {
    taken: Vec<Area>,
    drawn: Vec<Markup>,
    left: i32,
    right: i32,
}

/// The box of a text whose base line is at `y`, with air around it.
fn area(x: i32, y: i32, text: &str) -> Area {
    Area {
        x0: x - 2,
        y0: y - 11,
        x1: x + width_of(text) + 2,
        y1: y + 4,
    }
}

impl Labels {
    pub(super) fn new(left: i32, right: i32) -> Labels {
        Labels {
            taken: Vec::new(),
            drawn: Vec::new(),
            left,
            right,
        }
    }

    /// Keeps labels away from a mark.
    pub(super) fn reserve(&mut self, area: Area) {
        self.taken.push(area);
    }

    /// How far down labels reach.
    pub(super) fn bottom(&self) -> i32 {
        self.taken.iter().map(|area| area.y1).max().unwrap_or(0)
    }

    fn is_free(&self, wanted: &Area) -> bool {
        wanted.x0 >= self.left
            && wanted.x1 <= self.right
            && !self.taken.iter().any(|taken| taken.meets(wanted))
    }

    /// Puts a text at the first spot that is free; tells whether there was one.
    pub(super) fn put(&mut self, spots: &[Spot], text: &str, class: &str) -> bool {
        let free = spots
            .iter()
            .find(|spot| self.is_free(&area(spot.x, spot.y, text)));
        let Some(spot) = free else { return false };
        self.taken.push(area(spot.x, spot.y, text));
        self.drawn.push(
            html! { text x=(spot.x) y=(spot.y) class=[(!class.is_empty()).then_some(class)] { (text) } },
        );
        true
    }

    /// Puts a text near `x` on the first of the rows that has room: from `x` on, around it, or up to it.
    pub(super) fn near(&mut self, x: i32, rows: &[i32], text: &str, class: &str) -> bool {
        let width = width_of(text);
        let shifts = [0, -width / 2, -width, 8, -width - 8];
        let spots: Vec<Spot> = rows
            .iter()
            .flat_map(|y| shifts.map(|shift| Spot { x: x + shift, y: *y }))
            .collect();
        self.put(&spots, text, class)
    }

    /// The same; where there is no room, the text pushed into the strip, and then a shorter one.
    pub(super) fn must(&mut self, x: i32, rows: &[i32], text: &str, class: &str) -> bool {
        if self.near(x, rows, text, class) {
            return true;
        }
        let room = (self.right - self.left - 8).max(0);
        let texts = [
            Some(text.to_owned()),
            fit(text, room),
            fit(text, 200),
            fit(text, 110),
        ];
        for short in texts.into_iter().flatten() {
            let last = self.right - width_of(&short) - 3;
            let starts: Vec<i32> = (0..24)
                .map(|step| x - 12 * step)
                .chain((1..12).map(|step| x + 12 * step))
                .collect();
            let spots: Vec<Spot> = rows
                .iter()
                .flat_map(|y| {
                    starts.iter().map(|start| Spot {
                        x: (*start).min(last),
                        y: *y,
                    })
                })
                .collect();
            if self.put(&spots, &short, class) {
                return true;
            }
        }
        false
    }

    pub(super) fn finish(self) -> Vec<Markup> {
        self.drawn
    }
}
