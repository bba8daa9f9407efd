//! Measures what steering a real master costs, and prints it as the table of this crate's README.
//!
//! `cargo run --release -p moonquake-native --example measure`

#![allow(
    clippy::disallowed_methods,
    reason = "a real process is waited for in real time, with limits"
)]

use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span, Thread};
use moonquake_native::process::{MasterProcess, ProcessError, StartOptions};
use std::time::{Duration, Instant};

const STARTS: usize = 40;
const TICKS: usize = 2_000;
const IDLE: Duration = Duration::from_secs(10);

fn main() -> Result<(), ProcessError> {
    println!("| what | median | lowest | highest | repetitions |");
    println!("|---|---|---|---|---|");
    let mut starts = Vec::new();
    let mut answers = Vec::new();
    let mut stops = Vec::new();
    let mut kills = Vec::new();
    for _ in 0..STARTS {
        let (master, start) = timed(start)?;
        starts.push(start);
        answers.push(timed(|| Ok(master.admin().metrics()?))?.1);
        stops.push(timed(|| master.stop())?.1);
        let master = self::start()?;
        kills.push(timed(|| master.kill())?.1);
    }
    row("start until reachable and asleep", &mut starts);
    row("first answer of the admin server", &mut answers);
    row("stop in order", &mut stops);
    row("kill", &mut kills);

    let master = start()?;
    for thread in Thread::ALL {
        let mut ticks = Vec::new();
        for _ in 0..TICKS {
            master.set_clocks(master.clocks() + Span::from_ns(1));
            ticks.push(timed(|| master.tick(thread))?.1);
        }
        row(&format!("tick of `{}`", thread.name()), &mut ticks);
    }
    let mut sweeps = Vec::new();
    for _ in 0..STARTS {
        master.set_clocks(master.clocks() + Span::from_secs(601));
        sweeps.push(timed(|| master.tick(Thread::Eviction))?.1);
    }
    row("tick of `eviction` with a sweep due", &mut sweeps);

    let before = master.cpu_time()?;
    let started = Instant::now();
    // The measurement is of real time in which nothing happens.
    std::thread::sleep(IDLE);
    let share = (master.cpu_time()? - before).as_secs_f64() / started.elapsed().as_secs_f64();
    println!(
        "| idle, of one core | {:.3} % | | | {} s |",
        share * 100.0,
        IDLE.as_secs()
    );
    Ok(())
}

fn start() -> Result<MasterProcess, ProcessError> {
    let clocks = Clocks {
        realtime: RealtimeNs(1_767_225_600_000_000_000),
        monotonic: MonotonicNs(864_000_000_000_000),
    };
    MasterProcess::start(StartOptions {
        clocks,
        ..StartOptions::default()
    })
}

fn timed<T>(run: impl FnOnce() -> Result<T, ProcessError>) -> Result<(T, Duration), ProcessError> {
    let started = Instant::now();
    let value = run()?;
    Ok((value, started.elapsed()))
}

fn row(what: &str, times: &mut [Duration]) {
    times.sort();
    let (lowest, highest) = (times[0], times[times.len() - 1]);
    let median = times[times.len() / 2];
    println!(
        "| {what} | {median:.1?} | {lowest:.1?} | {highest:.1?} | {} |",
        times.len()
    );
}
