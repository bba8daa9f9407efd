//! How much processor time it takes to replay a trace through the full simulation, with and without reading it.
//!
//! `cargo run --release -p moonquake-policy --example replay TRACE [RUNS]`, where TRACE may be the public conversation trace.

use moonquake_figures::{Cell, Measured, Table};
use moonquake_policy::policies::Kind;
use moonquake_policy::sim::{Config, run_kind};
use moonquake_policy::trace::{Reading, Ticks, read};
use std::path::PathBuf;

const RUNS: u32 = 15;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = PathBuf::from(words.next().ok_or("name the file of a trace")?);
    let runs = words.next().map_or(Ok(RUNS), |runs| runs.parse())?.max(1);
    let reading = Reading {
        ticks: Ticks::Spread { seed: 1 },
        ..Reading::default()
    };
    let config = Config::default();
    let trace = read(&path, &reading)?;
    let title = format!(
        "{} requests, {} references, {} blocks: milliseconds of processor time, least and median of {runs} runs",
        trace.requests.len(),
        trace.references.len(),
        trace.blocks()
    );
    let mut table = Table::<Measured>::new("replay", title)
        .column("policy", "policy")
        .column("simulate_min_us", "simulate, least")
        .column("simulate_median_us", "median")
        .column("read_and_simulate_min_us", "read and simulate, least")
        .column("read_and_simulate_median_us", "median")
        .column("hit_tokens", "hit tokens");
    for kind in Kind::ALL {
        let (mut simulated, mut both, mut hits) = (Vec::new(), Vec::new(), 0);
        for _ in 0..runs {
            let began = cpu_ns()?;
            let trace = read(&path, &reading)?;
            let was_read = cpu_ns()?;
            hits = run_kind(kind, &trace, &config)?.hit_tokens;
            let ended = cpu_ns()?;
            simulated.push(ended - was_read);
            both.push(ended - began);
        }
        let mut cells = vec![Cell::Text(kind.name().to_owned())];
        for mut all in [simulated, both] {
            all.sort_unstable();
            cells.extend([all[0], all[all.len() / 2]].map(shown));
        }
        cells.push(Cell::Whole(hits.into()));
        table.row(cells);
    }
    table.notes.push(
        "One thread; the kernel's count of its time on a processor (/proc/thread-self/schedstat).".to_owned(),
    );
    table.notes.extend(trace.notes);
    println!("{}", table.text());
    Ok(())
}

/// Milliseconds for people, microseconds for machines.
fn shown(ns: u64) -> Cell {
    Cell::Shown(
        format!("{}.{:02}", ns / 1_000_000, ns / 10_000 % 100),
        (ns / 1_000).into(),
    )
}

/// Nanoseconds that this thread was on a processor. The kernel brings its count up to date when a thread yields.
fn cpu_ns() -> Result<u64, Box<dyn std::error::Error>> {
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text
        .split_whitespace()
        .next()
        .ok_or("schedstat is empty")?
        .parse()?)
}
