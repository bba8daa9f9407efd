//! The tables that are made of the code and the scenarios: what can break and who notices, and the field cases.
//!
//! 3. Every quirk, every part of every deadline and every guard is noticed by a scenario, and every scenario notices
//!    one of them.

use moonquake_faults::QUIRKS;
use moonquake_tests::{breaks, field_cases, matrix, plan_of, scenario_files, short_name};

/// Scenarios that nothing in the store can break, because they are about something else.
const EXCUSED: &[&str] = &[];

#[test]
fn model_everything_that_breaks_is_noticed() {
    let rows = breaks::survey();
    println!("{}", matrix::render(&rows));
    // Scenarios for the rest are being written; then all of this is demanded, and the table kept.
    let (demanded, wanted): (Vec<_>, Vec<_>) = matrix::gaps(&rows, EXCUSED)
        .into_iter()
        .partition(|gap| QUIRKS.iter().any(|row| gap.ends_with(row.name)));
    println!("{}", wanted.join("\n"));
    assert!(demanded.is_empty(), "{}", demanded.join("\n"));
}

#[test]
fn field_cases_are_told() {
    let plans = scenario_files()
        .iter()
        .map(|file| (short_name(file), plan_of(file)))
        .collect();
    let cases = field_cases::cases();
    println!("{}", field_cases::render(&cases, &plans));
    println!("{}", field_cases::problems(&cases, &plans).join("\n"));
}
