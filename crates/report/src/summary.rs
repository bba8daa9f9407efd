//! One line for a terminal, one object for a machine.

use crate::{Postmortem, Touched};
use moonquake_scenario::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;

/// The run in one line: id, engine, profile, verdict, and whether that is what the file claims.
pub fn summary_line(postmortem: &Postmortem) -> String {
    let claim = &postmortem.claim;
    let claimed = match (claim.is, claim.met) {
        (None, _) => "the file claims nothing".to_owned(),
        (Some(_), true) => "as claimed".to_owned(),
        (Some(is), false) if is == postmortem.verdict => "NOT as claimed".to_owned(),
        (Some(is), false) => format!("NOT as claimed ({is})"),
    };
    let first = claim
        .deviations
        .first()
        .map(|first| format!(": {first}"))
        .unwrap_or_default();
    let line = format!(
        "{} [{}, {}]: {}, {claimed}{first}",
        postmortem.scenario.id, postmortem.run.engine, postmortem.run.profile, postmortem.verdict
    );
    // A terminal obeys control characters; one line is one line.
    line.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// The postmortem as JSON, indented, with a line break at the end.
pub fn json(postmortem: &Postmortem) -> String {
    let mut text = serde_json::to_string_pretty(postmortem).unwrap_or_default();
    text.push('\n');
    text
}

/// The run in one JSON object without line breaks, for lists of many runs.
pub fn json_run(postmortem: &Postmortem) -> String {
    let failed_steps = postmortem.expectations.iter().filter(|row| !row.status.is_fine());
    let failed_invariants = postmortem.invariants.iter().filter(|row| !row.status.is_fine());
    let run = RunLine {
        schema: postmortem.schema,
        id: &postmortem.scenario.id,
        path: &postmortem.scenario.path,
        engine: &postmortem.run.engine,
        profile: &postmortem.run.profile,
        seed: postmortem.run.seed,
        verdict: postmortem.verdict,
        claimed: postmortem.claim.is,
        claim_met: postmortem.claim.met,
        deviations: &postmortem.claim.deviations,
        failed: failed_steps
            .map(|row| row.step.as_str())
            .chain(failed_invariants.map(|row| row.name.as_str()))
            .collect(),
        buffer: postmortem
            .buffer
            .watched
            .iter()
            .map(|watched| (watched.name.as_str(), watched.touched))
            .collect(),
        evidence_sha256: &postmortem.run.evidence_sha256,
        replay: &postmortem.replay,
    };
    serde_json::to_string(&run).unwrap_or_default()
}

#[derive(Serialize)]
struct RunLine<'a> {
    schema: u32,
    id: &'a str,
    path: &'a str,
    engine: &'a str,
    profile: &'a str,
    seed: Option<u64>,
    verdict: Verdict,
    claimed: Option<Verdict>,
    claim_met: bool,
    deviations: &'a [String],
    failed: Vec<&'a str>,
    buffer: BTreeMap<&'a str, Touched>,
    evidence_sha256: &'a str,
    replay: &'a str,
}
