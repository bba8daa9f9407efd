//! Copies and moves.

use super::harness::*;
use crate::MasterConfig;
use moonquake_clock::{Span, Thread};
use moonquake_faults::Quirks;
use moonquake_protocol::{
    CopyStartResponse, ErrorCode, MoveStartResponse, ReplicaDescriptor, ReplicateConfig, Request, Response,
    Uuid,
};

/// `k` on segment a, and room on b and c.
fn one_of_three() -> Harness {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB), ("c", MIB)]);
    let on_a = ReplicateConfig {
        preferred_segment: "a".to_owned(),
        ..ReplicateConfig::default()
    };
    harness.put_with("k", 10, &on_a);
    harness
}

pub(super) fn copy(
    harness: &mut Harness,
    key: &str,
    from: &str,
    to: &[&str],
) -> Result<CopyStartResponse, ErrorCode> {
    let request = Request::CopyStart {
        client_id: client(1),
        key: key.to_owned(),
        tenant_id: String::new(),
        src_segment: from.to_owned(),
        tgt_segments: to.iter().map(ToString::to_string).collect(),
    };
    match harness.send(&request) {
        Response::CopyStart(result) => result,
        other => panic!("{other:?}"),
    }
}

fn move_to(harness: &mut Harness, key: &str, from: &str, to: &str) -> Result<MoveStartResponse, ErrorCode> {
    let (src_segment, tgt_segment, key) = (from.to_owned(), to.to_owned(), key.to_owned());
    answer!(
        harness,
        MoveStart {
            client_id: client(1),
            key,
            tenant_id: String::new(),
            src_segment,
            tgt_segment
        }
    )
}

macro_rules! finish {
    ($harness:expr, $method:ident, $client:expr) => {
        answer!(
            $harness,
            $method {
                client_id: $client,
                key: "k".to_owned(),
                tenant_id: String::new()
            }
        )
    };
}

#[test]
fn starts_are_checked_in_order() {
    let mut harness = one_of_three();
    assert_eq!(
        copy(&mut harness, "k", "a", &["b", "x"]),
        Err(ErrorCode::SegmentNotFound)
    );
    assert_eq!(
        copy(&mut harness, "none", "a", &["b"]),
        Err(ErrorCode::ObjectNotFound)
    );
    assert_eq!(
        copy(&mut harness, "k", "b", &["c"]),
        Err(ErrorCode::ReplicaNotFound)
    );
    harness.put_start("unfinished", 10).unwrap();
    assert_eq!(
        copy(&mut harness, "unfinished", "a", &["b", "c"]).unwrap_err(),
        ErrorCode::ReplicaNotFound
    );
    assert_eq!(
        move_to(&mut harness, "none", "a", "a"),
        Err(ErrorCode::InvalidParams)
    );
    assert_eq!(
        move_to(&mut harness, "k", "a", "x"),
        Err(ErrorCode::SegmentNotFound)
    );
    let grace = Request::GracefulUnmountSegment {
        segment_id: segment("c", 1).id,
        client_id: client(0),
        grace_period_ms: 1_000,
    };
    harness.send(&grace);
    assert_eq!(
        copy(&mut harness, "k", "a", &["c"]),
        Err(ErrorCode::UnavailableInCurrentStatus)
    );
    assert_eq!(
        move_to(&mut harness, "k", "a", "c"),
        Err(ErrorCode::UnavailableInCurrentStatus)
    );
    assert_eq!(copy(&mut harness, "k", "a", &["b"]).unwrap().targets.len(), 1);
    assert_eq!(
        copy(&mut harness, "k", "a", &["b"]),
        Err(ErrorCode::ObjectHasReplicationTask)
    );
    assert_eq!(
        move_to(&mut harness, "k", "a", "b"),
        Err(ErrorCode::ObjectHasReplicationTask)
    );
}

