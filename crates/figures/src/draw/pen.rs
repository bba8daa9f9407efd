//! What is drawn, kept until the height of the drawing is known.

use super::colour::{INK, PAPER, SOFT};
use crate::table::plain;
use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::prelude::{DrawingArea, IntoDrawingArea};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBColor, TextStyle};

/// Height of letters, in pixels.
const LETTER: i32 = 14;
/// From the middle of letters down to the line on which they stand. Not every reader knows the unit that the backend would
/// say this in.
const BELOW: i32 = 5;
/// Space that a line of letters takes.
pub(crate) const ROW: i32 = 20;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Where a word stands from its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// It begins there.
    Start,
    /// It has its middle there.
    Middle,
    /// It ends there.
    End,
}

enum Item {
    Line(Vec<(i32, i32)>, RGBColor, u32),
    Box((i32, i32), (i32, i32), RGBColor, bool),
    Shape(usize, (i32, i32), RGBColor),
    Word(String, (i32, i32), Side, RGBColor, bool),
}

/// A drawing that grows downwards.
pub(crate) struct Pen {
    pub(crate) width: i32,
    /// The first free row of pixels.
    pub(crate) top: i32,
    items: Vec<Item>,
}

impl Pen {
    pub(crate) fn new(width: i32) -> Pen {
        Pen {
            width,
            top: 8,
            items: Vec::new(),
        }
    }

    /// About how many pixels a text takes.
    pub(crate) fn length(text: &str) -> i32 {
        i32::try_from(text.chars().count()).map_or(i32::MAX, |letters| letters.saturating_mul(15) / 2)
    }

    /// As much of a text as fits.
    pub(crate) fn fitting(text: &str, pixels: i32) -> String {
        if Pen::length(text) <= pixels {
            return text.to_owned();
        }
        let room = usize::try_from(pixels * 2 / 15).unwrap_or(0).saturating_sub(1);
        text.chars().take(room.max(1)).chain(['…']).collect()
    }

    pub(crate) fn heading(&mut self, text: &str) {
        for line in lines(text, self.width - 24) {
            self.put(Item::Word(
                line,
                (12, self.top + ROW / 2),
                Side::Start,
                INK.light(),
                true,
            ));
            self.top += ROW;
        }
    }

    pub(crate) fn sentence(&mut self, text: &str) {
        for line in lines(text, self.width - 24) {
            self.word(&line, (12, self.top + ROW / 2), Side::Start, SOFT.light());
            self.top += ROW;
        }
    }

    pub(crate) fn line(&mut self, points: Vec<(i32, i32)>, colour: RGBColor, width: u32) {
        self.put(Item::Line(points, colour, width));
    }

    /// From its upper left to its lower right corner.
    pub(crate) fn bar(&mut self, from: (i32, i32), to: (i32, i32), colour: RGBColor, is_filled: bool) {
        self.put(Item::Box(from, to, colour, is_filled));
    }

    /// A mark; each number has another shape, of six.
    pub(crate) fn shape(&mut self, number: usize, at: (i32, i32), colour: RGBColor) {
        self.put(Item::Shape(number, at, colour));
    }

    /// A word whose height has its middle there.
    pub(crate) fn word(&mut self, text: &str, at: (i32, i32), side: Side, colour: RGBColor) {
        self.put(Item::Word(text.to_owned(), at, side, colour, false));
    }

    fn put(&mut self, item: Item) {
        self.items.push(item);
    }

    /// The drawing as SVG, with a name for those who do not see it.
    pub(crate) fn finish(self, title: &str, origin: &str) -> String {
        let size = (self.width.unsigned_abs(), self.top.max(1).unsigned_abs());
        let mut text = String::new();
        {
            let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
            // The string backend does not fail.
            let _ = area.fill(&PAPER.light());
            for item in self.items {
                draw(&area, item);
            }
            let _ = area.present();
        }
        let (_, body) = text.split_once('\n').unwrap_or(("", &text));
        let (width, height) = size;
        format!(
            "<svg class=\"chart\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">\n\
             <title>{} ({origin})</title>\n<g font-family=\"sans-serif\" font-size=\"{LETTER}\" fill=\"#1C2126\">\n{}",
            escaped(&plain(title)),
            thrifty(body).replace("</svg>", "</g></svg>")
        )
    }
}

fn draw(area: &Area<'_>, item: Item) {
    let _ = match item {
        Item::Line(points, colour, width) => area.draw(&PathElement::new(points, colour.stroke_width(width))),
        Item::Box(from, to, colour, true) => area.draw(&Rectangle::new([from, to], colour.filled())),
        Item::Box(from, to, colour, false) => area.draw(&Rectangle::new([from, to], colour.stroke_width(1))),
        Item::Shape(number, at, colour) => shape(area, number, at, colour),
        Item::Word(text, at, side, colour, is_bold) => {
            let style = if is_bold {
                FontStyle::Bold
            } else {
                FontStyle::Normal
            };
            // The backend writes the size through this factor.
            let font = FontDesc::new(FontFamily::SansSerif, f64::from(LETTER) * 1.24, style);
            let across = match side {
                Side::Start => HPos::Left,
                Side::Middle => HPos::Center,
                Side::End => HPos::Right,
            };
            let style = TextStyle::from(font)
                .color(&colour)
                .pos(Pos::new(across, VPos::Center));
            area.draw(&Text::new(plain(&text), (at.0, at.1 + BELOW), style))
        }
    };
}

fn shape(
    area: &Area<'_>,
    number: usize,
    (x, y): (i32, i32),
    colour: RGBColor,
) -> Result<(), plotters::drawing::DrawingAreaErrorKind<std::io::Error>> {
    let filled = colour.filled();
    match number % 6 {
        0 => area.draw(&Circle::new((x, y), 4, filled)),
        1 => area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], filled)),
        2 => area.draw(&Polygon::new(
            vec![(x - 5, y + 4), (x + 5, y + 4), (x, y - 5)],
            filled,
        )),
        3 => area.draw(&Polygon::new(
            vec![(x - 5, y), (x, y - 5), (x + 5, y), (x, y + 5)],
            filled,
        )),
        4 => area.draw(&Circle::new((x, y), 4, colour.stroke_width(2))),
        _ => area.draw(&Polygon::new(
            vec![(x - 5, y - 4), (x + 5, y - 4), (x, y + 5)],
            filled,
        )),
    }
}

/// Without what says nothing: it is three quarters of the letters of a drawing of many marks.
fn thrifty(body: &str) -> String {
    let mut text = String::new();
    for line in body.split_inclusive('\n').filter(|line| *line != "\n") {
        // Two points have nothing between them to fill.
        match line.strip_prefix("<polyline fill=\"none\"") {
            Some(rest) if line.matches(',').count() == 2 => {
                text.push_str("<polyline");
                text.push_str(rest);
            }
            _ => text.push_str(line),
        }
    }
    for nothing in [
        " opacity=\"1\"",
        " stroke=\"none\"",
        " stroke-width=\"1\"",
        " text-anchor=\"start\"",
        " font-family=\"sans-serif\"",
        " font-size=\"14\"",
        " fill=\"#1C2126\"",
        " dy=\"0.5ex\"",
    ] {
        text = text.replace(nothing, "");
    }
    text.replace(" \"/>", "\"/>")
        .replace(">\n", ">")
        .replace("</text>", "</text>\n")
        .replace("/>", "/>\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A text in lines of at most that many pixels.
fn lines(text: &str, pixels: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if Pen::length(line) + Pen::length(word) + 7 <= pixels => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(Pen::fitting(word, pixels)),
        }
    }
    lines
}
