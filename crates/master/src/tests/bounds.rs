//! Rounds that stop between their two bounds, and candidates that are no longer what they were when they were counted.

use super::evictions::{aged, evict, left};
use super::harness::*;
use super::pins::pinned;
use crate::MasterConfig;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::ReplicateConfig;

fn plain() -> ReplicateConfig {
    ReplicateConfig::default()
}

/// A second pass that has enough plain ones takes the oldest of those, and neither what is pinned nor what is leased.
#[test]
fn what_the_first_pass_left_of_plain_objects_goes_first() {
    for missing in 1..=8 {
        let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
        let hard = ReplicateConfig {
            with_hard_pin: true,
            ..plain()
        };
        aged(&mut harness, 0..3, &hard);
        aged(&mut harness, 3..6, &pinned(None));
        aged(&mut harness, 6..16, &plain());
        aged(&mut harness, 16..17, &plain());
        harness.get("key_00016").unwrap();
        // Fourteen count. One goes in the first pass.
        evict(&mut harness, 1.0 / 14.0, (1 + missing) as f64 / 14.0);
        assert_eq!(left(&harness), (0..6).chain(7 + missing..17).collect::<Vec<_>>());
    }
}

#[test]
fn a_second_pass_needs_no_pinned_object() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    aged(&mut harness, 0..10, &plain());
    evict(&mut harness, 0.1, 0.5);
    assert_eq!(left(&harness), (5..10).collect::<Vec<_>>());
}

/// A soft pin that is over counts until somebody asks for it.
#[test]
fn a_second_pass_asks_no_hard_pinned_object_for_its_soft_pin() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    let both = ReplicateConfig {
        with_hard_pin: true,
        ..pinned(None)
    };
    for number in 10..20 {
        harness.put_with(&format!("key_{number:05}"), 1024, &both);
    }
    harness.advance(Span::from_secs(1_800));
    aged(&mut harness, 0..10, &plain());
    evict(&mut harness, 0.1, 0.5);
    assert_eq!(left(&harness), (5..20).collect::<Vec<_>>());
    assert_eq!(harness.master.view().soft_pinned_keys, 10);
}

/// Where plain ones do not suffice, all of them go and the oldest of the pinned ones.
#[test]
fn beyond_the_plain_ones_the_oldest_pinned_ones_go() {
    for pinned_too in 1..=4 {
        let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
        let hard = ReplicateConfig {
            with_hard_pin: true,
            ..plain()
        };
        aged(&mut harness, 0..1, &hard);
        aged(&mut harness, 1..6, &pinned(None));
        aged(&mut harness, 6..11, &plain());
        aged(&mut harness, 11..12, &plain());
        harness.get("key_00011").unwrap();
        // Eleven count. One plain one goes in the first pass and four in the second.
        evict(&mut harness, 1.0 / 11.0, (5 + pinned_too) as f64 / 11.0);
        let expected: Vec<usize> = [0].into_iter().chain(1 + pinned_too..6).chain([11]).collect();
        assert_eq!(left(&harness), expected, "{pinned_too}");
    }
}

/// The pinned member of a group goes with it only in a round that pinned objects have to go in.
#[test]
fn a_pinned_member_goes_with_its_group_only_where_pinned_objects_go() {
    for (lower, expected) in [(2.0 / 6.0, vec![0, 3, 4, 5]), (1.0, vec![])] {
        let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
        aged(&mut harness, 0..1, &pinned(Some("g")));
        aged(&mut harness, 1..2, &plain());
        aged(&mut harness, 2..3, &in_group("g"));
        aged(&mut harness, 3..6, &plain());
        evict(&mut harness, 1.0 / 6.0, lower);
        assert_eq!(left(&harness), expected);
    }
}

/// A group went with the oldest of its members, but for a replica that a copy reads from. What is left of that object may
/// not go in its own turn, and the second pass counts it among those that were spared.
#[test]
fn a_candidate_that_lost_what_could_go_is_spared() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    aged(&mut harness, 0..1, &in_group("g"));
    let twice = ReplicateConfig {
        replica_num: 2,
        ..in_group("g")
    };
    aged(&mut harness, 1..2, &twice);
    aged(&mut harness, 2..3, &plain());
    harness.mount("c", MIB).unwrap();
    super::copies::copy(&mut harness, "key_00001", "a", &["c"]).unwrap();
    evict(&mut harness, 0.5, 1.0);
    assert_eq!(
        left(&harness),
        [1, 2],
        "one is missing, and the oldest that was spared cannot go"
    );
}

/// All that are as old as the youngest that must go, wherever the selection has put them.
#[test]
fn all_that_tie_with_the_youngest_that_must_go_do_go() {
    for wanted in 6..=20 {
        let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
        aged(&mut harness, 0..5, &plain());
        for number in 5..25 {
            harness.put(&format!("key_{number:05}"), 1024);
        }
        aged(&mut harness, 25..30, &plain());
        evict(&mut harness, wanted as f64 / 30.0, 0.0);
        // The first of the tied ones ended when the last of those before them did.
        assert_eq!(left(&harness), (25..30).collect::<Vec<_>>(), "{wanted}");
    }
}

