//! How many objects a round evicts, and which.
//!
//! Upstream's scenarios call a round with a share by hand. Here the same round comes from the trigger: the segment is
//! full to the last byte, `eviction_ratio` is 0 and the watermark lies one share below full, so target and lower bound
//! are that share. Objects are 1 KiB; the oldest ended first, a nanosecond apart.

use crate::rig::*;
use moonquake_clock::Span;
use moonquake_protocol::{ErrorCode, ReplicateConfig};

/// Upstream's names of the objects; which object makes up for a blocked one depends on them.
fn key(number: usize) -> String {
    format!("evict_scenario_key_{number}")
}

/// A master that is full with `count` objects, and whose next round aims at `share` of them.
fn full(count: usize, share: f64, soft_pins_may_go: bool) -> Rig {
    let size = count as u64 * KIB;
    Rig::configured(|config| {
        config.lease = Span::from_secs(3_600);
        config.soft_pin = Span::from_secs(3_600);
        config.client_ttl = Span::from_secs(3_600);
        config.allow_evict_soft_pinned_objects = soft_pins_may_go;
        config.eviction_ratio = 0.0;
        // Not a hair more than the share, or a round number of objects would be rounded up.
        config.eviction_high_watermark_ratio = (1.0 - share).next_up();
    })
    .node_of("memory", size)
}

fn put_aged(rig: &mut Rig, numbers: impl IntoIterator<Item = usize>, config: &ReplicateConfig) {
    for number in numbers {
        rig.pass(NS);
        rig.put(&key(number), config);
    }
}

/// The objects that are left after a round, by number.
fn left_after_a_round(rig: &mut Rig) -> Vec<usize> {
    rig.pass(NS);
    rig.evict();
    let number = |key: String| key.trim_start_matches("evict_scenario_key_").parse().unwrap();
    let mut left: Vec<usize> = rig.keys().into_iter().map(number).collect();
    left.sort_unstable();
    left
}

/// The oldest `gone` of `count` plain objects are evicted and nothing else.
fn evicts_the_oldest(count: usize, share: f64, gone: usize) {
    let mut rig = full(count, share, false);
    put_aged(&mut rig, 0..count, &plain());
    assert_eq!(left_after_a_round(&mut rig), (gone..count).collect::<Vec<_>>());
    assert_eq!(rig.allocated(), (count - gone) as u64 * KIB);
}

#[test]
fn evicts_exact_oldest_objects_at_low_ratio() {
    evicts_the_oldest(400, 0.05, 20);
}

#[test]
fn target_equals_lower_bound_evicts_exact_count() {
    evicts_the_oldest(250, 0.10, 25);
}

#[test]
fn evicts_exact_oldest_objects_at_high_ratio() {
    evicts_the_oldest(200, 0.80, 160);
}

#[test]
fn soft_pinned_objects_are_fallback_candidates() {
    let mut rig = full(20, 0.80, true);
    put_aged(&mut rig, 0..10, &plain());
    put_aged(&mut rig, 10..20, &soft_pinned());
    assert_eq!(
        left_after_a_round(&mut rig),
        [16, 17, 18, 19],
        "all plain ones and the 6 oldest pinned ones"
    );
}

#[test]
fn evicts_whole_group_together() {
    let mut rig = full(10, 0.10, false);
    put_aged(&mut rig, 0..3, &in_group("group"));
    put_aged(&mut rig, 3..10, &plain());
    assert_eq!(left_after_a_round(&mut rig), [3, 4, 5, 6, 7, 8, 9]);
}

/// Leases one member of a group alone: it is read before the others join.
fn put_leased(rig: &mut Rig, number: usize, group: &str) {
    put_aged(rig, [number], &in_group(group));
    assert!(rig.exist(&key(number)));
}

#[test]
fn active_group_member_blocks_whole_group() {
    let mut rig = full(10, 0.10, false);
    put_leased(&mut rig, 2, "group");
    put_aged(&mut rig, 0..2, &in_group("group"));
    put_aged(&mut rig, 3..10, &plain());
    assert_eq!(
        left_after_a_round(&mut rig),
        [0, 1, 2, 4, 5, 6, 7, 8, 9],
        "the next oldest goes"
    );
}

/// A group of `blocked` old objects and one leased member, then plain ones; what a round at 0.05 leaves.
fn around_a_blocked_group(blocked: usize, plain_objects: usize) -> Vec<usize> {
    let total = blocked + 1 + plain_objects;
    let mut rig = full(total, 0.05, false);
    put_leased(&mut rig, blocked, "blocked-group");
    put_aged(&mut rig, 0..blocked, &in_group("blocked-group"));
    put_aged(&mut rig, blocked + 1..total, &plain());
    left_after_a_round(&mut rig)
}

#[test]
fn reserve_absorbs_blocked_candidates_and_meets_target() {
    let left = around_a_blocked_group(12, 1_200);
    assert_eq!(left.len(), 1_213 - 61);
    assert_eq!(left[..13], (0..13).collect::<Vec<_>>(), "none of the group");
    assert!(left[13] >= 13 + 49, "at least the 49 oldest plain ones are gone");
}

