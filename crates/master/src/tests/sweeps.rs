//! When abandoned writes are noticed, and when their memory comes back.

use super::harness::*;
use crate::MasterConfig;
use moonquake_clock::{Span, Thread};
use moonquake_faults::{Profile, Quirk, Quirks};
use moonquake_protocol::ErrorCode;

const RELEASE: Span = Span::from_secs(600);

#[test]
fn nothing_is_swept_before_the_last_sweep_is_a_release_ago() {
    let mut harness = Harness::with_segments(&[("a", 64 * MIB)]);
    harness.at(Span::from_secs(1));
    harness.put_start("k", MIB).unwrap();
    harness.at(RELEASE + NS);
    harness.tick(Thread::Eviction);
    assert_eq!(
        harness.allocated(),
        MIB,
        "599 s old: this sweep comes too early for it"
    );
    harness.at(Span::from_secs(1_200));
    harness.tick(Thread::Eviction);
    assert_eq!(harness.allocated(), MIB, "old enough, but no sweep is due");
    harness.at(Span::from_secs(1_200) + NS);
    harness.tick(Thread::Eviction);
    assert_eq!(
        harness.allocated(),
        MIB,
        "still not strictly more than a release after the last"
    );
    harness.at(Span::from_secs(1_200) + NS + NS);
    harness.tick(Thread::Eviction);
    assert_eq!(
        (harness.allocated(), harness.put_end("k")),
        (0, Err(ErrorCode::ObjectNotFound))
    );
}

#[test]
fn a_put_that_nobody_preempts_ends_hours_later() {
    let mut harness = Harness::with_segments(&[("a", 64 * MIB)]);
    harness.put_start("k", MIB).unwrap();
    harness.at(Span::from_secs(86_400));
    harness.put_end("k").unwrap();
    assert!(harness.exist("k"));
}

#[test]
fn a_preempted_range_is_quarantined_until_its_first_start_plus_release() {
    let mut harness = Harness::with_segments(&[("a", 64 * MIB)]);
    harness.put_start("k", MIB).unwrap();
    harness.at(Span::from_secs(40));
    harness.put_start("k", 2 * MIB).unwrap();
    harness.put_end("k").unwrap();
    assert_eq!(harness.allocated(), 3 * MIB);
    // The idle sweep is due only after 600 s, by when the quarantine is over too.
    harness.at(RELEASE);
    harness.tick(Thread::Eviction);
    assert_eq!(harness.allocated(), 3 * MIB);
    harness.at(RELEASE + NS);
    harness.tick(Thread::Eviction);
    assert_eq!(harness.allocated(), 2 * MIB);
}

/// Puts that never end fill more than the watermark, and no other object is there: nothing is ever freed.
fn filled_with_unfinished(quirks: Quirks) -> Harness {
    let config = MasterConfig {
        quirks,
        ..MasterConfig::default()
    };
    let mut harness = Harness::configured(config, &[("a", 64 * MIB)]);
    for number in 0..15 {
        harness.put_start(&format!("k{number}"), 4 * MIB).unwrap();
    }
    for second in (610..3_000).step_by(10) {
        harness.at(Span::from_secs(second));
        harness.tick(Thread::Eviction);
    }
    harness
}

#[test]
fn a_round_without_candidates_keeps_its_quarantine() {
    let mut harness = filled_with_unfinished(Profile::Upstream.quirks());
    assert_eq!(harness.master.objects.iter().count(), 0, "the puts were given up");
    assert_eq!(harness.allocated(), 60 * MIB, "and nothing was freed");
    assert_eq!(
        harness.put_start("new", 8 * MIB),
        Err(ErrorCode::NoAvailableHandle)
    );
    assert_eq!(filled_with_unfinished(Quirks::none()).allocated(), 0);
    let others = Quirks::only(Quirk::ProbeGrantsLease);
    assert_eq!(filled_with_unfinished(others).allocated(), 0);
}

#[test]
fn one_candidate_is_enough_to_release_quarantine_under_pressure() {
    let mut harness = Harness::with_segments(&[("a", 64 * MIB)]);
    for number in 0..14 {
        harness.put_start(&format!("k{number}"), 4 * MIB).unwrap();
    }
    harness.put("live", 3 * MIB);
    harness.at(RELEASE + NS);
    harness.tick(Thread::Eviction);
    // The sweep gave the puts up with a free-at in the past; the same round released them and evicted the only object.
    assert_eq!(harness.allocated(), 0);
}

#[test]
fn a_failed_put_asks_for_eviction_only_if_there_are_names_enough() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    harness.put("k", 12 * MIB);
    harness.tick(Thread::Eviction);
    assert!(harness.exist("k"), "75 % is below the watermark");
    harness.advance(Span::from_secs(10));
    let two = replicas(2);
    assert_eq!(
        harness.put_start_as(client(1), "big", 8 * MIB, &two),
        Err(ErrorCode::NoAvailableHandle)
    );
    harness.tick(Thread::Eviction);
    assert_eq!(harness.keys(), ["k"]);
    assert_eq!(
        harness.put_start("big", 8 * MIB),
        Err(ErrorCode::NoAvailableHandle)
    );
    harness.tick(Thread::Eviction);
    assert!(harness.keys().is_empty());
    harness.put_start("big", 8 * MIB).unwrap();
}

#[test]
fn an_eviction_ratio_of_zero_leaves_the_watermark() {
    let config = MasterConfig {
        eviction_ratio: 0.0,
        ..MasterConfig::default()
    };
    let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
    harness.put("k", 12 * MIB);
    assert_eq!(
        harness.put_start("big", 8 * MIB),
        Err(ErrorCode::NoAvailableHandle)
    );
    harness.tick(Thread::Eviction);
    assert_eq!(harness.keys(), ["k"]);
    harness.advance(NS);
    harness.put("more", 3 * MIB);
    harness.tick(Thread::Eviction);
    assert_eq!(harness.keys(), ["more"], "15 of 16 MiB: above the watermark");
}

/// Which free range is filed last decides where the next object goes.
#[test]
fn what_leaves_the_quarantine_together_is_freed_from_the_latest_entry_on() {
    let mut harness = Harness::with_segments(&[("a", 4_096)]);
    harness.put_start("k16", 599).unwrap();
    harness.put("k0", 132);
    harness.put_start("k14", 135).unwrap();
    let middle = range(&harness.put_start("k15", 511).unwrap()[0]).buffer_address - 144;
    harness.advance(Span::from_secs(601));
    harness.put_start("k13", 193).unwrap();
    // The sweep visits k15, k14 and k16, in the order of their shards. k16's range of 640 bytes and the 656 bytes of the other two
    // are of one size bin, and what is filed last is taken first.
    harness.tick(Thread::Eviction);
    assert_eq!(
        range(&harness.put_start("k12", 448).unwrap()[0]).buffer_address,
        middle
    );
}
