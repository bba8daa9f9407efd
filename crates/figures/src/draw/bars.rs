//! Lying bars, in groups, with their numbers behind them.

use super::colour::{INK, LINE, SOFT, of_series};
use super::pen::{Pen, ROW, Side};
use super::ruler::Ruler;
use crate::{Chart, Origin, Point};

const BAR: i32 = 14;

pub(crate) fn draw<O: Origin>(pen: &mut Pen, chart: &Chart<O>) {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let values: Vec<u64> = points().flat_map(Point::heights).collect();
    let widest = |words: &mut dyn Iterator<Item = i32>| words.max().unwrap_or(0);
    let names = widest(&mut chart.categories.iter().map(|name| Pen::length(name)));
    let left = 12 + names.min(pen.width / 3) + 8;
    // Behind the longest bar there is room for its number.
    let shown = |value: u64| chart.y.unit.show(value.into());
    let room = widest(&mut points().map(|point| Pen::length(&shown(point.y))));
    let right = (pen.width - 16 - room).max(left + 60);
    let ruler = Ruler::new(
        &chart.y,
        &values,
        right - left,
        if pen.width > 450 { 5 } else { 3 },
    );
    if !chart.y.title.is_empty() {
        pen.sentence(&chart.y.title);
    }
    let group = chart.series.len().max(1) as i32 * (BAR + 3) + 9;
    let top = pen.top + 4;
    let bottom = top + group * chart.categories.len() as i32;
    for (number, words) in &ruler.marks {
        let at = left + ruler.at(*number);
        pen.line(vec![(at, top), (at, bottom + 4)], LINE.light(), 1);
        pen.word(words, (at, bottom + 14), Side::Middle, SOFT.light());
    }
    for (row, name) in chart.categories.iter().enumerate() {
        let from = top + group * row as i32;
        let name = Pen::fitting(name, left - 20);
        let middle = from + (group - 6) / 2;
        pen.word(&name, (left - 8, middle), Side::End, INK.light());
        for (number, series) in chart.series.iter().enumerate() {
            let y = from + 3 + number as i32 * (BAR + 3);
            for point in series.points.iter().filter(|point| point.x == row as u64) {
                bar(pen, &ruler, (left, y), point, number, &shown(point.y));
            }
        }
    }
    pen.line(vec![(left, top), (left, bottom)], SOFT.light(), 1);
    pen.top = bottom + 14 + ROW;
}

fn bar(pen: &mut Pen, ruler: &Ruler, (left, y): (i32, i32), point: &Point, number: usize, words: &str) {
    let colour = of_series(number);
    let end = left + ruler.at(point.y);
    pen.bar((left, y), (end.max(left + 1), y + BAR), colour, true);
    let middle = y + BAR / 2;
    let mut behind = end;
    if let Some((least, most)) = point.spread.filter(|(least, most)| least < most) {
        let ends = [least, most].map(|end| (left + ruler.at(end), middle));
        pen.line(ends.to_vec(), INK.light(), 1);
        for (x, _) in ends {
            pen.line(vec![(x, middle - 4), (x, middle + 4)], INK.light(), 1);
        }
        behind = behind.max(ends[1].0);
    }
    pen.word(words, (behind + 6, middle), Side::Start, INK.light());
}