#[test]
fn refill_after_reserve_exhaustion_still_meets_target() {
    let left = around_a_blocked_group(1_160, 200);
    assert_eq!(left.len(), 1_361 - 69);
    assert_eq!(left[..1_161], (0..1_161).collect::<Vec<_>>(), "none of the group");
}

/// Puts that fail wait 50 ms; the eviction thread, which runs every 10 ms upstream, makes a round then.
fn keep_putting(rig: &mut Rig, count: usize, size: u64, config: &ReplicateConfig) -> Vec<String> {
    let mut stored = Vec::new();
    for number in 0..count {
        let key = format!("test_key{number}");
        match rig.try_put(&key, size, config) {
            Ok(_) => stored.push(key),
            Err(code) => {
                assert_eq!(code, ErrorCode::NoAvailableHandle);
                rig.pass_ms(50);
                rig.evict();
            }
        }
    }
    stored
}

#[test]
fn evict_object() {
    let mut rig =
        Rig::configured(|config| config.lease = Span::from_ms(2_000)).node_of("test_segment", 240 * MIB);
    let stored = keep_putting(&mut rig, 16 * 1_024 + 50, 15 * KIB, &plain());
    assert!(
        stored.len() > 16 * 1_024,
        "{} of more than fit were stored",
        stored.len()
    );
}

#[test]
fn try_evict_leased_object() {
    let mut rig = Rig::with_lease(500);
    let mut leased = Vec::new();
    for number in 0..26 {
        let key = format!("test_key{number}");
        if rig.try_put(&key, MIB, &plain()).is_ok() {
            rig.get(&key).unwrap();
            leased.push(key);
        }
    }
    assert!(
        !leased.is_empty() && leased.len() < 26,
        "some were stored and some refused"
    );
    for _ in 0..5 {
        rig.pass_ms(10);
        rig.evict();
    }
    assert!(leased.iter().all(|key| rig.get(key).is_ok()));
}

fn pinning(ratio: Option<f64>, soft_pins_may_go: bool) -> Rig {
    Rig::configured(|config| {
        config.lease = Span::from_ms(200);
        config.soft_pin = Span::from_secs(10);
        config.allow_evict_soft_pinned_objects = soft_pins_may_go;
        config.eviction_ratio = ratio.unwrap_or(config.eviction_ratio);
    })
    .node("test_segment")
}

#[test]
fn soft_pin_objects_not_evicted_before_other_objects() {
    let mut rig = pinning(Some(0.5), true);
    for _ in 0..5 {
        for key in ["pin_key0", "pin_key1"] {
            rig.try_put(key, MIB, &soft_pinned()).unwrap();
        }
        let refused = (0..20).filter(|number| rig.try_put(&format!("key{number}"), MIB, &plain()).is_err());
        assert!(refused.count() > 0);
        rig.evict();
        assert!(rig.keys().len() < 16, "the round took something");
        rig.pass_ms(1_200);
        rig.evict();
        assert!(rig.get("pin_key0").is_ok() && rig.get("pin_key1").is_ok());
        rig.pass_ms(200);
        rig.remove_all(false);
    }
}

#[test]
fn soft_pin_objects_can_be_evicted() {
    let mut rig = pinning(None, true);
    let stored = keep_putting(&mut rig, 66, MIB, &soft_pinned());
    assert!(stored.len() > 16, "{} stored", stored.len());
}

#[test]
fn soft_pin_objects_not_allow_evict() {
    let mut rig = pinning(None, false);
    let stored = keep_putting(&mut rig, 66, MIB, &soft_pinned());
    assert!(stored.len() <= 17, "{} stored", stored.len());
    assert!(stored.iter().all(|key| rig.get(key).is_ok()));
}

#[test]
fn hard_pin_object_not_evicted() {
    let mut rig = Rig::with_lease(200);
    rig.try_put("pinned_model", MIB, &hard_pinned()).unwrap();
    let refused = (0..20).filter(|number| rig.try_put(&format!("filler_{number}"), MIB, &plain()).is_err());
    assert!(refused.count() > 0);
    rig.pass_ms(700);
    rig.evict();
    assert!(!rig.shows("filler_0"), "the round took something");
    rig.get("pinned_model").unwrap();
    rig.remove("pinned_model", true).unwrap();
    assert!(!rig.exist("pinned_model"));
}

#[test]
fn hard_pin_with_soft_pin_eviction_order() {
    let mut rig = pinning(Some(0.5), true);
    rig.try_put("hard_pinned", MIB, &hard_pinned()).unwrap();
    rig.try_put("soft_pinned", MIB, &soft_pinned()).unwrap();
    for number in 0..20 {
        let _ = rig.try_put(&format!("normal_{number}"), MIB, &plain());
    }
    rig.pass_ms(700);
    rig.evict();
    assert!(rig.keys().len() < 16, "the round took something");
    rig.get("hard_pinned").unwrap();
}

#[test]
fn hard_pin_default_is_false() {
    let mut rig = Rig::with_lease(5_000);
    rig.put("normal_key", &plain());
    rig.put("hp_key", &hard_pinned());
    rig.get("normal_key").unwrap();
    rig.get("hp_key").unwrap();
    assert!(!plain().with_hard_pin);
}
