//! What the methods of subsystems that are off are answered.

use super::disks::report;
use super::harness::*;
use moonquake_protocol::{ErrorCode, NoFSegment, ReplicaType, Request, Response, Uuid};

fn client_id() -> Uuid {
    client(0)
}

fn own(key: &str) -> (Uuid, String, String) {
    (client_id(), key.to_owned(), String::new())
}

#[test]
fn segments_on_fabrics_are_unavailable_in_this_mode() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let off = Err(ErrorCode::UnavailableInCurrentMode);
    let mount = Request::MountNoFSegment {
        segment: NoFSegment::default(),
        client_id: client_id(),
    };
    assert_eq!(harness.send(&mount), Response::MountNoFSegment(off));
    let remount = Request::ReMountNoFSegment {
        segments: vec![],
        client_id: client_id(),
    };
    assert_eq!(harness.send(&remount), Response::ReMountNoFSegment(off));
    let unmount = Request::UnmountNoFSegment {
        segment_id: segment("a", MIB).id,
        client_id: client_id(),
    };
    assert_eq!(harness.send(&unmount), Response::UnmountNoFSegment(off));
}

#[test]
fn a_disk_without_room_is_refused_before_it_is_looked_for() {
    let mut harness = Harness::with_segments(&[]);
    for (ssd_total_capacity_bytes, code) in [
        (i64::MIN, ErrorCode::InvalidParams),
        (-1, ErrorCode::InvalidParams),
        (0, ErrorCode::SegmentNotFound),
        (1, ErrorCode::SegmentNotFound),
    ] {
        let report = Request::ReportSsdCapacity {
            client_id: client_id(),
            ssd_total_capacity_bytes,
        };
        assert_eq!(harness.send(&report), Response::ReportSsdCapacity(Err(code)));
    }
}

#[test]
fn a_promotion_is_of_an_object_that_is_there_and_none_is_ever_ready() {
    for (key, code) in [
        ("k", ErrorCode::ReplicaIsNotReady),
        ("gone", ErrorCode::ObjectNotFound),
    ] {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        harness.put("k", 10);
        let (client_id, key, tenant_id) = own(key);
        let start = Request::PromotionAllocStart {
            client_id,
            key: key.clone(),
            tenant_id: tenant_id.clone(),
            size: 10,
            preferred_segments: vec![],
        };
        assert_eq!(harness.send(&start), Response::PromotionAllocStart(Err(code)));
        let success = Request::NotifyPromotionSuccess {
            client_id,
            key: key.clone(),
            tenant_id: tenant_id.clone(),
        };
        assert_eq!(
            harness.send(&success),
            Response::NotifyPromotionSuccess(Err(code))
        );
        let failure = Request::NotifyPromotionFailure {
            client_id,
            key,
            tenant_id,
        };
        let told = match code {
            ErrorCode::ObjectNotFound => Err(code),
            _ => Ok(()),
        };
        assert_eq!(harness.send(&failure), Response::NotifyPromotionFailure(told));
        assert_eq!(harness.allocated(), 10);
    }
}

#[test]
fn a_dynamic_copy_ends_and_is_revoked_as_a_copy_with_a_token() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    harness.put_with("k", 10, &on("a"));
    let (dynamic_replication_lease_id, dynamic_replication_version_epoch) = (Uuid::new(1, 1), 7);
    let mut end_and_revoke = |key| {
        let (client_id, key, tenant_id) = own(key);
        let end = Request::DynamicReplicaCopyEnd {
            client_id,
            key: key.clone(),
            tenant_id: tenant_id.clone(),
            dynamic_replication_lease_id,
            dynamic_replication_version_epoch,
        };
        let revoke = Request::DynamicReplicaCopyRevoke {
            client_id,
            key,
            tenant_id,
            dynamic_replication_lease_id,
            dynamic_replication_version_epoch,
        };
        (harness.send(&end), harness.send(&revoke))
    };
    let both = |code| {
        (
            Response::DynamicReplicaCopyEnd(Err(code)),
            Response::DynamicReplicaCopyRevoke(Err(code)),
        )
    };
    assert_eq!(end_and_revoke("gone"), both(ErrorCode::ObjectNotFound));
    assert_eq!(end_and_revoke("k"), both(ErrorCode::ObjectNoReplicationTask));
    // A copy that was begun without a token is none of theirs.
    let start = Request::CopyStart {
        client_id: client_id(),
        key: "k".to_owned(),
        tenant_id: String::new(),
        src_segment: "a".to_owned(),
        tgt_segments: vec!["b".to_owned()],
    };
    assert!(matches!(harness.send(&start), Response::CopyStart(Ok(_))));
    let mut harness_end = |key| {
        let (client_id, key, tenant_id) = own(key);
        harness.send(&Request::DynamicReplicaCopyEnd {
            client_id,
            key,
            tenant_id,
            dynamic_replication_lease_id,
            dynamic_replication_version_epoch,
        })
    };
    let stale = Response::DynamicReplicaCopyEnd(Err(ErrorCode::InvalidVersion));
    assert_eq!(harness_end("k"), stale);
}

#[test]
fn of_a_batch_each_key_loses_its_replica_on_the_disk_of_the_caller() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put("both", 10);
    report(&mut harness, client(0), "both", 10).unwrap();
    report(&mut harness, client(1), "foreign", 10).unwrap();
    let keys = ["both", "foreign", "gone"].map(str::to_owned).to_vec();
    let evicted = answer!(
        harness,
        BatchEvictDiskReplica {
            client_id: client_id(),
            keys,
            tenant_id: String::new(),
            replica_type: ReplicaType::LocalDisk
        }
    );
    assert_eq!(evicted, [Ok(()), Ok(()), Err(ErrorCode::ObjectNotFound)]);
    assert_eq!(names(&harness.get("both").unwrap()), ["a"]);
    assert!(harness.exist("foreign"));
}
