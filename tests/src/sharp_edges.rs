//! The sharp edges of the store: each is a named quirk, or a behaviour that is shown on both masters, or neither for a
//! reason.

use crate::breaks::outcome;
use crate::field_cases::{claimed, upstream};
use crate::{fixtures, named};
use moonquake_faults::{Profile, Quirk, Quirks};
use moonquake_scenario::{EngineKind, Plan, RunOptions, Verdict};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// How many edges there are.
const EDGES: usize = 85;

/// Tests in this folder ask the unmodified master and the Rust one.
const REAL: &str = "crates/engines/native/tests/real/";

/// Where the tests of edges and of boundaries lie; each stands in a row.
const TOLD: &[&str] = &[
    "boundaries.rs",
    "edges/copies.rs",
    "edges/disks.rs",
    "edges/memory.rs",
    "edges/probes.rs",
    "edges/segments.rs",
    "edges/tasks.rs",
    "edges/writes.rs",
];

/// Tests there that are about no edge: how an address is cut surprises nobody.
const NO_EDGE: &[&str] = &["real_edge_hosts_lose_their_ports"];

/// One row of `fixtures/sharp-edges.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// Its number, from 1.
    pub id: usize,
    /// What happens when.
    pub title: String,
    /// The quirks that it is.
    #[serde(default)]
    pub quirks: Vec<String>,
    /// The scenarios that show it.
    #[serde(default)]
    pub scenarios: Vec<String>,
    /// The tests that show it.
    #[serde(default)]
    pub tests: Vec<String>,
    /// For each test that asks the unmodified master the quirks by which a strict master parts from it there; none if it
    /// gives the same answers. The tests hold this to what they see.
    #[serde(default)]
    pub strict: BTreeMap<String, Vec<String>>,
    /// Why nothing shows it.
    pub reason: Option<String>,
    /// Why it is no quirk: why a strict master or client does the same, or what else it parts by.
    pub why: Option<String>,
    /// What is shown otherwise, or not.
    pub note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edges {
    edge: Vec<Edge>,
}

/// Reads the edges.
///
/// # Panics
/// When the file is not there or does not parse.
pub fn edges() -> Vec<Edge> {
    fixtures::read::<Edges>("sharp-edges.toml").edge
}

/// What is wrong with the list.
pub fn problems(edges: &[Edge], plans: &BTreeMap<String, Plan>) -> Vec<String> {
    let mut problems = Vec::new();
    let ids: Vec<usize> = edges.iter().map(|edge| edge.id).collect();
    if ids != (1..=EDGES).collect::<Vec<_>>() {
        problems.push(format!("the ids are not 1 to {EDGES} in order"));
    }
    for edge in edges {
        let told: Vec<String> = faults_of(edge, plans);
        problems.extend(told.into_iter().map(|what| format!("edge {}: {what}", edge.id)));
        for (test, quirks) in &edge.strict {
            let other = edges.iter().find(|other| {
                let said = other.strict.get(test);
                said.is_some_and(|said| said != quirks)
            });
            if let Some(other) = other {
                problems.push(format!(
                    "edges {} and {} say not the same of {test}",
                    edge.id, other.id
                ));
            }
        }
    }
    problems
}

/// The tests of edges and boundaries that no row names.
///
/// # Panics
/// When one of their files cannot be read.
pub fn orphans(edges: &[Edge]) -> Vec<String> {
    let named: BTreeSet<&str> = edges.iter().flat_map(real_tests).collect();
    let files = TOLD.iter().map(|file| format!("{REAL}{file}"));
    let tests = files.flat_map(|file| named::rows_of(&file, "real_"));
    tests
        .filter(|test| !named.contains(&**test) && !NO_EDGE.contains(&&**test))
        .map(|test| format!("{test} stands in no row"))
        .collect()
}

