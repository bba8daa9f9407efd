//! Lines and points.

use super::colour::{INK, of_series};
use super::frame::{Frame, axes};
use super::pen::{Pen, Side};
use crate::chart::Mark;
use crate::{Chart, Origin, Point};

/// Lines with more points than this have marks at some of them only.
const MARKED: usize = 6;

/// A rectangle that is taken: left, top, right, bottom.
type Taken = (i32, i32, i32, i32);

pub(crate) fn draw<O: Origin>(pen: &mut Pen, chart: &Chart<O>) {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let xs: Vec<u64> = points().map(|point| point.x).collect();
    let ys: Vec<u64> = points().flat_map(Point::heights).collect();
    let frame = axes(pen, (&chart.x, &chart.y), &xs, &ys);
    let mut taken: Vec<Taken> = points()
        .map(|point| {
            let (x, y) = frame.place(point.x, point.y);
            (x - 5, y - 5, x + 5, y + 5)
        })
        .collect();
    for (number, series) in chart.series.iter().enumerate() {
        let colour = of_series(number);
        let places: Vec<(i32, i32)> = series
            .points
            .iter()
            .map(|point| frame.place(point.x, point.y))
            .collect();
        let each = match chart.mark {
            Mark::Line => places.len().div_ceil(MARKED).max(1),
            _ => 1,
        };
        for (point, (x, _)) in series.points.iter().zip(&places) {
            if let Some((least, most)) = point.spread.filter(|(least, most)| least < most) {
                let ends = [least, most].map(|end| (*x, frame.place(0, end).1));
                pen.line(ends.to_vec(), colour, 1);
            }
        }
        if chart.mark == Mark::Line && places.len() > 1 {
            pen.line(places.clone(), colour, 2);
        }
        // Lines begin their marks at different places, so that one does not hide the other.
        for place in places.iter().skip(number % each).step_by(each) {
            pen.shape(number, *place, colour);
        }
    }
    let mut said: Vec<(&str, (i32, i32))> = Vec::new();
    for point in points() {
        let place = frame.place(point.x, point.y);
        let words = point.label.as_deref().unwrap_or("");
        // The same words at the same place are said once.
        if !said.contains(&(words, place)) {
            said.push((words, place));
            label(pen, &frame, point, &mut taken);
        }
    }
}

/// Writes a point's words where there is room: right of it, left, above or below. Where there is none, they are left out.
fn label(pen: &mut Pen, frame: &Frame, point: &Point, taken: &mut Vec<Taken>) {
    let Some(words) = &point.label else { return };
    let (x, y) = frame.place(point.x, point.y);
    let long = Pen::length(words);
    let places = [
        ((x + 9, y), Side::Start, x + 9),
        ((x - 9, y), Side::End, x - 9 - long),
        ((x, y - 14), Side::Middle, x - long / 2),
        ((x, y + 14), Side::Middle, x - long / 2),
    ];
    for (at, side, left) in places {
        let room = (left, at.1 - 8, left + long, at.1 + 8);
        let is_inside = room.0 >= frame.left
            && room.2 <= frame.right + 20
            && room.1 >= frame.top - 8
            && room.3 <= frame.bottom + 8;
        if is_inside && !taken.iter().any(|other| overlap(room, *other)) {
            pen.word(words, at, side, INK.light());
            taken.push(room);
            return;
        }
    }
}

fn overlap(one: Taken, two: Taken) -> bool {
    one.0 < two.2 && two.0 < one.2 && one.1 < two.3 && two.1 < one.3
}

impl Point {
    /// Its height and those of its whisker.
    pub(crate) fn heights(&self) -> impl Iterator<Item = u64> {
        let (least, most) = self.spread.unwrap_or((self.y, self.y));
        [self.y, least, most].into_iter()
    }
}
