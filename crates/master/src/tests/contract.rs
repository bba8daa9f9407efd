//! What the later quirks change: upserts, preemption, clocks of puts, tenants, groups and unmounts.

use super::harness::*;
use super::strict::differs;
use crate::MasterConfig;
use moonquake_clock::{Clocks, Span, Thread};
use moonquake_faults::{Quirk, Quirks};
use moonquake_protocol::{ErrorCode, ReplicateConfig, Request, Response};

fn strict() -> Harness {
    let config = MasterConfig {
        quirks: Quirks::none(),
        ..MasterConfig::default()
    };
    Harness::configured(config, &[("a", 16 * MIB)])
}

#[test]
fn upsert_overwrites_leased() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        let old = harness.put("k", MIB);
        harness.get("k").unwrap();
        let new = harness
            .upsert_start("k", MIB, &ReplicateConfig::default())
            .unwrap();
        range(&old[0]).buffer_address == range(&new[0]).buffer_address
    };
    differs(Quirk::UpsertOverwritesLeased, story, true, false);
}

#[test]
fn upsert_drops_old_value() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        harness.put("k", MIB);
        harness
            .upsert_start("k", 2 * MIB, &ReplicateConfig::default())
            .unwrap();
        harness.exist("k")
    };
    differs(Quirk::UpsertDropsOldValue, story, false, true);
}

#[test]
fn an_upsert_beside_the_old_value_switches_at_its_end_and_keeps_leased_bytes() {
    let mut harness = strict();
    harness.put("k", MIB);
    let old = harness.get("k").unwrap();
    harness
        .upsert_start("k", 2 * MIB, &ReplicateConfig::default())
        .unwrap();
    assert_eq!(harness.get("k").unwrap(), old);
    assert_eq!(harness.remove("k", true), Err(ErrorCode::ReplicaIsNotReady));
    harness.upsert_end("k").unwrap();
    let new = harness.get("k").unwrap();
    assert_eq!((new.len(), range(&new[0]).size), (1, 2 * MIB));
    assert_eq!(
        harness.allocated(),
        3 * MIB,
        "the reader of the old value has its lease"
    );
}

#[test]
fn an_upsert_beside_the_old_value_leaves_it_when_it_is_revoked_given_up_or_finds_no_room() {
    let mut harness = strict();
    harness.put("k", MIB);
    let start = |harness: &mut Harness, size| harness.upsert_start("k", size, &ReplicateConfig::default());
    start(&mut harness, MIB).unwrap();
    let revoke = Request::UpsertRevoke {
        client_id: client(2),
        key: "k".to_owned(),
        replica_type: moonquake_protocol::ReplicaType::All,
        tenant_id: "default".to_owned(),
    };
    assert_eq!(harness.send(&revoke), Response::UpsertRevoke(Ok(())));
    assert_eq!(harness.keys(), ["k"]);
    // The next one is never ended, and a sweep gives it up.
    start(&mut harness, MIB).unwrap();
    harness.advance(Span::from_secs(601));
    harness.tick(Thread::Eviction);
    assert_eq!((harness.keys(), harness.allocated()), (vec!["k".to_owned()], MIB));
    // Last, because a start without room makes the next round evict.
    assert_eq!(start(&mut harness, 32 * MIB), Err(ErrorCode::NoAvailableHandle));
    assert_eq!(harness.keys(), ["k"]);
    harness.remove("k", false).unwrap();
}

#[test]
fn failed_preempt_drops_put() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        harness.put_start("k", 8 * MIB).unwrap();
        harness.advance(Span::from_secs(31));
        assert_eq!(
            harness.put_start("k", 12 * MIB),
            Err(ErrorCode::NoAvailableHandle)
        );
        harness.put_end("k")
    };
    differs(
        Quirk::FailedPreemptDropsPut,
        story,
        Err(ErrorCode::ObjectNotFound),
        Ok(()),
    );
}

#[test]
fn wall_clock_puts() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        harness.put_start("k", MIB).unwrap();
        harness.now = Clocks {
            realtime: (START + Span::from_secs(31)).realtime,
            ..START
        };
        harness.put_start("k", MIB).map(|_| ())
    };
    differs(
        Quirk::WallClockPuts,
        story,
        Ok(()),
        Err(ErrorCode::ObjectAlreadyExists),
    );
}

#[test]
fn group_lease_not_extended() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        harness.put_with("k", MIB, &in_group("g"));
        harness.get("k").unwrap();
        harness.at(Span::from_secs(4));
        harness.get("k").unwrap();
        harness.at(Span::from_secs(10));
        harness.remove("k", false)
    };
    differs(
        Quirk::GroupLeaseNotExtended,
        story,
        Ok(()),
        Err(ErrorCode::ObjectHasLease),
    );
}

#[test]
fn unmount_by_anyone() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        let stranger = Request::UnmountSegment {
            segment_id: segment("a", 16 * MIB).id,
            client_id: client(9),
        };
        let answer = harness.send(&stranger);
        harness.unmount("a").unwrap();
        answer
    };
    differs(
        Quirk::UnmountByAnyone,
        story,
        Response::UnmountSegment(Ok(())),
        Response::UnmountSegment(Err(ErrorCode::IllegalClient)),
    );
}

#[test]
fn tenant_ignored() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        harness.put("k", MIB);
        let exist = Request::ExistKey {
            key: "k".to_owned(),
            tenant_id: "ta".to_owned(),
        };
        let remove = Request::RemoveByRegex {
            regex: "k".to_owned(),
            force: true,
            tenant_id: "ta".to_owned(),
        };
        (harness.send(&exist), harness.send(&remove))
    };
    let shared = (Response::ExistKey(Ok(true)), Response::RemoveByRegex(Ok(1)));
    let apart = (Response::ExistKey(Ok(false)), Response::RemoveByRegex(Ok(0)));
    differs(Quirk::TenantIgnored, story, shared, apart);
}

#[test]
fn failed_preempt_drops_put_by_an_upsert_too() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        harness.put_start("k", 8 * MIB).unwrap();
        let upsert = harness.upsert_start("k", 12 * MIB, &ReplicateConfig::default());
        assert_eq!(upsert, Err(ErrorCode::NoAvailableHandle));
        harness.put_end("k")
    };
    differs(
        Quirk::FailedPreemptDropsPut,
        story,
        Err(ErrorCode::ObjectNotFound),
        Ok(()),
    );
}

/// Without the quirk each attempt has ids of its own, which are given to nobody else.
#[test]
fn an_upsert_in_place_numbers_its_replicas_anew() {
    let story = |config| {
        let segments = [("a", 16 * MIB), ("b", 16 * MIB)];
        let mut harness = Harness::configured(config, &segments);
        let ids = |key: &str, harness: &mut Harness| -> Vec<u64> {
            let started = harness.upsert_start(key, MIB, &replicas(2)).unwrap();
            harness.upsert_end(key).unwrap();
            started.iter().map(|replica| replica.id).collect()
        };
        let attempts = ["k", "k", "k", "l"].map(|key| ids(key, &mut harness));
        attempts.concat()
    };
    let in_place = |quirks| MasterConfig {
        quirks,
        ..MasterConfig::default()
    };
    assert_eq!(
        story(in_place(Quirks::only(Quirk::UpsertDropsOldValue))),
        [1, 2, 3, 4, 5, 6, 7, 8]
    );
    assert_eq!(story(in_place(Quirks::all())), [1, 2, 1, 2, 1, 2, 3, 4]);
}
