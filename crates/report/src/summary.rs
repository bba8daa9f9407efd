//! One line for a terminal, one object for a machine.

use crate::Postmortem;
use crate::model::Answer;
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
    let mut why = Vec::new();
    if postmortem.verdict == Verdict::NotReproduced {
        why.extend(
            postmortem
                .proof
                .missing
                .iter()
                .map(|missing| missing.text().to_owned()),
        );
    } else if !claim.met {
        let mut names = |what: &str, names: &[String]| {
            if !names.is_empty() {
                why.push(format!("{what} {}", names.join(", ")));
            }
        };
        names("failed and not claimed:", &claim.failed_unclaimed);
        names("claimed and not failed:", &claim.claimed_unfailed);
    }
    let why = if why.is_empty() {
        String::new()
    } else {
        format!(": {}", why.join("; "))
    };
    let line = format!(
        "{} [{}, {}]: {}, {claimed}{why}",
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
        failed_unclaimed: &postmortem.claim.failed_unclaimed,
        claimed_unfailed: &postmortem.claim.claimed_unfailed,
        failed: failed_steps
            .map(|row| row.step.as_str())
            .chain(failed_invariants.map(|row| row.name.as_str()))
            .collect(),
        buffer: postmortem
            .buffer
            .watched
            .iter()
            .map(|watched| (watched.name.as_str(), Answer::from(watched)))
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
    failed_unclaimed: &'a [String],
    claimed_unfailed: &'a [String],
    failed: Vec<&'a str>,
    buffer: BTreeMap<&'a str, Answer>,
    evidence_sha256: &'a str,
    replay: &'a str,
}
