//! The life of a put.

use crate::rig::*;
use moonquake_clock::Span;
use moonquake_protocol::{ErrorCode, ReplicaStatus, ReplicateConfig, SoftPinAction};

#[test]
fn put_start_invalid_params() {
    let mut rig = Rig::new().node("test_segment");
    let invalid = Err(ErrorCode::InvalidParams);
    assert_eq!(rig.start(WRITER, "test_key", KIB, &replicas(0)), invalid);
    assert_eq!(rig.start(WRITER, "test_key", 0, &plain()), invalid);
    let same_node_with_nof = ReplicateConfig {
        nof_replica_num: 1,
        prefer_alloc_in_same_node: true,
        ..plain()
    };
    assert_eq!(rig.start(WRITER, "test_key", KIB, &same_node_with_nof), invalid);
    rig.start(WRITER, "test_key", KIB, &plain()).unwrap();
}

#[test]
fn soft_pin_request_validation() {
    let mut rig = Rig::configured(|config| {
        crate::pins::revealing(config);
        config.soft_pin = Span::from_ms(50);
        config.max_soft_pin = Span::from_ms(100);
    })
    .node("test_segment");
    for bad in [
        pin(SoftPinAction::Preserve, Some(10)),
        pin(SoftPinAction::Disable, Some(10)),
        pin(SoftPinAction::Enable, Some(101)),
        pin(SoftPinAction::Unknown(255), None),
    ] {
        assert_eq!(
            rig.start(WRITER, "k", KIB, &bad),
            Err(ErrorCode::InvalidParams),
            "{bad:?}"
        );
    }
    rig.put("longest", &pin(SoftPinAction::Enable, Some(100)));
    rig.put("zero_ttl", &pin(SoftPinAction::Enable, Some(0)));
    assert!(crate::pins::is_pinned(&rig, "longest") && !crate::pins::is_pinned(&rig, "zero_ttl"));
}

#[test]
fn put_start_group_ids_validation() {
    let mut rig = Rig::new().node("test_segment");
    for bad in [&[][..], &["g0", "g1"]] {
        assert_eq!(
            rig.start(WRITER, "k", KIB, &groups(bad)),
            Err(ErrorCode::InvalidParams)
        );
    }
    rig.put("explicit_ungrouped", &groups(&[""]));
    assert!(rig.exist("explicit_ungrouped"));
}

#[test]
fn single_slice_multi_replica_flow() {
    let mut rig = Rig::new();
    for name in ["segment_0", "segment_1", "segment_2"] {
        rig = rig.node_of(name, 64 * MIB);
    }
    let of_right_size = |replicas: &Replicas| replicas.iter().all(|replica| range(replica).size == 5 * MIB);
    let started = rig
        .start(WRITER, "multi_slice_object", 5 * MIB, &replicas(3))
        .unwrap();
    assert_eq!(started.len(), 3);
    assert!(all_are(&started, ReplicaStatus::Processing) && of_right_size(&started));
    assert_eq!(rig.get("multi_slice_object"), Err(ErrorCode::ReplicaIsNotReady));
    rig.end(WRITER, "multi_slice_object").unwrap();
    let read = rig.get("multi_slice_object").unwrap();
    assert_eq!(read.len(), 3);
    assert!(all_are(&read, ReplicaStatus::Complete) && of_right_size(&read));
}

/// D = 3 s, R = 5 s, three segments of 16 MiB, three replicas of 6 MiB: two objects fit.
#[test]
fn put_start_expiring_test() {
    let nodes = ["segment_0", "segment_1", "segment_2"];
    let mut rig = Rig::configured(|config| {
        config.discard = Span::from_secs(3);
        config.release = Span::from_secs(5);
    });
    for name in nodes {
        rig = rig.node(name);
    }
    let start = |rig: &mut Rig, key: &str| rig.start(WRITER, key, 6 * MIB, &replicas(3)).map(|all| all.len());
    let wait = |rig: &mut Rig, seconds: u64, read: bool| {
        for _ in 0..=seconds {
            rig.ping(&nodes);
            if read {
                rig.get("test_key_1").unwrap();
            }
            rig.pass(Span::from_secs(1));
            rig.evict();
        }
    };
    assert_eq!(start(&mut rig, "test_key_1"), Ok(3));
    assert_eq!(start(&mut rig, "test_key_1"), Err(ErrorCode::ObjectAlreadyExists));
    wait(&mut rig, 3, false);
    assert_eq!(
        start(&mut rig, "test_key_1"),
        Ok(3),
        "the discard timeout is over"
    );
    rig.end(WRITER, "test_key_1").unwrap();
    rig.get("test_key_1").unwrap();
    let full = Err(ErrorCode::NoAvailableHandle);
    assert_eq!(
        start(&mut rig, "test_key_2"),
        full,
        "the first attempt's bytes are still taken"
    );
    wait(&mut rig, 2, true);
    assert_eq!(
        start(&mut rig, "test_key_2"),
        Ok(3),
        "the release timeout is over"
    );
    // Abandoned; nothing sweeps it but a round that a failing put asks for.
    for _ in 0..=5 {
        rig.ping(&nodes);
        rig.get("test_key_1").unwrap();
        rig.pass(Span::from_secs(1));
    }
    assert_eq!(start(&mut rig, "test_key_2"), full);
    rig.evict();
    assert_eq!(start(&mut rig, "test_key_2"), Ok(3));
    rig.end(WRITER, "test_key_2").unwrap();
}