/// The names of the row's tests that ask the unmodified master.
fn real_tests(edge: &Edge) -> impl Iterator<Item = &str> {
    let real = edge.tests.iter().filter(|test| test.starts_with(REAL));
    real.filter_map(|test| Some(test.rsplit_once(':')?.1))
}

/// What is wrong with what the row says of a strict master.
fn unasked(edge: &Edge) -> Vec<String> {
    let real: BTreeSet<&str> = real_tests(edge).collect();
    let asked: BTreeSet<&str> = edge.strict.keys().map(String::as_str).collect();
    let apart = real.symmetric_difference(&asked);
    let mut faults: Vec<String> = apart
        .map(|test| format!("{test} must stand under both `tests` and `strict`"))
        .collect();
    let names = edge.strict.values().flatten();
    let unknown = names.filter(|name| Quirk::from_name(name).is_none());
    faults.extend(unknown.map(|name| format!("{name} is no quirk")));
    faults
}

fn faults_of(edge: &Edge, plans: &BTreeMap<String, Plan>) -> Vec<String> {
    let mut faults = Vec::new();
    let shown = !edge.scenarios.is_empty() || !edge.tests.is_empty();
    if shown == edge.reason.is_some() {
        faults.push("it needs either what shows it, or a reason".to_owned());
    }
    if !edge.quirks.is_empty() && edge.scenarios.is_empty() {
        faults.push("a quirk needs a scenario".to_owned());
    }
    let as_it_is = shown && edge.quirks.is_empty();
    if as_it_is != edge.why.is_some() {
        faults.push("a row without a quirk, and no other, says why it is none".to_owned());
    }
    let is_real = |test: &String| test.starts_with(REAL);
    if shown && edge.scenarios.is_empty() && !edge.tests.iter().any(is_real) {
        faults.push("nothing shows it on the unmodified master".to_owned());
    }
    faults.extend(edge.tests.iter().filter_map(|test| named::problem(test)));
    faults.extend(unasked(edge));
    let mut known = Vec::new();
    for name in &edge.scenarios {
        match plans.get(name) {
            None => faults.push(format!("{name} is no scenario")),
            Some(plan) => known.push((name, plan)),
        }
    }
    for (name, plan) in &known {
        faults.extend(unclaimed(name, plan, !edge.quirks.is_empty()));
    }
    for name in &edge.quirks {
        let Some(quirk) = Quirk::from_name(name) else {
            faults.push(format!("{name} is no quirk"));
            continue;
        };
        if !known.iter().any(|(_, plan)| breaks_under(plan, quirk)) {
            faults.push(format!("{name} alone violates none of its scenarios"));
        }
    }
    faults
}

/// A scenario of a quirk holds without it and is violated with it, on both masters; any other holds wherever it is
/// reproduced, since what upstream alone breaks is a quirk.
fn unclaimed(name: &str, plan: &Plan, quirk: bool) -> Vec<String> {
    let runs = [
        (Profile::Strict, EngineKind::Model, Verdict::Holds),
        (Profile::Upstream, EngineKind::Model, Verdict::Violated),
        (Profile::Upstream, EngineKind::Master, Verdict::Violated),
    ];
    let differs = runs.iter().filter(|(profile, engine, wanted)| {
        let claim = plan.claim(*profile, *engine).map(|line| line.is);
        if quirk {
            claim != Some(*wanted)
        } else {
            claim != Some(Verdict::Holds)
        }
    });
    let told = |(profile, engine, wanted): &(Profile, EngineKind, Verdict)| {
        let wanted = if quirk {
            wanted.to_string()
        } else {
            format!("{}, and the row names no quirk", Verdict::Holds)
        };
        format!(
            "{name} does not claim {wanted} for {} on {engine}",
            profile.name()
        )
    };
    differs.map(told).collect()
}

/// Whether the quirk alone, all else strict, violates the scenario.
fn breaks_under(plan: &Plan, quirk: Quirk) -> bool {
    let mut options = RunOptions::new(Profile::Strict);
    options.quirks = Quirks::only(quirk);
    outcome(plan, &options).verdict == Verdict::Violated
}

