//! Which objects a round evicts.

use super::harness::*;
use super::pins::pinned;
use crate::MasterConfig;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::ReplicateConfig;

/// Objects of 1 KiB named by their age, the oldest first, with a nanosecond between their ends.
pub(super) fn aged(harness: &mut Harness, range: std::ops::Range<usize>, config: &ReplicateConfig) {
    for number in range {
        harness.advance(NS);
        harness.put_with(&format!("key_{number:05}"), 1024, config);
    }
}

pub(super) fn left(harness: &Harness) -> Vec<usize> {
    let number = |key: String| key.trim_start_matches("key_").parse().unwrap();
    harness.keys().into_iter().map(number).collect()
}

pub(super) fn evict(harness: &mut Harness, target: f64, lower: f64) {
    harness.advance(NS);
    harness.master.evict_batch(harness.now, target, lower);
}

#[test]
fn the_oldest_go_and_exactly_as_many_as_the_ratio_says() {
    for (count, ratio, gone) in [(400, 0.05, 20), (250, 0.10, 25), (200, 0.80, 160), (30, 0.0, 0)] {
        let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
        aged(&mut harness, 0..count, &ReplicateConfig::default());
        evict(&mut harness, ratio, ratio);
        assert_eq!(
            left(&harness),
            (gone..count).collect::<Vec<_>>(),
            "{count} x {ratio}"
        );
        assert_eq!(harness.allocated(), (count - gone) as u64 * 1024);
    }
}

/// Measured on the real binary: 901 of 1000 units in shuffled order of ends; one tick evicts exactly the 46 oldest.
#[test]
fn the_trigger_sets_the_target() {
    let mut harness = Harness::with_segments(&[("a", 1_024_000)]);
    aged(&mut harness, 0..901, &ReplicateConfig::default());
    harness.tick(Thread::Eviction);
    assert_eq!(left(&harness), (46..901).collect::<Vec<_>>(), "ceil(901 x 0.051)");
    harness.tick(Thread::Eviction);
    assert_eq!(left(&harness).len(), 855, "below the watermark nothing goes");
}

#[test]
fn exactly_at_the_watermark_nothing_goes() {
    let mut harness = Harness::with_segments(&[("a", 1_024_000)]);
    aged(&mut harness, 0..900, &ReplicateConfig::default());
    harness.tick(Thread::Eviction);
    assert_eq!(left(&harness).len(), 900);
}

#[test]
fn all_that_tie_at_the_cutoff_go() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    for number in 0..100 {
        harness.put(&format!("key_{number:05}"), 1024);
    }
    evict(&mut harness, 0.05, 0.05);
    assert!(left(&harness).is_empty());
}

#[test]
fn a_put_over_the_watermark_is_evicted_by_the_next_round() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    harness.put("k", 15 * MIB);
    harness.tick(Thread::Eviction);
    assert!(!harness.exist("k"));
}

#[test]
fn a_lease_protects_and_a_read_makes_young() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    aged(&mut harness, 0..10, &ReplicateConfig::default());
    harness.get("key_00000").unwrap();
    evict(&mut harness, 1.0, 1.0);
    assert_eq!(left(&harness), [0]);
    aged(&mut harness, 1..10, &ReplicateConfig::default());
    harness.advance(Span::from_secs(10));
    evict(&mut harness, 0.9, 0.9);
    assert_eq!(left(&harness), [0], "its lease is over, but ended last");
}

#[test]
fn leased_objects_count_for_the_base() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    aged(&mut harness, 0..100, &ReplicateConfig::default());
    for number in 50..100 {
        harness.get(&format!("key_{number:05}")).unwrap();
    }
    evict(&mut harness, 0.3, 0.3);
    assert_eq!(left(&harness), (30..100).collect::<Vec<_>>());
}

#[test]
fn soft_pinned_objects_are_second_choice() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    aged(&mut harness, 0..10, &pinned(None));
    aged(&mut harness, 10..20, &ReplicateConfig::default());
    evict(&mut harness, 0.8, 0.8);
    assert_eq!(
        left(&harness),
        [6, 7, 8, 9],
        "all plain ones and the six oldest pinned ones"
    );
    let config = MasterConfig {
        allow_evict_soft_pinned_objects: false,
        ..MasterConfig::default()
    };
    let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
    aged(&mut harness, 0..10, &pinned(None));
    aged(&mut harness, 10..20, &ReplicateConfig::default());
    evict(&mut harness, 1.0, 1.0);
    assert_eq!(left(&harness), (0..10).collect::<Vec<_>>());
}

#[test]
fn hard_pinned_objects_stay_and_do_not_count() {
    let hard = ReplicateConfig {
        with_hard_pin: true,
        ..ReplicateConfig::default()
    };
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    aged(&mut harness, 0..10, &hard);
    aged(&mut harness, 10..20, &ReplicateConfig::default());
    evict(&mut harness, 0.5, 0.5);
    assert_eq!(left(&harness), (0..10).chain(15..20).collect::<Vec<_>>());
    evict(&mut harness, 1.0, 1.0);
    assert_eq!(left(&harness), (0..10).collect::<Vec<_>>());
    harness.remove("key_00000", false).unwrap();
}