/// What the cases of the small Given/When/Then harness say of a put of so many replicas.
fn put_lifecycle(rig: &mut Rig, key: &str, count: u64) {
    let started = rig.start(WRITER, key, KIB, &replicas(count)).unwrap();
    assert_eq!(started.len() as u64, count);
    assert!(all_are(&started, ReplicaStatus::Processing));
    assert_eq!(rig.get(key), Err(ErrorCode::ReplicaIsNotReady));
    assert_eq!(rig.remove(key, false), Err(ErrorCode::ReplicaIsNotReady));
    assert_eq!(rig.end(OTHER, key), Err(ErrorCode::IllegalClient));
    assert_eq!(rig.revoke(OTHER, key), Err(ErrorCode::IllegalClient));
    rig.end(WRITER, key).unwrap();
    let read = rig.get(key).unwrap();
    assert_eq!(read.len() as u64, count);
    assert!(all_are(&read, ReplicaStatus::Complete));
}

#[test]
fn put_start_end_flow() {
    put_lifecycle(&mut Rig::new().node("memory"), "test_key", 1);
}

#[test]
fn put_lifecycle_for_every_replica_count() {
    let mut rig = Rig::new();
    for number in 1..=5 {
        rig = rig.node(&format!("memory-{number}"));
    }
    for count in 1..=5 {
        put_lifecycle(&mut rig, &format!("key-{count}"), count);
    }
}

#[test]
fn get_replica_list_distinguishes_missing_and_readable() {
    let mut rig = Rig::new().node("memory");
    assert_eq!(rig.get("missing"), Err(ErrorCode::ObjectNotFound));
    rig.put("key", &plain());
    assert_eq!(rig.get("key").unwrap().len(), 1);
}

#[test]
fn remove_object_and_reject_missing_object() {
    let mut rig = Rig::new().node("memory");
    rig.put("key", &plain());
    rig.remove("key", false).unwrap();
    assert_eq!(rig.get("key"), Err(ErrorCode::ObjectNotFound));
    assert_eq!(rig.remove("missing", false), Err(ErrorCode::ObjectNotFound));
}

#[test]
fn repeated_put_and_remove_is_deterministic() {
    let mut rig = Rig::new().node("memory");
    let mut addresses = Vec::new();
    for number in 0..10 {
        let key = format!("key-{number}");
        addresses.push(range(&rig.put(&key, &plain())[0]).buffer_address);
        rig.remove(&key, false).unwrap();
        assert_eq!(rig.get(&key), Err(ErrorCode::ObjectNotFound));
    }
    addresses.dedup();
    assert_eq!(addresses.len(), 1, "each put gets the range of the last");
}

#[test]
fn honors_requested_put_start_replica_count() {
    let mut rig = Rig::new().node("memory-a").node("memory-b");
    let started = rig.start(WRITER, "key", KIB, &replicas(2)).unwrap();
    assert_eq!(started.len(), 2);
    assert!(all_are(&started, ReplicaStatus::Processing));
}

#[test]
fn honors_requested_upsert_start_replica_count() {
    let mut rig = Rig::new().node("memory-a").node("memory-b");
    let started = rig.upsert(WRITER, "key", KIB, &replicas(2)).unwrap();
    assert_eq!(started.len(), 2);
    assert!(all_are(&started, ReplicaStatus::Processing));
}

#[test]
fn reports_unexpected_upsert_start_error() {
    let mut rig = Rig::new().node_of("memory", KIB);
    assert_eq!(
        rig.upsert(WRITER, "key", 2 * KIB, &plain()),
        Err(ErrorCode::NoAvailableHandle)
    );
}

#[test]
fn reports_unexpected_action_error() {
    let mut rig = Rig::new().node("memory");
    assert_eq!(rig.end(WRITER, "missing"), Err(ErrorCode::ObjectNotFound));
}

#[test]
fn reports_wrong_upsert_end_error_code() {
    let mut rig = Rig::new().node("memory");
    assert_eq!(rig.upsert_end(WRITER, "missing"), Err(ErrorCode::ObjectNotFound));
}

#[test]
fn reports_wrong_upsert_revoke_error_code() {
    let mut rig = Rig::new().node("memory");
    assert_eq!(
        rig.upsert_revoke(WRITER, "missing"),
        Err(ErrorCode::ObjectNotFound)
    );
}

#[test]
fn reports_not_ready_object_when_absence_expected() {
    let mut rig = Rig::new().node("memory");
    rig.start(WRITER, "key", KIB, &plain()).unwrap();
    assert_eq!(rig.get("key"), Err(ErrorCode::ReplicaIsNotReady));
}
