//! When a background thread does its round, and what is told of a master from outside.

use super::harness::*;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{ErrorCode, Request, Response};

const PERIOD: Span = Span::from_secs(30);

#[test]
fn the_clean_up_of_tasks_waits_for_its_whole_period() {
    assert_eq!(Thread::TaskCleanup.period(), PERIOD);
    let mut harness = Harness::with_segments(&[]);
    let mut rounds = |since_start| {
        harness
            .master
            .tick_if_due(START + since_start, Thread::TaskCleanup)
    };
    assert!(!rounds(Span::ZERO));
    assert!(!rounds(PERIOD - NS));
    assert!(rounds(PERIOD));
    assert!(!rounds(PERIOD));
    // A late round moves the next one.
    assert!(rounds(PERIOD * 3));
    assert!(!rounds(PERIOD * 4 - NS));
    assert!(rounds(PERIOD * 4));
}

#[test]
fn the_other_threads_do_a_round_whenever_they_are_let_through() {
    for thread in [Thread::Eviction, Thread::ClientMonitor, Thread::JobDispatch] {
        let mut harness = Harness::with_segments(&[("a", 2 * MIB)]);
        harness.put("k", 2 * MIB);
        harness.master.tick_if_due(harness.now, Thread::ClientMonitor);
        harness.advance(Span::from_secs(11));
        assert!(harness.master.tick_if_due(harness.now, thread));
        let expected = usize::from(thread == Thread::JobDispatch);
        assert_eq!(harness.keys().len(), expected, "{thread:?}");
    }
}

#[test]
fn a_round_that_is_not_due_still_catches_up_with_graceful_unmounts() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let asked = answer!(
        harness,
        GracefulUnmountSegment {
            segment_id: segment("a", MIB).id,
            client_id: client(0),
            grace_period_ms: 1_000
        }
    );
    assert_eq!(asked, Ok(()));
    harness.advance(Span::from_secs(1));
    assert!(!harness.master.tick_if_due(harness.now, Thread::TaskCleanup));
    assert_eq!(harness.master.view().segments.len(), 0);
}

#[test]
fn ids_of_replicas_are_counted_whatever_becomes_of_them() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    assert_eq!(harness.master.replicas_made(), 0);
    harness.put_with("k", 10, &replicas(2));
    harness.remove("k", false).unwrap();
    assert_eq!(harness.put_start("k", 2 * MIB), Err(ErrorCode::NoAvailableHandle));
    assert_eq!(harness.master.replicas_made(), 2);
    assert_eq!(
        (harness.put("k", 10)[0].id, harness.master.replicas_made()),
        (3, 3)
    );
}

#[test]
fn readable_keys_are_listed_in_the_order_of_the_shards() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    for number in 0..20 {
        harness.put(&format!("k{number}"), 10);
    }
    harness.put_start("open", 10).unwrap();
    let keys = harness.master.readable_keys();
    assert_eq!(keys.len(), 20);
    let shards: Vec<usize> = keys
        .iter()
        .map(|key| harness.master.objects.shard_of(key))
        .collect();
    assert!(shards.is_sorted(), "{shards:?}");
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, harness.keys());
}