#[test]
fn a_copy_adds_replicas_at_its_end() {
    let mut harness = one_of_three();
    let started = copy(&mut harness, "k", "a", &["b", "a", "c"]).unwrap();
    assert_eq!(
        (names(&[started.source]), names(&started.targets)),
        (vec!["a".into()], vec!["b".into(), "c".into()])
    );
    assert_eq!(names(&harness.get("k").unwrap()), ["a"]);
    harness.advance(Span::from_secs(10));
    assert_eq!(harness.remove("k", true), Err(ErrorCode::ReplicaIsNotReady));
    assert_eq!(
        harness.upsert_start("k", 10, &ReplicateConfig::default()),
        Err(ErrorCode::ObjectHasReplicationTask)
    );
    assert_eq!(
        finish!(harness, CopyEnd, client(2)),
        Err(ErrorCode::IllegalClient)
    );
    assert_eq!(
        finish!(harness, MoveEnd, client(1)),
        Err(ErrorCode::InvalidParams)
    );
    assert_eq!(finish!(harness, CopyEnd, client(1)), Ok(()));
    assert_eq!(
        finish!(harness, CopyEnd, client(1)),
        Err(ErrorCode::ObjectNoReplicationTask)
    );
    assert_eq!(names(&harness.get("k").unwrap()), ["a", "b", "c"]);
    harness.advance(Span::from_secs(10));
    assert_eq!(harness.remove("k", false), Ok(()));
}

#[test]
fn an_empty_copy_still_blocks_removal() {
    let mut harness = one_of_three();
    assert!(copy(&mut harness, "k", "a", &[]).unwrap().targets.is_empty());
    assert_eq!(
        harness.remove("k", true),
        Err(ErrorCode::ObjectHasReplicationTask)
    );
    assert_eq!(harness.remove_all(true), 0);
    harness.master.evict_batch(harness.now, 1.0, 1.0);
    assert!(harness.exist("k"), "the source is pinned");
    assert_eq!(finish!(harness, CopyRevoke, client(1)), Ok(()));
    assert_eq!(harness.remove("k", true), Ok(()));
}

#[test]
fn a_revoked_copy_frees_its_targets_at_once() {
    let mut harness = one_of_three();
    copy(&mut harness, "k", "a", &["b", "c"]).unwrap();
    assert_eq!(harness.allocated(), 30);
    assert_eq!(
        finish!(harness, MoveRevoke, client(1)),
        Err(ErrorCode::InvalidParams)
    );
    assert_eq!(finish!(harness, CopyRevoke, client(1)), Ok(()));
    assert_eq!(harness.allocated(), 10);
    harness
        .upsert_start("k", 10, &ReplicateConfig::default())
        .unwrap();
}

/// The holes that puts take after a copy onto the three of them was given up, once a segment with a replica had left. What is
/// freed last is taken first.
fn holes_after(leaves: &str, give_up: impl Fn(&mut Harness)) -> [usize; 3] {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB), ("c", MIB)]);
    let on_a_and_b = ReplicateConfig {
        replica_num: 2,
        preferred_segments: vec!["a".to_owned(), "b".to_owned()],
        ..ReplicateConfig::default()
    };
    assert_eq!(names(&harness.put_with("k", 10, &on_a_and_b)), ["a", "b"]);
    let address = |replicas: &[ReplicaDescriptor]| range(&replicas[0]).buffer_address;
    let places: Vec<u64> = (0..6)
        .map(|number| address(&harness.put_with(&format!("x{number}"), 10, &on("c"))))
        .collect();
    // Holes that do not touch; the first target gets the last one.
    for number in [0, 2, 4] {
        harness.remove(&format!("x{number}"), true).unwrap();
    }
    copy(&mut harness, "k", "a", &["c", "c", "c"]).unwrap();
    // The replica that goes changes places with the last of the others.
    harness.unmount(leaves).unwrap();
    harness.master.settle_cleanup();
    give_up(&mut harness);
    [0, 1, 2].map(|number| {
        let taken = address(&harness.put_with(&format!("y{number}"), 10, &on("c")));
        places.iter().position(|place| *place == taken).unwrap()
    })
}

#[test]
fn the_targets_of_a_revoked_copy_are_freed_in_their_order_whatever_became_of_the_object() {
    let revoke = |harness: &mut Harness| assert_eq!(finish!(harness, CopyRevoke, client(1)), Ok(()));
    assert_eq!(holes_after("b", revoke), [0, 2, 4]);
}

