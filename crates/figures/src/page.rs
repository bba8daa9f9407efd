//! One self-contained HTML page of tables and charts. It fetches nothing, runs nothing, and is the same to the byte for the
//! same content.

use crate::draw::{Width, dark, inline};
use crate::table::plain;
use crate::{Chart, Origin, Table};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");

/// A page that is built from its top to its end. Each table and chart is of one origin, which stands beside it.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    parts: Vec<Markup>,
    /// Charts that follow each other share a row where there is room.
    charts: Vec<Markup>,
    /// How many tables there are, and the rules of style for the columns of each: said once, and not in each cell.
    tables: usize,
    rules: String,
}

impl Page {
    /// A page with nothing but its title.
    pub fn new(title: impl Into<String>) -> Page {
        Page {
            title: title.into(),
            parts: Vec::new(),
            charts: Vec::new(),
            tables: 0,
            rules: String::new(),
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
        let id = format!("t{}", self.tables);
        self.tables += 1;
        self.rules.push_str(&rules(&id, table));
        self.part(html! {
            section.card {
                h3 { (plain(&table.title)) " " (origin::<O>()) }
                div.scroll {
                    table id=(id) {
                        thead { tr { @for column in &table.columns {
                            th scope="col" { (plain(&column.title)) }
                        } } }
                        tbody { @for row in &table.rows {
                            tr { @for cell in row { td { (plain(&cell.words())) } } }
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
        let style = format!("{STYLE}{}{}", dark("svg.chart "), self.rules);
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

/// Columns of numbers stand to the right; on a phone each cell says its column.
fn rules<O: Origin>(id: &str, table: &Table<O>) -> String {
    let mut rules = String::new();
    for (place, column) in table.columns.iter().enumerate() {
        let child = place + 1;
        if table.is_of_numbers(place) {
            rules.push_str(&format!("#{id} tr>:nth-child({child}){{text-align:right}}"));
        }
        if place > 0 {
            let title = in_style(&plain(&column.title));
            rules.push_str(&format!(
                "@media screen and (max-width:640px){{#{id} td:nth-child({child})::before{{content:\"{title}\"}}}}"
            ));
        }
    }
    rules
}

/// A text inside quotes of a style sheet inside a page: whatever could end either is told by its number.
fn in_style(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '"' | '\\' | '<' | '>' | '&' => format!("\\{:x} ", u32::from(c)),
            c => c.to_string(),
        })
        .collect()
}

fn origin<O: Origin>() -> Markup {
    html! { span.origin title=(O::SAYS) { (O::WORD) } }
}
