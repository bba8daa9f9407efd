//! The field cases: what is told by which scenario, what waits for what, and what is no case for this store.

use crate::fixtures;
use moonquake_faults::Profile;
use moonquake_scenario::{EngineKind, Plan, Verdict};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The public cases, by number. The list is the project's brief; the file must have a row for each.
const NUMBERS: &[(&str, &[u32])] = &[
    (
        "M",
        &[
            1, 2, 3, 5, 6, 7, 8, 11, 12, 14, 15, 17, 18, 19, 20, 22, 23, 24, 26, 27, 28, 29, 30, 32, 34, 37,
            38, 39, 41, 44, 46, 47, 49, 50, 52, 55, 56, 58, 59, 60, 61, 62, 63, 64, 66, 67, 70, 73, 74, 75,
            77, 79, 80, 81, 83, 85, 86, 88, 90, 92,
        ],
    ),
    ("X", &[1, 3, 5, 6, 8, 11, 12, 13, 15, 17]),
];

/// One case of `fixtures/field-cases.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its number, `M01`.
    pub id: String,
    /// The failure in one sentence.
    pub title: String,
    /// Where it was reported.
    pub see: Vec<String>,
    /// The scenarios that tell it.
    #[serde(default)]
    pub files: Vec<String>,
    /// What must be there first.
    pub waits: Option<String>,
    /// Why it waits, or why it is no case for this store.
    pub reason: Option<String>,
    /// What the scenarios tell otherwise than the report, and why.
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
    fixtures::read::<Cases>("field-cases.toml").case
}

/// What is wrong with the list: a number twice, missing or unknown, a file that is not there, a row that says neither
/// or too much.
pub fn problems(cases: &[Case], plans: &BTreeMap<String, Plan>) -> Vec<String> {
    let numbers = NUMBERS.iter();
    let wanted: BTreeSet<String> = numbers
        .flat_map(|(letter, numbers)| numbers.iter().map(move |number| format!("{letter}{number:02}")))
        .collect();
    let mut problems = Vec::new();
    let mut found = BTreeSet::new();
    for case in cases {
        if !wanted.contains(&case.id) {
            problems.push(format!("{} is no number of a field case", case.id));
        }
        if !found.insert(case.id.clone()) {
            problems.push(format!("{} stands there twice", case.id));
        }
        let shape = (case.files.is_empty(), &case.waits, &case.reason);
        if !matches!(shape, (false, None, None) | (true, _, Some(_))) {
            problems.push(format!(
                "{} needs either files, or a reason with or without what it waits for",
                case.id
            ));
        }
        for file in &case.files {
            match plans.get(file) {
                None => problems.push(format!("{} names {file}, which is no scenario", case.id)),
                Some(plan) => problems.extend(unclaimed(&case.id, file, plan)),
            }
        }
    }
    problems.extend(wanted.difference(&found).map(|id| format!("{id} has no row")));
    problems
}

/// A scenario that tells a case must say what comes out, in both profiles and on both engines, and reproduce it.
fn unclaimed(case: &str, file: &str, plan: &Plan) -> Vec<String> {
    let runs = [
        (Profile::Strict, EngineKind::Model),
        (Profile::Upstream, EngineKind::Model),
        (Profile::Upstream, EngineKind::Master),
    ];
    let missing = runs.iter().filter(|(profile, engine)| {
        plan.claim(*profile, *engine)
            .is_none_or(|line| line.is == Verdict::NotReproduced)
    });
    let told = |(profile, engine): &(Profile, EngineKind)| {
        format!(
            "{case} names {file}, which claims nothing for {} on {engine}",
            profile.name()
        )
    };
    missing.map(told).collect()
}

fn link(source: &str) -> String {
    if source.starts_with("https://") {
        let name = source.rsplit('/').next().unwrap_or(source);
        return format!("[{name}]({source})");
    }
    match source.split_once('#') {
        Some((repository, number)) => format!("[{source}](https://github.com/{repository}/issues/{number})"),
        None => source.to_owned(),
    }
}

fn head(case: &Case) -> String {
    let links: Vec<String> = case.see.iter().map(|source| link(source)).collect();
    let sources = if links.is_empty() {
        "observed on the release".to_owned()
    } else {
        links.join(", ")
    };
    format!("| {} | {} | {sources} |", case.id, case.title)
}

