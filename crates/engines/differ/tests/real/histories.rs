//! Both drivers: proptest's state machine, which generates and shrinks, and 20,000 operations of the campaign, with what these must
//! reach.

use crate::Test;
use moonquake_differ::{Campaign, Coverage, Operation, Pair, Parted, Reference, Setup, States, run};
use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{Config, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};
use std::cell::RefCell;

pub(crate) const TESTS: &[Test] = &[
    ("real_state_machine_agrees", state_machine),
    ("real_campaign_agrees_and_repeats", campaign),
];

/// Operations of the state machine.
const MACHINE_OPERATIONS: u64 = 10_000;
/// Operations of the campaign.
const OPERATIONS: u64 = 20_000;
/// Of the first few seeds the one whose operations reach most.
const SEED: u64 = 5;
const LONGEST: usize = 400;

struct Machine;

impl ReferenceStateMachine for Machine {
    type State = Reference;
    type Transition = Operation;

    fn init_state() -> BoxedStrategy<Reference> {
        any::<u64>()
            .no_shrink()
            .prop_map(|seed| Reference::start(&Setup::defaults(), seed).expect("the defaults"))
            .boxed()
    }

    fn transitions(state: &Reference) -> BoxedStrategy<Operation> {
        let state = state.clone();
        any::<u64>()
            .no_shrink()
            .prop_map(move |choice| state.propose(choice))
            .boxed()
    }

    fn apply(mut state: Reference, transition: &Operation) -> Reference {
        state.apply(transition);
        state
    }
}

thread_local! {
    /// One pair for all cases; it is reset between them.
    static PAIR: RefCell<Option<Pair>> = const { RefCell::new(None) };
}

/// The operations of a case, which are done in one go at its end.
struct Collected(Vec<Operation>);

impl StateMachineTest for Collected {
    type SystemUnderTest = Collected;
    type Reference = Machine;

    fn init_test(_: &Reference) -> Collected {
        Collected(Vec::new())
    }

    fn apply(mut state: Collected, _: &Reference, transition: Operation) -> Collected {
        state.0.push(transition);
        state
    }

    fn teardown(state: Collected, _: Reference) {
        PAIR.with_borrow_mut(|pair| {
            let pair = pair.get_or_insert_with(|| {
                Pair::start(&Setup::defaults()).unwrap_or_else(|error| panic!("{error}"))
            });
            let ran = pair
                .run(&state.0, States::Every(128))
                .unwrap_or_else(|error| panic!("{error}"));
            assert!(ran.difference.is_none(), "{:#?}", ran.difference);
        });
    }
}

fn state_machine() {
    let config = Config {
        cases: u32::try_from(MACHINE_OPERATIONS / (LONGEST as u64 / 2)).expect("a few"),
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(
        config.clone(),
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let strategy = Machine::sequential_strategy(1..LONGEST);
    let result = runner.run(&strategy, |(state, transitions, seen)| {
        Collected::test_sequential(config.clone(), state, transitions, seen);
        Ok(())
    });
    PAIR.take();
    result.unwrap_or_else(|error| panic!("{error}"));
}

fn campaign() {
    let campaign = |operations, jobs| {
        let campaign = Campaign {
            operations,
            seed: SEED,
            jobs,
            setups: Setup::all(),
            look_every: 256,
            differences: 1,
        };
        let (reports, ended) = run(&campaign, &|_| (), &|| false);
        ended.unwrap_or_else(|error| panic!("{error}"));
        for report in &reports {
            if let Some(found) = report.found.first() {
                let (seed, ran) = (found.seed, &found.ran);
                let difference = ran.difference.as_ref().expect("a difference");
                let what = match &difference.parted {
                    Parted::Outcome { rust, real } => format!("{rust:?}\n{real:?}"),
                    Parted::State { rust, real } => format!("{rust:?}\n{real:?}"),
                    Parted::Draws => "random numbers".to_owned(),
                };
                panic!(
                    "{}, seed {seed}:\n{:#?}\n{what}",
                    report.setup.name, ran.history.operations
                );
            }
        }
        reports
    };
    let reports = campaign(OPERATIONS, 1);
    assert_eq!(reports.len(), Setup::all().len());
    let done: u64 = reports.iter().map(|report| report.operations).sum();
    assert!(done >= OPERATIONS);
    let mut covered = Coverage::default();
    reports.iter().for_each(|report| covered.merge(&report.coverage));
    demand(&covered);
    // The same seed, the same histories, however many pairs run beside each other.
    let again = campaign(OPERATIONS, 2);
    for (one, two) in reports.iter().zip(&again) {
        assert_eq!(one.coverage, two.coverage, "{}", one.setup.name);
        assert_eq!((one.operations, one.histories), (two.operations, two.histories));
    }
}

/// The list of what must be reached.
const REACHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/reached.txt");
/// What renews it.
const RENEW: &str = "MOONQUAKE_RENEW_TABLES=1 cargo test -p moonquake-differ --test real -- real_campaign";

/// Fails when an operation, or a result of one, that the list names did not come. What came and is not on the list is no failure:
/// renewing adds it.
fn demand(covered: &Coverage) {
    let now = covered.reached();
    if std::env::var_os("MOONQUAKE_RENEW_TABLES").is_some() {
        std::fs::write(REACHED, now.join("\n") + "\n").unwrap_or_else(|error| panic!("{REACHED}: {error}"));
    }
    let kept = std::fs::read_to_string(REACHED).unwrap_or_else(|error| panic!("{REACHED}: {error}"));
    assert!(kept.lines().count() > 150, "{REACHED} is cut");
    let lost: Vec<&str> = kept
        .lines()
        .filter(|line| !now.iter().any(|reached| reached == line))
        .collect();
    assert!(
        lost.is_empty(),
        "no longer reached by {OPERATIONS} operations: {lost:#?}\nIf that is meant, renew the list with\n  {RENEW}"
    );
}
