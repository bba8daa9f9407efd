//! What reviewers and machines get to see.

mod support;

use moonquake_report::{Postmortem, json, json_run, markdown, summary_line};
use support::cases::{self, Case};

const REPLAY: &str = "moonquake run scenarios/crash-writer-dies-before-payload.scenario.toml --engine model --profile upstream";

fn postmortem((plan, evidence, judgement): &Case) -> Postmortem {
    Postmortem::new(plan, evidence, judgement, REPLAY).unwrap()
}

#[test]
fn holds() {
    insta::assert_snapshot!("holds.md", markdown(&postmortem(&cases::holds())));
}

#[test]
fn violated() {
    let postmortem = postmortem(&cases::violated());
    insta::assert_snapshot!("violated.md", markdown(&postmortem));
    insta::assert_snapshot!("violated.json", json(&postmortem));
}

#[test]
fn not_reproduced() {
    let postmortem = postmortem(&cases::not_reproduced());
    insta::assert_snapshot!("not_reproduced.md", markdown(&postmortem));
    insta::assert_snapshot!("not_reproduced.json", json(&postmortem));
}

#[test]
fn the_buffer_was_touched() {
    insta::assert_snapshot!("touched.md", markdown(&postmortem(&cases::touched())));
}

#[test]
fn nobody_could_see() {
    insta::assert_snapshot!("could_not_see.md", markdown(&postmortem(&cases::could_not_see())));
}

#[test]
fn one_line_a_run() {
    let runs = [
        cases::holds(),
        cases::violated(),
        cases::not_reproduced(),
        cases::touched(),
        cases::could_not_see(),
    ];
    let postmortems: Vec<Postmortem> = runs.iter().map(postmortem).collect();
    let lines: Vec<String> = postmortems.iter().map(summary_line).collect();
    insta::assert_snapshot!("summary_lines", lines.join("\n"));
    let lines: Vec<String> = postmortems.iter().map(json_run).collect();
    assert!(lines.iter().all(|line| !line.contains('\n')));
    insta::assert_snapshot!("json_runs", lines.join("\n"));
}
