//! Cases of optional subsystems, as far as a master without them answers what the case asserts.

use crate::rig::*;
use moonquake_protocol::{ErrorCode, ReplicaType};

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
