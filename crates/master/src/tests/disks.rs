//! Reports of offloaded objects at a master without offload.

use super::harness::*;
use crate::MasterConfig;
use moonquake_clock::{Span, Thread};
use moonquake_faults::{Quirk, Quirks};
use moonquake_protocol::{
    DescriptorVariant, ErrorCode, OffloadTaskItem, ReplicaDescriptor, ReplicaType, ReplicateConfig, Request,
    Response, StorageObjectMetadata, Uuid,
};

pub(super) fn report(
    harness: &mut Harness,
    client_id: Uuid,
    key: &str,
    data_size: i64,
) -> Result<(), ErrorCode> {
    let tasks = vec![OffloadTaskItem {
        key: key.to_owned(),
        ..OffloadTaskItem::default()
    }];
    let metadatas = vec![StorageObjectMetadata {
        data_size,
        transport_endpoint: "here".to_owned(),
        ..StorageObjectMetadata::default()
    }];
    answer!(
        harness,
        NotifyOffloadSuccess {
            client_id,
            tasks,
            metadatas
        }
    )
}

/// Id and length of each replica on a disk.
fn on_disk(replicas: &[ReplicaDescriptor]) -> Vec<(u64, u64)> {
    let length = |replica: &ReplicaDescriptor| match &replica.descriptor {
        DescriptorVariant::LocalDisk(disk) => Some((replica.id, disk.object_size)),
        _ => None,
    };
    replicas.iter().filter_map(length).collect()
}

fn evict(harness: &mut Harness, client_id: Uuid, key: &str) -> Result<(), ErrorCode> {
    answer!(
        harness,
        EvictDiskReplica {
            client_id,
            key: key.to_owned(),
            tenant_id: String::new(),
            replica_type: ReplicaType::LocalDisk,
        }
    )
}

#[test]
fn lists_of_different_lengths_are_refused() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let refused = answer!(
        harness,
        NotifyOffloadSuccess {
            client_id: client(0),
            tasks: vec![OffloadTaskItem::default()],
            metadatas: vec![]
        }
    );
    assert_eq!(refused, Err(ErrorCode::InvalidParams));
}

#[test]
fn a_report_adds_a_replica_once_and_uses_an_id_each_time() {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
    harness.put("k", MIB);
    for (by, size) in [(0, 100), (0, 200), (1, 300), (0, -1)] {
        report(&mut harness, client(by), "k", size).unwrap();
    }
    let replicas = harness.get("k").unwrap();
    assert_eq!((replicas.len(), on_disk(&replicas)), (2, vec![(2, 100)]));
    assert_eq!(harness.put("next", MIB)[0].id, 5);
}

#[test]
fn an_object_comes_to_be_by_a_report_unless_it_has_no_length() {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
    report(&mut harness, client(9), "new", 100).unwrap();
    report(&mut harness, client(9), "nothing", 0).unwrap();
    report(&mut harness, client(9), "failed", -1).unwrap();
    assert_eq!(on_disk(&harness.get("new").unwrap()), [(1, 100)]);
    assert!(harness.exist("new"));
    for absent in ["nothing", "failed"] {
        assert_eq!(harness.get(absent), Err(ErrorCode::ObjectNotFound));
    }
    assert!(!harness.exist("nothing"));
    // What has no length is there for patterns, and gone for whoever opens it.
    assert_eq!(harness.keys(), ["new", "nothing"]);
    assert_eq!(harness.remove("nothing", false), Err(ErrorCode::ObjectNotFound));
    assert_eq!(harness.keys(), ["new"]);
    assert_eq!(harness.allocated(), 0);
    assert!(harness.put_start("nothing", MIB).is_ok());
    assert!(
        harness.put_start("new", MIB).is_ok(),
        "its client is not OK, and a put cleans that first"
    );
    let (segments, client_id) = (vec![], client(9));
    answer!(harness, ReMountSegment { segments, client_id }).unwrap();
    report(&mut harness, client(9), "newer", 100).unwrap();
    assert_eq!(
        harness.put_start("newer", MIB),
        Err(ErrorCode::ObjectAlreadyExists)
    );
}

