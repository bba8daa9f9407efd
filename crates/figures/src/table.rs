//! A table of one origin, as text and as JSON.

use crate::{Origin, Unit};
use comfy_table::{CellAlignment, presets};
use serde_json::{Map, Value, json};
use std::marker::PhantomData;

/// A column: its key in JSON, which carries the unit, and its title for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// In JSON, with the unit: `bytes_per_token`.
    pub key: String,
    /// For people: `bytes/token`.
    pub title: String,
}

/// One value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A whole number.
    Whole(u128),
    /// A number that people read in one form and machines in another: `"128 KiB"` and `131072`.
    Shown(String, Value),
    /// There is no such number here, and why is in a note.
    Absent,
}

/// A table whose numbers all come from `O`.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<O> {
    /// In JSON.
    pub name: String,
    /// For people.
    pub title: String,
    /// In their order.
    pub columns: Vec<Column>,
    /// Each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// Sentences below it.
    pub notes: Vec<String>,
    origin: PhantomData<O>,
}

impl<O: Origin> Table<O> {
    /// An empty table.
    pub fn new(name: impl Into<String>, title: impl Into<String>) -> Table<O> {
        Table {
            name: name.into(),
            title: title.into(),
            columns: Vec::new(),
            rows: Vec::new(),
            notes: Vec::new(),
            origin: PhantomData,
        }
    }

    /// Adds a column, before any row.
    #[must_use]
    pub fn column(mut self, key: impl Into<String>, title: impl Into<String>) -> Table<O> {
        self.columns.push(Column {
            key: key.into(),
            title: title.into(),
        });
        self
    }

    /// Adds a row. What is missing at its end is absent, what is too much is left out.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.resize(self.columns.len(), Cell::Absent);
        self.rows.push(cells);
    }

    /// For a terminal: title, rows, notes, and where the numbers come from.
    pub fn text(&self) -> String {
        let mut drawn = comfy_table::Table::new();
        drawn.load_preset(presets::NOTHING);
        drawn.set_header(self.columns.iter().enumerate().map(|(number, column)| {
            let title = comfy_table::Cell::new(plain(&column.title));
            match self.is_of_numbers(number) {
                true => title.set_alignment(CellAlignment::Right),
                false => title,
            }
        }));
        for row in &self.rows {
            drawn.add_row(row.iter().map(|cell| {
                let cells = comfy_table::Cell::new(plain(&cell.words()));
                match cell {
                    Cell::Text(_) => cells,
                    _ => cells.set_alignment(CellAlignment::Right),
                }
            }));
        }
        for column in drawn.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let mut text = format!("{} ({})\n\n", plain(&self.title), O::WORD);
        for line in drawn.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(&format!("\n{}\n", plain(note)));
        }
        text
    }

    /// Whether a column stands to the right, as numbers do: none of its cells is words.
    pub(crate) fn is_of_numbers(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(column));
        !self.rows.is_empty() && cells.all(|cell| !matches!(cell, Cell::Text(_)))
    }

    /// For machines: an object a row, its keys those of the columns.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let pairs = self.columns.iter().zip(row);
                Value::Object(
                    pairs
                        .map(|(column, cell)| (column.key.clone(), cell.value()))
                        .collect::<Map<_, _>>(),
                )
            })
            .collect();
        json!({ "table": self.name, "origin": O::WORD, "rows": rows, "notes": self.notes })
    }
}

/// Without control characters, which a terminal would obey and a page may not hold.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

impl Cell {
    /// A number that people read in its unit and machines as it is.
    pub fn of(unit: Unit, value: u64) -> Cell {
        Cell::Shown(unit.show(value.into()), Value::from(value))
    }

    /// For people.
    pub fn words(&self) -> String {
        match self {
            Cell::Text(words) | Cell::Shown(words, _) => words.clone(),
            Cell::Whole(number) => number.to_string(),
            Cell::Absent => "-".to_owned(),
        }
    }

    /// For machines.
    pub fn value(&self) -> Value {
        match self {
            Cell::Text(words) => Value::from(words.clone()),
            // A number that no 64-bit reader could hold is told in digits.
            Cell::Whole(number) => {
                u64::try_from(*number).map_or_else(|_| Value::from(number.to_string()), Value::from)
            }
            Cell::Shown(_, value) => value.clone(),
            Cell::Absent => Value::Null,
        }
    }
}
