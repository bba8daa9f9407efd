//! Each kind of measurement once, as a test: nothing about speed, everything about right answers.

use crate::args::{Args, Stop};
use crate::servers::Kind;
use crate::work::Work;
use crate::{Failure, memory, rounds};
use clap::Parser as _;
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;

pub(crate) fn run() -> ExitCode {
    let trials = vec![
        Trial::test("every_server_answers_every_load", || failed(every_load())),
        Trial::test("memory_is_measured", || failed(memory())),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn failed(result: Result<(), Failure>) -> Result<(), Failed> {
    result.map_err(|error| Failed::from(error.to_string()))
}

fn every_load() -> Result<(), Failure> {
    let args = Args::try_parse_from([
        "served",
        "--rounds=1",
        "--singles=40",
        "--batches=4",
        "--stored=256",
        "--connections=1,4",
    ])?;
    let samples = rounds::measure(&args, &Stop::default())?;
    // Every answer was looked at on the way: one that was refused is an error.
    let wanted = Kind::ALL.len() * Work::ALL.len() * args.connections.len();
    match samples.len() == wanted && samples.iter().all(|sample| sample.rate > 0.0) {
        true => Ok(()),
        false => Err(format!("{wanted} turns were wanted, these were made: {samples:?}").into()),
    }
}

fn memory() -> Result<(), Failure> {
    let held = memory::measure(1_280, &Stop::default())?;
    match held
        .iter()
        .all(|held| held.objects == 1_280 && held.after >= held.before)
    {
        true => Ok(()),
        false => Err(format!("{held:?}").into()),
    }
}