#[test]
fn only_the_owner_of_the_disk_drops_it() {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
    harness.put("k", MIB);
    report(&mut harness, client(0), "k", 100).unwrap();
    report(&mut harness, client(0), "new", 100).unwrap();
    evict(&mut harness, client(1), "k").unwrap();
    assert_eq!(harness.get("k").unwrap().len(), 2);
    evict(&mut harness, client(0), "k").unwrap();
    assert_eq!(harness.get("k").unwrap().len(), 1);
    evict(&mut harness, client(0), "new").unwrap();
    assert_eq!(
        evict(&mut harness, client(0), "new"),
        Err(ErrorCode::ObjectNotFound)
    );
}

#[test]
fn a_clean_up_drops_the_disks_of_clients_that_are_not_ok() {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB), ("b", 4 * MIB)]);
    let (segments, client_id) = (vec![], client(1));
    answer!(harness, ReMountSegment { segments, client_id }).unwrap();
    report(&mut harness, client(1), "kept", 100).unwrap();
    report(&mut harness, client(2), "lost", 100).unwrap();
    assert!(harness.exist("lost"), "nobody looks until then");
    harness.unmount("b").unwrap();
    harness.master.settle_cleanup();
    assert_eq!((harness.exist("kept"), harness.exist("lost")), (true, false));
    harness.advance(Span::from_secs(60));
    harness.tick(Thread::ClientMonitor);
    harness.advance(Span::from_secs(60));
    harness.tick(Thread::ClientMonitor);
    assert!(!harness.exist("kept"));
}

#[test]
fn eviction_takes_the_memory_and_leaves_the_disk() {
    let mut harness = Harness::with_segments(&[("a", 2 * MIB)]);
    harness.put("k", 2 * MIB);
    report(&mut harness, client(0), "k", 100).unwrap();
    harness.tick(Thread::Eviction);
    assert_eq!(harness.allocated(), 0);
    assert_eq!(on_disk(&harness.get("k").unwrap()).len(), 1);
    // With nothing in memory it is no candidate any more.
    harness.put("other", 2 * MIB);
    harness.tick(Thread::Eviction);
    assert!(harness.exist("k") && !harness.exist("other"));
}

#[test]
fn a_quarantined_replica_on_a_disk_does_not_count_as_released() {
    for (in_memory, released) in [(false, 0), (true, 1)] {
        let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
        harness.put("beside", 10);
        if in_memory {
            harness.put("k", 100);
        }
        report(&mut harness, client(0), "k", 100).unwrap();
        harness
            .upsert_start("k", 64, &ReplicateConfig::default())
            .unwrap();
        harness.advance(Span::from_secs(600));
        let now = harness.now;
        assert_eq!(harness.master.release_quarantine(now), released, "{in_memory}");
    }
}

/// The last object of its shard is replaced by one that is finished, all in one request.
#[test]
fn a_report_on_an_object_that_is_out_of_reach_makes_a_new_one() {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
    harness.put("k", MIB);
    harness.unmount("a").unwrap();
    report(&mut harness, client(0), "k", 100).unwrap();
    assert_eq!(on_disk(&harness.get("k").unwrap()), [(2, 100)]);
    assert_eq!(harness.master.readable_keys(), ["k"]);
}

/// Where an attempt has ids of its own the disk is known by the new one.
#[test]
fn an_upsert_in_place_keeps_the_disk_of_a_replica() {
    for (quirks, id) in [(Quirks::all(), 2), (Quirks::only(Quirk::UpsertDropsOldValue), 4)] {
        let config = MasterConfig {
            quirks,
            ..MasterConfig::default()
        };
        let mut harness = Harness::configured(config, &[("a", 4 * MIB)]);
        harness.put("k", MIB);
        let (segments, client_id) = (vec![], client(9));
        answer!(harness, ReMountSegment { segments, client_id }).unwrap();
        report(&mut harness, client_id, "k", 100).unwrap();
        let config = ReplicateConfig::default();
        let reopened = harness.upsert_start("k", MIB, &config).unwrap();
        assert_eq!(on_disk(&reopened), [(id, 100)]);
    }
}
