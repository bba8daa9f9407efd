//! What reviewers and machines get to see.

use crate::support::cases;
use crate::support::postmortem;
use moonquake_report::{Postmortem, json, json_run, markdown, summary_line};

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
    let postmortems: Vec<Postmortem> = cases::all().iter().map(postmortem).collect();
    let lines: Vec<String> = postmortems.iter().map(summary_line).collect();
    insta::assert_snapshot!("summary_lines", lines.join("\n"));
    let lines: Vec<String> = postmortems.iter().map(json_run).collect();
    assert!(lines.iter().all(|line| !line.contains('\n')));
    insta::assert_snapshot!("json_runs", lines.join("\n"));
}
