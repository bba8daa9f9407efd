//! The same seed and the same requests give the same master.

use crate::Test;
use crate::rig::{MIB, Rig, START, tenant};
use moonquake_clock::Thread;
use moonquake_protocol::{Request, Response, Uuid};
use std::collections::BTreeSet;

pub(crate) const TESTS: &[Test] = &[
    ("real_seed_decides_the_placement", placement),
    ("real_seed_decides_the_ids_of_tasks", task_ids),
    ("real_order_of_frees_is_the_same_in_every_start", order_of_frees),
];

fn placement() {
    let placed = |seed: u64| -> Vec<String> {
        let mut rig = Rig::seeded(3, seed);
        (0..200)
            .map(|number| rig.put(&format!("k{number}"), 1_000).transport_endpoint)
            .collect()
    };
    let first = placed(42);
    assert_eq!(first, placed(42));
    assert_ne!(first, placed(43));
    for name in ["n0", "n1", "n2"] {
        assert!(
            first.iter().filter(|placed| *placed == name).count() > 40,
            "{name} gets its share"
        );
    }
}

fn task_ids() {
    let ids = |seed: u64| -> Vec<Uuid> {
        let mut rig = Rig::seeded(3, seed);
        rig.put("k", 1_000);
        let create = |rig: &mut Rig, target: &str| {
            let request = Request::CreateCopyTask {
                key: "k".to_owned(),
                tenant_id: tenant(),
                targets: vec![target.to_owned()],
            };
            match rig.call(&request) {
                Response::CreateCopyTask(Ok(id)) => id,
                other => panic!("{other:?}"),
            }
        };
        ["n0", "n1", "n2", "n0"]
            .map(|target| create(&mut rig, target))
            .to_vec()
    };
    let first = ids(42);
    assert_eq!(first, ids(42));
    assert_ne!(first, ids(43));
    assert_eq!(
        first.iter().collect::<BTreeSet<_>>().len(),
        first.len(),
        "no id twice"
    );
}

/// An eviction round frees expired writes in the order of a list to which sixteen threads append. If that order varied, so would the
/// places of later objects: with those threads side by side, ten starts give five to eight different sequences.
fn order_of_frees() {
    let places = || -> Vec<u64> {
        let mut rig = Rig::with_segments(1);
        for number in 0..450_u64 {
            rig.put_start(&format!("gone{number}"), 70_000 + 1_777 * (number % 37))
                .expect("a place");
            rig.put(&format!("kept{number}"), 33_000 + 1_310 * (number % 11));
        }
        // Leased, or the eviction of that round would take them all and leave one free range.
        rig.at(START, 595_000_000_000);
        for number in 0..450_u64 {
            assert_eq!(rig.get(&format!("kept{number}")), 0);
        }
        rig.at(START, 601_000_000_000);
        rig.tick(Thread::Eviction);
        assert!(rig.allocated() < 20 * MIB, "the expired writes are gone");
        (0..250_u64)
            .map(|number| {
                rig.put(&format!("new{number}"), 50_000 + 499 * (number % 29))
                    .buffer_address
            })
            .collect()
    };
    let first = places();
    for start in 1..6 {
        assert_eq!(first, places(), "start {start}");
    }
}
