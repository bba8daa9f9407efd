//! The same input gives the same evidence: run after run, in any number of threads; a seed changes the order of
//! deliveries and not the verdict.

use moonquake_faults::Profile;
use moonquake_scenario::{EngineKind, RunOptions};
use moonquake_tests::{PROFILES, judged, plans, run};

/// One line a scenario and profile: its hash.
fn hashes() -> Vec<String> {
    let mut lines = Vec::new();
    for plan in plans() {
        for profile in PROFILES {
            let evidence = run(EngineKind::Model, &plan, &RunOptions::new(profile)).unwrap();
            lines.push(format!("{} {} {}", plan.id, profile.name(), evidence.hash()));
        }
    }
    lines
}

#[test]
fn model_evidence_is_the_same_in_every_thread() {
    let first = hashes();
    let others: Vec<Vec<String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(hashes)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for other in others {
        assert_eq!(first, other);
    }
}

#[test]
fn model_seed_brings_the_same_evidence_back_and_keeps_the_verdict() {
    let mut reordered = 0;
    for plan in plans() {
        let plain = judged(&plan, &RunOptions::new(Profile::Upstream));
        for seed in 0..3 {
            let options = RunOptions {
                seed: Some(seed),
                ..RunOptions::new(Profile::Upstream)
            };
            let (evidence, judgement) = judged(&plan, &options);
            assert_eq!(
                evidence,
                judged(&plan, &options).0,
                "{} with seed {seed}",
                plan.id
            );
            assert_eq!(
                judgement.verdict, plain.1.verdict,
                "{} with seed {seed}: {:?}",
                plan.id, judgement.deviations
            );
            reordered += usize::from(evidence.events != plain.0.events);
        }
    }
    assert!(reordered > 0, "no seed changed any order: the seed does nothing");
}
