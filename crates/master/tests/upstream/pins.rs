//! Soft pins.
//!
//! A pin cannot be seen from outside. So a copy of the master, whose rounds take everything but pinned objects, makes a
//! round: what is still there was pinned.

use crate::rig::*;
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span, Thread};
use moonquake_master::MasterConfig;
use moonquake_protocol::SoftPinAction;

/// Every round takes whatever is not pinned, and nobody is leased.
pub(crate) fn revealing(config: &mut MasterConfig) {
    config.lease = Span::ZERO;
    config.allow_evict_soft_pinned_objects = false;
    config.eviction_ratio = 1.0;
    config.eviction_high_watermark_ratio = 0.0;
}

fn rig() -> Rig {
    Rig::configured(revealing).node("test_segment")
}

/// Whether the object is pinned now; the master of the case is left as it is.
pub(crate) fn is_pinned(rig: &Rig, key: &str) -> bool {
    let mut copy = rig.clone();
    assert!(copy.shows(key), "{key} is readable before the round");
    copy.evict();
    copy.shows(key)
}

/// When the pin of a readable object ends.
fn pinned_until(rig: &Rig, key: &str, end: Clocks) -> bool {
    let at = |instant: Clocks| {
        let mut copy = rig.clone();
        copy.now = instant;
        is_pinned(&copy, key)
    };
    let before = Clocks {
        realtime: RealtimeNs(end.realtime.0 - 1),
        monotonic: MonotonicNs(end.monotonic.0 - 1),
    };
    at(before) && !at(end)
}

fn enabled(ttl_ms: u64) -> moonquake_protocol::ReplicateConfig {
    pin(SoftPinAction::Enable, Some(ttl_ms))
}

/// A whole upsert of the writer.
fn upsert(rig: &mut Rig, key: &str, size: u64, config: &moonquake_protocol::ReplicateConfig) {
    rig.upsert(WRITER, key, size, config).unwrap();
    rig.upsert_end(WRITER, key).unwrap();
}

#[test]
fn soft_pin_master_config_rejects_default_above_maximum() {
    let config = MasterConfig {
        soft_pin: Span::from_ms(101),
        max_soft_pin: Span::from_ms(100),
        ..MasterConfig::default()
    };
    assert!(moonquake_master::Master::new(config, Rig::new().now).is_err());
}

#[test]
fn soft_pin_deadline_calculation_saturates_at_maximum() {
    let mut rig = Rig::configured(|config| {
        revealing(config);
        config.max_soft_pin = Span::from_ns(u64::MAX);
    })
    .node("test_segment");
    rig.put("normal", &enabled(25));
    assert!(pinned_until(&rig, "normal", rig.now + Span::from_ms(25)));
    rig.put("longest", &enabled(u64::MAX / 1_000_000));
    rig.pass(Span::from_secs(100 * 365 * 86_400));
    assert!(is_pinned(&rig, "longest"));
}

#[test]
fn remove_soft_pin_object() {
    for all in [false, true] {
        let mut rig = rig();
        rig.put("test_key", &soft_pinned());
        assert!(is_pinned(&rig, "test_key"));
        if all {
            assert_eq!(rig.remove_all(false), 1);
        } else {
            rig.remove("test_key", false).unwrap();
        }
        rig.put("test_key", &plain());
        assert!(!is_pinned(&rig, "test_key"), "the pin went with the object");
    }
}

#[test]
fn soft_pin_actions_commit_on_first_readable_upsert() {
    let mut rig = rig();
    rig.start(WRITER, "action_key", KIB, &enabled(5_000)).unwrap();
    rig.pass_ms(3_000);
    rig.end(WRITER, "action_key").unwrap();
    let first = rig.now + Span::from_ms(5_000);
    assert!(
        pinned_until(&rig, "action_key", first),
        "it counts from the end of the put"
    );
    rig.pass_ms(1_000);
    upsert(&mut rig, "action_key", KIB, &plain());
    assert!(pinned_until(&rig, "action_key", first), "PRESERVE moves nothing");
    // Until its end DISABLE takes nothing: another writer's upsert, which preempts it, inherits the pin.
    rig.upsert(WRITER, "action_key", 2 * KIB, &pin(SoftPinAction::Disable, None))
        .unwrap();
    let mut preempted = rig.clone();
    upsert(&mut preempted, "action_key", 2 * KIB, &plain());
    assert!(pinned_until(&preempted, "action_key", first));
    rig.upsert_end(WRITER, "action_key").unwrap();
    assert!(!is_pinned(&rig, "action_key"));
    rig.upsert(WRITER, "action_key", 2 * KIB, &enabled(3_000))
        .unwrap();
    rig.pass_ms(700);
    rig.upsert_end(WRITER, "action_key").unwrap();
    assert!(pinned_until(&rig, "action_key", rig.now + Span::from_ms(3_000)));
}

