//! Each dimension is proven by a second observer, and by nobody else.

use crate::cases::{Tell, cases, clock_plan, lease_deadline};
use crate::telling::{MIB, Story, range};
use moonquake_clock::Span;
use moonquake_evidence::{Evidence, Kind, Observer};
use moonquake_faults::Profile;
use moonquake_judge::judge;
use moonquake_scenario::{EngineKind, Verdict};

#[test]
fn what_really_happens_is_proven_by_a_second_observer() {
    for (name, tell) in cases() {
        let judgement = tell(true).judge();
        assert!(judgement.proof.proven, "{name}: {}", judgement.proof.text());
        let by = &judgement.proof.by;
        assert!(!by.is_empty(), "{name} is proven by nobody");
        assert!(
            !by.contains(&Observer::Timeline) && !by.contains(&Observer::Injector),
            "{name}: {by:?}"
        );
        assert_ne!(judgement.verdict, Verdict::NotReproduced, "{name}");
    }
}

#[test]
fn what_is_merely_claimed_is_not_reproduced() {
    for (name, tell) in cases() {
        let judgement = tell(false).judge();
        assert!(!judgement.proof.proven, "{name}: {}", judgement.proof.text());
        assert!(!judgement.proof.missing.is_empty(), "{name}");
        assert_eq!(judgement.verdict, Verdict::NotReproduced, "{name}");
    }
}

/// The record without what observers other than the injector and the timeline saw from the injection on.
fn blinded(tell: Tell) -> (Story, Evidence) {
    let story = tell(true);
    let mut evidence = story.evidence();
    let injected = evidence
        .events
        .iter()
        .position(|event| matches!(event.kind, Kind::Injected { .. }))
        .unwrap();
    let mut pos = 0;
    evidence.events.retain(|event| {
        pos += 1;
        pos <= injected || matches!(event.observer, Observer::Timeline | Observer::Injector)
    });
    (story, evidence)
}

#[test]
fn without_a_second_observer_every_verdict_is_not_reproduced() {
    for (name, tell) in cases() {
        let (story, evidence) = blinded(tell);
        let judgement = judge(&story.plan, &evidence, Profile::Upstream, EngineKind::Model);
        assert_eq!(
            judgement.verdict,
            Verdict::NotReproduced,
            "{name}: {}",
            judgement.proof.text()
        );
    }
}

#[test]
fn without_the_claim_nobody_knows_where_to_look() {
    for (name, tell) in cases() {
        let story = tell(true);
        let mut evidence = story.evidence();
        evidence
            .events
            .retain(|event| event.observer != Observer::Injector);
        let judgement = judge(&story.plan, &evidence, Profile::Upstream, EngineKind::Model);
        let needs_no_claim = matches!(name, "lease deadline" | "misuse" | "pressure");
        assert_eq!(
            judgement.proof.proven,
            needs_no_claim,
            "{name}: {}",
            judgement.proof.text()
        );
    }
}

#[test]
fn what_the_injector_says_it_saw_proves_nothing() {
    for (name, tell) in cases() {
        let story = tell(true);
        let mut evidence = story.evidence();
        for event in &mut evidence.events {
            if event.observer != Observer::Timeline {
                event.observer = Observer::Injector;
            }
        }
        let judgement = judge(&story.plan, &evidence, Profile::Upstream, EngineKind::Model);
        assert_eq!(judgement.verdict, Verdict::NotReproduced, "{name}");
    }
}

#[test]
fn a_boundary_needs_both_sides() {
    for missing in ["before", "after"] {
        let story = lease_deadline(true);
        let step = story.plan.step_index(missing).unwrap() as u32;
        let mut evidence = story.evidence();
        evidence
            .events
            .retain(|event| event.op.is_none_or(|op| op.step != step) || event.observer != Observer::Link);
        let judgement = judge(&story.plan, &evidence, Profile::Upstream, EngineKind::Model);
        assert!(!judgement.proof.proven, "without the step {missing}");
    }
}

fn clocks(master_ns: i128, other_ns: i128, read_in_time: bool) -> bool {
    let mut story = Story::new(&clock_plan());
    let op = story.put("p1", "k", &range(0, 4 * MIB));
    story.inject(Some(op));
    story.wall_ns.insert("master".into(), master_ns);
    story.wall_ns.insert("r1".into(), other_ns);
    if read_in_time {
        story.clock("r1");
        story.clock("w1");
        story.read();
    }
    story.one("x", "ExistKey", "k", "true");
    story.clock("r1");
    story.judge().proof.proven
}

#[test]
fn a_clock_must_jump_by_exactly_the_step_alone_and_at_once() {
    let step = 61_000_000_000;
    assert!(clocks(step, 0, true));
    assert!(!clocks(step - 1, 0, true), "one nanosecond short");
    assert!(!clocks(-step, 0, true), "the other way");
    assert!(!clocks(step, step, true), "r1 moved too");
    assert!(!clocks(step, 0, false), "read after another step");
}

#[test]
fn a_step_off_its_instant_makes_the_run_not_reproduced() {
    let mut story = lease_deadline(true);
    let judgement = story.judge();
    assert_eq!(judgement.verdict, Verdict::Holds, "{:?}", judgement.deviations);
    // The same record, with everything of the last step half a second late.
    let step = story.plan.step_index("after").unwrap() as u32;
    for event in &mut story.events {
        if event.op.is_some_and(|op| op.step == step) {
            event.at = event.at + Span::from_ms(500);
        }
    }
    let judgement = story.judge();
    assert_eq!(judgement.verdict, Verdict::NotReproduced);
    assert!(
        judgement
            .proof
            .text()
            .contains("after could not run at g1 + lease"),
        "{}",
        judgement.proof.text()
    );
}
