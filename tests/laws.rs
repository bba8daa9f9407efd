//! The laws that make green mean something.
//!
//! 1. An injection that is claimed and not made is never taken for made (on the real master: see `scenarios.rs`).
//! 2. Every expectation that names a code, a payload, a count or a check can fail. `untouched` is shown by the quirks.
//! 3. Every comparison of the deadline table, strict for inclusive, is noticed, but for the soft pin, which no scenario
//!    reaches yet; every quirk, alone, is noticed.

use moonquake_clock::{DEADLINES, DeadlineId, Rules};
use moonquake_faults::{Profile, QUIRKS, Quirks};
use moonquake_judge::{Status, judge};
use moonquake_scenario::{Check, CheckKind, EngineKind, Plan, RunOptions, Step, Verdict, What};
use moonquake_tests::{PROFILES, judged, plans};
use std::collections::BTreeMap;

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

/// The verdicts of every scenario under some options.
fn verdicts(options: &RunOptions) -> BTreeMap<String, (Verdict, Vec<String>)> {
    let judge = |plan: &Plan| {
        let (_, judgement) = judged(plan, options);
        (plan.id.clone(), (judgement.verdict, judgement.deviations))
    };
    plans().iter().map(judge).collect()
}

#[test]
fn model_every_flipped_deadline_is_noticed() {
    let plain = verdicts(&RunOptions::new(Profile::Strict));
    for row in DEADLINES.iter().filter(|row| row.id != DeadlineId::SoftPin) {
        let mut rules = Rules::default();
        rules.flip_compare(row.id);
        let flipped = verdicts(&RunOptions {
            rules,
            ..RunOptions::new(Profile::Strict)
        });
        let noticed: Vec<&String> = plain.keys().filter(|id| plain[*id].0 != flipped[*id].0).collect();
        assert!(
            !noticed.is_empty(),
            "no scenario notices that {} is compared the other way",
            row.name
        );
    }
}

/// The matrix of quirks and scenarios: each quirk alone, everything else strict.
fn matrix() -> String {
    let plain = verdicts(&RunOptions::new(Profile::Strict));
    let mut lines = String::new();
    for row in QUIRKS {
        let options = RunOptions {
            quirks: Quirks::only(row.id),
            ..RunOptions::new(Profile::Strict)
        };
        let alone = verdicts(&options);
        let noticed: Vec<&str> = plain
            .keys()
            .filter(|id| plain[*id].0 != alone[*id].0)
            .map(String::as_str)
            .collect();
        assert!(!noticed.is_empty(), "no scenario notices the quirk {}", row.name);
        lines += &format!("{}: {}\n", row.name, noticed.join(", "));
    }
    lines
}

#[test]
fn model_every_quirk_alone_violates_its_own_scenarios() {
    insta::assert_snapshot!(matrix());
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
