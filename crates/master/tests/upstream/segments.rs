//! Mounting and unmounting.

use crate::rig::*;
use moonquake_protocol::{ErrorCode, ReplicateConfig, Segment, Uuid};

fn unmount_id(rig: &mut Rig, segment_id: Uuid) -> Answer {
    let client_id = WRITER;
    ask!(
        rig,
        UnmountSegment {
            segment_id,
            client_id
        }
    )
}

#[test]
fn mount_unmount_segment_with_offset_allocator() {
    let mut rig = Rig::new();
    let good = segment("test_segment", 16 * MIB);
    for bad in [
        Segment {
            base: 0,
            ..good.clone()
        },
        Segment {
            size: 0,
            ..good.clone()
        },
    ] {
        assert_eq!(rig.mount(&bad, WRITER), Err(ErrorCode::InvalidParams));
    }
    rig.mount(&good, WRITER).unwrap();
    assert_eq!(rig.mount(&good, WRITER), Ok(()), "once more is no error");
    unmount_id(&mut rig, good.id).unwrap();
    assert_eq!(unmount_id(&mut rig, good.id), Ok(()), "once more is no error");
    assert_eq!(
        unmount_id(&mut rig, Uuid::new(9, 9)),
        Ok(()),
        "nor is one that never was"
    );
    rig.mount(&good, WRITER).unwrap();
    rig.put("k", &plain());
    unmount_id(&mut rig, good.id).unwrap();
    assert_eq!(
        rig.start(WRITER, "m", KIB, &plain()),
        Err(ErrorCode::NoAvailableHandle)
    );
}

#[test]
fn random_mount_unmount_segment() {
    let mut rig = Rig::new();
    for factor in [7, 1, 10, 3, 3, 9, 2, 5, 8, 4] {
        let size = factor * 16 * MIB;
        rig.mount(&segment("test_random_segment", size), WRITER).unwrap();
        assert_eq!(rig.start(WRITER, "whole", size, &plain()).unwrap().len(), 1);
        unmount_id(&mut rig, segment("test_random_segment", 1).id).unwrap();
        rig.settle();
    }
}

#[test]
fn cleanup_stale_handles_test() {
    let mut rig = Rig::new().node("test_segment");
    rig.try_put("segment_object", MIB, &plain()).unwrap();
    assert_eq!(rig.get("segment_object").unwrap().len(), 1);
    rig.unmount("test_segment").unwrap();
    assert_eq!(rig.get("segment_object"), Err(ErrorCode::ObjectNotFound));
    let mut rig = rig.node("test_segment");
    rig.try_put("another_segment_object", MIB, &plain()).unwrap();
    rig.get("another_segment_object").unwrap();
    rig.unmount("test_segment").unwrap();
    assert_eq!(
        rig.remove("another_segment_object", false),
        Err(ErrorCode::ObjectNotFound)
    );
}

#[test]
fn unmount_segment_hides_replicas_before_async_cleanup() {
    let mut rig = Rig::new().node("segment1").node("segment2");
    rig.put("key1", &on("segment1"));
    rig.put("key2", &on("segment2"));
    rig.unmount("segment1").unwrap();
    assert_eq!(rig.get("key1"), Err(ErrorCode::ObjectNotFound));
    assert!(!rig.exist("key1") && rig.exist("key2"));
    assert_eq!(rig.batch_exist(&["key1", "key2"]), [false, true]);
    assert_eq!(rig.keys(), ["key2"]);
    rig.get("key2").unwrap();
    rig.settle();
    rig.put("key1", &plain());
    assert_eq!(places(&rig.get("key1").unwrap()), ["segment2"]);
    assert_eq!(rig.keys(), ["key1", "key2"]);
}

/// Hidden, but not yet gone: the target of the copy or move is not ready.
fn hidden_until_the_cleanup(rig: &mut Rig, key: &str) {
    assert_eq!(rig.get(key), Err(ErrorCode::ReplicaIsNotReady));
    assert!(!rig.exist(key));
    assert_eq!(rig.batch_exist(&[key]), [false]);
    assert!(!rig.shows(key));
}

#[test]
fn copy_in_progress_does_not_keep_unmounted_source_visible() {
    let mut rig = Rig::new().node("copy_source").node("copy_target");
    rig.put("copy_key", &on("copy_source"));
    rig.copy(WRITER, "copy_key", "copy_source", &["copy_target"])
        .unwrap();
    rig.unmount("copy_source").unwrap();
    hidden_until_the_cleanup(&mut rig, "copy_key");
    assert_eq!(rig.copy_revoke(WRITER, "copy_key"), Ok(()));
    rig.settle();
}

#[test]
fn move_in_progress_does_not_keep_unmounted_source_visible() {
    let mut rig = Rig::new().node("move_source").node("move_target");
    rig.put("move_key", &on("move_source"));
    rig.move_to(WRITER, "move_key", "move_source", "move_target")
        .unwrap();
    rig.unmount("move_source").unwrap();
    hidden_until_the_cleanup(&mut rig, "move_key");
    assert_eq!(rig.move_revoke(WRITER, "move_key"), Ok(()));
    rig.settle();
}

#[test]
fn readable_after_partial_unmount_with_replication() {
    let mut rig = Rig::new()
        .node_of("segment1", 64 * MIB)
        .node_of("segment2", 64 * MIB);
    assert_eq!(rig.try_put("replicated_key", MIB, &replicas(2)).unwrap().len(), 2);
    let read = rig.get("replicated_key").unwrap();
    assert!(read.iter().all(|replica| range(replica).size == MIB));
    let mut both = places(&read);
    both.sort_unstable();
    assert_eq!(both, ["segment1", "segment2"]);
    rig.unmount("segment1").unwrap();
    assert_eq!(places(&rig.get("replicated_key").unwrap()), ["segment2"]);
}

/// The case also holds the unmount to a second of real time, which says nothing about a state machine.
#[test]
fn unmount_segment_performance() {
    let mut rig = Rig::new().node_of("perf_test_segment", 256 * MIB);
    let keys: Vec<String> = (0..1_000).map(|number| format!("key_{number}")).collect();
    for key in &keys {
        rig.put(key, &plain());
    }
    rig.unmount("perf_test_segment").unwrap();
    for key in &keys {
        assert_eq!(rig.get(key), Err(ErrorCode::ObjectNotFound));
    }
}

/// Members of a group share a shard, as the case needs it.
fn member_on(segment: &str) -> ReplicateConfig {
    ReplicateConfig {
        preferred_segment: segment.to_owned(),
        ..in_group("group")
    }
}

#[test]
fn accessor_cleanup_after_segment_unmount_does_not_crash() {
    let mut rig = Rig::new().node("ghost").node("live");
    rig.put("keeper", &member_on("live"));
    rig.start(WRITER, "half", KIB, &member_on("ghost")).unwrap();
    rig.unmount("ghost").unwrap();
    assert_eq!(rig.end(WRITER, "half"), Err(ErrorCode::ObjectNotFound));
    assert_eq!(
        rig.end(WRITER, "half"),
        Err(ErrorCode::ObjectNotFound),
        "and it is gone"
    );
    assert!(rig.shows("keeper"));
}
