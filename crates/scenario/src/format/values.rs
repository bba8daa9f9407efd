//! Values on one line, and lists that take a line for each entry.

use super::comments::{self, Line};
use super::steps::{self, Row};
use toml_edit::{Array, InlineTable, Item, Key, Table, Value};

/// A list is written on one line if it ends before this column.
const WIDTH: usize = 120;
/// Before each entry of a list that has a line for each.
const INDENT: &str = "  ";

/// The value of a key, which may take several lines. `column` is where it begins.
pub(super) fn of_key(value: &Value, column: usize) -> String {
    let Value::Array(array) = value else {
        return on_one_line(value);
    };
    let line = on_one_line(value);
    let holds_tables = array.iter().any(Value::is_inline_table);
    let is_short = column + line.chars().count() <= WIDTH || array.len() < 2;
    let fits = !has_comment(value) && is_short && !line.contains('\n');
    if fits && !holds_tables {
        line
    } else {
        on_many_lines(array, column)
    }
}

/// A value on one line; as it was if there is a comment in it, which needs lines of its own.
pub(super) fn on_one_line(value: &Value) -> String {
    if has_comment(value) {
        return as_it_was(value);
    }
    match value {
        Value::Array(array) => {
            let items: Vec<String> = array.iter().map(on_one_line).collect();
            format!("[{}]", items.join(", "))
        }
        Value::InlineTable(table) => {
            let items: Vec<String> = cells(table)
                .into_iter()
                .map(|(key, value)| format!("{key} = {value}"))
                .collect();
            if items.is_empty() {
                "{}".to_owned()
            } else {
                format!("{{ {} }}", items.join(", "))
            }
        }
        _ => as_it_was(value),
    }
}

fn as_it_was(value: &Value) -> String {
    value.clone().decorated("", "").to_string()
}

/// Keys and values of an inline table.
fn cells(table: &InlineTable) -> Vec<(String, String)> {
    table
        .get_values()
        .into_iter()
        .map(|(path, value)| (dotted(&path), on_one_line(value)))
        .collect()
}

/// A key as it is written.
pub(super) fn dotted(path: &[&Key]) -> String {
    let names: Vec<_> = path.iter().map(|key| key.display_repr()).collect();
    names.join(".")
}

/// One entry a line, each with a comma, in columns where the entries are steps. The bracket stands in that column.
fn on_many_lines(array: &Array, column: usize) -> String {
    // What stands before the first entry, between each two, and behind the last.
    let mut gaps = vec![String::new()];
    let mut rows = Vec::new();
    for value in array.iter() {
        if let Some(gap) = gaps.last_mut() {
            gap.push_str(comments::raw(value.decor().prefix()));
        }
        gaps.push(comments::raw(value.decor().suffix()).to_owned());
        rows.push(match value {
            Value::InlineTable(table) if !has_comment(value) => Row::Cells(cells(table)),
            other => Row::Text(on_one_line(other)),
        });
    }
    if let Some(gap) = gaps.last_mut() {
        gap.push_str(array.trailing().as_str().unwrap_or_default());
        gap.push('\n');
    }
    let gaps: Vec<_> = gaps.iter().map(|raw| comments::gap(raw)).collect();
    let breaks: Vec<bool> = gaps.iter().map(|gap| !gap.lines.is_empty()).collect();
    let texts = steps::aligned(&rows, &breaks);
    let mut text = format!("{:column$}[", "");
    for (index, gap) in gaps.iter().enumerate() {
        comments::end_line(&mut text, gap.tail.as_deref());
        let mut lines: Vec<Line> = gap.lines.clone();
        if index == 0 {
            lines = comments::from_first_comment(lines);
        }
        if index == rows.len() {
            lines = comments::to_last_comment(lines);
        }
        comments::put(&mut text, INDENT, &lines);
        if let Some(row) = texts.get(index) {
            text.push_str(INDENT);
            text.push_str(row);
            text.push(',');
        }
    }
    text.push(']');
    text.split_off(column)
}

/// Whether a comment stands inside a value.
fn has_comment(value: &Value) -> bool {
    let around = |value: &Value| {
        let decor = value.decor();
        is_comment(comments::raw(decor.prefix())) || is_comment(comments::raw(decor.suffix()))
    };
    match value {
        Value::Array(array) => {
            is_comment(array.trailing().as_str().unwrap_or_default())
                || array.iter().any(|item| around(item) || has_comment(item))
        }
        Value::InlineTable(table) => {
            is_comment(table.trailing().as_str().unwrap_or_default())
                || table.get_values().iter().any(|(path, item)| {
                    path.iter().any(|key| key_comment(key)) || around(item) || has_comment(item)
                })
        }
        _ => false,
    }
}

fn key_comment(key: &Key) -> bool {
    [key.leaf_decor(), key.dotted_decor()]
        .iter()
        .any(|decor| is_comment(comments::raw(decor.prefix())) || is_comment(comments::raw(decor.suffix())))
}

fn is_comment(raw: &str) -> bool {
    raw.contains('#')
}

/// Empties every text, so that each `#` that is left begins a comment (but for one in a quoted key, which stays as it is).
pub(super) fn empty_texts(table: &mut Table) {
    for (_, item) in table.iter_mut() {
        match item {
            Item::Value(value) => empty_text(value),
            Item::Table(table) => empty_texts(table),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(empty_texts),
            Item::None => {}
        }
    }
}

fn empty_text(value: &mut Value) {
    match value {
        Value::String(text) => {
            let decor = text.decor().clone();
            *value = Value::from("");
            *value.decor_mut() = decor;
        }
        Value::Array(array) => array.iter_mut().for_each(empty_text),
        Value::InlineTable(table) => table.iter_mut().for_each(|(_, value)| empty_text(value)),
        _ => {}
    }
}
