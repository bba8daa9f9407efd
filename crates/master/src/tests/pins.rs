//! Soft pins.

use super::harness::*;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{ReplicateConfig, SoftPinAction};

const PIN: Span = Span::from_secs(1_800);

/// A configuration that pins for the default time.
pub(super) fn pinned(group: Option<&str>) -> ReplicateConfig {
    ReplicateConfig {
        soft_pin_action: SoftPinAction::Enable,
        ..group.map(in_group).unwrap_or_default()
    }
}

fn with_pin(action: SoftPinAction, ttl_ms: Option<u64>) -> ReplicateConfig {
    ReplicateConfig {
        soft_pin_action: action,
        soft_pin_ttl_ms: ttl_ms,
        ..ReplicateConfig::default()
    }
}

/// When the pin of `k` ends, since the start.
pub(super) fn pin_end(harness: &Harness) -> Option<Span> {
    let end = harness.master.objects.get("k")?.extra().soft_pin_end?;
    Some(end.realtime.since(START.realtime))
}

#[test]
fn a_pin_counts_from_the_first_end_and_no_later_end_moves_it() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put_start_as(client(1), "k", 10, &pinned(None)).unwrap();
    assert_eq!(pin_end(&harness), None);
    harness.at(Span::from_secs(5));
    harness.put_end("k").unwrap();
    harness.at(Span::from_secs(9));
    harness.put_end("k").unwrap();
    harness.get("k").unwrap();
    assert_eq!(pin_end(&harness), Some(Span::from_secs(5) + PIN));
}

#[test]
fn a_pin_of_no_length_is_none_and_the_longest_does_not_overflow() {
    for (ttl_ms, expected) in [
        (0, None),
        (1, Some(Span::from_ms(1))),
        (86_400_000, Some(Span::from_secs(86_400))),
    ] {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        harness.put_with("k", 10, &with_pin(SoftPinAction::Enable, Some(ttl_ms)));
        assert_eq!(pin_end(&harness), expected);
    }
    let config = crate::MasterConfig {
        max_soft_pin: Span::from_ns(u64::MAX),
        ..crate::MasterConfig::default()
    };
    let mut harness = Harness::configured(config, &[("a", MIB)]);
    harness.put_with(
        "k",
        10,
        &with_pin(SoftPinAction::Enable, Some(u64::MAX / 1_000_000)),
    );
    assert!(pin_end(&harness).is_some());
}

#[test]
fn what_an_upsert_wants_counts_from_its_end() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put_with("k", 10, &pinned(None));
    for (action, before, after) in [
        (SoftPinAction::Preserve, Some(PIN), Some(PIN)),
        (SoftPinAction::Disable, Some(PIN), None),
        (SoftPinAction::Enable, None, Some(PIN + Span::from_secs(7))),
    ] {
        harness.at(Span::from_secs(7));
        harness.upsert_start("k", 10, &with_pin(action, None)).unwrap();
        assert_eq!(pin_end(&harness), before, "{action}");
        harness.upsert_end("k").unwrap();
        assert_eq!(pin_end(&harness), after, "{action}");
    }
}

#[test]
fn a_living_pin_is_inherited_by_another_size_and_a_dead_one_is_not() {
    for (since_start, inherited) in [(PIN - NS, true), (PIN, false)] {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        harness.put_with("k", 10, &pinned(None));
        harness.at(since_start);
        harness
            .upsert_start("k", 20, &ReplicateConfig::default())
            .unwrap();
        assert_eq!(pin_end(&harness).is_some(), inherited);
    }
}

#[test]
fn a_living_pin_survives_preemption_and_a_dead_one_does_not() {
    for (since_start, inherited) in [(PIN - NS, true), (PIN, false)] {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        harness.put_with("k", 10, &pinned(None));
        harness.at(Span::from_secs(1));
        harness
            .upsert_start("k", 10, &ReplicateConfig::default())
            .unwrap();
        harness.at(since_start);
        harness
            .upsert_start("k", 10, &ReplicateConfig::default())
            .unwrap();
        assert_eq!(pin_end(&harness).is_some(), inherited);
    }
}

#[test]
fn the_cleanup_thread_ends_what_is_over_and_nothing_else() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put_with("k", 10, &pinned(None));
    harness.at(PIN - NS);
    harness.tick(Thread::TaskCleanup);
    assert!(pin_end(&harness).is_some());
    harness.at(PIN);
    harness.tick(Thread::TaskCleanup);
    assert_eq!(pin_end(&harness), None);
    // A pin that was found to be over does not come back with the clock.
    harness.at(Span::ZERO);
    let id = harness.master.objects.find("k").unwrap();
    assert!(!harness.master.is_soft_pinned(id, harness.now));
}

#[test]
fn a_revoked_write_takes_its_pin_with_it() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put_start_as(client(1), "k", 10, &pinned(None)).unwrap();
    harness.put_revoke("k").unwrap();
    harness.put("k", 10);
    assert_eq!(pin_end(&harness), None);
}