#[test]
fn unfinished_objects_are_never_evicted() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    aged(&mut harness, 0..5, &ReplicateConfig::default());
    harness.put_start("unfinished", 1024).unwrap();
    evict(&mut harness, 1.0, 1.0);
    harness.put_end("unfinished").unwrap();
    assert_eq!(harness.keys(), ["unfinished"]);
}

#[test]
fn all_replicas_of_an_object_go_at_once() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    harness.put_with("k", 1024, &replicas(2));
    evict(&mut harness, 1.0, 1.0);
    assert_eq!(harness.allocated(), 0);
}

#[test]
fn groups_go_as_a_whole() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    aged(&mut harness, 0..3, &in_group("g"));
    aged(&mut harness, 3..10, &ReplicateConfig::default());
    evict(&mut harness, 0.1, 0.1);
    assert_eq!(left(&harness), (3..10).collect::<Vec<_>>());
}

/// Which object makes up for a blocked one follows from the order of the shards and of the selection. With the keys of
/// upstream's case it is the next oldest, as that case says.
#[test]
fn groups_with_a_leased_member_stay_and_another_object_goes() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    for number in 0..10 {
        harness.advance(NS);
        let config = if number < 3 {
            in_group("group")
        } else {
            ReplicateConfig::default()
        };
        harness.put_with(&format!("evict_scenario_key_{number}"), 1024, &config);
    }
    // A read would refresh every member; the case sets the lease of one by hand.
    let end = harness.now + Span::from_secs(3_600);
    let id = harness.master.objects.find("evict_scenario_key_2").unwrap();
    harness.master.objects.set_lease_end(id, end);
    evict(&mut harness, 0.1, 0.1);
    assert_eq!(harness.keys().len(), 9);
    assert!(!harness.exist("evict_scenario_key_3"));
}

#[test]
fn groups_keep_their_hard_pinned_members() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    aged(
        &mut harness,
        0..1,
        &ReplicateConfig {
            with_hard_pin: true,
            ..in_group("g")
        },
    );
    aged(&mut harness, 1..2, &pinned(Some("g")));
    aged(&mut harness, 2..3, &in_group("g"));
    evict(&mut harness, 0.1, 0.0);
    assert_eq!(left(&harness), [0, 1]);
}

/// Blocked candidates are replaced by younger ones, from the reserve and beyond it. The numbers are upstream's.
#[test]
fn blocked_candidates_are_made_up_for() {
    for (blocked, plain, gone) in [(12, 1_200, 61), (1_160, 200, 69)] {
        let mut harness = Harness::with_segments(&[("a", 64 * MIB)]);
        aged(&mut harness, 0..blocked, &in_group("g"));
        harness.put_with("leased", 1024, &in_group("g"));
        let id = harness.master.objects.find("leased").unwrap();
        harness
            .master
            .objects
            .set_lease_end(id, harness.now + Span::from_secs(1_000));
        aged(
            &mut harness,
            blocked..blocked + plain,
            &ReplicateConfig::default(),
        );
        evict(&mut harness, 0.05, 0.05);
        harness.master.erase("leased");
        let left = left(&harness);
        assert_eq!(left.len(), blocked + plain - gone);
        assert!(
            left.starts_with(&(0..blocked).collect::<Vec<_>>()),
            "none of the group"
        );
        // Of those that are not made up for, the oldest go; which ones fill up is a matter of order.
        let oldest = gone.saturating_sub(blocked);
        assert!(left[blocked] >= blocked + oldest);
    }
}

#[test]
fn a_round_that_evicts_nothing_stays_asked_for() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    harness.put("k", 12 * MIB);
    harness.get("k").unwrap();
    harness.put_start("big", 8 * MIB).unwrap_err();
    harness.tick(Thread::Eviction);
    assert_eq!(harness.keys(), ["k"]);
    harness.advance(Span::from_secs(10));
    harness.tick(Thread::Eviction);
    assert!(
        harness.keys().is_empty(),
        "the lease is over, and nobody had to fail again"
    );
}

/// 15 objects of 4 MiB in 64 MiB: ceil(15 x max(0.05, 0.9375 - 0.9 + 0.05)) = 2.
#[test]
fn a_put_that_fails_gets_room_in_the_next_round() {
    let mut harness = Harness::with_segments(&[("a", 64 * MIB)]);
    for number in 0..15 {
        harness.advance(Span::from_ms(1));
        harness.put(&format!("c{number:02}"), 4 * MIB);
    }
    harness.put_start("big", 8 * MIB).unwrap_err();
    harness.tick(Thread::Eviction);
    assert_eq!(harness.keys()[0], "c02");
    harness.put("big", 8 * MIB);
}
