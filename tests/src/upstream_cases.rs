//! Upstream's own tests: which test or scenario here shows the same, and why some are shown by none.

use crate::{fixtures, named};
use moonquake_scenario::Plan;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Upstream's test files of which every case has a row, and how many cases each has.
const FILES: &[(&str, usize)] = &[
    ("master_service_test", 156),
    ("master_scenario_test", 21),
    ("master_service_scenario_test", 12),
    ("master_service_evict_scenario_test", 13),
    ("master_service_processing_key_double_erase_test", 1),
    ("master_service_ssd_test", 25),
    ("batch_remove_test", 7),
    ("client_integration_test", 23),
    ("non_ha_reconnect_test", 3),
    ("rpc_timeout_test", 3),
];

/// Where the tests lie that tell these cases and nothing else.
const FOLDER: &str = "crates/master/tests/upstream";

/// One row of `fixtures/upstream-cases.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Upstream's test file, without its ending.
    pub file: String,
    /// The case; `*` stands for all cases of a file that are not listed one by one.
    pub case: String,
    /// What it asserts.
    pub asserts: String,
    /// The tests here that assert the same.
    #[serde(default)]
    pub tests: Vec<String>,
    /// The scenarios that show the same.
    #[serde(default)]
    pub scenarios: Vec<String>,
    /// Why there is neither.
    pub reason: Option<String>,
    /// What is told otherwise here.
    pub note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

/// Reads the cases.
///
/// # Panics
/// When the file is not there or does not parse.
pub fn cases() -> Vec<Case> {
    fixtures::read::<Cases>("upstream-cases.toml").case
}

/// What is wrong with the list: a case twice, a wrong number of cases, a test or scenario that is not there, a row that
/// says neither or too much.
pub fn problems(cases: &[Case], plans: &BTreeMap<String, Plan>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for case in cases {
        let id = format!("{} {}", case.file, case.case);
        if !seen.insert((&case.file, &case.case)) {
            problems.push(format!("{id} stands there twice"));
        }
        let told = !case.tests.is_empty() || !case.scenarios.is_empty();
        if told == case.reason.is_some() {
            problems.push(format!("{id} needs either a test or scenario, or a reason"));
        }
        let missing = case.scenarios.iter().filter(|name| !plans.contains_key(*name));
        problems.extend(missing.map(|name| format!("{id} names {name}, which is no scenario")));
        let missing = case.tests.iter().filter_map(|test| named::problem(test));
        problems.extend(missing.map(|why| format!("{id}: {why}")));
    }
    for (file, wanted) in FILES {
        let count = cases
            .iter()
            .filter(|case| case.file == *file && case.case != "*")
            .count();
        if count != *wanted {
            problems.push(format!("{file} has {wanted} cases and {count} rows"));
        }
    }
    problems
}

/// Every test of the folder that tells cases must be named, and by one row.
pub fn orphans(cases: &[Case]) -> Vec<String> {
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for test in cases.iter().flat_map(|case| &case.tests) {
        *named.entry(test.clone()).or_default() += 1;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FOLDER);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{FOLDER}: {error}"));
    let mut files: Vec<String> = entries
        .map(|entry| {
            entry
                .unwrap_or_else(|error| panic!("{FOLDER}: {error}"))
                .file_name()
        })
        .map(|name| format!("{FOLDER}/{}", name.to_string_lossy()))
        .collect();
    files.sort();
    let tests = files.iter().flat_map(|file| {
        named::tests_of(file)
            .into_iter()
            .map(move |name| format!("{file}:{name}"))
    });
    tests
        .filter_map(|test| match named.get(&test) {
            Some(1) => None,
            count => Some(format!("{test} is named by {} rows", count.copied().unwrap_or(0))),
        })
        .collect()
}

/// A test as a link with its module and name.
pub(crate) fn test_link(reference: &str) -> String {
    let (path, name) = reference.rsplit_once(':').unwrap_or((reference, ""));
    format!("[{name}](../{path})")
}

