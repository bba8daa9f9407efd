//! The served master and the real one side by side: processor time of the server per operation, operations per second
//! and memory per object, in one run, alternating, under one load.
//!
//! `cargo bench -p moonquake --bench served` builds what it needs and prints tables (`-- --help` lists options). The
//! servers are children of this process: `moonquake serve` as it is built, the unmodified `mooncake_master` as anybody
//! would start it, and echoes that answer without looking. Without `--bench` on its command line, as a test runner
//! starts it, this is a test that makes each kind of measurement once.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads clocks, and a peer with a connection is a thread"
)]

mod args;
mod connection;
mod echo;
mod frames;
mod load;
mod memory;
mod rounds;
mod servers;
mod smoke;
mod tables;
mod work;

use args::Args;
use clap::Parser as _;
use std::process::ExitCode;

/// What a measurement ends with if it cannot be made.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let words = || std::env::args().skip(1);
    if let Some(shape) = words().skip_while(|word| word != echo::ROLE).nth(1) {
        return told(echo::serve(&shape));
    }
    if !words().any(|word| word == "--bench") {
        return smoke::run();
    }
    let args = Args::parse_from(std::env::args().filter(|word| word != "--bench"));
    told(measure(&args))
}

fn measure(args: &Args) -> Result<(), Failure> {
    let stop = args::Stop::listen()?;
    if args.objects > 0 {
        let figures = memory::measure(args.objects, &stop)?;
        return tables::print_memory(&figures, args.json);
    }
    let samples = rounds::measure(args, &stop)?;
    tables::print_rounds(args, &samples, args.json)
}

fn told(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
