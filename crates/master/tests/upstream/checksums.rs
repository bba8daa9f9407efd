//! Checksums that a writer gives its object.

use crate::rig::*;
use moonquake_protocol::ReplicaType;

#[test]
fn object_checksum_is_stored_and_cleared_by_upsert() {
    let mut rig = Rig::new().node("checksum_segment");
    let config = on("checksum_segment");
    let stored = |rig: &mut Rig| {
        let (key, tenant_id) = ("checksum_key".to_owned(), String::new());
        ask!(rig, GetReplicaList { key, tenant_id })
            .unwrap()
            .object_checksum
    };
    rig.start(WRITER, "checksum_key", KIB, &config).unwrap();
    rig.end_as(WRITER, "checksum_key", ReplicaType::Memory, Some(0))
        .unwrap();
    assert_eq!(stored(&mut rig), Some(0), "zero is a checksum");
    rig.upsert(WRITER, "checksum_key", KIB, &config).unwrap();
    rig.upsert_end(WRITER, "checksum_key").unwrap();
    assert_eq!(stored(&mut rig), None);
}
