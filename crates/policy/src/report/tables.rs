//! Tables of a load: two for people, and one for machines that has every figure.

use super::measure::{CACHE, TIME};
use super::{Case, Load, MEASURES, Measure, PERCENTILES, Report, Spread};
use moonquake_figures::{Cell, Simulated, Table};

/// Which part of a spread a row shows, with its word.
type Part = (&'static str, fn(&Spread) -> u64);

const PARTS: [Part; 3] = [
    ("mean", |spread| spread.mean),
    ("least", |spread| spread.min),
    ("most", |spread| spread.max),
];

impl Load {
    /// What the cache did, and what requests got.
    pub fn tables(&self) -> [Table<Simulated>; 2] {
        let cache = format!("{}: what the cache did", self.workload);
        let time = format!("{}: what requests got", self.workload);
        [
            self.table("cache", &cache, &CACHE),
            self.table("time", &time, &TIME),
        ]
    }

    fn table(&self, name: &str, title: &str, measures: &[Measure]) -> Table<Simulated> {
        let is_spread = self.has_several_seeds();
        let mut table = Table::new(name, title)
            .column("policy", "policy")
            .column("decision", "decision");
        if is_spread {
            table = table.column("of_seeds", "seeds");
        }
        for measure in measures {
            table = table.column(measure.key, measure.title);
        }
        let parts = if is_spread { &PARTS[..] } else { &PARTS[..1] };
        for case in &self.cases {
            for (word, part) in parts {
                let mut row = vec![text(&self.label(case)), text(&case.decision)];
                if is_spread {
                    row.push(text(word));
                }
                row.extend(
                    measures
                        .iter()
                        .map(|measure| Cell::of(measure.unit, part(&case.spread(*measure)))),
                );
                table.row(row);
            }
        }
        table
    }
}

impl Report {
    /// For machines: every figure of every case, with its spread over seeds.
    pub fn results(&self) -> Table<Simulated> {
        let mut table = naming("results", "Results").column("seeds", "seeds");
        for measure in MEASURES {
            for suffix in ["", "_min", "_max"] {
                table = table.column(format!("{}{suffix}", measure.key), measure.title);
            }
        }
        for (load, case) in self.cases() {
            let mut row = named(load, case);
            row.push(Cell::Whole(case.outcomes.len() as u128));
            for measure in MEASURES {
                let spread = case.spread(measure);
                let numbers = [spread.mean, spread.min, spread.max];
                row.extend(numbers.map(|number| Cell::Whole(number.into())));
            }
            table.row(row);
        }
        table.notes.push(PERCENTILES.to_owned());
        table
    }

    /// For machines: every figure of every run.
    pub fn runs(&self) -> Table<Simulated> {
        let mut table = naming("runs", "Runs").column("seed", "seed");
        for measure in MEASURES {
            table = table.column(measure.key, measure.title);
        }
        for (load, case) in self.cases() {
            for outcome in &case.outcomes {
                let mut row = named(load, case);
                row.push(Cell::Whole(outcome.seed.into()));
                row.extend(
                    MEASURES
                        .iter()
                        .map(|measure| Cell::Whole(measure.of(outcome).into())),
                );
                table.row(row);
            }
        }
        table
    }

    fn cases(&self) -> impl Iterator<Item = (&Load, &Case)> {
        self.loads
            .iter()
            .flat_map(|load| load.cases.iter().map(move |case| (load, case)))
    }
}

/// A table whose rows begin as [`named`] says.
fn naming(name: &str, title: &str) -> Table<Simulated> {
    Table::new(name, title)
        .column("workload", "workload")
        .column("policy", "policy")
        .column("capacity_blocks", "capacity in blocks")
        .column("decision", "decision")
}

/// What a row is about.
fn named(load: &Load, case: &Case) -> Vec<Cell> {
    let capacity = Cell::Whole(case.capacity_blocks.into());
    vec![
        text(&load.workload),
        text(&case.policy),
        capacity,
        text(&case.decision),
    ]
}

pub(super) fn text(words: &str) -> Cell {
    Cell::Text(words.to_owned())
}
