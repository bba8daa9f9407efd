//! Upserts.

use super::harness::*;
use crate::MasterConfig;
use moonquake_clock::{Span, Thread};
use moonquake_faults::Quirks;
use moonquake_protocol::{
    ErrorCode, ObjectMeta, ReplicaStatus, ReplicaType, ReplicateConfig, Request, Response,
};

fn plain() -> ReplicateConfig {
    ReplicateConfig::default()
}

#[test]
fn the_same_size_is_reopened_in_place_even_under_a_lease() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let old = harness.put("k", 10);
    harness.get("k").unwrap();
    let new = harness.upsert_start("k", 10, &plain()).unwrap();
    assert_eq!((range(&new[0]), new[0].id), (range(&old[0]), old[0].id));
    assert_eq!(new[0].status, ReplicaStatus::Processing);
    assert!(!harness.exist("k"));
    assert_eq!(harness.get("k"), Err(ErrorCode::ReplicaIsNotReady));
    assert_eq!(
        harness.put_end("k"),
        Err(ErrorCode::IllegalClient),
        "the old writer"
    );
    harness.upsert_end("k").unwrap();
    assert!(harness.exist("k"));
}

#[test]
fn another_size_gets_another_range_and_the_old_one_is_quarantined() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let old = harness.put("k", 10);
    harness.at(Span::from_secs(1));
    let new = harness.upsert_start("k", 20, &plain()).unwrap();
    assert_ne!(range(&new[0]).buffer_address, range(&old[0]).buffer_address);
    harness.upsert_end("k").unwrap();
    assert_eq!(harness.allocated(), 30);
    for (since_start, freed) in [(Span::from_secs(601) - NS, 0), (Span::from_secs(601), 1)] {
        harness.at(since_start);
        assert_eq!(harness.master.release_quarantine(harness.now), freed);
    }
}

#[test]
fn another_size_without_room_loses_the_object() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put("k", MIB / 2);
    assert_eq!(
        harness.upsert_start("k", MIB, &plain()),
        Err(ErrorCode::NoAvailableHandle)
    );
    assert_eq!(harness.get("k"), Err(ErrorCode::ObjectNotFound));
}

#[test]
fn a_write_under_way_is_preempted_at_once() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let old = harness.put_start("k", 10).unwrap();
    let new = harness.upsert_start("k", 10, &plain()).unwrap();
    assert_ne!(range(&new[0]).buffer_address, range(&old[0]).buffer_address);
    assert_eq!(harness.put_end("k"), Err(ErrorCode::IllegalClient));
    harness.upsert_end("k").unwrap();
    assert_eq!(harness.allocated(), 20, "the old range is quarantined");
}

#[test]
fn revoking_an_upsert_loses_the_old_value() {
    for size in [10, 20] {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        harness.put("k", 10);
        harness.upsert_start("k", size, &plain()).unwrap();
        harness.put_revoke_fenced(client(2), "k", None).unwrap();
        assert_eq!(harness.get("k"), Err(ErrorCode::ObjectNotFound));
    }
}

#[test]
fn an_abandoned_upsert_hides_the_object_until_the_sweep_takes_it() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put("k", 10);
    harness.upsert_start("k", 10, &plain()).unwrap();
    assert_eq!(harness.remove("k", true), Err(ErrorCode::ReplicaIsNotReady));
    harness.at(Span::from_secs(600) + NS);
    harness.tick(Thread::Eviction);
    assert_eq!(harness.get("k"), Err(ErrorCode::ObjectNotFound));
}

#[test]
fn an_upsert_of_a_missing_key_is_a_put_and_keeps_pins() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    assert_eq!(harness.upsert_start("k", 10, &replicas(2)).unwrap().len(), 2);
    harness.upsert_end("k").unwrap();
    let hard = ReplicateConfig {
        with_hard_pin: true,
        ..plain()
    };
    harness.put_with("pinned", 10, &hard);
    harness.upsert_start("pinned", 20, &plain()).unwrap();
    assert!(harness.master.objects.get("pinned").unwrap().hard_pinned);
    assert_eq!(
        harness.upsert_start("", 10, &plain()),
        Err(ErrorCode::InvalidParams)
    );
    assert_eq!(
        harness.upsert_start("huge", 2 * MIB, &plain()),
        Err(ErrorCode::NoAvailableHandle)
    );
}

