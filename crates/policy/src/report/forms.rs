//! A report as text, as JSON and as one page.

use super::{LIMITS, PERCENTILES, Report, machine};
use moonquake_figures::{Origin, Page, Simulated};
use serde_json::{Value, json};

/// A page is at most that long, as long as there is something to leave out.
const MOST_BYTES: usize = 300_000;

/// What a page shows beside its tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plots {
    All,
    NoCurves,
    None,
}

impl Report {
    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = paragraph(&machine::sentences(&self.machine).join(" "));
        for load in &self.loads {
            for table in load.tables() {
                text.push('\n');
                text.push_str(&table.text());
            }
            for note in &load.notes {
                text.push('\n');
                text.push_str(&paragraph(note));
            }
        }
        let findings = self.findings();
        let last = findings
            .iter()
            .map(String::as_str)
            .chain([PERCENTILES, Simulated::SAYS, LIMITS]);
        for sentence in last {
            text.push('\n');
            text.push_str(&paragraph(sentence));
        }
        text
    }

    /// For machines. Fields carry their unit in their name.
    pub fn json(&self) -> Value {
        let notes: Vec<Value> = self
            .loads
            .iter()
            .map(|load| {
                let mut machine = machine::json(&load.machine);
                if load.has_several_capacities() {
                    // Each row has its own.
                    machine["capacity_blocks"] = Value::Null;
                }
                json!({ "workload": load.workload, "machine": machine, "notes": load.notes })
            })
            .collect();
        json!({
            "schema": 1,
            "workloads": notes,
            "results": self.results().json(),
            "runs": self.runs().json(),
            "findings": self.findings(),
            "percentiles": PERCENTILES,
            "limits": LIMITS,
        })
    }

    /// One page that fetches nothing. The command is the one that makes it again.
    ///
    /// It stays small enough to be sent around: a page of more than 300 kB is made without the curves of times, and if that is
    /// not enough without any chart.
    pub fn page(&self, command: &str) -> String {
        smallest_of([Plots::All, Plots::NoCurves, Plots::None], |plots| {
            self.page_with(command, plots)
        })
    }

    fn page_with(&self, command: &str, plots: Plots) -> String {
        let mut page = Page::new("Cache policies compared");
        page.findings(&self.findings());
        page.text(&machine::sentences(&self.machine).join(" "));
        page.command(command);
        for load in &self.loads {
            page.heading(&load.workload);
            for note in &load.notes {
                page.text(note);
            }
            if plots != Plots::None {
                load.charts().iter().for_each(|chart| page.chart(chart));
            }
            if plots == Plots::All {
                load.curves().iter().for_each(|chart| page.chart(chart));
            }
            for table in load.tables() {
                page.table(&table);
            }
        }
        page.heading("How to read it");
        page.text(PERCENTILES);
        match plots {
            Plots::All => {}
            Plots::NoCurves => page.text(
                "Curves of the time to first token are left out, to keep this page small: name fewer loads.",
            ),
            Plots::None => {
                page.text("Charts are left out, to keep this page small: name fewer loads or policies.");
            }
        }
        page.text(LIMITS);
        page.html()
    }
}

/// The first page that is not too long, else the last one.
pub(super) fn smallest_of<L>(levels: impl IntoIterator<Item = L>, page: impl Fn(L) -> String) -> String {
    let mut text = String::new();
    for level in levels {
        text = page(level);
        if text.len() <= MOST_BYTES {
            break;
        }
    }
    text
}

/// A line that no terminal has to break in the middle of a word.
pub(super) fn paragraph(text: &str) -> String {
    const WIDTH: usize = 110;
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let more = word.chars().count() + 1;
        if length > 0 && length + more > WIDTH {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
        }
        lines.push_str(word);
        length += more;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_too_long_is_the_next_one() {
        let page = |length: usize| "a".repeat(length);
        assert_eq!(smallest_of([MOST_BYTES, 1], page).len(), MOST_BYTES);
        assert_eq!(smallest_of([MOST_BYTES + 1, 7, 1], page).len(), 7);
        assert_eq!(
            smallest_of([MOST_BYTES + 2, MOST_BYTES + 1], page).len(),
            MOST_BYTES + 1
        );
    }
}
