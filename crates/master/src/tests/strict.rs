//! What each quirk changes: the same story with it alone, and without it.

use super::harness::*;
use crate::MasterConfig;
use moonquake_clock::{Clocks, Compare, DeadlineId, Domain, Rules, Span, Thread};
use moonquake_faults::{QUIRKS, Quirk, Quirks};
use moonquake_protocol::{
    ErrorCode, ObjectMeta, ReplicaType, ReplicateConfig, Request, Response, Segment, Uuid,
};

const LEASE: Span = Span::from_secs(10);
const RELEASE: Span = Span::from_secs(600);

fn with_quirks(quirks: Quirks) -> MasterConfig {
    MasterConfig {
        quirks,
        ..MasterConfig::default()
    }
}

/// Asserts what a story shows with the quirk alone, and what without any and with all the others.
pub(super) fn differs<T: PartialEq + std::fmt::Debug>(
    quirk: Quirk,
    story: impl Fn(MasterConfig) -> T,
    with: T,
    without: T,
) {
    assert_eq!(
        story(with_quirks(Quirks::only(quirk))),
        with,
        "with {quirk:?} alone"
    );
    assert_eq!(story(with_quirks(Quirks::all())), with, "with all");
    assert_eq!(story(with_quirks(Quirks::none())), without, "with none");
    for other in QUIRKS.iter().filter(|row| row.id != quirk) {
        assert_eq!(
            story(with_quirks(Quirks::only(other.id))),
            without,
            "with {:?} alone",
            other.id
        );
    }
}

/// Each key of a batch has its own fence.
#[test]
fn stale_batch_put_end() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        let first = ["j", "k"].map(|key| harness.put_start(key, MIB).unwrap()[0].id);
        harness.advance(Span::from_secs(31));
        let second = harness.put_start("k", MIB).unwrap()[0].id;
        let object_metas = ["j", "k"].map(|key| ObjectMeta {
            key: key.to_owned(),
            object_checksum: None,
        });
        let request = Request::BatchPutEnd {
            client_id: client(1),
            object_metas: object_metas.to_vec(),
            replica_type: ReplicaType::All,
            tenant_id: String::new(),
        };
        let late = harness.master.handle(harness.now, &request, &first.map(Some));
        (late, harness.put_end_fenced(client(1), "k", Some(second)))
    };
    let answer = |second| (Response::BatchPutEnd(vec![Ok(()), second]), Ok(()));
    differs(
        Quirk::StalePutEnd,
        story,
        answer(Ok(())),
        answer(Err(ErrorCode::IllegalClient)),
    );
}

#[test]
fn stale_put_end() {
    let late = |act: fn(&mut Harness, Uuid, &str, Option<u64>) -> Result<(), ErrorCode>| {
        move |config| {
            let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
            let first = harness.put_start("k", MIB).unwrap();
            harness.advance(Span::from_secs(31));
            let second = harness.put_start("k", MIB).unwrap();
            let late = act(&mut harness, client(1), "k", Some(first[0].id));
            let own = harness.put_end_fenced(client(1), "k", Some(second[0].id));
            (late, own)
        }
    };
    let refused = (Err(ErrorCode::IllegalClient), Ok(()));
    differs(
        Quirk::StalePutEnd,
        late(Harness::put_end_fenced),
        (Ok(()), Ok(())),
        refused,
    );
    let revoked = (Ok(()), Err(ErrorCode::ObjectNotFound));
    differs(
        Quirk::StalePutEnd,
        late(Harness::put_revoke_fenced),
        revoked,
        refused,
    );
}

#[test]
fn stale_put_end_of_an_upsert_in_place() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        let first = harness
            .upsert_start("k", MIB, &ReplicateConfig::default())
            .unwrap();
        harness.upsert_end("k").unwrap();
        let second = harness
            .upsert_start("k", MIB, &ReplicateConfig::default())
            .unwrap();
        let late = harness.put_end_fenced(client(2), "k", Some(first[0].id));
        (late, harness.put_end_fenced(client(2), "k", Some(second[0].id)))
    };
    differs(
        Quirk::StalePutEnd,
        story,
        (Ok(()), Ok(())),
        (Err(ErrorCode::IllegalClient), Ok(())),
    );
}

#[test]
fn wall_clock_leases() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        harness.put("k", MIB);
        harness.get("k").unwrap();
        harness.now = Clocks {
            realtime: (START + LEASE).realtime,
            ..START
        };
        harness.remove("k", false)
    };
    differs(
        Quirk::WallClockLeases,
        story,
        Ok(()),
        Err(ErrorCode::ObjectHasLease),
    );
}

