//! A report says nothing that its evidence does not carry.

use crate::support::cases::{self, Case};
use crate::support::postmortem;
use moonquake_evidence::EventId;
use moonquake_faults::Profile;
use moonquake_judge::{Cited, judge};
use moonquake_report::{Postmortem, ReportError, markdown};
use moonquake_scenario::EngineKind;

#[test]
fn without_any_event_it_cites_there_is_no_report() {
    for (plan, evidence, judgement) in cases::all() {
        let page = markdown(&postmortem(&(plan.clone(), evidence.clone(), judgement.clone())));
        let cited = page.split("](#e").skip(1);
        let last = cited
            .filter_map(|rest| rest.split(')').next()?.parse::<usize>().ok())
            .max()
            .unwrap();
        for kept in 0..=last {
            let mut cut = evidence.clone();
            cut.events.truncate(kept);
            let report = Postmortem::new(&plan, &cut, &judgement, "");
            assert!(
                matches!(report, Err(ReportError::Dangling { .. })),
                "{kept} of {last}"
            );
        }
    }
}

#[test]
fn a_citation_of_another_run_is_refused_with_its_claim() {
    let (plan, evidence, mut judgement) = cases::holds();
    judgement
        .proof
        .seen
        .push(Cited::new("something happened", EventId(9_999)));
    for report in [
        Postmortem::new(&plan, &evidence, &judgement, ""),
        Postmortem::projected(&plan, &evidence, &judgement, ""),
    ] {
        let error = report.unwrap_err().to_string();
        assert!(
            error.contains("something happened") && error.contains("e9999"),
            "{error}"
        );
    }
}

/// The cases with the judgements of the judge itself.
fn judged() -> Vec<Case> {
    let judged = |(plan, evidence, _): Case| {
        let judgement = judge(&plan, &evidence, Profile::Upstream, EngineKind::Model);
        (plan, evidence, judgement)
    };
    cases::all().into_iter().map(judged).collect()
}

#[test]
fn every_link_has_a_target() {
    for case in cases::all().into_iter().chain(judged()) {
        for postmortem in [postmortem(&case), crate::support::projected(&case)] {
            let page = markdown(&postmortem);
            let mut links = 0;
            for rest in page.split("](#").skip(1) {
                let id = rest.split(')').next().unwrap();
                assert_eq!(page.matches(&format!("<a id=\"{id}\"></a>")).count(), 1, "{id}");
                links += 1;
            }
            assert!(links > 3);
        }
    }
}
