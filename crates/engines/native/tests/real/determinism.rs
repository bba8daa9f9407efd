//! The same seed and the same requests give the same master.

use crate::Test;
use crate::rig::{Rig, START};
use moonquake_clock::Thread;

pub(crate) const TESTS: &[Test] = &[
    ("real_seed_decides_the_placement", placement),
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

/// A sweep frees expired writes in the order of a list to which sixteen threads append. If that order varied, so would the
/// places of later objects.
fn order_of_frees() {
    let places = || -> Vec<u64> {
        let mut rig = Rig::with_segments(1);
        for number in 0..450_u64 {
            rig.put_start(&format!("gone{number}"), 1_000 + 977 * (number % 37))
                .expect("a place");
            rig.put(&format!("kept{number}"), 3_000 + 131 * (number % 11));
        }
        rig.at(START, 601_000_000_000);
        rig.tick(Thread::Eviction);
        (0..450_u64)
            .map(|number| {
                rig.put(&format!("new{number}"), 900 + 499 * (number % 53))
                    .buffer_address
            })
            .collect()
    };
    let first = places();
    for _ in 0..2 {
        assert_eq!(first, places());
    }
}