fn shown_by(case: &Case) -> String {
    let scenarios = case
        .scenarios
        .iter()
        .map(|name| format!("scenario [{name}](../scenarios/{name}.scenario.toml)"));
    let tests = case.tests.iter().map(|test| test_link(test));
    let all: Vec<String> = tests.chain(scenarios).collect();
    match &case.note {
        Some(note) => format!("{}. {note}", all.join(", ")),
        None => all.join(", "),
    }
}

fn table(text: &mut String, rows: &[&Case]) {
    *text += "| Case | What it asserts | Here |\n|---|---|---|\n";
    for case in rows {
        let here = match &case.reason {
            Some(reason) => format!("none: {reason}"),
            None => shown_by(case),
        };
        let _ = writeln!(text, "| {} | {} | {here} |", case.case, case.asserts);
    }
}

/// The table for people.
pub fn render(cases: &[Case]) -> String {
    let one_by_one: Vec<&Case> = cases.iter().filter(|case| case.case != "*").collect();
    let told = one_by_one.iter().filter(|case| case.reason.is_none()).count();
    let mut text = format!(
        "# Upstream's own cases\n\n\
         What upstream's tests assert of the store, and what shows the same here: {told} of {} cases by a test or a\n\
         scenario, in virtual time; the others with the reason why by none. Made of `fixtures/upstream-cases.toml`, which\n\
         tests hold to its word; renew with `{}`.\n",
        one_by_one.len(),
        crate::kept::RENEW,
    );
    for (file, _) in FILES {
        let rows: Vec<&Case> = one_by_one
            .iter()
            .copied()
            .filter(|case| case.file == *file)
            .collect();
        let told = rows.iter().filter(|case| case.reason.is_none()).count();
        let _ = writeln!(text, "\n## {file}\n\n{told} of {} are shown here.\n", rows.len());
        table(&mut text, &rows);
    }
    text += "\n## Other files\n\nOne row a file.\n\n| File | What it asserts | Here |\n|---|---|---|\n";
    for case in cases.iter().filter(|case| case.case == "*") {
        let here = match &case.reason {
            Some(reason) => format!("none: {reason}"),
            None => shown_by(case),
        };
        let _ = writeln!(text, "| {} | {} | {here} |", case.file, case.asserts);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, tests: &[&str], scenarios: &[&str], reason: Option<&str>) -> Case {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Case {
            file: "rpc_timeout_test".to_owned(),
            case: name.to_owned(),
            asserts: String::new(),
            tests: owned(tests),
            scenarios: owned(scenarios),
            reason: reason.map(str::to_owned),
            note: None,
        }
    }

    #[test]
    fn a_bad_row_is_told() {
        let good = "tests/src/upstream_cases.rs:a_bad_row_is_told";
        let bad = [
            case("Neither", &[], &[], None),
            case("Both", &[good], &[], Some("a test and a reason")),
            case("Twice", &[good], &[], None),
            case("Twice", &[good], &[], None),
            case("NoTest", &["tests/src/upstream_cases.rs:missing"], &[], None),
            case("NoScenario", &[], &["no/such"], None),
        ];
        let told = problems(&bad, &BTreeMap::new()).join("\n");
        for word in [
            "Neither needs either",
            "Both needs either",
            "Twice stands there twice",
            "has no test missing",
            "no/such, which is no scenario",
            "rpc_timeout_test has 3 cases and 6 rows",
            "master_service_test has 156 cases and 0 rows",
        ] {
            assert!(told.contains(word), "{word} is missing in\n{told}");
        }
        assert!(!told.contains("Twice needs"));
    }

    #[test]
    fn a_test_that_no_row_names_is_told() {
        let told = orphans(&[]);
        assert!(told.len() > 100 && told[0].ends_with("is named by 0 rows"));
    }
}