#[test]
fn soft_pin_deadline_index_expires_only_due_entries() {
    let mut rig = rig();
    let start = rig.now;
    let hour = Span::from_secs(3_600);
    rig.put("deadline_key", &enabled(3_600_000));
    let grouped = moonquake_protocol::ReplicateConfig {
        group_ids: Some(vec!["group".to_owned()]),
        ..enabled(3_601_000)
    };
    rig.put("grouped_deadline_key", &grouped);
    rig.now = start + hour;
    rig.tick(Thread::TaskCleanup);
    // What the clean-up has ended does not come back with the clock.
    let pinned_at_start = |rig: &Rig, key: &str| {
        let mut copy = rig.clone();
        copy.now = start;
        is_pinned(&copy, key)
    };
    assert!(!pinned_at_start(&rig, "deadline_key"));
    assert!(pinned_at_start(&rig, "grouped_deadline_key") && is_pinned(&rig, "grouped_deadline_key"));
    rig.now = start + hour + Span::from_secs(1);
    rig.tick(Thread::TaskCleanup);
    assert!(!pinned_at_start(&rig, "grouped_deadline_key"));
}

#[test]
fn soft_pin_ttl_update_invalidates_old_heap_entry() {
    let mut rig = rig();
    rig.put("ttl_update_key", &enabled(5_000));
    let first = rig.now + Span::from_ms(5_000);
    upsert(&mut rig, "ttl_update_key", KIB, &enabled(20_000));
    let second = rig.now + Span::from_ms(20_000);
    rig.now = first;
    rig.tick(Thread::TaskCleanup);
    assert!(pinned_until(&rig, "ttl_update_key", second));
    rig.now = second;
    rig.tick(Thread::TaskCleanup);
    assert!(!is_pinned(&rig, "ttl_update_key"));
}

#[test]
fn size_changing_upsert_indexes_inherited_deadline_before_completion() {
    let mut rig = rig();
    let start = rig.now;
    rig.put("resize_pending", &enabled(3_600_000));
    rig.upsert(WRITER, "resize_pending", 2 * KIB, &plain()).unwrap();
    let mut ended = rig.clone();
    ended.upsert_end(WRITER, "resize_pending").unwrap();
    assert!(
        pinned_until(&ended, "resize_pending", start + Span::from_secs(3_600)),
        "inherited"
    );
    rig.now = start + Span::from_secs(3_600);
    rig.tick(Thread::TaskCleanup);
    // The clean-up has ended the inherited pin although the upsert is not finished: it is not there an hour ago either.
    rig.now = start;
    rig.upsert_end(WRITER, "resize_pending").unwrap();
    assert!(!is_pinned(&rig, "resize_pending"));
}

#[test]
fn expired_soft_pin_is_not_carried_across_upsert_metadata_replacement() {
    for (new_size, preempted) in [(KIB, true), (2 * KIB, false)] {
        let mut rig = rig();
        let start = rig.now;
        rig.put("key", &enabled(10_000));
        rig.pass_ms(if preempted { 9_000 } else { 11_000 });
        rig.upsert(WRITER, "key", new_size, &plain()).unwrap();
        let last = if preempted {
            rig.pass_ms(2_000);
            rig.upsert(OTHER, "key", new_size, &plain()).unwrap();
            OTHER
        } else {
            WRITER
        };
        rig.now = start;
        rig.upsert_end(last, "key").unwrap();
        assert!(
            !is_pinned(&rig, "key"),
            "over when the entry was replaced, so gone for good"
        );
    }
}

#[test]
fn repeated_put_end_does_not_refresh_soft_pin() {
    let mut rig = rig();
    rig.put("repeat_end", &enabled(5_000));
    let first = rig.now + Span::from_ms(5_000);
    rig.pass_ms(1_000);
    rig.end(WRITER, "repeat_end").unwrap();
    assert!(pinned_until(&rig, "repeat_end", first));
}

#[test]
fn soft_pin_expires_and_get_does_not_reactivate() {
    let mut rig = rig();
    rig.put("pin_key", &enabled(20));
    let end = rig.now + Span::from_ms(20);
    assert!(pinned_until(&rig, "pin_key", end));
    rig.now = end;
    rig.tick(Thread::TaskCleanup);
    rig.get("pin_key").unwrap();
    assert!(!is_pinned(&rig, "pin_key"));
    assert!(rig.exist("pin_key"));
    assert!(!is_pinned(&rig, "pin_key"));
}
