//! What is broken on purpose in the Rust master is found, and shrinks to a few operations and to a file that parts.

use crate::Test;
use moonquake_clock::{DeadlineId, Flip};
use moonquake_differ::{Difference, History, Pair, Setup, States, history_seed, shrink, write};
use moonquake_evidence::projection;
use moonquake_faults::{Guard, Guards, Profile};
use moonquake_master::MasterConfig;
use moonquake_model::ModelEngine;
use moonquake_native::MasterEngine;
use moonquake_scenario::{Engine, Plan, RunOptions, parse};

pub(crate) const TESTS: &[Test] = &[
    ("real_planted_lease_rule_is_found_and_parts", || {
        planted(Bug::Rule(DeadlineId::Lease, Flip::Compare), 8)
    }),
    ("real_planted_discard_rule_is_found_and_parts", || {
        planted(Bug::Rule(DeadlineId::Discard, Flip::Compare), 8)
    }),
    ("real_planted_end_by_anyone_is_found_and_parts", || {
        planted(Bug::Guard(Guard::EndByOwner), 8)
    }),
    ("real_planted_eviction_of_hard_pins_is_found_and_parts", || {
        planted(Bug::Guard(Guard::EvictionSparesHardPin), 14);
    }),
];

/// Histories within which it must be found.
const HISTORIES: u64 = 200;

/// What is broken.
#[derive(Clone, Copy, Debug)]
enum Bug {
    Rule(DeadlineId, Flip),
    Guard(Guard),
}

impl Bug {
    fn config(self) -> MasterConfig {
        let mut config = MasterConfig::default();
        match self {
            Bug::Rule(id, flip) => config.rules.flip(id, flip),
            Bug::Guard(guard) => config.guards = Guards::without(guard),
        }
        config
    }

    fn options(self) -> RunOptions {
        let mut options = RunOptions::new(Profile::Upstream);
        let config = self.config();
        options.rules = config.rules;
        options.guards = config.guards;
        options
    }
}

fn found(bug: Bug) -> (u64, History, Difference) {
    let setup = Setup::defaults();
    let mut pair = Pair::with_config(&setup, bug.config()).unwrap_or_else(|error| panic!("{error}"));
    for number in 0..HISTORIES {
        let seed = history_seed(0, &setup.name, number);
        let ran = pair
            .run_seed(seed, usize::MAX, States::Every(256))
            .unwrap_or_else(|error| panic!("{error}"));
        if ran.difference.is_some() {
            let ran = shrink(&mut pair, ran).unwrap_or_else(|error| panic!("{error}"));
            let difference = ran.difference.expect("still parts");
            return (seed, ran.history, difference);
        }
    }
    panic!("{bug:?} was not found in {HISTORIES} histories");
}

fn planted(bug: Bug, at_most: usize) {
    let (seed, history, difference) = found(bug);
    let operations = &history.operations;
    assert!(operations.len() <= at_most, "{bug:?} shrank to {operations:#?}");
    let folder = tempfile::tempdir().expect("a folder");
    let files = write(folder.path(), &history, &difference, seed).expect("files");
    assert_eq!(files.left_out, Vec::<String>::new());
    let text = std::fs::read_to_string(&files.scenario).expect("the file");
    let plan = parse::from_str(&files.scenario.display().to_string(), text.as_bytes())
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let real = lines(&mut MasterEngine, &plan, &RunOptions::new(Profile::Upstream));
    assert_ne!(lines(&mut ModelEngine, &plan, &bug.options()), real, "{text}");
    // It is the planted bug that parts, not the file.
    assert_eq!(
        lines(&mut ModelEngine, &plan, &RunOptions::new(Profile::Upstream)),
        real,
        "{text}"
    );
}

fn lines(engine: &mut dyn Engine, plan: &Plan, options: &RunOptions) -> Vec<String> {
    let evidence = engine
        .run(plan, options)
        .unwrap_or_else(|error| panic!("{error:?}"));
    projection(&evidence)
}
