//! What was measured, as tables and as JSON.

use crate::Failure;
use crate::args::Args;
use crate::memory::Held;
use crate::rounds::Sample;
use crate::servers::Kind;
use crate::work::Work;
use moonquake_figures::{Cell, Measured, Table, Unit};
use serde_json::json;

/// What of a turn a table shows.
#[derive(Clone, Copy)]
struct Quantity {
    name: &'static str,
    title: &'static str,
    of: fn(&Sample) -> f64,
    show: fn(f64) -> String,
    /// Which of several echoes is the floor.
    best: fn(f64, f64) -> f64,
}

const CPU: Quantity = Quantity {
    name: "served_cpu_us",
    title: "Processor time of the server, microseconds an operation",
    of: |sample| sample.cpu_us,
    show: |value| format!("{value:.2}"),
    best: f64::min,
};

const RATE: Quantity = Quantity {
    name: "served_per_second",
    title: "Operations a second",
    of: |sample| sample.rate,
    show: |value| format!("{value:.0}"),
    best: f64::max,
};

/// Prints both tables.
pub(crate) fn print_rounds(args: &Args, samples: &[Sample], as_json: bool) -> Result<(), Failure> {
    let tables = [CPU, RATE].map(|quantity| table(args, samples, quantity));
    print(&tables, as_json)
}

/// Prints the table of memory.
pub(crate) fn print_memory(held: &[Held], as_json: bool) -> Result<(), Failure> {
    let mut table = Table::<Measured>::new("served_memory", "Resident memory of a master")
        .column("server", "server")
        .column("objects", "objects")
        .column("before_bytes", "before")
        .column("after_bytes", "after")
        .column("bytes_per_object", "bytes/object");
    for held in held {
        let grown = held.after.saturating_sub(held.before);
        table.row([
            Cell::Text(held.kind.title().to_owned()),
            Cell::Whole(held.objects as u128),
            Cell::of(Unit::Bytes, held.before),
            Cell::of(Unit::Bytes, held.after),
            Cell::Whole(u128::from(grown) / (held.objects as u128).max(1)),
        ]);
    }
    print(&[table], as_json)
}

fn print(tables: &[Table<Measured>], as_json: bool) -> Result<(), Failure> {
    if as_json {
        let tables: Vec<_> = tables.iter().map(Table::json).collect();
        println!("{}", serde_json::to_string_pretty(&json!({ "tables": tables }))?);
        return Ok(());
    }
    for table in tables {
        println!("{}", table.text());
    }
    Ok(())
}

fn table(args: &Args, samples: &[Sample], quantity: Quantity) -> Table<Measured> {
    let mut table = Table::new(quantity.name, quantity.title)
        .column("operation", "operation")
        .column("connections", "conns");
    for kind in &args.servers {
        table = table.column(kind.name(), kind.title());
    }
    table = table
        .column("to_real", "to real")
        .column("to_echo", "to best echo");
    for &work in &args.work {
        for &connections in &args.connections {
            let of = |kind: Kind| values(samples, quantity, work, connections, kind);
            let mut row = vec![
                Cell::Text(work.title().to_owned()),
                Cell::Whole(connections as u128),
            ];
            row.extend(args.servers.iter().map(|&kind| spread(&of(kind), quantity)));
            row.push(ratio(&of(Kind::Ours), &of(Kind::Real)));
            row.push(ratio(&of(Kind::Ours), &floor(args, quantity, of)));
            table.row(row);
        }
    }
    table.notes.push(format!(
        "Medians of {} rounds, in each of which every server had its turn; behind +- is half of what the middle half of the rounds \
         spans. A batch has {} keys. Ratios are medians of the ratios of single rounds.",
        args.rounds,
        crate::work::BATCH_KEYS
    ));
    table
}

/// One value a round, in the order of the rounds.
fn values(samples: &[Sample], quantity: Quantity, work: Work, connections: usize, kind: Kind) -> Vec<f64> {
    let meant =
        |sample: &&Sample| (sample.work, sample.connections, sample.kind) == (work, connections.max(1), kind);
    samples.iter().filter(meant).map(quantity.of).collect()
}

/// The values of the echo whose median is the best.
fn floor(args: &Args, quantity: Quantity, of: impl Fn(Kind) -> Vec<f64>) -> Vec<f64> {
    let echoes = args.servers.iter().filter(|kind| !kind.is_master());
    echoes.map(|&kind| of(kind)).fold(Vec::new(), |best, values| {
        let (one, other) = (quantile(&best, 0.5), quantile(&values, 0.5));
        match (one, other) {
            (Some(one), Some(other)) if (quantity.best)(one, other) == one => best,
            _ => values,
        }
    })
}

fn spread(values: &[f64], quantity: Quantity) -> Cell {
    let [Some(low), Some(median), Some(high)] = [0.25, 0.5, 0.75].map(|at| quantile(values, at)) else {
        return Cell::Absent;
    };
    let half = (high - low) / 2.0;
    Cell::Shown(
        format!("{} +-{}", (quantity.show)(median), (quantity.show)(half)),
        json!({ "median": median, "quarter": low, "three_quarters": high }),
    )
}

fn ratio(ours: &[f64], others: &[f64]) -> Cell {
    let ratios: Vec<f64> = ours
        .iter()
        .zip(others)
        .map(|(ours, other)| ours / other)
        .collect();
    match quantile(&ratios, 0.5) {
        Some(median) => Cell::Shown(format!("{median:.2}"), json!(median)),
        None => Cell::Absent,
    }
}

fn quantile(values: &[f64], at: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * at).round() as usize).copied()
}