#[test]
fn a_comparison_of_the_caller_is_kept_on_the_clock_of_the_quirks() {
    let mut rules = Rules::default();
    rules.flip_compare(DeadlineId::Lease);
    let mut config = MasterConfig {
        rules,
        ..with_quirks(Quirks::none())
    };
    config.apply_quirks_to_rules();
    let rule = config.rules.get(DeadlineId::Lease);
    assert_eq!((rule.domain, rule.compare), (Domain::Monotonic, Compare::Strict));
}

#[test]
fn the_order_of_eviction_follows_the_clock_of_leases() {
    let story = |config: MasterConfig| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        harness.put("first", MIB);
        // The wall clock steps back by an hour between the two ends.
        harness.now = Clocks {
            monotonic: (START + NS).monotonic,
            ..START.back(Span::from_secs(3_600))
        };
        harness.put("second", MIB);
        harness.now = START + LEASE;
        harness.master.evict_batch(harness.now, 0.5, 0.5);
        harness.keys()
    };
    differs(
        Quirk::WallClockLeases,
        story,
        vec!["first".to_owned()],
        vec!["second".to_owned()],
    );
}

fn remount(harness: &mut Harness, segments: &[Segment]) {
    let request = Request::ReMountSegment {
        segments: segments.to_vec(),
        client_id: client(0),
    };
    assert_eq!(harness.send(&request), Response::ReMountSegment(Ok(())));
}

#[test]
fn restart_forgets_leases() {
    let story = |config| {
        let mut harness = Harness::new(config);
        harness.advance(Span::from_secs(1));
        remount(&mut harness, &[segment("a", 16 * MIB)]);
        let mut open_at = |since_start| {
            harness.at(since_start);
            let open = harness.put_start("k", MIB).is_ok();
            harness.put_revoke_fenced(client(1), "k", None).ok();
            open
        };
        [open_at(Span::from_secs(1)), open_at(LEASE - NS), open_at(LEASE)]
    };
    differs(
        Quirk::RestartForgetsLeases,
        story,
        [true; 3],
        [false, false, true],
    );
}

#[test]
fn a_first_mount_is_open_at_once() {
    let mut harness = Harness::configured(with_quirks(Quirks::none()), &[("a", 16 * MIB)]);
    remount(&mut harness, &[segment("a", 16 * MIB)]);
    harness.put("k", MIB);
}

#[test]
fn a_closed_segment_is_skipped_and_arms_no_eviction() {
    let mut harness = Harness::new(with_quirks(Quirks::none()));
    remount(&mut harness, &[segment("a", 16 * MIB)]);
    harness.mount("b", 16 * MIB).unwrap();
    for number in 0..8 {
        assert_eq!(names(&harness.put(&format!("k{number}"), MIB)), ["b"]);
    }
    harness.unmount("b").unwrap();
    assert_eq!(harness.put_start("l", MIB), Err(ErrorCode::NoAvailableHandle));
    assert!(!harness.master.need_eviction);
}

/// Whether a segment that was taken away in some state is open again, so long after the start.
fn reopened(config: MasterConfig, prepare: fn(&mut Harness), times: [Span; 3]) -> [bool; 3] {
    let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
    prepare(&mut harness);
    harness.unmount("a").unwrap();
    harness.master.settle_cleanup();
    harness.mount("a", 16 * MIB).unwrap();
    times.map(|since_start| {
        harness.at(since_start);
        let open = harness.put_start("probe", MIB).is_ok();
        harness.put_revoke_fenced(client(1), "probe", None).ok();
        open
    })
}

fn with_lease(harness: &mut Harness) {
    harness.put("k", MIB);
    harness.at(Span::from_secs(2));
    harness.get("k").unwrap();
}

fn with_quarantine(harness: &mut Harness) {
    harness.put_start("k", MIB).unwrap();
    harness.at(Span::from_secs(31));
    harness.put_start("k", MIB).unwrap();
    harness.put_end("k").unwrap();
}

fn with_unfinished(harness: &mut Harness) {
    harness.put_start("k", MIB).unwrap();
}

#[test]
fn remount_forgets_leases() {
    let quirk = Quirk::RemountForgetsLeases;
    let around = |due: Span| [due - NS, due, due + NS];
    let closed = [false, true, true];
    let lease = Span::from_secs(12);
    differs(
        quirk,
        |config| reopened(config, with_lease, around(lease)),
        [true; 3],
        closed,
    );
    differs(
        quirk,
        |config| reopened(config, with_quarantine, around(RELEASE)),
        [true; 3],
        closed,
    );
    differs(
        quirk,
        |config| reopened(config, with_unfinished, around(RELEASE)),
        [true; 3],
        closed,
    );
}