pub(crate) fn claimed(plan: &Plan, profile: Profile, engine: EngineKind) -> String {
    match plan.claim(profile, engine) {
        None => "claims nothing".to_owned(),
        Some(line) if line.violates.is_empty() => line.is.to_string(),
        Some(line) => {
            let names: Vec<String> = line.violates.iter().map(|name| format!("`{name}`")).collect();
            format!("{}: {}", line.is, names.join(", "))
        }
    }
}

pub(crate) fn upstream(plan: &Plan) -> String {
    let on = |engine| claimed(plan, Profile::Upstream, engine);
    let (model, master) = (on(EngineKind::Model), on(EngineKind::Master));
    if model == master {
        master
    } else {
        format!("{master}; on the model {model}")
    }
}

/// The table for people.
pub fn render(cases: &[Case], plans: &BTreeMap<String, Plan>) -> String {
    let told = cases.iter().filter(|case| !case.files.is_empty());
    let waiting = cases.iter().filter(|case| case.waits.is_some());
    let foreign = cases
        .iter()
        .filter(|case| case.files.is_empty() && case.waits.is_none());
    let mut text = format!(
        "# Field cases\n\n\
         Failures that were reported in public, and what becomes of each here: {} are told by scenarios, {} wait for an\n\
         engine or a subsystem, {} are none of this store. Made of `fixtures/field-cases.toml` and of the claims in the\n\
         scenario files, which tests hold to their word; renew with `{}`.\n\n\
         ## Told by scenarios\n\n\
         *Strict* is the contract as it should be, on the model. *Upstream* is what the pinned release does, on the\n\
         unmodified master and on the model alike. Names after *violated* are the steps and invariants that fail, and\n\
         nothing else does.\n\n\
         | Case | What happened | Reported | Scenario | Strict | Upstream |\n|---|---|---|---|---|---|\n",
        told.clone().count(),
        waiting.clone().count(),
        foreign.clone().count(),
        crate::kept::RENEW,
    );
    for case in told {
        for (index, file) in case.files.iter().enumerate() {
            let Some(plan) = plans.get(file) else { continue };
            let head = if index == 0 {
                head(case)
            } else {
                "| | | |".to_owned()
            };
            let strict = claimed(plan, Profile::Strict, EngineKind::Model);
            let upstream = upstream(plan);
            let _ = writeln!(
                text,
                "{head} [{file}]({file}.scenario.toml) | {strict} | {upstream} |"
            );
        }
    }
    let notes = cases
        .iter()
        .filter_map(|case| Some((&case.id, case.note.as_ref()?)));
    for (id, note) in notes {
        let _ = writeln!(text, "\n{id}: {note}");
    }
    text += "\n## Waiting\n\n| Case | What happened | Reported | Waits for | Why |\n|---|---|---|---|---|\n";
    for case in waiting {
        let waits = case.waits.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "{} {waits} | {} |",
            head(case),
            case.reason.as_deref().unwrap_or_default()
        );
    }
    text += "\n## None of this store\n\n| Case | What happened | Reported | Why |\n|---|---|---|---|\n";
    for case in foreign {
        let _ = writeln!(
            text,
            "{} {} |",
            head(case),
            case.reason.as_deref().unwrap_or_default()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(id: &str, files: &[&str], waits: Option<&str>, reason: Option<&str>) -> Case {
        Case {
            id: id.to_owned(),
            title: String::new(),
            see: Vec::new(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            waits: waits.map(str::to_owned),
            reason: reason.map(str::to_owned),
            note: None,
        }
    }

    #[test]
    fn there_are_seventy_cases() {
        let all = problems(&[], &BTreeMap::new());
        assert_eq!(all.len(), 70);
    }

    #[test]
    fn a_bad_row_is_told() {
        let bad = [
            case("M04", &[], None, Some("a number that nobody gave")),
            case("M01", &[], Some("native"), None),
            case("M02", &["crash/x"], None, Some("a file and a reason")),
            case("M03", &["no/such/file"], None, None),
            case("M05", &[], None, Some("once")),
            case("M05", &[], None, Some("twice")),
        ];
        let told = problems(&bad, &BTreeMap::new()).join("\n");
        for word in [
            "M04 is no number",
            "M01 needs either",
            "M02 needs either",
            "M03 names no/such/file, which is no scenario",
            "M05 stands there twice",
            "M06 has no row",
        ] {
            assert!(told.contains(word), "{word} is missing in\n{told}");
        }
    }
}
