//! One self-contained HTML page of tables and charts. It fetches nothing, runs nothing, and is the same to the byte for the
//! same content.

use crate::draw::{Width, dark, inline};
use crate::table::plain;
use crate::{Cell, Chart, Origin, Table};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");

/// A page that is built from its top to its end. Each table and chart is of one origin, which stands beside it.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    parts: Vec<Markup>,
    /// Charts that follow each other share a row where there is room.
    charts: Vec<Markup>,
}

impl Page {
    /// A page with nothing but its title.
    pub fn new(title: impl Into<String>) -> Page {
        Page {
            title: title.into(),
            parts: Vec::new(),
            charts: Vec::new(),
        }
    }

    /// A heading.
    pub fn heading(&mut self, words: &str) {
        self.part(html! { h2 { (plain(words)) } });
    }

    /// A paragraph.
    pub fn text(&mut self, words: &str) {
        self.part(html! { p { (plain(words)) } });
    }

    /// Sentences that nobody should miss.
    pub fn findings(&mut self, sentences: &[String]) {
        if !sentences.is_empty() {
            self.part(html! { div.found { @for one in sentences { p { (plain(one)) } } } });
        }
    }

    /// A command that makes this page again.
    pub fn command(&mut self, command: &str) {
        self.part(html! { pre { code { (plain(command)) } } });
    }

    /// A table.
    pub fn table<O: Origin>(&mut self, table: &Table<O>) {
        let head: Vec<bool> = (0..table.columns.len())
            .map(|column| table.is_of_numbers(column))
            .collect();
        self.part(html! {
            section.card {
                h3 { (plain(&table.title)) " " (origin::<O>()) }
                div.scroll {
                    table {
                        thead { tr { @for (column, number) in table.columns.iter().zip(&head) {
                            th scope="col" class=[number.then_some("n")] { (plain(&column.title)) }
                        } } }
                        tbody { @for row in &table.rows {
                            tr { @for (column, cell) in table.columns.iter().zip(row) {
                                td class=[(!matches!(cell, Cell::Text(_))).then_some("n")] data-h=(plain(&column.title)) {
                                    (plain(&cell.words()))
                                }
                            } }
                        } }
                    }
                }
                @for note in &table.notes { p.note { (plain(note)) } }
                p.note { (O::SAYS) }
            }
        });
    }

    /// A chart.
    pub fn chart<O: Origin>(&mut self, chart: &Chart<O>) {
        self.charts.push(html! {
            figure.card {
                figcaption { h3 { (plain(&chart.title)) " " (origin::<O>()) } }
                div.wide { (PreEscaped(inline(chart, Width::Wide))) }
                div.narrow { (PreEscaped(inline(chart, Width::Narrow))) }
                @for note in &chart.notes { p.note { (plain(note)) } }
                p.note { (O::SAYS) }
            }
        });
    }

    fn part(&mut self, part: Markup) {
        self.end_charts();
        self.parts.push(part);
    }

    fn end_charts(&mut self) {
        let charts = std::mem::take(&mut self.charts);
        if !charts.is_empty() {
            self.parts
                .push(html! { div.charts { @for chart in charts { (chart) } } });
        }
    }

    /// The page as a file.
    pub fn html(mut self) -> String {
        self.end_charts();
        let style = format!("{STYLE}{}", dark("svg.chart "));
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                    title { (plain(&self.title)) }
                    style { (PreEscaped(style)) }
                }
                body { main {
                    h1 { (plain(&self.title)) }
                    @for part in self.parts { (part) }
                } }
            }
        };
        let mut text = page.into_string();
        text.push('\n');
        text
    }
}

fn origin<O: Origin>() -> Markup {
    html! { span.origin title=(O::SAYS) { (O::WORD) } }
}
