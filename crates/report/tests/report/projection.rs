//! The form for snapshots of real processes.

use crate::support::{cases, postmortem, projected};
use moonquake_report::{json, markdown};

#[test]
fn what_differs_between_runs_of_real_processes_is_gone() {
    let first = cases::lucky(0);
    for luck in [1, 2, 7, 40_000] {
        let other = cases::lucky(luck);
        assert_ne!(json(&postmortem(&first)), json(&postmortem(&other)));
        assert_eq!(json(&projected(&first)), json(&projected(&other)));
        assert_eq!(markdown(&projected(&first)), markdown(&projected(&other)));
    }
}

#[test]
fn what_matters_stays() {
    let holds = json(&projected(&cases::holds()));
    for other in [
        cases::violated(),
        cases::not_reproduced(),
        cases::touched(),
        cases::could_not_see(),
    ] {
        assert_ne!(holds, json(&projected(&other)));
    }
    // An outcome that no claim cites is part of the form.
    let mut case = cases::holds();
    for event in &mut case.1.events {
        if let moonquake_evidence::Kind::StepEnded { outcome, .. } = &mut event.kind
            && outcome == "no result"
        {
            *outcome = "ok".into();
        }
    }
    assert_ne!(holds, json(&projected(&case)));
}

#[test]
fn projected_form() {
    insta::assert_snapshot!("projected.md", markdown(&projected(&cases::lucky(3))));
}
