//! What a chart shows, without how it is drawn.

use crate::{Origin, Unit};
use std::marker::PhantomData;

/// How numbers lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From zero, evenly.
    Zero,
    /// From near the least number, evenly.
    Close,
    /// By powers; what is zero lies on the edge.
    Log,
}

/// One axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What it says, with the unit where the marks do not carry it.
    pub title: String,
    /// What its numbers count.
    pub unit: Unit,
    /// How they lie.
    pub scale: Scale,
}

/// One mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Along the first axis; of a bar: the number of its category.
    pub x: u64,
    /// Along the second axis; of a bar: its length.
    pub y: u64,
    /// The least and the largest `y` where there are several, shown as a whisker.
    pub spread: Option<(u64, u64)>,
    /// Words beside it.
    pub label: Option<String>,
}

/// Marks that belong together, in one colour and shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// In the order in which a line joins them.
    pub points: Vec<Point>,
}

/// What is drawn for a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Line,
    Point,
    Bar,
}

/// A chart whose numbers all come from `O`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart<O> {
    /// For machines: a word.
    pub name: String,
    /// For people.
    pub title: String,
    /// The first axis. Bars lie, and have none.
    pub x: Axis,
    /// The second axis; that of the lengths of bars.
    pub y: Axis,
    /// Names of the bars' groups, from the top.
    pub categories: Vec<String>,
    /// In the order of the legend.
    pub series: Vec<Series>,
    /// Sentences below it, on a page.
    pub notes: Vec<String>,
    pub(crate) mark: Mark,
    origin: PhantomData<O>,
}

impl Axis {
    /// An axis that begins at zero.
    pub fn new(title: impl Into<String>, unit: Unit) -> Axis {
        Axis {
            title: title.into(),
            unit,
            scale: Scale::Zero,
        }
    }

    /// The same with another scale.
    #[must_use]
    pub fn scale(mut self, scale: Scale) -> Axis {
        self.scale = scale;
        self
    }
}

impl Point {
    /// A mark without words and whisker.
    pub fn new(x: u64, y: u64) -> Point {
        Point {
            x,
            y,
            ..Point::default()
        }
    }

    /// The same with a whisker.
    #[must_use]
    pub fn spread(mut self, least: u64, most: u64) -> Point {
        self.spread = Some((least, most));
        self
    }

    /// The same with words beside it.
    #[must_use]
    pub fn label(mut self, words: impl Into<String>) -> Point {
        self.label = Some(words.into());
        self
    }
}

impl<O: Origin> Chart<O> {
    fn new(name: &str, title: &str, mark: Mark, x: Axis, y: Axis) -> Chart<O> {
        Chart {
            name: name.to_owned(),
            title: title.to_owned(),
            x,
            y,
            categories: Vec::new(),
            series: Vec::new(),
            notes: Vec::new(),
            mark,
            origin: PhantomData,
        }
    }

    /// Lines through points.
    pub fn lines(name: &str, title: &str, x: Axis, y: Axis) -> Chart<O> {
        Chart::new(name, title, Mark::Line, x, y)
    }

    /// Points alone.
    pub fn points(name: &str, title: &str, x: Axis, y: Axis) -> Chart<O> {
        Chart::new(name, title, Mark::Point, x, y)
    }

    /// Lying bars, a group for each category.
    pub fn bars(name: &str, title: &str, length: Axis, categories: Vec<String>) -> Chart<O> {
        let groups = Axis::new("", Unit::Count);
        Chart {
            categories,
            ..Chart::new(name, title, Mark::Bar, groups, length)
        }
    }

    /// Adds marks that belong together.
    pub fn series(&mut self, name: impl Into<String>, points: impl IntoIterator<Item = Point>) {
        self.series.push(Series {
            name: name.into(),
            points: points.into_iter().collect(),
        });
    }

    /// A file of its own: light or dark as its reader likes it, readable from 400 px on.
    pub fn svg(&self) -> String {
        crate::draw::file(self)
    }
}
