//! What stands around marks: the legend, and the two axes.

use super::colour::{INK, LINE, SOFT, of_series};
use super::pen::{Pen, ROW, Side};
use super::ruler::Ruler;
use crate::{Axis, Chart, Origin};

/// A row of shapes and names, or several. One series alone needs none.
pub(crate) fn legend<O: Origin>(pen: &mut Pen, chart: &Chart<O>) {
    if chart.series.len() < 2 {
        return;
    }
    let mut x = 18;
    for (number, series) in chart.series.iter().enumerate() {
        let name = Pen::fitting(&series.name, pen.width - 60);
        if x > 18 && x + 12 + Pen::length(&name) > pen.width - 8 {
            x = 18;
            pen.top += ROW;
        }
        let y = pen.top + ROW / 2;
        pen.shape(number, (x, y), of_series(number));
        pen.word(&name, (x + 12, y), Side::Start, INK.light());
        x += 12 + Pen::length(&name) + 20;
    }
    pen.top += ROW + 4;
}

/// A frame for points: where it is, and how numbers lie in it.
pub(crate) struct Frame {
    pub(crate) left: i32,
    pub(crate) right: i32,
    pub(crate) top: i32,
    pub(crate) bottom: i32,
    pub(crate) x: Ruler,
    pub(crate) y: Ruler,
}

impl Frame {
    pub(crate) fn place(&self, x: u64, y: u64) -> (i32, i32) {
        (self.left + self.x.at(x), self.bottom - self.y.at(y))
    }
}

/// Draws both axes for numbers of both, and leaves the pen below them.
pub(crate) fn axes(pen: &mut Pen, axes: (&Axis, &Axis), xs: &[u64], ys: &[u64]) -> Frame {
    let height = pen.width * 11 / 20;
    if !axes.1.title.is_empty() {
        pen.sentence(&axes.1.title);
    }
    let top = pen.top + 8;
    let bottom = top + height;
    let y = Ruler::new(axes.1, ys, height, 5);
    let words = y.marks.iter().map(|(_, words)| Pen::length(words)).max();
    let left = 12 + words.unwrap_or(0) + 8;
    let right = pen.width - 24;
    let x = Ruler::new(axes.0, xs, right - left, if pen.width > 450 { 5 } else { 3 });
    let frame = Frame {
        left,
        right,
        top,
        bottom,
        x,
        y,
    };
    for (number, words) in &frame.y.marks {
        let at = bottom - frame.y.at(*number);
        pen.line(vec![(left, at), (right, at)], LINE.light(), 1);
        pen.word(words, (left - 8, at), Side::End, SOFT.light());
    }
    for (number, words) in &frame.x.marks {
        let at = left + frame.x.at(*number);
        pen.line(vec![(at, top), (at, bottom + 4)], LINE.light(), 1);
        pen.word(words, (at, bottom + 14), Side::Middle, SOFT.light());
    }
    pen.line(vec![(left, bottom), (right, bottom)], SOFT.light(), 1);
    pen.top = bottom + 24;
    let title = Pen::fitting(&axes.0.title, pen.width - 24);
    pen.word(&title, (right, pen.top + ROW / 2), Side::End, SOFT.light());
    pen.top += ROW + 8;
    frame
}
