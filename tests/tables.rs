//! The tables that are made of the code and the scenarios: what can break and who notices, what comes out on which engine,
//! and the field cases.
//!
//! 3. Every quirk, every part of every deadline and every guard is noticed by a scenario, and every scenario notices
//!    one of them.

use moonquake_scenario::Plan;
use moonquake_tests::{
    breaks, engines, field_cases, kept, matrix, plan_of, scenario_files, sharp_edges, short_name,
    upstream_cases,
};
use std::collections::BTreeMap;

/// Scenarios that nothing in the store can break, because they are about something else: this one says that a phase
/// that is never reached is not reproduced, whatever the store does.
const EXCUSED: &[&str] = &["crash/phase-never-reached"];

#[test]
fn model_everything_that_breaks_is_noticed() {
    let rows = breaks::survey();
    let gaps = matrix::gaps(&rows, EXCUSED);
    assert!(gaps.is_empty(), "{}", gaps.join("\n"));
    kept::compare("scenarios/MATRIX.md", &matrix::render(&rows)).unwrap_or_else(|why| panic!("{why}"));
}

fn plans() -> BTreeMap<String, Plan> {
    let plan = |file: &std::path::PathBuf| (short_name(file), plan_of(file));
    scenario_files().iter().map(plan).collect()
}

#[test]
fn every_scenario_claims_what_comes_out_on_every_engine() {
    let plans = plans();
    let problems = engines::problems(&plans);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    kept::compare("scenarios/ENGINES.md", &engines::render(&plans)).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn field_cases_are_told() {
    let (cases, plans) = (field_cases::cases(), plans());
    let problems = field_cases::problems(&cases, &plans);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let table = field_cases::render(&cases, &plans);
    kept::compare("scenarios/FIELD-CASES.md", &table).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn upstream_cases_are_told() {
    let cases = upstream_cases::cases();
    let mut problems = upstream_cases::problems(&cases, &plans());
    problems.extend(upstream_cases::orphans(&cases));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let table = upstream_cases::render(&cases);
    kept::compare("tests/UPSTREAM-CASES.md", &table).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn sharp_edges_are_told() {
    let (edges, plans) = (sharp_edges::edges(), plans());
    let mut problems = sharp_edges::problems(&edges, &plans);
    problems.extend(sharp_edges::orphans(&edges));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let table = sharp_edges::render(&edges, &plans);
    kept::compare("scenarios/SHARP-EDGES.md", &table).unwrap_or_else(|why| panic!("{why}"));
}
