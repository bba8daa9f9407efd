//! A chart as SVG. Lengths and places are whole pixels, so that the same chart is the same text everywhere.

mod bars;
mod colour;
mod frame;
mod marks;
mod pen;
mod ruler;

use crate::chart::Mark;
use crate::{Chart, Origin};
use pen::Pen;

pub(crate) use colour::dark;

/// The width of a drawing, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// For a file, and for wide screens.
    Wide,
    /// For a phone.
    Narrow,
}

impl Width {
    fn pixels(self) -> i32 {
        match self {
            Width::Wide => 560,
            Width::Narrow => 370,
        }
    }
}

/// The drawing as a file of its own.
pub(crate) fn file<O: Origin>(chart: &Chart<O>) -> String {
    let drawn = drawing(chart, Width::Wide, true);
    let style = format!(
        "<style>svg{{max-width:100%;height:auto}}{}</style>",
        colour::dark("")
    );
    match drawn.split_once('\n') {
        Some((head, body)) => format!("{head}\n{style}\n{body}"),
        None => drawn,
    }
}

/// The drawing for a page that has the rules of [`dark`], a title of its own, and says the origin beside it.
pub(crate) fn inline<O: Origin>(chart: &Chart<O>, width: Width) -> String {
    drawing(chart, width, false)
}

fn drawing<O: Origin>(chart: &Chart<O>, width: Width, is_alone: bool) -> String {
    let mut pen = Pen::new(width.pixels());
    if is_alone {
        pen.heading(&chart.title);
        pen.sentence(O::SAYS);
    }
    frame::legend(&mut pen, chart);
    match chart.mark {
        Mark::Bar => bars::draw(&mut pen, chart),
        Mark::Line | Mark::Point => marks::draw(&mut pen, chart),
    }
    pen.finish(&chart.title, O::WORD)
}
