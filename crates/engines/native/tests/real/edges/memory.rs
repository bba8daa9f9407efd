//! Edges of eviction.

use crate::Test;
use crate::pair::Pair;
use crate::rig::MIB;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{ErrorCode, ReplicateConfig};

pub(crate) const TESTS: &[Test] = &[
    (
        "real_edge_a_put_over_the_watermark_is_evicted_at_once",
        evicted_at_once,
    ),
    ("real_edge_eviction_counts_objects_and_not_bytes", counts_objects),
    ("real_edge_objects_that_tie_are_evicted_together", ties),
];

/// Edge 14: a put that succeeded is gone one round later, because nobody has read it.
fn evicted_at_once() {
    let mut pair = Pair::with_segments(&[16 * MIB]);
    pair.put("k", 15 * MIB, &ReplicateConfig::default());
    assert_eq!(pair.keys(), ["k"]);
    pair.pass(Span::from_ms(10));
    pair.tick(Thread::Eviction);
    assert_eq!(pair.get("k"), Err(ErrorCode::ObjectNotFound));
    assert_eq!(pair.allocated(), 0);
}

/// Edge 55: of ten objects a round takes the oldest one, be it of a byte or of half the pool.
fn counts_objects() {
    for (oldest, left) in [(1, 15 * MIB), (8 * MIB, 7 * MIB + 1)] {
        let mut pair = Pair::with_segments(&[16 * MIB]);
        let sizes = [oldest, 8 * MIB + 1 - oldest].into_iter().chain([MIB - 1; 7]);
        for (number, size) in sizes.enumerate() {
            pair.pass(Span::from_ms(1));
            pair.put(&format!("k{number}"), size, &ReplicateConfig::default());
        }
        pair.tick(Thread::Eviction);
        assert!(!pair.keys().contains(&"k0".to_owned()));
        assert_eq!(pair.keys().len(), 8, "{oldest}");
        assert_eq!(pair.allocated(), left - 7);
    }
}

/// Edge 55: a round that wants one of sixteen takes all that ended in the same instant.
fn ties() {
    let mut pair = Pair::with_segments(&[100 * MIB]);
    pair.put("old1", 50 * MIB, &ReplicateConfig::default());
    pair.put("old2", 34 * MIB, &ReplicateConfig::default());
    pair.pass(Span::from_ms(1));
    for number in 0..14 {
        pair.put(&format!("k{number:02}"), MIB / 2, &ReplicateConfig::default());
    }
    pair.tick(Thread::Eviction);
    assert_eq!(pair.keys().len(), 14, "ceil(16 x 0.06) = 1 was wanted");
    assert_eq!(pair.allocated(), 7 * MIB);
}