fn line(text: &mut String, edge: &Edge, plans: &BTreeMap<String, Plan>) {
    let note = edge
        .note
        .as_ref()
        .map(|note| format!(" {note}"))
        .unwrap_or_default();
    let quirks: Vec<String> = edge.quirks.iter().map(|name| format!("`{name}`")).collect();
    let mut rows: Vec<String> = Vec::new();
    for name in &edge.scenarios {
        let Some(plan) = plans.get(name) else { continue };
        let strict = claimed(plan, Profile::Strict, EngineKind::Model);
        let upstream = upstream(plan);
        rows.push(format!(
            "[{name}]({name}.scenario.toml) | {strict} | {upstream} |"
        ));
    }
    let tests = edge.tests.iter().map(|test| {
        let (path, name) = test.rsplit_once(':').unwrap_or((test, ""));
        let (strict, on) = match edge.strict.get(name) {
            Some(quirks) => (parting(quirks), "both masters"),
            None => ("not asked".to_owned(), "the Rust side alone"),
        };
        format!("test [{name}](../{path}) | {strict} | on {on} |")
    });
    rows.extend(tests);
    let third = edge.why.clone().unwrap_or_else(|| quirks.join(", "));
    for (index, row) in rows.iter().enumerate() {
        let head = match index {
            0 => format!("| {} | {}{note} | {third} |", edge.id, edge.title),
            _ => "| | | |".to_owned(),
        };
        let _ = writeln!(text, "{head} {row}");
    }
}

/// How a strict master answers a test.
fn parting(quirks: &[String]) -> String {
    let names: Vec<String> = quirks.iter().map(|name| format!("`{name}`")).collect();
    match &*names {
        [] => "same answers".to_owned(),
        names => format!("differs by {}", names.join(", ")),
    }
}

