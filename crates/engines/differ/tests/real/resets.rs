//! A reset is clean: a history after it is one of a fresh process. What a reset does is needed: without it the masters part.

use crate::Test;
use moonquake_differ::{History, Operation, Outcome, Pair, RealSide, Setup, States, read, write};

pub(crate) const TESTS: &[Test] = &[
    ("real_histories_after_resets_are_those_of_a_fresh_process", resets),
    ("real_a_history_without_a_reset_parts", without),
    ("real_a_history_is_read_back_as_it_was_written", files),
];

fn pair(setup: &Setup) -> Pair {
    Pair::start(setup).unwrap_or_else(|error| panic!("{error}"))
}

/// A history of a seed that both masters agree on.
fn history(pair: &mut Pair, seed: u64) -> Vec<Operation> {
    let ran = pair
        .run_seed(seed, 800, States::End)
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(ran.difference.is_none(), "{:#?}", ran.difference);
    ran.history.operations
}

fn answers(real: &mut RealSide, operations: &[Operation]) -> Vec<Outcome> {
    real.apply(operations).unwrap_or_else(|error| panic!("{error}"))
}

/// Replica ids go on counting, so answers that carry them are compared by [`Pair`]; everything else is the same to the byte.
fn resets() {
    let mut used = pair(&Setup::defaults());
    let histories: Vec<_> = (0..12).map(|seed| history(&mut used, seed)).collect();
    // Each of them was compared with a Rust master that had just started. Now the other way round: after eleven others, each
    // history is that of a process which has done nothing else.
    for operations in histories.iter().rev() {
        let again = used
            .run(operations, States::Every(64))
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(again.difference.is_none(), "{:#?}", again.difference);
    }
    let mut fresh = RealSide::start(&Setup::defaults()).unwrap_or_else(|error| panic!("{error}"));
    let first = answers(&mut fresh, &histories[3]);
    let second = answers(used.real(), &histories[3]);
    let without_ids = |outcomes: &[Outcome]| {
        let kept = outcomes.iter().map(|outcome| {
            let mut value = serde_json::to_value(outcome).expect("JSON");
            forget_ids(&mut value);
            value
        });
        kept.collect::<Vec<_>>()
    };
    assert_eq!(without_ids(&first), without_ids(&second));
}

/// Replica ids are the only numbers called `id`; those of tasks are texts.
fn forget_ids(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Array(items) => items.iter_mut().for_each(forget_ids),
        serde_json::Value::Object(fields) => {
            fields.retain(|name, field| !(name == "id" && field.is_u64()));
            fields.values_mut().for_each(forget_ids);
        }
        _ => {}
    }
}

/// Without the reset the real master still has what the last history left.
fn without() {
    let mut used = pair(&Setup::defaults());
    let operations = history(&mut used, 5);
    answers(used.real(), &operations);
    let ran = used
        .run(&operations, States::End)
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(ran.difference.is_some(), "what was left behind is seen");
}

fn files() {
    let mut used = pair(&Setup::defaults());
    let operations = history(&mut used, 5);
    answers(used.real(), &operations);
    let ran = used
        .run(&operations, States::End)
        .unwrap_or_else(|error| panic!("{error}"));
    let difference = ran.difference.expect("what was left behind is seen");
    let folder = tempfile::tempdir().expect("a folder");
    let files = write(folder.path(), &ran.history, &difference, 7).expect("files");
    let back: History = read(&files.history).expect("a history");
    assert_eq!(back, ran.history);
    let name = files
        .history
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert_eq!(name, "defaults-0000000000000007.history.json");
}
