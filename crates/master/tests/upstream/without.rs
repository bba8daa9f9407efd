//! Cases of optional subsystems, as far as a master without them answers what the case asserts.

use crate::rig::*;
use moonquake_protocol::{ErrorCode, OffloadTaskItem, ReplicaType, StorageObjectMetadata};

fn evict_disk_replica(rig: &mut Rig, key: &str, replica_type: ReplicaType) -> Answer {
    let (client_id, key, tenant_id) = (WRITER, key.to_owned(), String::new());
    ask!(
        rig,
        EvictDiskReplica {
            client_id,
            key,
            tenant_id,
            replica_type
        }
    )
}

#[test]
fn evict_disk_replica_non_existent_key_returns_error() {
    let mut rig = Rig::new();
    let missing = evict_disk_replica(&mut rig, "nonexistent_key", ReplicaType::Disk);
    assert_eq!(missing, Err(ErrorCode::ObjectNotFound));
}

#[test]
fn evict_disk_replica_invalid_replica_type_returns_error() {
    let mut rig = Rig::new().node("test_segment");
    rig.put("evict_invalid_type_key", &plain());
    let invalid = evict_disk_replica(&mut rig, "evict_invalid_type_key", ReplicaType::Memory);
    assert_eq!(invalid, Err(ErrorCode::InvalidParams));
    rig.get("evict_invalid_type_key").unwrap();
}

#[test]
fn unmount_local_disk_segment_requires_offload_enabled() {
    let mut rig = Rig::new();
    let client_id = WRITER;
    assert_eq!(
        ask!(rig, UnmountLocalDiskSegment { client_id }),
        Err(ErrorCode::UnableOffload)
    );
}

/// With a replica on the disk of a client, which is the only kind of disk that a master without a shared one hears of.
#[test]
fn evict_disk_replica_removes_disk_replica() {
    let mut rig = Rig::new().node("test_segment");
    rig.put("evict_disk_key", &plain());
    let tasks = vec![OffloadTaskItem {
        key: "evict_disk_key".to_owned(),
        ..OffloadTaskItem::default()
    }];
    let metadatas = vec![StorageObjectMetadata {
        data_size: 1024,
        ..StorageObjectMetadata::default()
    }];
    let client_id = WRITER;
    ask!(
        rig,
        NotifyOffloadSuccess {
            client_id,
            tasks,
            metadatas
        }
    )
    .unwrap();
    assert_eq!(rig.get("evict_disk_key").unwrap().len(), 2);
    evict_disk_replica(&mut rig, "evict_disk_key", ReplicaType::LocalDisk).unwrap();
    let left = rig.get("evict_disk_key").unwrap();
    assert_eq!(left.len(), 1);
    assert!(left[0].memory_buffer().is_some());
}
