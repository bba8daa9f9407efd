//! Reads Markdown back as a renderer does.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

/// What a reader sees of a page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Headings as text.
    pub(crate) headings: Vec<String>,
    /// Tables: rows of cells as text, the head first.
    pub(crate) tables: Vec<Vec<Vec<String>>>,
    /// Where links go.
    pub(crate) links: Vec<String>,
    /// HTML as it stands.
    pub(crate) html: Vec<String>,
    /// Blocks and emphasis by kind, in order.
    pub(crate) shape: Vec<&'static str>,
}

pub(crate) fn read(markdown: &str) -> Page {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    let mut page = Page::default();
    let mut text = String::new();
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(tag) => start(&mut page, &mut text, &tag),
            Event::End(TagEnd::Heading(_)) => page.headings.push(std::mem::take(&mut text)),
            Event::End(TagEnd::TableCell) => {
                let cell = std::mem::take(&mut text).trim().to_owned();
                if let Some(row) = page.tables.last_mut().and_then(|table| table.last_mut()) {
                    row.push(cell);
                }
            }
            Event::Text(part) | Event::Code(part) => text += &part,
            Event::SoftBreak | Event::HardBreak => text += "\n",
            Event::Html(html) | Event::InlineHtml(html) => inline_html(&mut page, &mut text, html),
            _ => {}
        }
    }
    page
}

fn start(page: &mut Page, text: &mut String, tag: &Tag<'_>) {
    match tag {
        Tag::Heading { .. } => {
            text.clear();
            page.shape.push("heading");
        }
        Tag::Table(_) => {
            page.tables.push(Vec::new());
            page.shape.push("table");
        }
        Tag::TableHead | Tag::TableRow => {
            page.tables.last_mut().unwrap().push(Vec::new());
            page.shape.push("row");
        }
        Tag::TableCell => {
            text.clear();
            page.shape.push("cell");
        }
        Tag::Link { dest_url, .. } => page.links.push(dest_url.to_string()),
        Tag::Image { .. } => page.shape.push("image"),
        Tag::List(_) => page.shape.push("list"),
        Tag::Item => page.shape.push("item"),
        Tag::BlockQuote(_) => page.shape.push("quote"),
        Tag::CodeBlock(_) => page.shape.push("code"),
        Tag::Paragraph => page.shape.push("paragraph"),
        Tag::Emphasis => page.shape.push("emphasis"),
        Tag::Strong => page.shape.push("strong"),
        Tag::Strikethrough => page.shape.push("strikethrough"),
        _ => page.shape.push("other"),
    }
}

fn inline_html(page: &mut Page, text: &mut String, html: CowStr<'_>) {
    if html.as_ref() == "<br>" {
        *text += "\n";
    }
    page.html.push(html.to_string());
}
