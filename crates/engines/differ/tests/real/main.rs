//! Random histories against the unmodified master.
//!
//! Every test here starts real processes. `MOONQUAKE_NO_REAL=1` turns them into ignored tests of kind `opted-out`.

mod histories;
mod lost;
mod planted;
mod resets;

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;

/// A test by name.
type Test = (&'static str, fn());

fn main() -> ExitCode {
    let opted_out =
        std::env::var_os("MOONQUAKE_NO_REAL").is_some_and(|value| !value.is_empty() && value != "0");
    let all = [histories::TESTS, lost::TESTS, planted::TESTS, resets::TESTS];
    let trials = all
        .into_iter()
        .flatten()
        .map(|(name, test)| {
            let run = move || -> Result<(), Failed> {
                test();
                Ok(())
            };
            Trial::test(*name, run)
                .with_ignored_flag(opted_out)
                .with_kind(if opted_out { "opted-out" } else { "" })
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
