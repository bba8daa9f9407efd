//! Edges of replicas on a client's disk. A master without offload takes reports of them all the same.

use crate::Test;
use crate::pair::{Answer, Pair, WRITER, ask, endpoints, on, owner};
use crate::rig::{MIB, tenant};
use crate::same::twin::segment;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{
    DescriptorVariant, ErrorCode, ObjectMeta, OffloadTaskItem, ReplicaDescriptor, ReplicaType,
    ReplicateConfig, StorageObjectMetadata,
};

pub(crate) const TESTS: &[Test] = &[
    (
        "real_edge_a_late_report_brings_a_removed_object_back",
        resurrection,
    ),
    (
        "real_edge_a_late_report_lands_on_a_newer_object_of_the_same_name",
        namesake,
    ),
    (
        "real_edge_an_upsert_leaves_a_replica_on_a_disk_unfinished",
        half_upserted,
    ),
    (
        "real_edge_a_repeated_end_completes_an_unwritten_copy",
        copy_completed,
    ),
    (
        "real_edge_the_sweep_of_a_write_takes_the_targets_of_a_copy",
        copy_swept,
    ),
];

/// Reports that the owner of a segment has written the object to its disk. A master that does not know the disk says so,
/// and lists the replica.
fn report(pair: &mut Pair) {
    let tasks = vec![OffloadTaskItem {
        tenant_id: tenant(),
        key: "k".to_owned(),
        size: i64::try_from(MIB).expect("a size"),
    }];
    let metadatas = vec![StorageObjectMetadata {
        data_size: i64::try_from(MIB).expect("a size"),
        transport_endpoint: "d0:1".to_owned(),
        ..StorageObjectMetadata::default()
    }];
    // Replicas of clients that are not OK count as lost.
    let segment = segment(0, 16 * MIB);
    assert_eq!(pair.remount(&[segment], owner(0)), Ok(()));
    let client_id = owner(0);
    let _ = ask!(
        pair,
        NotifyOffloadSuccess {
            client_id,
            tasks,
            metadatas
        }
    );
}

fn end(pair: &mut Pair, replica_type: ReplicaType) -> Answer {
    let object_meta = ObjectMeta {
        key: "k".to_owned(),
        object_checksum: None,
    };
    let (client_id, tenant_id) = (WRITER, tenant());
    ask!(
        pair,
        PutEnd {
            client_id,
            object_meta,
            replica_type,
            tenant_id
        }
    )
}

/// Two segments, and an object on the first one and on a disk, which an upsert of the same size has reopened and ended.
fn upserted() -> Pair {
    let mut pair = Pair::with_segments(&[16 * MIB, 16 * MIB]);
    pair.put("k", MIB, &on("n0"));
    report(&mut pair);
    assert_eq!(
        pair.upsert(WRITER, "k", MIB, &ReplicateConfig::default())
            .map(|all| all.len()),
        Ok(2)
    );
    pair.end(WRITER, "k").unwrap();
    pair
}

/// Edge 29, as far as a master without offload has it: the object is back, with other bytes or none.
fn resurrection() {
    let mut pair = Pair::with_segments(&[16 * MIB]);
    pair.put("k", MIB, &on("n0"));
    assert_eq!(pair.remove("k"), Ok(()));
    assert_eq!(pair.get("k"), Err(ErrorCode::ObjectNotFound));
    report(&mut pair);
    let back = pair.get("k").unwrap();
    assert_eq!(back.len(), 1);
    assert!(back[0].memory_buffer().is_none(), "on the disk alone");
    let put = pair.start("k", MIB, &ReplicateConfig::default());
    assert_eq!(put, Err(ErrorCode::ObjectAlreadyExists));
}

/// Edge 30, as far as a master without offload has it: a report names a key and nothing else, so it lands on the object that is
/// called so now, and what the disk has is the old one.
fn namesake() {
    let mut pair = Pair::with_segments(&[16 * MIB]);
    pair.put("k", MIB, &on("n0"));
    assert_eq!(pair.remove("k"), Ok(()));
    pair.put("k", 2 * MIB, &on("n0"));
    report(&mut pair);
    let lengths = |replicas: &[ReplicaDescriptor]| -> Vec<(bool, u64)> {
        let length = |replica: &ReplicaDescriptor| match &replica.descriptor {
            DescriptorVariant::LocalDisk(disk) => (true, disk.object_size),
            _ => (false, replica.memory_buffer().map_or(0, |buffer| buffer.size)),
        };
        replicas.iter().map(length).collect()
    };
    assert_eq!(
        lengths(&pair.get("k").unwrap()),
        [(false, 2 * MIB), (true, MIB)],
        "the new one in memory, the old one on the disk"
    );
    assert_eq!(pair.unmount(0), Ok(()));
    assert_eq!(
        lengths(&pair.get("k").unwrap()),
        [(true, MIB)],
        "the old one alone"
    );
}

/// Edge 31: ALL does not mean replicas on disks, so one of them stays unfinished until the sweep drops it.
fn half_upserted() {
    let mut pair = upserted();
    assert_eq!(endpoints(&pair.get("k").unwrap()), ["h0:1"], "the one in memory");
    pair.pass(Span::from_secs(10));
    assert_eq!(pair.remove("k"), Err(ErrorCode::ReplicaIsNotReady));
    pair.pass(Span::from_secs(591));
    pair.tick(Thread::Eviction);
    assert_eq!(pair.remove("k"), Ok(()));
}

/// Edge 32, with the disk of a client for the shared one: the key is still being written, so the end of that write
/// completes whatever is not.
fn copy_completed() {
    let mut pair = upserted();
    pair.copy("k", "n0", &["n1"]).unwrap();
    assert_eq!(pair.get("k").map(|all| all.len()), Ok(1));
    assert_eq!(end(&mut pair, ReplicaType::Memory), Ok(()));
    assert_eq!(
        endpoints(&pair.get("k").unwrap()),
        ["h0:1", "h1:1"],
        "nobody has written there"
    );
}

/// Edge 33, likewise: what the sweep gives up of the write includes what the copy has begun.
fn copy_swept() {
    let mut pair = upserted();
    pair.pass(Span::from_secs(590));
    pair.copy("k", "n0", &["n1"]).unwrap();
    pair.pass(Span::from_secs(11));
    pair.tick(Thread::Eviction);
    assert_eq!(pair.copy_end("k"), Err(ErrorCode::ReplicaIsGone));
    assert_eq!(endpoints(&pair.get("k").unwrap()), ["h0:1"]);
}