#[test]
fn a_copy_that_ends_without_its_source_frees_its_targets_as_the_object_has_them() {
    let end = |harness: &mut Harness| {
        assert_eq!(
            finish!(harness, CopyEnd, client(1)),
            Err(ErrorCode::ReplicaIsGone)
        );
    };
    assert_eq!(holes_after("a", end), [2, 4, 0]);
}

#[test]
fn a_copy_does_not_keep_an_unmounted_source() {
    for moves in [false, true] {
        let mut harness = one_of_three();
        if moves {
            move_to(&mut harness, "k", "a", "b").unwrap();
        } else {
            copy(&mut harness, "k", "a", &["b"]).unwrap();
        }
        harness.unmount("a").unwrap();
        harness.master.settle_cleanup();
        assert!(!harness.exist("k"));
        let ended = if moves {
            finish!(harness, MoveEnd, client(1))
        } else {
            finish!(harness, CopyEnd, client(1))
        };
        assert_eq!(ended, Err(ErrorCode::ReplicaIsGone));
        assert_eq!(
            (harness.get("k"), harness.allocated()),
            (Err(ErrorCode::ObjectNotFound), 0)
        );
    }
}

#[test]
fn a_lost_target_is_told_although_the_others_count() {
    let mut harness = one_of_three();
    copy(&mut harness, "k", "a", &["b", "c"]).unwrap();
    harness.unmount("b").unwrap();
    assert_eq!(
        finish!(harness, CopyEnd, client(1)),
        Err(ErrorCode::ReplicaIsGone)
    );
    assert_eq!(names(&harness.get("k").unwrap()), ["a", "c"]);
    let mut harness = one_of_three();
    move_to(&mut harness, "k", "a", "b").unwrap();
    harness.unmount("b").unwrap();
    assert_eq!(
        finish!(harness, MoveEnd, client(1)),
        Err(ErrorCode::ReplicaIsGone)
    );
    assert_eq!(names(&harness.get("k").unwrap()), ["a"]);
    harness
        .upsert_start("k", 10, &ReplicateConfig::default())
        .unwrap();
}

#[test]
fn a_move_quarantines_its_source_whoever_reads_it() {
    let mut harness = one_of_three();
    harness.get("k").unwrap();
    move_to(&mut harness, "k", "a", "b").unwrap();
    harness.at(Span::from_secs(3));
    assert_eq!(finish!(harness, MoveEnd, client(1)), Ok(()));
    assert_eq!(names(&harness.get("k").unwrap()), ["b"]);
    assert_eq!(harness.allocated(), 20);
    harness.at(Span::from_secs(603));
    assert_eq!(harness.master.release_quarantine(harness.now), 1);
    let again = move_to(&mut harness, "k", "b", "a").unwrap();
    assert!(again.target.is_some());
    assert_eq!(finish!(harness, MoveRevoke, client(1)), Ok(()));
    copy(&mut harness, "k", "b", &["c"]).unwrap();
    finish!(harness, CopyEnd, client(1)).unwrap();
    let nothing_to_write = move_to(&mut harness, "k", "b", "c").unwrap();
    assert!(nothing_to_write.target.is_none());
    assert_eq!(finish!(harness, MoveEnd, client(1)), Ok(()));
    assert_eq!(names(&harness.get("k").unwrap()), ["c"]);
}

#[test]
fn a_move_to_a_replica_that_is_evicted_meanwhile_leaves_nothing() {
    let mut harness = one_of_three();
    copy(&mut harness, "k", "a", &["b"]).unwrap();
    finish!(harness, CopyEnd, client(1)).unwrap();
    assert!(move_to(&mut harness, "k", "a", "b").unwrap().target.is_none());
    harness.master.evict_batch(harness.now, 1.0, 1.0);
    assert_eq!(finish!(harness, MoveEnd, client(1)), Ok(()));
    assert_eq!(
        harness.put_start("k", 10),
        Err(ErrorCode::ObjectAlreadyExists),
        "the shell stands"
    );
    // The writer may end it twice; without a replica there is nothing that was ended.
    assert_eq!(harness.put_end("k"), Err(ErrorCode::ObjectNotFound));
    assert!(harness.put_start("k", 10).is_ok());
}

