//! What the file says comes out, against what came out.

use crate::judgement::{Claim, Finding, Proof};
use moonquake_faults::Profile;
use moonquake_scenario::{EngineKind, Plan, Verdict};
use std::collections::BTreeSet;

/// The outcome of a run, as far as a claim speaks about it.
pub(crate) struct Outcome<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) proof: &'a Proof,
    pub(crate) findings: Vec<&'a Finding>,
}

/// The first verdict line that fits, and whether it is met; with the deviations in words.
pub(crate) fn compare(
    plan: &Plan,
    profile: Profile,
    engine: EngineKind,
    outcome: &Outcome<'_>,
) -> (Option<Claim>, Vec<String>) {
    let line = plan.verdicts.iter().position(|line| {
        (line.profiles.is_empty() || line.profiles.contains(&profile))
            && (line.engines.is_empty() || line.engines.contains(&engine))
    });
    let Some(line) = line else {
        let none = format!("the file has no verdict line for {} on {engine}", profile.name());
        return (None, vec![none]);
    };
    let said = &plan.verdicts[line];
    let failed: Vec<&Finding> = outcome
        .findings
        .iter()
        .copied()
        .filter(|f| !f.status.is_fine())
        .collect();
    let failed_names: BTreeSet<&str> = failed.iter().map(|finding| finding.name.as_str()).collect();
    let named: BTreeSet<&str> = said.violates.iter().map(String::as_str).collect();
    // Without a list a claimed violation may be any.
    let listed = said.is == Verdict::Violated && !named.is_empty();
    let unclaimed: Vec<String> = failed_names
        .difference(&named)
        .map(|name| (*name).to_owned())
        .collect();
    let unfailed: Vec<String> = named
        .difference(&failed_names)
        .map(|name| (*name).to_owned())
        .collect();
    let same = said.is == outcome.verdict;
    let met = same && (!listed || (unclaimed.is_empty() && unfailed.is_empty()));
    let mut deviations = other_verdict(said.is, outcome);
    if !met && said.is != Verdict::NotReproduced {
        let surprising = failed
            .iter()
            .filter(|finding| !named.contains(finding.name.as_str()));
        deviations.extend(surprising.map(|finding| describe(finding)));
        deviations.extend(
            unfailed
                .iter()
                .map(|name| unfailed_words(name, &outcome.findings)),
        );
    }
    let claim = Claim {
        line,
        is: said.is,
        because: said.because.clone(),
        violates: said.violates.clone(),
        met,
        failed_unclaimed: if said.is == Verdict::Holds || listed {
            unclaimed
        } else {
            Vec::new()
        },
        claimed_unfailed: unfailed,
    };
    (Some(claim), deviations)
}

/// What there is to say when another verdict came out than the file says; nothing if it is the same.
fn other_verdict(said: Verdict, outcome: &Outcome<'_>) -> Vec<String> {
    if said == outcome.verdict {
        return Vec::new();
    }
    let mut deviations = vec![format!(
        "the file says {said}, and the verdict is {}",
        outcome.verdict
    )];
    if outcome.verdict == Verdict::NotReproduced {
        deviations.extend(outcome.proof.missing.iter().map(ToString::to_string));
    }
    deviations
}

fn describe(finding: &Finding) -> String {
    format!(
        "{} {}: expected {}; {}",
        finding.name, finding.status, finding.expected, finding.actual
    )
}

fn unfailed_words(name: &str, findings: &[&Finding]) -> String {
    match findings.iter().find(|finding| finding.name == name) {
        Some(finding) => format!(
            "the file says that {name} fails, and it did not: {}",
            finding.actual
        ),
        None => format!("the file says that {name} fails, and nothing of that name was judged"),
    }
}
