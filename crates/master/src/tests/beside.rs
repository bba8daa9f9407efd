//! Upserts that write beside the old value, where the quirks that overwrite it are off: what a revoke, an end and a loss leave.

use super::harness::*;
use super::pins::pinned;
use crate::MasterConfig;
use moonquake_clock::Span;
use moonquake_faults::Quirks;
use moonquake_protocol::{ErrorCode, ReplicateConfig};

const LEASE: Span = Span::from_secs(10);
const RELEASE: Span = Span::from_secs(600);

fn strict(lease: Span) -> Harness {
    let config = MasterConfig {
        quirks: Quirks::none(),
        lease,
        ..MasterConfig::default()
    };
    Harness::configured(config, &[("a", 16 * MIB), ("b", 16 * MIB)])
}

fn plain() -> ReplicateConfig {
    ReplicateConfig::default()
}

#[test]
fn a_revoke_gives_the_object_back_to_its_old_writer() {
    let mut harness = strict(LEASE);
    let old = harness.put("k", MIB);
    harness.upsert_start("k", MIB, &pinned(None)).unwrap();
    assert_eq!(
        harness.put_end("k"),
        Err(ErrorCode::IllegalClient),
        "not while it is written"
    );
    harness.put_revoke_fenced(client(2), "k", None).unwrap();
    assert_eq!(harness.upsert_end("k"), Err(ErrorCode::IllegalClient));
    assert_eq!(harness.put_end_fenced(client(1), "k", Some(old[0].id)), Ok(()));
    super::copies::copy(&mut harness, "k", "a", &["b"])
        .or_else(|_| super::copies::copy(&mut harness, "k", "b", &["a"]))
        .unwrap();
    assert_eq!(
        super::pins::pin_end(&harness),
        None,
        "that wish went with the write"
    );
}

#[test]
fn an_end_that_finds_nothing_of_its_own_leaves_the_old_value() {
    let mut harness = strict(LEASE);
    harness.put_with("k", MIB, &on("a"));
    harness.upsert_start("k", 2 * MIB, &on("b")).unwrap();
    harness.unmount("b").unwrap();
    assert_eq!(harness.upsert_end("k"), Err(ErrorCode::ReplicaIsGone));
    let left = harness.get("k").unwrap();
    assert_eq!((names(&left), range(&left[0]).size), (vec!["a".to_owned()], MIB));
    assert_eq!(harness.put_end("k"), Ok(()), "the old writer has it again");
}

/// When the bytes of the old value are free after an upsert to `size` that ends at the start, if it was read then or not.
fn freed_after(lease: Span, read: bool, size: u64) -> Option<Span> {
    let mut harness = strict(lease);
    harness.put_with("k", MIB, &on("a"));
    if read {
        harness.get("k").unwrap();
    }
    harness.upsert_start("k", size, &on("b")).unwrap();
    harness.upsert_end("k").unwrap();
    let mut free_at = |since_start| {
        harness.at(since_start);
        harness.master.release_quarantine(harness.now);
        harness.allocated() == size
    };
    let times = [Span::ZERO, LEASE, RELEASE, lease];
    times
        .into_iter()
        .find(|due| (*due == Span::ZERO || !free_at(*due - NS)) && free_at(*due))
}

#[test]
fn bytes_of_an_old_value_are_kept_for_its_readers_and_those_of_another_size_for_the_release_timeout() {
    let long = Span::from_secs(1_000);
    let cases = [
        (LEASE, false, MIB, Span::ZERO),
        (LEASE, true, MIB, LEASE),
        (LEASE, false, 2 * MIB, RELEASE),
        (LEASE, true, 2 * MIB, RELEASE),
        (long, true, MIB, long),
        (long, true, 2 * MIB, long),
    ];
    for (lease, read, size, due) in cases {
        assert_eq!(freed_after(lease, read, size), Some(due), "{lease} {read} {size}");
    }
}

#[test]
fn a_hard_pin_of_the_old_or_the_new_value_is_one_of_the_object() {
    let hard = ReplicateConfig {
        with_hard_pin: true,
        ..plain()
    };
    for (old, new, stays) in [
        (plain(), plain(), false),
        (plain(), hard.clone(), true),
        (hard.clone(), plain(), true),
    ] {
        let mut harness = strict(LEASE);
        harness.put_with("k", MIB, &old);
        harness.upsert_start("k", MIB, &new).unwrap();
        harness.upsert_end("k").unwrap();
        harness.advance(NS);
        harness.master.evict_batch(harness.now, 1.0, 1.0);
        assert_eq!(harness.exist("k"), stays);
    }
}
