//! Upserts.

use crate::rig::*;
use moonquake_protocol::{ErrorCode, ReplicaStatus};

const NOT_READY: Answer<Replicas> = Err(ErrorCode::ReplicaIsNotReady);
const MISSING: Answer<Replicas> = Err(ErrorCode::ObjectNotFound);

fn rig() -> Rig {
    Rig::new().node("memory")
}

/// An upsert that is not finished: one replica that is being written.
fn started(rig: &mut Rig, who: moonquake_protocol::Uuid, key: &str, size: u64) -> u64 {
    let replicas = rig.upsert(who, key, size, &plain()).unwrap();
    assert_eq!(replicas.len(), 1);
    assert!(all_are(&replicas, ReplicaStatus::Processing));
    range(&replicas[0]).buffer_address
}

fn is_readable(rig: &mut Rig, key: &str) {
    let replicas = rig.get(key).unwrap();
    assert_eq!(replicas.len(), 1);
    assert!(all_are(&replicas, ReplicaStatus::Complete));
}

#[test]
fn upsert_same_size() {
    let mut rig = rig();
    let old = rig.put("key", &plain());
    assert_eq!(
        started(&mut rig, OTHER, "key", KIB),
        range(&old[0]).buffer_address
    );
    rig.upsert_end(OTHER, "key").unwrap();
    is_readable(&mut rig, "key");
}

#[test]
fn upsert_different_size() {
    let mut rig = rig();
    let old = rig.put("key", &plain());
    assert_ne!(
        started(&mut rig, WRITER, "key", 2 * KIB),
        range(&old[0]).buffer_address
    );
    rig.upsert_end(WRITER, "key").unwrap();
    is_readable(&mut rig, "key");
}

#[test]
fn upsert_conflict_replication_task() {
    let mut rig = Rig::new().node("segment_1").node("segment_2");
    rig.put("key", &on("segment_1"));
    rig.copy(WRITER, "key", "segment_1", &["segment_2"]).unwrap();
    let refused = rig.upsert(WRITER, "key", KIB, &on("segment_1"));
    assert_eq!(refused, Err(ErrorCode::ObjectHasReplicationTask));
}

#[test]
fn upsert_new_key() {
    let mut rig = rig();
    started(&mut rig, WRITER, "key", KIB);
    assert_eq!(rig.get("key"), NOT_READY);
    rig.upsert_end(WRITER, "key").unwrap();
    is_readable(&mut rig, "key");
}

#[test]
fn upsert_preempts_in_progress_put() {
    let mut rig = rig();
    rig.start(WRITER, "key", KIB, &plain()).unwrap();
    started(&mut rig, OTHER, "key", KIB);
    assert_eq!(rig.end(WRITER, "key"), Err(ErrorCode::IllegalClient));
    rig.upsert_end(OTHER, "key").unwrap();
    is_readable(&mut rig, "key");
}

#[test]
fn upsert_same_size_refreshes_metadata() {
    let mut rig = rig();
    rig.put("key", &plain());
    started(&mut rig, OTHER, "key", KIB);
    assert_eq!(rig.upsert_end(WRITER, "key"), Err(ErrorCode::IllegalClient));
    rig.upsert_end(OTHER, "key").unwrap();
    is_readable(&mut rig, "key");
}

#[test]
fn upsert_revoke() {
    let mut rig = rig();
    started(&mut rig, WRITER, "key", KIB);
    assert_eq!(rig.get("key"), NOT_READY);
    rig.upsert_revoke(WRITER, "key").unwrap();
    assert_eq!(rig.get("key"), MISSING);
}

#[test]
fn upsert_in_place_then_revoke() {
    let mut rig = rig();
    rig.put("key", &plain());
    started(&mut rig, OTHER, "key", KIB);
    assert_eq!(rig.get("key"), NOT_READY);
    rig.upsert_revoke(OTHER, "key").unwrap();
    assert_eq!(rig.get("key"), MISSING);
}

#[test]
fn upsert_preempts_in_progress_upsert() {
    let mut rig = rig();
    rig.put("key", &plain());
    started(&mut rig, OTHER, "key", KIB);
    assert_eq!(rig.get("key"), NOT_READY);
    started(&mut rig, client(3), "key", KIB);
    assert_eq!(rig.upsert_end(OTHER, "key"), Err(ErrorCode::IllegalClient));
    rig.upsert_end(client(3), "key").unwrap();
    is_readable(&mut rig, "key");
}

#[test]
fn upsert_different_size_then_revoke() {
    let mut rig = rig();
    rig.put("key", &plain());
    is_readable(&mut rig, "key");
    started(&mut rig, WRITER, "key", 2 * KIB);
    assert_eq!(rig.get("key"), NOT_READY);
    rig.upsert_revoke(WRITER, "key").unwrap();
    assert_eq!(rig.get("key"), MISSING);
}
