//! A real master that ends within a history: what is said of it, and the one history that is known to end it.

use crate::Test;
use moonquake_clock::Thread;
use moonquake_differ::{DifferError, Lost, Operation, Outcome, Pair, Setup, States};
use moonquake_protocol::{Request, Segment, Uuid};

pub(crate) const TESTS: &[Test] = &[
    ("real_a_killed_master_is_told_with_its_signal_and_history", killed),
    (
        "real_a_drain_job_of_too_many_moves_at_once_ends_the_master",
        drained,
    ),
    ("real_a_run_stops_when_it_is_asked_to", stopped),
];

fn pair() -> Pair {
    Pair::start(&Setup::defaults()).unwrap_or_else(|error| panic!("{error}"))
}

fn lost(pair: &mut Pair, operations: &[Operation]) -> Box<Lost> {
    match pair.run(operations, States::End) {
        Err(DifferError::Lost(lost)) => lost,
        other => panic!("{other:?}"),
    }
}

fn exist(key: &str) -> Operation {
    Operation::Call(Request::ExistKey {
        key: key.to_owned(),
        tenant_id: String::new(),
    })
}

fn killed() {
    let mut pair = pair();
    let operations = [Operation::Tick(Thread::Eviction), exist("a"), exist("b")];
    pair.real().process().kill().expect("a process");
    let lost = lost(&mut pair, &operations);
    assert_eq!((lost.index, lost.unanswered), (0, 3));
    assert_eq!(lost.history.operations, operations);
    let said = lost.to_string();
    for part in ["SIGKILL", "{\"tick\":\"eviction\"}", "`defaults`", "number 1"] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
}

fn mount(slot: u64) -> Operation {
    Operation::Call(Request::MountSegment {
        segment: Segment {
            id: Uuid::new(1, slot),
            name: format!("n{slot}"),
            base: (slot + 1) << 40,
            size: 1 << 20,
            te_endpoint: format!("n{slot}"),
            protocol: "tcp".to_owned(),
            ..Segment::default()
        },
        client_id: Uuid::new(2, slot),
    })
}

fn drain(max_concurrency: u32) -> Vec<Operation> {
    let mut operations = vec![mount(0), mount(1)];
    let put = moonquake_protocol::ReplicateConfig {
        preferred_segment: "n0".to_owned(),
        ..Default::default()
    };
    let (client_id, key, tenant_id) = (Uuid::new(2, 0), "k".to_owned(), String::new());
    operations.push(Operation::Call(Request::PutStart {
        client_id,
        key,
        slice_length: 1,
        config: put,
        tenant_id,
    }));
    operations.push(Operation::CreateDrainJob {
        segments: vec!["n0".to_owned()],
        target_segments: Vec::new(),
        max_concurrency,
    });
    operations.push(exist("k"));
    operations.push(Operation::Tick(Thread::JobDispatch));
    operations
}

/// Whether memory that nobody has is promised, so that room for four thousand million moves is there for the asking.
fn promises_all() -> bool {
    let mode = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap_or_default();
    mode.trim() == "1"
}

/// The dispatch thread makes room for as many moves as the job allows at once, whatever there is to move, and nobody catches what is
/// thrown when it cannot have that. The Rust master makes no such room.
fn drained() {
    let mut pair = pair();
    let fine = pair
        .run(&drain(1_000), States::Each)
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(fine.difference.is_none(), "{:#?}", fine.difference);
    if promises_all() {
        return;
    }
    let operations = drain(u32::MAX);
    let lost = lost(&mut pair, &operations);
    assert_eq!(
        lost.index,
        operations.len() - 1,
        "the round of the dispatch thread"
    );
    assert!(lost.became.contains("SIGABRT"), "{}", lost.became);
    assert!(lost.log_tail.contains("std::bad_alloc"), "{}", lost.log_tail);
}

fn stopped() {
    let mut pair = pair();
    let operations = vec![exist("a"); 10];
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 4
    };
    let ran = pair
        .run_until(&operations, States::Each, &stop)
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(ran.difference.is_none());
    assert_eq!(ran.history.operations.len(), 4);
    // What was stopped was reset too: the next history starts as every other.
    let outcomes = pair.real().apply(&operations[..1]).expect("a master that lives");
    assert!(matches!(outcomes[..], [Outcome::Answer(_)]));
}