/// The table for people.
pub fn render(edges: &[Edge], plans: &BTreeMap<String, Plan>) -> String {
    let quirks = edges.iter().filter(|edge| !edge.quirks.is_empty());
    let plain = edges
        .iter()
        .filter(|edge| edge.quirks.is_empty() && edge.reason.is_none());
    let neither = edges.iter().filter(|edge| edge.reason.is_some());
    let mut text = format!(
        "# Sharp edges\n\n\
         What surprises people in the store of the pinned release, and what becomes of each here: {} are named quirks, {}\n\
         are shown as they are on the Rust master and on the unmodified one, {} are neither, with the reason. Made of\n\
         `fixtures/sharp-edges.toml` and of the claims in the scenario files, which tests hold to their word; renew with\n\
         `{}`.\n\n\
         A test on both masters asks strict ones too. *Same answers*: a master with every quirk off gives the same answers and is\n\
         seen in the same state after each step. *Differs by* quirks: it does so with those on and parts with any of them\n\
         off. Ids of replicas are not compared, for a strict master tells attempts apart by them. A test on the Rust side alone asks no\n\
         strict master; it stands beside a scenario or a test that does.\n\n\
         ## Quirks\n\n\
         Each holds on a strict master and is violated under *upstream*, on the model and on the unmodified master; the\n\
         quirk alone is enough to violate one of its scenarios.\n\n\
         | Edge | What happens | Quirk | Shown by | Strict | Upstream |\n|---|---|---|---|---|---|\n",
        quirks.clone().count(),
        plain.clone().count(),
        neither.clone().count(),
        crate::kept::RENEW,
    );
    quirks.for_each(|edge| line(&mut text, edge, plans));
    text += "\n## As they are\n\n\
             These have no quirk of their own.\n\n\
             | Edge | What happens | Why it is no quirk | Shown by | Strict | Upstream |\n|---|---|---|---|---|---|\n";
    plain.for_each(|edge| line(&mut text, edge, plans));
    text += "\n## Neither\n\n| Edge | What happens | Why |\n|---|---|---|\n";
    for edge in neither {
        let reason = edge.reason.as_deref().unwrap_or_default();
        let _ = writeln!(text, "| {} | {} | {reason} |", edge.id, edge.title);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(quirks: &[&str], scenarios: &[&str], tests: &[&str], reason: Option<&str>) -> Edge {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Edge {
            id: 1,
            title: String::new(),
            quirks: owned(quirks),
            scenarios: owned(scenarios),
            tests: owned(tests),
            strict: BTreeMap::new(),
            reason: reason.map(str::to_owned),
            why: (quirks.is_empty() && reason.is_none()).then(String::new),
            note: None,
        }
    }

    #[test]
    fn a_bad_row_is_told() {
        let plans: BTreeMap<String, Plan> = ["misuse/put-end-twice", "misuse/unmount-by-a-stranger"]
            .into_iter()
            .map(|name| {
                let file = crate::scenarios_folder().join(format!("{name}.scenario.toml"));
                (name.to_owned(), crate::plan_of(&file))
            })
            .collect();
        let own = "tests/src/sharp_edges.rs:a_bad_row_is_told";
        for (bad, word) in [
            (edge(&[], &[], &[], None), "it needs either"),
            (
                edge(&[], &["misuse/put-end-twice"], &[], Some("both")),
                "it needs either",
            ),
            (
                edge(&["unmount-by-anyone"], &[], &[own], None),
                "a quirk needs a scenario",
            ),
            (
                edge(&[], &[], &[own], None),
                "nothing shows it on the unmodified master",
            ),
            (edge(&[], &["no/such"], &[], None), "no/such is no scenario"),
            (
                edge(&["stale-put-end"], &["misuse/put-end-twice"], &[], None),
                "does not claim violated",
            ),
            (
                edge(&["stale-put-end"], &["misuse/unmount-by-a-stranger"], &[], None),
                "stale-put-end alone violates none",
            ),
            (
                edge(&["no-quirk"], &["misuse/unmount-by-a-stranger"], &[], None),
                "no-quirk is no quirk",
            ),
        ] {
            let told = faults_of(&bad, &plans).join("\n");
            assert!(told.contains(word), "{word} is missing in\n{told}");
        }
        let mute = Edge {
            why: None,
            ..edge(&[], &["misuse/put-end-twice"], &[], None)
        };
        assert!(faults_of(&mute, &plans)[0].contains("says why it is none"));
        let nameless = edge(&[], &["misuse/unmount-by-a-stranger"], &[], None);
        assert!(faults_of(&nameless, &plans)[0].contains("names no quirk"));
        let real = "crates/engines/native/tests/real/boundaries.rs:real_boundary_lease";
        let mut asked = edge(&[], &["misuse/put-end-twice"], &[real], None);
        assert!(faults_of(&asked, &plans)[0].contains("real_boundary_lease must stand under both"));
        let said = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        asked.strict = BTreeMap::from([("real_boundary_lease".to_owned(), said(&["no-quirk"]))]);
        assert_eq!(faults_of(&asked, &plans), ["no-quirk is no quirk"]);
        asked.strict = BTreeMap::from([("real_boundary_lease".to_owned(), said(&["stale-put-end"]))]);
        assert_eq!(faults_of(&asked, &plans), [""; 0]);
        let mut other = asked.clone();
        other.strict.values_mut().for_each(Vec::clear);
        let told = problems(&[asked, other], &plans).join("\n");
        assert!(told.contains("say not the same of real_boundary_lease"), "{told}");
        let good = edge(
            &["unmount-by-anyone"],
            &["misuse/unmount-by-a-stranger"],
            &[],
            None,
        );
        assert_eq!(faults_of(&good, &plans), [""; 0]);
        assert!(problems(&[good], &plans)[0].contains("1 to 85"));
    }
}
