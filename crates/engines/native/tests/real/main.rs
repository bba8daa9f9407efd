//! Process control, proven on the unmodified master.
//!
//! Every test here starts real processes. `MOONQUAKE_NO_REAL=1` turns them into ignored tests of kind `opted-out`.

#![allow(
    clippy::disallowed_methods,
    reason = "a real process is waited for in real time, with limits"
)]

mod boundaries;
mod client_page;
mod clients;
mod determinism;
mod echo;
mod edges;
mod leftovers;
mod observer;
mod pair;
mod refusals;
mod rig;
mod same;
mod steering;
mod strict;

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;

/// A test by name.
type Test = (&'static str, fn());

fn main() -> ExitCode {
    if leftovers::victim_was_asked_for() || clients::agent::victim_was_asked_for() {
        return ExitCode::SUCCESS;
    }
    let opted_out =
        std::env::var_os("MOONQUAKE_NO_REAL").is_some_and(|value| !value.is_empty() && value != "0");
    let all = [
        boundaries::TESTS,
        clients::agent::TESTS,
        clients::life::TESTS,
        clients::many::TESTS,
        clients::session::TESTS,
        clients::sight::TESTS,
        client_page::TESTS[0],
        client_page::TESTS[1],
        client_page::TESTS[2],
        determinism::TESTS,
        echo::TESTS,
        edges::copies::TESTS,
        edges::disks::TESTS,
        edges::memory::TESTS,
        edges::probes::TESTS,
        edges::segments::TESTS,
        edges::tasks::TESTS,
        edges::writes::TESTS,
        leftovers::TESTS,
        observer::TESTS,
        refusals::TESTS,
        same::TESTS,
        steering::TESTS,
        strict::TESTS,
    ];
    let trials = all
        .into_iter()
        .flatten()
        .map(|(name, test)| {
            let run = move || -> Result<(), Failed> {
                strict::begin(name);
                test();
                strict::finish();
                Ok(())
            };
            Trial::test(*name, run)
                .with_ignored_flag(opted_out)
                .with_kind(if opted_out { "opted-out" } else { "" })
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
