//! Moonquake finds out, on purpose and on time, what Mooncake Store does when something breaks.
//!
//! This crate is the command line: it finds files, asks the other crates, and shows what they say.

mod commands;
mod embedded;
mod engines;
mod error;
mod exit;
mod folder;
mod library;
mod out;
mod quantity;
mod reach;
mod replace;
mod run;
mod select;
mod stop;
mod suggest;
mod templates;

use clap::Parser;
use clap::error::ErrorKind;
use commands::Command;
use exit::Exit;
use out::Out;
use std::process::ExitCode;
use tracing_appender::non_blocking::WorkerGuard;

/// Finds out, on purpose and on time, what Mooncake Store does when something breaks.
///
/// A scenario file selects one fault. Moonquake runs it on a deterministic model of the store, or on the unmodified C++
/// client, the unmodified master, or both, and writes a postmortem in which every claim names the events that it rests on.
#[derive(Debug, Parser)]
#[command(name = "moonquake", version, after_long_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  moonquake run                               every scenario on the model
  moonquake run lease --engine model,master   those with `lease` in their id, on both engines
  moonquake diff lease/remove-at-the-boundary client and master, each the Rust one and the real one: where they part
  moonquake explain lease/remove-at           what a scenario does, with every instant resolved
  moonquake doctor                            which engines can be had here, and what to do about the others

Exit codes: 0 as the files say, 1 a verdict differs, 2 an injection could not be proven, 3 engines disagree,
64 wrong command line or file, 69 an engine is not installed, 70 a fault of the harness, 129 SIGHUP,
130 Ctrl-C, 131 SIGQUIT, 143 SIGTERM.";

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refused(&error).into(),
    };
    let _log = log_if_asked();
    let mut out = Out::default();
    let done = cli.command.execute(&mut out);
    let mut exit = done.unwrap_or_else(|error| {
        error.show();
        error.exit()
    });
    if let Err(error) = out.finish() {
        error.show();
        exit = exit.worst(error.exit());
    }
    exit.into()
}

/// Shows what clap says: help and version, or what is wrong with the command line.
fn refused(error: &clap::Error) -> Exit {
    // Whoever closes the pipe has seen enough.
    let _nobody_reads = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Ok,
        _ => Exit::Usage,
    }
}

/// Shows the log of the engines on standard error, as the variable `MOONQUAKE_LOG` says (`debug`, `moonquake_net=trace`), as long
/// as the guard is there. A thread of its own writes: when nobody reads, lines are lost and nothing waits.
fn log_if_asked() -> Option<WorkerGuard> {
    let filter = std::env::var("MOONQUAKE_LOG").ok()?;
    let (writer, guard) = tracing_appender::non_blocking(std::io::stderr());
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_writer(writer)
        .init();
    Some(guard)
}
