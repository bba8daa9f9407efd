//! Hits of flattened unit blocks: one reference after the other, no time, no prefixes, no bytes.

use super::forms::{paragraph, smallest_of};
use super::measure::ppm;
use super::tables::text;
use moonquake_figures::{Axis, Cell, Chart, Origin, Page, Point, Scale, Simulated, Table, Unit};
use serde_json::{Value, json};

/// How often a policy hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockHits {
    /// The workload's name, or the trace file.
    pub workload: String,
    /// The policy's name, as on the command line; `infinite` for a cache that forgets nothing.
    pub policy: String,
    /// Blocks that the cache holds; none where it forgets nothing.
    pub capacity_blocks: Option<u64>,
    /// References that found their block.
    pub hits: u64,
    /// References in all.
    pub references: u64,
}

/// Hits of several policies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockReport {
    /// In the order in which they are shown.
    pub rows: Vec<BlockHits>,
    /// What was found and done while reading or making the references, a sentence each.
    pub notes: Vec<String>,
}

const HOW: &str = "Each reference is one block of one size, in the order of the trace: no time, no prefixes, no bytes. Hits are \
                   exact; the share is rounded half up. Such hits say nothing about latency.";

impl BlockReport {
    /// Hits, references and share of each policy.
    pub fn table(&self) -> Table<Simulated> {
        let mut table = Table::new("block_hits", "Hits of flattened blocks")
            .column("workload", "workload")
            .column("policy", "policy")
            .column("capacity_blocks", "capacity in blocks")
            .column("hits", "hits")
            .column("references", "references")
            .column("hit_rate_ppm", "share");
        for row in &self.rows {
            table.row([
                text(&row.workload),
                text(&row.policy),
                row.capacity_blocks
                    .map_or(Cell::Absent, |blocks| Cell::Whole(blocks.into())),
                Cell::Whole(row.hits.into()),
                Cell::Whole(row.references.into()),
                Cell::of(Unit::Ppm, row.share_ppm()),
            ]);
        }
        table.notes.push(HOW.to_owned());
        table
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let mut table = self.table();
        table.notes.clear();
        let mut text = table.text();
        for note in self
            .notes
            .iter()
            .map(String::as_str)
            .chain([HOW, Simulated::SAYS])
        {
            text.push('\n');
            text.push_str(&paragraph(note));
        }
        text
    }

    /// For machines: an object whose `rows` are the hits.
    pub fn json(&self) -> Value {
        let table = self.table();
        let rows = table.json()["rows"].take();
        let notes: Vec<&String> = table.notes.iter().chain(&self.notes).collect();
        json!({ "schema": 1, "table": table.name, "origin": Simulated::WORD, "rows": rows, "notes": notes })
    }

    /// The share of hits of a workload: over capacity where there are several, else a bar a policy.
    pub fn chart(&self, workload: &str) -> Chart<Simulated> {
        let rows: Vec<&BlockHits> = self.rows.iter().filter(|row| row.workload == workload).collect();
        let policies = super::each_once(rows.iter().map(|row| row.policy.as_str()));
        let title = format!("{workload}: share of blocks hit");
        let share = Axis::new("share of references that hit", Unit::Ppm);
        let mut capacities: Vec<u64> = rows.iter().filter_map(|row| row.capacity_blocks).collect();
        capacities.sort_unstable();
        capacities.dedup();
        let of = |policy: &str| {
            let points = rows.iter().filter(|row| row.policy == policy);
            points
                .map(|row| (row.capacity_blocks, row.share_ppm()))
                .collect::<Vec<_>>()
        };
        if capacities.len() < 2 {
            let names = policies.iter().map(|name| (*name).to_owned()).collect();
            let mut chart = Chart::bars("block_hits", &title, share, names);
            let bars = policies.iter().enumerate();
            chart.series(
                "hits",
                bars.flat_map(|(place, policy)| {
                    of(policy)
                        .into_iter()
                        .map(move |(_, y)| Point::new(place as u64, y))
                }),
            );
            return chart;
        }
        let across = Axis::new("capacity in blocks", Unit::Count).scale(Scale::Log);
        let mut chart = Chart::lines("block_hits", &title, across, share);
        for policy in policies {
            // What forgets nothing hits as much at every capacity.
            let points = of(policy).into_iter().flat_map(|(capacity, y)| match capacity {
                Some(x) => vec![Point::new(x, y)],
                None => capacities.iter().map(|x| Point::new(*x, y)).collect(),
            });
            let mut points: Vec<Point> = points.collect();
            points.sort_by_key(|point| point.x);
            chart.series(policy, points);
        }
        chart
    }

    /// One page that fetches nothing. The command is the one that makes it again. A page of more than 300 kB is made without
    /// charts.
    pub fn page(&self, command: &str) -> String {
        smallest_of([true, false], |has_charts| self.page_with(command, has_charts))
    }

    fn page_with(&self, command: &str, has_charts: bool) -> String {
        let mut page = Page::new("Hits of flattened blocks");
        for note in &self.notes {
            page.text(note);
        }
        page.command(command);
        let workloads = super::each_once(self.rows.iter().map(|row| row.workload.as_str()));
        match has_charts {
            true => workloads
                .iter()
                .for_each(|workload| page.chart(&self.chart(workload))),
            false => {
                page.text("Charts are left out, to keep this page small: name fewer loads or capacities.")
            }
        }
        page.table(&self.table());
        page.html()
    }
}

impl BlockHits {
    fn share_ppm(&self) -> u64 {
        ppm(self.hits.into(), self.references.into())
    }
}