#[test]
fn a_checksum_is_stored_and_cleared_by_the_next_write() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let checksum = |harness: &mut Harness| {
        answer!(
            harness,
            GetReplicaList {
                key: "k".to_owned(),
                tenant_id: String::new()
            }
        )
        .unwrap()
        .object_checksum
    };
    harness.put_start("k", 10).unwrap();
    let object_meta = ObjectMeta {
        key: "k".to_owned(),
        object_checksum: Some(0),
    };
    let replica_type = ReplicaType::All;
    answer!(
        harness,
        PutEnd {
            client_id: client(1),
            object_meta,
            replica_type,
            tenant_id: String::new()
        }
    )
    .unwrap();
    assert_eq!(checksum(&mut harness), Some(0));
    harness.upsert_start("k", 10, &plain()).unwrap();
    harness.upsert_end("k").unwrap();
    assert_eq!(checksum(&mut harness), None);
}

#[test]
fn batches_of_upserts() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put("old", 10);
    let mut start = |keys: &[&str], sizes: &[u64]| {
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let request = Request::BatchUpsertStart {
            client_id: client(2),
            keys,
            slice_lengths: sizes.to_vec(),
            config: plain(),
            tenant_id: String::new(),
        };
        match harness.send(&request) {
            Response::BatchUpsertStart(results) => results.into_iter().map(Result::err).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(start(&["old"], &[]), [Some(ErrorCode::InvalidParams)]);
    assert_eq!(
        start(&["old", "new", ""], &[10, 10, 10]),
        [None, None, Some(ErrorCode::InvalidParams)]
    );
    let object_metas = vec![ObjectMeta {
        key: "old".to_owned(),
        object_checksum: None,
    }];
    let ended = answer!(
        harness,
        BatchUpsertEnd {
            client_id: client(2),
            object_metas,
            tenant_id: String::new()
        }
    );
    let keys = vec!["new".to_owned()];
    let revoked = answer!(
        harness,
        BatchUpsertRevoke {
            client_id: client(2),
            keys,
            tenant_id: String::new()
        }
    );
    assert_eq!((ended, revoked), (vec![Ok(())], vec![Ok(())]));
    assert_eq!(harness.keys(), ["old"]);
}

#[test]
fn an_upsert_without_room_keeps_the_old_object_only_without_the_quirk() {
    for (quirks, stays) in [(Quirks::all(), false), (Quirks::none(), true)] {
        let config = MasterConfig {
            quirks,
            ..MasterConfig::default()
        };
        let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
        harness.put("k", 4 * MIB);
        harness.put("other", 8 * MIB);
        let refused = harness.upsert_start("k", 6 * MIB, &plain());
        assert_eq!(refused, Err(ErrorCode::NoAvailableHandle));
        assert_eq!(harness.get("k").is_ok(), stays);
        assert_eq!(harness.allocated(), 12 * MIB, "quarantined or still there");
    }
}

#[test]
fn a_start_that_fails_leaves_the_tables_of_its_shard_as_they_are() {
    // In a large table keys are walked through in another order than in a fresh one.
    let order = |fails: bool, swept: bool| {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        let key = |number: u32| format!("k{number}");
        for number in 0..40 {
            harness.put_with(&key(number), 10, &in_group("g"));
        }
        for number in 1..40 {
            harness.remove(&key(number), true).unwrap();
        }
        if fails {
            let too_much = harness.upsert_start("k0", 2 * MIB, &in_group("g"));
            assert_eq!(too_much, Err(ErrorCode::NoAvailableHandle));
        } else {
            harness.remove("k0", true).unwrap();
        }
        if swept {
            harness.master.sweep(harness.now);
        }
        for number in 40..60 {
            harness.put_with(&key(number), 10, &in_group("g"));
        }
        let all = harness.master.objects.by_shard();
        let key_of = |id| harness.master.objects.key_of(id).to_owned();
        all.into_iter().map(key_of).collect::<Vec<String>>()
    };
    assert_ne!(order(true, false), order(false, false));
    assert_eq!(
        order(true, true),
        order(false, false),
        "a sweep looks at every shard"
    );
}

#[test]
fn an_upsert_reopens_nothing_on_a_segment_that_has_left() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    let old = harness.put_with("k", 10, &on("a"));
    harness.unmount("a").unwrap();
    let new = harness.upsert_start("k", 10, &plain()).unwrap();
    assert_eq!((names(&old), names(&new)), (vec!["a".into()], vec!["b".into()]));
    assert_eq!(new.len(), 1);
    harness.upsert_end("k").unwrap();
    assert_eq!(names(&harness.get("k").unwrap()), ["b"]);
}
