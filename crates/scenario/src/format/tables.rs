//! The document: tables in their order, keys in a column.

use super::comments::{self, Line};
use super::values;
use toml_edit::{DocumentMut, Item, Table};

/// A table with its header.
struct Section<'a> {
    place: isize,
    header: Option<String>,
    table: &'a Table,
}

/// A key with its value, and what stands around them.
struct Entry {
    lines: Vec<Line>,
    key: String,
    value: String,
    tail: Option<String>,
}

/// The document in the house form.
pub(super) fn document(document: &DocumentMut) -> String {
    let mut sections = Vec::new();
    let root = document.as_table();
    sections.push(Section {
        place: isize::MIN,
        header: None,
        table: root,
    });
    let mut place = 0;
    nested(root, "", &mut place, &mut sections);
    sections.sort_by_key(|section| section.place);
    let mut text = String::new();
    for section in &sections {
        put(&mut text, section);
    }
    let last = comments::to_last_comment(comments::lines(&format!(
        "{}\n",
        document.trailing().as_str().unwrap_or_default()
    )));
    comments::put(&mut text, "", &last);
    text
}

/// Every table below one, each with the path of its header. A table without a place of its own stands where the one
/// before it stands.
fn nested<'a>(table: &'a Table, path: &str, place: &mut isize, sections: &mut Vec<Section<'a>>) {
    for (name, item) in table.iter() {
        let name = table
            .key(name)
            .map_or_else(|| name.to_owned(), |key| values::dotted(&[key]));
        let path = if path.is_empty() {
            name
        } else {
            format!("{path}.{name}")
        };
        match item {
            Item::Table(table) => one(table, &path, format!("[{path}]"), place, sections),
            Item::ArrayOfTables(tables) => {
                for table in tables.iter() {
                    one(table, &path, format!("[[{path}]]"), place, sections);
                }
            }
            Item::Value(_) | Item::None => {}
        }
    }
}

/// A table and those below it.
fn one<'a>(table: &'a Table, path: &str, header: String, place: &mut isize, sections: &mut Vec<Section<'a>>) {
    *place = table.position().unwrap_or(*place);
    let is_empty = table.is_implicit() && table.get_values().is_empty();
    if !table.is_dotted() && !is_empty {
        sections.push(Section {
            place: *place,
            header: Some(header),
            table,
        });
    }
    nested(table, path, place, sections);
}

fn put(text: &mut String, section: &Section<'_>) {
    if let Some(header) = &section.header {
        let decor = section.table.decor();
        let lines = comments::lines(comments::raw(decor.prefix()));
        // What touches the table above belongs to it, and what touches the header to the one below.
        let (above, below) = match lines.iter().position(|line| *line == Line::Blank) {
            Some(blank) => lines.split_at(blank),
            None => lines.split_at(0),
        };
        comments::put(text, "", above);
        if !text.is_empty() {
            text.push('\n');
        }
        comments::put(text, "", &comments::from_first_comment(below.to_vec()));
        text.push_str(header);
        comments::end_line(text, comments::tail(comments::raw(decor.suffix())).as_deref());
    }
    let mut entries = entries(section.table);
    if let Some(first) = entries.first_mut() {
        first.lines = comments::from_first_comment(std::mem::take(&mut first.lines));
    }
    // A blank line begins a column of its own.
    for block in entries.chunk_by(|_, next| !next.lines.contains(&Line::Blank)) {
        let width = block
            .iter()
            .map(|entry| entry.key.chars().count())
            .max()
            .unwrap_or(0);
        for entry in block {
            comments::put(text, "", &entry.lines);
            text.push_str(&format!("{:<width$} = {}", entry.key, entry.value));
            comments::end_line(text, entry.tail.as_deref());
        }
    }
}

fn entries(table: &Table) -> Vec<Entry> {
    let values = table.get_values();
    let width = values
        .iter()
        .map(|(path, _)| values::dotted(path).chars().count())
        .max()
        .unwrap_or(0);
    values
        .into_iter()
        .map(|(path, value)| {
            let before = path.last().and_then(|key| key.leaf_decor().prefix());
            Entry {
                lines: comments::lines(comments::raw(before)),
                key: values::dotted(&path),
                value: values::of_key(value, width + 3),
                tail: comments::tail(comments::raw(value.decor().suffix())),
            }
        })
        .collect()
}