#[test]
fn a_copy_is_given_up_after_the_release_timeout() {
    let mut harness = one_of_three();
    copy(&mut harness, "k", "a", &["b"]).unwrap();
    harness.at(Span::from_secs(600) - NS);
    harness.master.sweep(harness.now);
    assert_eq!(
        finish!(harness, MoveEnd, client(1)),
        Err(ErrorCode::InvalidParams),
        "still there"
    );
    harness.at(Span::from_secs(600));
    harness.master.sweep(harness.now);
    assert_eq!(
        finish!(harness, CopyEnd, client(1)),
        Err(ErrorCode::ObjectNoReplicationTask)
    );
    assert_eq!(harness.allocated(), 20, "the target is in quarantine, and due");
    harness.at(Span::from_secs(600) + NS);
    harness.tick(Thread::Eviction);
    assert_eq!(harness.allocated(), 10);
}

#[test]
fn a_full_target_allocates_nothing_at_all() {
    let mut harness = one_of_three();
    let on_c = ReplicateConfig {
        preferred_segment: "c".to_owned(),
        ..ReplicateConfig::default()
    };
    harness.put_with("fill", MIB, &on_c);
    assert_eq!(
        copy(&mut harness, "k", "a", &["b", "c"]),
        Err(ErrorCode::NoAvailableHandle)
    );
    assert_eq!(harness.allocated(), MIB + 10);
    harness.remove("k", false).unwrap();
}

#[test]
fn a_dynamic_copy_finds_no_proposal() {
    let mut harness = one_of_three();
    let request = Request::DynamicReplicaCopyStart {
        client_id: client(1),
        key: "k".to_owned(),
        tenant_id: String::new(),
        src_segment: "a".to_owned(),
        tgt_segments: vec!["b".to_owned()],
        dynamic_replication_lease_id: Uuid::new(1, 1),
        dynamic_replication_version_epoch: 0,
    };
    let refused = Response::DynamicReplicaCopyStart(Err(ErrorCode::UnavailableInCurrentStatus));
    assert_eq!(harness.send(&request), refused);
}

#[test]
fn a_copy_whose_source_left_gives_its_target_back_only_without_the_quirk() {
    for (quirks, left) in [(Quirks::all(), 10), (Quirks::none(), 0)] {
        let config = MasterConfig {
            quirks,
            ..MasterConfig::default()
        };
        let mut harness = Harness::configured(config, &[("a", MIB), ("b", MIB)]);
        let on_a = ReplicateConfig {
            preferred_segment: "a".to_owned(),
            ..ReplicateConfig::default()
        };
        harness.put_with("k", 10, &on_a);
        copy(&mut harness, "k", "a", &["b"]).unwrap();
        harness.unmount("a").unwrap();
        harness.master.settle_cleanup();
        assert_eq!(harness.allocated(), left);
        let end = finish!(harness, CopyEnd, client(1));
        let expected = if left > 0 {
            ErrorCode::ReplicaIsGone
        } else {
            ErrorCode::ObjectNotFound
        };
        assert_eq!(end, Err(expected));
        assert_eq!(harness.allocated(), 0);
    }
}

/// The order in which they are given up decides which of their holes is taken first.
#[test]
fn copies_are_given_up_in_the_order_of_the_shards_of_their_keys() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("c", MIB)]);
    let shard = |key: &str| harness.master.objects.shard_of(key);
    // The later key by name is the earlier one by shard.
    let last = "k0".to_owned();
    let mut others = (1..20).map(|number| format!("k{number}"));
    let first = others
        .find(|key| (1..shard(&last)).contains(&shard(key)))
        .unwrap();
    let mut address = std::collections::BTreeMap::new();
    for key in [&first, &last] {
        harness.put_with(key, 10, &on("a"));
        let target = copy(&mut harness, key, "a", &["c"]).unwrap().targets.remove(0);
        address.insert(key.clone(), range(&target).buffer_address);
        // The holes do not touch.
        harness.put_with(&format!("behind {key}"), 10, &on("c"));
    }
    harness.at(Span::from_secs(600));
    harness.master.sweep(harness.now);
    // What was kept last is freed first, and what is freed last is taken first.
    harness.master.release_quarantine(harness.now);
    let taken = harness.put_with("new", 10, &on("c"));
    assert_eq!(range(&taken[0]).buffer_address, address[&first]);
}
