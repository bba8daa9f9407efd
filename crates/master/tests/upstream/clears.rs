//! BatchReplicaClear: only the caller's own unleased objects.

use crate::rig::*;

#[test]
fn batch_replica_clear_all_segments() {
    let mut rig = Rig::with_lease(50);
    let keys = ["key_0", "key_1", "key_2", "key_3", "key_4"];
    for key in keys {
        rig.put(key, &plain());
        assert!(rig.exist(key));
    }
    rig.pass_ms(60);
    assert_eq!(rig.clear(WRITER, &keys, ""), keys);
    assert!(keys.iter().all(|key| !rig.exist(key)));
}

#[test]
fn batch_replica_clear_specific_segment() {
    let mut rig = Rig::new().node("segment1").node("segment2");
    rig.put("key", &on("segment1"));
    assert!(
        rig.clear(WRITER, &["key"], "segment2").is_empty(),
        "nothing of it lies there"
    );
    assert_eq!(rig.clear(WRITER, &["key"], "segment1"), ["key"]);
    assert!(!rig.exist("key"));
}

#[test]
fn batch_replica_clear_with_lease_active() {
    let mut rig = Rig::with_lease(2_000);
    rig.put("key", &plain());
    rig.get("key").unwrap();
    assert!(rig.clear(WRITER, &["key"], "").is_empty());
    assert!(rig.exist("key"));
}

#[test]
fn batch_replica_clear_with_different_client_id() {
    let mut rig = Rig::with_lease(50);
    rig.put("key", &plain());
    rig.pass_ms(60);
    assert!(rig.clear(OTHER, &["key"], "").is_empty());
    assert!(rig.exist("key"));
}

#[test]
fn batch_replica_clear_with_non_existent_keys() {
    let mut rig = Rig::with_lease(50);
    assert!(
        rig.clear(WRITER, &["non_existent_key1", "non_existent_key2"], "")
            .is_empty()
    );
}

#[test]
fn batch_replica_clear_with_empty_keys() {
    let mut rig = Rig::new().node("test_segment");
    rig.put("key", &plain());
    assert!(rig.clear(WRITER, &[], "").is_empty());
    assert!(rig.exist("key"));
}

#[test]
fn batch_replica_clear_with_empty_string_keys() {
    let mut rig = Rig::with_lease(50);
    rig.put("valid_key", &plain());
    rig.pass_ms(60);
    assert_eq!(
        rig.clear(WRITER, &["", "valid_key", "", "another_empty"], ""),
        ["valid_key"]
    );
}

#[test]
fn batch_replica_clear_mixed_scenario() {
    let mut rig = Rig::with_lease(50);
    rig.put("mixed_key1", &plain());
    rig.put("mixed_key2", &plain());
    rig.start(OTHER, "mixed_key3", KIB, &plain()).unwrap();
    rig.end(OTHER, "mixed_key3").unwrap();
    rig.pass_ms(60);
    let keys = ["mixed_key1", "mixed_key2", "mixed_key3", "non_existent", ""];
    assert_eq!(rig.clear(WRITER, &keys, ""), ["mixed_key1", "mixed_key2"]);
    assert_eq!(rig.batch_exist(&keys[..3]), [false, false, true]);
}
