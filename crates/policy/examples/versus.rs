//! Replays the same table of references here and by PyPI `libcachesim`, in turns, and prints the ratios.
//!
//! `cargo run --release -p moonquake-policy --example versus -- TRACE [CAPACITY] [ROUNDS]`, TRACE as JSON lines or CSV. It is
//! written as a CSV (`time,obj_id,obj_size`) that both sides read from the disk; reading and replaying count, starting Python
//! does not. Both sides are timed by the CPU time of their process. libcachesim gets a hash table for the capacity, not its
//! default for 16 million objects, which would make it slower. Its Belady cannot read a CSV: it gets a binary table that says of
//! each reference when the next one comes, while ours reads the CSV and finds that out. The package is sought where `LIBCACHESIM` says, else where Python
//! looks: `pip install --target DIR libcachesim`, then `LIBCACHESIM=DIR`.

use moonquake_figures::{Cell, Measured, Table};
use moonquake_policy::flat;
use moonquake_policy::policies::Kind;
use moonquake_policy::trace::{MOONCAKE_BLOCK_TOKENS, read_references};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Ours, and the nearest to it there.
const PAIRS: &[(Kind, &str)] = &[
    (Kind::Lru, "LRU"),
    (Kind::Fifo, "FIFO"),
    (Kind::Sieve, "Sieve"),
    (Kind::TinyLfu, "WTinyLFU"),
    (Kind::TimeSaved, "GDSF"),
    (Kind::Belady, "Belady"),
];

/// How often ours is done for one figure: the kernel counts CPU time in steps of up to 4 ms.
const TIMES: u64 = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, other| arguments.get(at).map_or(Some(other), |word| word.parse().ok());
    let (Some(trace), Some(capacity), Some(rounds @ 1..)) =
        (arguments.first(), number(1, 10_000), number(2, 9))
    else {
        eprintln!("usage: versus TRACE [CAPACITY in blocks] [ROUNDS]");
        return ExitCode::from(64);
    };
    match versus(Path::new(trace), capacity, rounds) {
        Ok(table) => {
            print!("{}", table.text());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(69)
        }
    }
}

fn versus(trace: &Path, capacity: usize, rounds: usize) -> Result<Table<Measured>, String> {
    let (csv, oracle) = written(trace)?;
    let mut table = Table::new(
        "versus",
        format!("Reading and replaying {} at {capacity} blocks", trace.display()),
    )
    .column("policy", "policy")
    .column("hits", "hits")
    .column("cpu_ns", "CPU ms")
    .column("libcachesim", "libcachesim")
    .column("libcachesim_hits", "hits")
    .column("libcachesim_cpu_ns", "CPU ms")
    .column("times_faster", "times faster");
    for &(kind, name) in PAIRS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut hits = (0, 0);
        for _ in 0..rounds {
            let before = cpu_ns()?;
            for _ in 0..TIMES {
                let read = read_references(&csv, MOONCAKE_BLOCK_TOKENS).map_err(|wrong| wrong.to_string())?;
                hits.0 = flat::replay_kind(kind, &read.references, read.blocks, capacity).hits;
            }
            ours.push(cpu_ns()?.saturating_sub(before) / TIMES);
            let (found, ns) = elsewhere(if kind == Kind::Belady { &oracle } else { &csv }, name, capacity)?;
            hits.1 = found;
            theirs.push(ns);
        }
        let (ours, theirs) = (median(ours), median(theirs));
        table.row([
            Cell::Text(kind.name().to_owned()),
            Cell::Whole(hits.0.into()),
            milliseconds(ours),
            Cell::Text(name.to_owned()),
            Cell::Whole(hits.1.into()),
            milliseconds(theirs),
            times(theirs, ours),
        ]);
    }
    table.notes.push(format!(
        "Medians of {rounds} rounds, in turns, one process at a time."
    ));
    table.notes.push(
        "lru, fifo, sieve and belady are the same policies on both sides; the others are the nearest ones and differ in detail. \
         libcachesim's Belady reads a table that has the next uses already."
            .to_owned(),
    );
    for file in [csv, oracle] {
        let _ = std::fs::remove_file(file);
    }
    Ok(table)
}

/// The references of a trace as a CSV and with their next uses, beside other temporary files.
fn written(trace: &Path) -> Result<(PathBuf, PathBuf), String> {
    let read = read_references(trace, MOONCAKE_BLOCK_TOKENS).map_err(|wrong| wrong.to_string())?;
    let mut text = String::from("time,obj_id,obj_size\n");
    let mut oracle = Vec::new();
    let next = flat::next_uses(&read.references, read.blocks);
    for (time, (block, next)) in read.references.iter().zip(next).enumerate() {
        // There an id of 0 would be none.
        let id = u64::from(block.0) + 1;
        let _ = writeln!(text, "{time},{id},1");
        // Time, object, size, and the number of its next use from 1, or -1.
        let next = i64::try_from(next).map_or(-1, |next| next + 1);
        oracle.extend(u32::try_from(time).unwrap_or(u32::MAX).to_le_bytes());
        oracle.extend(id.to_le_bytes());
        oracle.extend(1_u32.to_le_bytes());
        oracle.extend(next.to_le_bytes());
    }
    let put = |ending: &str, bytes: &[u8]| {
        let path = std::env::temp_dir().join(format!("moonquake-versus-{}.{ending}", std::process::id()));
        std::fs::write(&path, bytes).map_err(|wrong| format!("{}: {wrong}", path.display()))?;
        Ok::<PathBuf, String>(path)
    };
    Ok((put("csv", text.as_bytes())?, put("bin", &oracle)?))
}

/// Hits and CPU nanoseconds of one replay there.
fn elsewhere(csv: &Path, policy: &str, capacity: usize) -> Result<(u64, u64), String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/versus.py");
    let hash_power = capacity.max(2).next_power_of_two().ilog2() + 1;
    let mut python = Command::new("python3");
    python
        .arg(script)
        .arg(csv)
        .args([policy, &capacity.to_string(), &hash_power.to_string()]);
    if let Some(place) = std::env::var_os("LIBCACHESIM") {
        python.env("PYTHONPATH", place);
    }
    let ran = python
        .output()
        .map_err(|wrong| format!("python3: {wrong}; install Python 3"))?;
    let said = String::from_utf8_lossy(&ran.stdout);
    let mut words = said.lines().last().unwrap_or_default().split(' ').map(str::parse);
    match (words.next(), words.next()) {
        (Some(Ok(hits)), Some(Ok(ns))) => Ok((hits, ns)),
        _ => Err(format!(
            "libcachesim did not run; get it by `pip install --target DIR libcachesim` and set LIBCACHESIM=DIR\n{}",
            String::from_utf8_lossy(&ran.stderr)
        )),
    }
}

/// CPU time of this process so far, by the kernel's scheduler.
fn cpu_ns() -> Result<u64, String> {
    const FILE: &str = "/proc/self/schedstat";
    let text = std::fs::read_to_string(FILE).map_err(|wrong| format!("{FILE}: {wrong}; this needs Linux"))?;
    let first = text.split(' ').next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| format!("{FILE}: begins with no number"))
}

fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all[all.len() / 2]
}

fn milliseconds(ns: u64) -> Cell {
    Cell::Shown(format!("{}.{:02}", ns / 1_000_000, ns / 10_000 % 100), ns.into())
}

fn times(theirs: u64, ours: u64) -> Cell {
    let hundredths = theirs.saturating_mul(100) / ours.max(1);
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    Cell::Shown(text.clone(), text.into())
}