/// A second pass begins at a random shard and comes to all of them.
#[test]
fn a_second_pass_visits_every_shard() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    for round in 0..12 {
        aged(&mut harness, round * 40..(round + 1) * 40, &pinned(None));
        evict(&mut harness, 1.0, 1.0);
        assert!(left(&harness).is_empty(), "{round}");
    }
}

fn filled(config: MasterConfig, pinned_ones: usize, plain_ones: usize) -> Harness {
    let mut harness = Harness::configured(config, &[("a", 32 * 1024)]);
    aged(&mut harness, 0..pinned_ones, &pinned(None));
    aged(&mut harness, pinned_ones..pinned_ones + plain_ones, &plain());
    harness
}

/// Without pressure the lower bound is half of the ratio, and pinned objects need not go beyond it.
#[test]
fn half_of_the_ratio_is_enough() {
    let config = MasterConfig {
        eviction_ratio: 0.5,
        ..MasterConfig::default()
    };
    let mut harness = filled(config, 6, 2);
    harness.master.need_eviction = true;
    harness.tick(Thread::Eviction);
    assert_eq!(left(&harness), (0..6).collect::<Vec<_>>());
}

/// Under pressure the lower bound is what lies above the watermark: a quarter here, and not that and the ratio.
#[test]
fn what_lies_above_the_watermark_has_to_go() {
    let config = MasterConfig {
        eviction_ratio: 0.05,
        eviction_high_watermark_ratio: 0.5,
        ..MasterConfig::default()
    };
    let mut harness = filled(config, 24, 0);
    harness.tick(Thread::Eviction);
    assert_eq!(left(&harness), (6..24).collect::<Vec<_>>());
}

/// With a ratio of zero a wish to evict is not heard, and not forgotten either.
#[test]
fn a_ratio_of_zero_hears_no_wish() {
    for (eviction_ratio, still_wished) in [(0.0, true), (0.01, false)] {
        let config = MasterConfig {
            eviction_ratio,
            ..MasterConfig::default()
        };
        let mut harness = filled(config, 0, 0);
        harness.master.need_eviction = true;
        harness.advance(Span::from_secs(1));
        harness.tick(Thread::Eviction);
        assert_eq!(harness.master.need_eviction, still_wished, "{eviction_ratio}");
    }
}

#[test]
fn the_default_pin_may_be_the_longest_and_no_longer() {
    for (soft_pin, fits) in [(Span::from_secs(9), true), (Span::from_secs(9) + NS, false)] {
        let config = MasterConfig {
            soft_pin,
            max_soft_pin: Span::from_secs(9),
            ..MasterConfig::default()
        };
        assert_eq!(crate::Master::new(config, START).is_ok(), fits);
    }
}

#[test]
fn an_object_whose_lease_ends_at_the_last_instant_can_go_then() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.now = moonquake_clock::Clocks {
        realtime: moonquake_clock::RealtimeNs(u64::MAX),
        monotonic: moonquake_clock::MonotonicNs(u64::MAX),
    };
    harness.put("k", 10);
    harness.master.evict_batch(harness.now, 1.0, 1.0);
    assert_eq!(harness.keys(), [""; 0]);
}

/// Below 10/44 a round knows so many candidates beyond its target as a tenth of the target, and 1024 at least; from there on all.
/// The second pass takes no others.
#[test]
fn only_so_many_beyond_the_target_are_known_to_the_second_pass() {
    for (count, target, lower, gone) in [
        (1_200, 10.0 / 1_200.0, 1_150.0 / 1_200.0, 1_034),
        (1_300, 100.0 / 1_300.0, 1_250.0 / 1_300.0, 1_124),
        (2_200, 0.2272, 1.0, 1_524),
        (2_200, 10.0 / 44.0, 1.0, 2_200),
    ] {
        let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
        aged(&mut harness, 0..count, &plain());
        evict(&mut harness, target, lower);
        assert_eq!(harness.master.objects.len(), count - gone, "{count} x {target}");
    }
}

/// The plain candidate that can go is the last of those that a round knows at once, and keeps a replica on a disk. It is
/// visited once: a second visit would find it unable to go, and count it among those that were spared.
#[test]
fn a_candidate_is_visited_once() {
    for (blocked, behind, target) in [(1_033, 67, 9.5 / 1_122.0), (3, 0, 10.0 / 24.0)] {
        let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
        aged(&mut harness, 0..blocked, &in_group("g"));
        aged(&mut harness, blocked..blocked + 1, &plain());
        super::disks::report(&mut harness, client(0), &format!("key_{blocked:05}"), 100).unwrap();
        aged(&mut harness, blocked + 1..blocked + 1 + behind, &in_group("g"));
        aged(&mut harness, 2_000..2_020, &pinned(None));
        harness.put_with("leased", 1024, &in_group("g"));
        let id = harness.master.objects.find("leased").unwrap();
        let end = harness.now + Span::from_secs(1_000);
        harness.master.objects.set_lease_end(id, end);
        let base = (blocked + behind + 22) as f64;
        evict(&mut harness, target, 9.5 / base);
        harness.master.erase("leased");
        let pins = left(&harness).into_iter().filter(|number| *number >= 2_000);
        assert_eq!(
            pins.collect::<Vec<_>>(),
            (2_009..2_020).collect::<Vec<_>>(),
            "{blocked}"
        );
    }
}
