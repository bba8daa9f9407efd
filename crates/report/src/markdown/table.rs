//! Tables and links of Markdown.

use crate::Cites;
use crate::escape::{block_sentence, sentence};
use moonquake_evidence::EventId;

/// The most ids that one citation spells out; JSON has all of them.
const MAX_IDS: usize = 12;

/// A table. Its cells are Markdown already, made by the functions of `escape`.
pub(crate) struct Table {
    text: String,
    columns: usize,
}

impl Table {
    pub(crate) fn new(heads: &[&str]) -> Table {
        let mut table = Table {
            text: String::new(),
            columns: heads.len(),
        };
        table.row(heads.iter().map(|head| (*head).to_owned()).collect());
        table.text += &"|---".repeat(heads.len());
        table.text += "|\n";
        table
    }

    /// Adds a row; missing cells stay empty.
    pub(crate) fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.columns, String::new());
        for cell in cells {
            self.text += "| ";
            self.text += &cell;
            if !cell.is_empty() {
                self.text.push(' ');
            }
        }
        self.text += "|\n";
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Links to events on the same page; neighbours become a range.
pub(crate) fn links(cites: &Cites) -> String {
    links_into("", cites)
}

/// Links to events in another file, whose name needs no escaping.
pub(crate) fn links_into(file: &str, cites: &Cites) -> String {
    let link = |id: EventId| format!("[{id}]({file}#{id})");
    let ids = cites.ids();
    let mut parts: Vec<String> = Vec::new();
    let mut index = 0;
    while index < ids.len() && index < MAX_IDS {
        let run = ids[index..]
            .windows(2)
            .take_while(|pair| pair[1].0 == pair[0].0.saturating_add(1))
            .count();
        if run >= 2 {
            parts.push(format!("{} to {}", link(ids[index]), link(ids[index + run])));
            index += run + 1;
        } else {
            parts.push(link(ids[index]));
            index += 1;
        }
    }
    if index < ids.len() {
        parts.push(format!("{} more", ids.len() - index));
    }
    parts.join(", ")
}

/// A sentence and, in brackets, the links to what it rests on.
pub(crate) fn claim(claim: &crate::Claim) -> String {
    format!("{} ({})", sentence(claim.text()), links(claim.events()))
}

/// The same as an item of a list.
pub(crate) fn item(claim: &crate::Claim) -> String {
    format!("- {} ({})\n", block_sentence(claim.text()), links(claim.events()))
}

/// The targets of links, and what a reader sees of them.
pub(crate) fn anchors(ids: &[EventId]) -> String {
    let targets: String = ids.iter().map(|id| format!("<a id=\"{id}\"></a>")).collect();
    match ids {
        [] => String::new(),
        [only] => format!("{targets}{only}"),
        [first, .., last] => format!("{targets}{first}–{last}"),
    }
}
