//! What a deadline counts from when a test has made it count from the instant it could be mistaken for.

use super::copies::copy;
use super::harness::*;
use super::pins::pinned;
use super::segments::graceful;
use crate::MasterConfig;
use moonquake_clock::{DeadlineId, Flip, Span};
use moonquake_protocol::ErrorCode;

/// A master with one segment on which that deadline counts from the wrong instant, or from the right one.
fn counting(id: DeadlineId, wrongly: bool) -> Harness {
    let mut config = MasterConfig {
        allow_evict_soft_pinned_objects: false,
        ..MasterConfig::default()
    };
    if wrongly {
        config.rules.flip(id, Flip::Base);
    }
    Harness::configured(config, &[("a", 16 * MIB), ("b", 16 * MIB)])
}

#[test]
fn a_lease_that_counts_from_the_first_read_is_renewed_only_once_it_is_over() {
    for wrongly in [false, true] {
        let mut harness = counting(DeadlineId::Lease, wrongly);
        harness.put("k", MIB);
        harness.get("k").unwrap();
        harness.at(Span::from_secs(6));
        harness.get("k").unwrap();
        harness.at(Span::from_secs(10) + NS);
        let removed = harness.remove("k", false);
        assert_eq!(
            removed.is_ok(),
            wrongly,
            "10 s after the first read, 4 s after the second"
        );
        if wrongly {
            harness.put("k", MIB);
        }
        harness.at(Span::from_secs(20));
        harness.get("k").unwrap();
        harness.at(Span::from_secs(29));
        assert_eq!(
            harness.remove("k", false),
            Err(ErrorCode::ObjectHasLease),
            "a new one"
        );
    }
}

#[test]
fn a_soft_pin_that_counts_from_the_last_read_outlives_the_one_of_the_table() {
    for wrongly in [false, true] {
        let mut harness = counting(DeadlineId::SoftPin, wrongly);
        harness.put_with("k", MIB, &pinned(None));
        harness.put("plain", MIB);
        harness.at(Span::from_secs(100));
        harness.get("k").unwrap();
        harness.get("plain").unwrap();
        for (since_start, left) in [(1_801, wrongly), (1_901, false)] {
            harness.at(Span::from_secs(since_start));
            harness.master.evict_batch(harness.now, 1.0, 1.0);
            assert_eq!(harness.keys().len(), usize::from(left), "{since_start} s");
        }
    }
}

#[test]
fn a_discard_that_counts_from_the_last_refusal_waits_longer() {
    for wrongly in [false, true] {
        let mut harness = counting(DeadlineId::Discard, wrongly);
        harness.put_start("k", MIB).unwrap();
        harness.at(Span::from_secs(20));
        assert_eq!(harness.put_start("k", MIB), Err(ErrorCode::ObjectAlreadyExists));
        harness.at(Span::from_secs(31));
        assert_eq!(harness.put_start("k", MIB).is_err(), wrongly);
    }
}

#[test]
fn a_copy_that_counts_from_the_put_of_its_object_is_given_up_too_early() {
    for wrongly in [false, true] {
        let mut harness = counting(DeadlineId::CopyTimeout, wrongly);
        harness.put_with("k", MIB, &on("a"));
        harness.at(Span::from_secs(100));
        copy(&mut harness, "k", "a", &["b"]).unwrap();
        for (since_start, left) in [(600, !wrongly), (700, false)] {
            harness.at(Span::from_secs(since_start));
            harness.master.sweep(harness.now);
            assert_eq!(harness.master.copies.contains_key("k"), left, "{since_start} s");
        }
    }
}

#[test]
fn a_group_lease_whose_half_counts_from_the_last_read_is_lengthened_too_late() {
    for wrongly in [false, true] {
        let mut harness = counting(DeadlineId::GroupRefresh, wrongly);
        harness.put_with("k", MIB, &in_group("g"));
        for since_start in [0, 4, 6] {
            harness.at(Span::from_secs(since_start));
            harness.get("k").unwrap();
        }
        harness.at(Span::from_secs(10));
        assert_eq!(
            harness.remove("k", false).is_ok(),
            wrongly,
            "lengthened at 6 s or not"
        );
    }
}

/// The read at 9 s finds half of what the one at 4 s was told over; the one at 10 s finds a new lease, whatever was told.
#[test]
fn what_a_reader_of_a_group_was_told_counts_until_the_lease_is_lengthened() {
    let mut harness = counting(DeadlineId::GroupRefresh, true);
    harness.put_with("k", MIB, &in_group("g"));
    for since_start in [0, 4, 9, 10] {
        harness.at(Span::from_secs(since_start));
        harness.get("k").unwrap();
    }
    harness.at(Span::from_secs(19) - NS);
    assert_eq!(harness.remove("k", false), Err(ErrorCode::ObjectHasLease));
    harness.at(Span::from_secs(19));
    assert_eq!(harness.remove("k", false), Ok(()));
}

#[test]
fn a_grace_that_counts_from_the_last_request_ends_later() {
    for wrongly in [false, true] {
        let mut harness = counting(DeadlineId::Grace, wrongly);
        graceful(&mut harness, "a", 0, 20_000).unwrap();
        harness.at(Span::from_secs(5));
        graceful(&mut harness, "a", 0, 60_000).unwrap();
        for (since_start, left) in [(20, wrongly), (25, false)] {
            harness.at(Span::from_secs(since_start));
            harness.master.run_graceful_timer(harness.now);
            assert_eq!(
                harness.master.view().segments.contains_key("a"),
                left,
                "{since_start} s"
            );
        }
    }
}