#[test]
fn an_expired_client_that_comes_back_waits_for_the_last_lease() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        remount(&mut harness, &[segment("a", 16 * MIB)]);
        harness.put("k", MIB);
        harness.tick(Thread::ClientMonitor);
        harness.at(Span::from_secs(10));
        harness.get("k").unwrap();
        harness.at(Span::from_secs(10) + NS);
        harness.tick(Thread::ClientMonitor);
        remount(&mut harness, &[segment("a", 16 * MIB)]);
        let mut open_at = |since_start| {
            harness.at(since_start);
            harness.put_start("k", MIB).is_ok()
        };
        [open_at(Span::from_secs(20) - NS), open_at(Span::from_secs(20))]
    };
    // A put that was accepted stands in the way of the second one.
    differs(Quirk::RemountForgetsLeases, story, [true, false], [false, true]);
}

#[test]
fn a_segment_that_leaves_while_closed_stays_closed() {
    let mut harness = Harness::configured(with_quirks(Quirks::none()), &[("a", 16 * MIB)]);
    with_lease(&mut harness);
    for _ in 0..3 {
        harness.unmount("a").unwrap();
        harness.mount("a", 16 * MIB).unwrap();
    }
    assert_eq!(harness.put_start("l", MIB), Err(ErrorCode::NoAvailableHandle));
    // Nor does another id on the same memory help.
    harness.unmount("a").unwrap();
    let renamed = Segment {
        id: Uuid::new(9, 9),
        ..segment("a", 16 * MIB)
    };
    harness.send(&Request::MountSegment {
        segment: renamed,
        client_id: client(0),
    });
    assert_eq!(harness.put_start("l", MIB), Err(ErrorCode::NoAvailableHandle));
    harness.at(Span::from_secs(12));
    harness.put("l", MIB);
}

#[test]
fn revoke_frees_at_once() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        let first = harness.put_start("k", MIB).unwrap();
        harness.at(Span::from_secs(5));
        harness.put_revoke("k").unwrap();
        let second = harness.put_start("l", MIB).unwrap();
        let reused = range(&first[0]).buffer_address == range(&second[0]).buffer_address;
        harness.put_end("l").unwrap();
        let mut freed_at = |since_start| {
            harness.at(since_start);
            harness.master.release_quarantine(harness.now);
            harness.allocated() == MIB
        };
        (reused, freed_at(RELEASE - NS), freed_at(RELEASE))
    };
    differs(
        Quirk::RevokeFreesAtOnce,
        story,
        (true, true, true),
        (false, false, true),
    );
}

#[test]
fn force_frees_leased() {
    type Removal = fn(&mut Harness);
    let removals: [Removal; 3] = [
        |harness| harness.remove("k", true).unwrap(),
        |harness| assert_eq!(harness.remove_all(true), 1),
        |harness| {
            let keys = vec!["k".to_owned()];
            let removed = answer!(
                harness,
                BatchRemove {
                    keys,
                    force: true,
                    tenant_id: String::new()
                }
            );
            assert_eq!(removed, [Ok(())]);
        },
    ];
    for removal in removals {
        let story = |config| {
            let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
            harness.put("k", MIB);
            harness.get("k").unwrap();
            harness.at(Span::from_secs(1));
            removal(&mut harness);
            assert!(!harness.exist("k"));
            let mut freed_at = |since_start| {
                harness.at(since_start);
                harness.master.release_quarantine(harness.now);
                harness.allocated() == 0
            };
            (
                freed_at(Span::from_secs(1)),
                freed_at(LEASE - NS),
                freed_at(LEASE),
            )
        };
        differs(
            Quirk::ForceFreesLeased,
            story,
            (true, true, true),
            (false, false, true),
        );
    }
    let mut harness = Harness::configured(with_quirks(Quirks::none()), &[("a", 16 * MIB)]);
    harness.put("k", MIB);
    harness.remove("k", true).unwrap();
    assert_eq!(harness.allocated(), 0, "without a lease nothing is kept");
}

#[test]
fn probe_grants_lease() {
    let story = |config| {
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        harness.put("k", MIB);
        harness.put("l", MIB);
        assert!(harness.exist("k"));
        let keys = vec!["l".to_owned()];
        assert_eq!(
            answer!(
                harness,
                BatchExistKey {
                    keys,
                    tenant_id: String::new()
                }
            ),
            [Ok(true)]
        );
        (harness.remove("k", false), harness.remove("l", false))
    };
    let leased = Err(ErrorCode::ObjectHasLease);
    differs(Quirk::ProbeGrantsLease, story, (leased, leased), (Ok(()), Ok(())));
}
