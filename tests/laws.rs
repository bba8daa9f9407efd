//! The laws that make green mean something.
//!
//! 1. An injection that is claimed and not made is never taken for made (on real processes: see `scenarios.rs`).
//! 2. Every expectation that names a code, a payload, a count or a check can fail. `untouched` is shown by the quirks.
//!
//! The third, that everything that can break is noticed, stands in `tables.rs`.

use moonquake_faults::Profile;
use moonquake_judge::{Status, judge};
use moonquake_scenario::{Check, CheckKind, EngineKind, Plan, RunOptions, Step, Verdict, What};
use moonquake_tests::{PROFILES, judged, plans};

#[test]
fn model_a_claimed_injection_is_not_reproduced() {
    for plan in plans() {
        for profile in PROFILES {
            let options = RunOptions {
                claim_only: true,
                ..RunOptions::new(profile)
            };
            let (_, judgement) = judged(&plan, &options);
            assert_eq!(
                judgement.verdict,
                Verdict::NotReproduced,
                "{} {}",
                plan.id,
                profile.name()
            );
        }
    }
}

/// Ways to write a step wrongly, each of which must make that step fail.
fn wrong(plan: &Plan, index: usize) -> Vec<Plan> {
    let mut all = Vec::new();
    let mut change = |edit: &dyn Fn(&mut Step) -> bool| {
        let mut wrong = plan.clone();
        if edit(&mut wrong.steps[index]) {
            all.push(wrong);
        }
    };
    change(&|step| {
        let had = !step.expect.is_empty();
        step.expect = vec!["CLIENT_NOT_FOUND".to_owned()];
        had
    });
    change(&|step| match &mut step.what {
        What::Do(action) if action.payload.is_some() => {
            action.payload = Some("nobody".to_owned());
            true
        }
        What::Do(action) if action.count.is_some() => {
            action.count = action.count.map(|count| count + 1);
            true
        }
        What::Check(check) => wrong_check(check),
        _ => false,
    });
    all
}

fn wrong_check(check: &mut Check) -> bool {
    match check.kind {
        CheckKind::Quarantined => check.kind = CheckKind::Released,
        CheckKind::Released => check.kind = CheckKind::Quarantined,
        CheckKind::Disjoint => check.of = vec![check.of[0].clone(); 2],
        CheckKind::Allocated => check.size_bytes = check.size_bytes.map(|size| size + 1),
        CheckKind::Bytes => check.payload = Some("nobody".to_owned()),
        // Shown to fail by the quirk `transfer-outlives-operation`, see the matrix.
        CheckKind::Untouched => return false,
    }
    true
}

#[test]
fn model_every_expectation_can_fail() {
    let mut tried = 0;
    for plan in plans() {
        let (evidence, judgement) = judged(&plan, &RunOptions::new(Profile::Strict));
        for index in 0..plan.steps.len() {
            let held = |judgement: &moonquake_judge::Judgement| {
                let of_step = judgement
                    .expectations
                    .iter()
                    .filter(|finding| finding.op.is_some_and(|op| op.step as usize == index));
                of_step.clone().count() > 0 && of_step.clone().all(|finding| finding.status == Status::Held)
            };
            // Only an operation that succeeded has bytes to be wrong about.
            if !held(&judgement) {
                continue;
            }
            for wrong in wrong(&plan, index) {
                let after = judge(&wrong, &evidence, Profile::Strict, EngineKind::Model);
                let reads = matches!(&plan.steps[index].what, What::Do(action) if action.payload.is_some());
                let failed_read = reads && !plan.steps[index].expect.contains(&"ok".to_owned());
                assert!(
                    failed_read || !held(&after),
                    "{} step {} cannot fail",
                    plan.id,
                    index + 1
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 300, "only {tried} wrong expectations were tried");
}
