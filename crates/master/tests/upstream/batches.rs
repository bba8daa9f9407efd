//! Batches: an answer for each key, in the order of the keys.

use crate::rig::*;
use moonquake_protocol::{ErrorCode, ReplicaType};

const KEYS: [&str; 3] = ["batch_grouped_a", "batch_ungrouped", "batch_grouped_b"];

#[test]
fn batch_get_replica_list_preserves_order_with_grouped_keys() {
    let mut rig = Rig::new().node("test_segment");
    rig.put("grouped_a", &in_group("group_a"));
    rig.put("ungrouped", &plain());
    rig.put("grouped_b", &in_group("group_b"));
    rig.start(WRITER, "pending", KIB, &plain()).unwrap();
    let answers = rig.batch_get(&["grouped_a", "missing", "ungrouped", "grouped_b", "pending"]);
    let codes: Vec<_> = answers
        .iter()
        .map(|answer| answer.as_ref().map(Vec::len).map_err(|code| *code))
        .collect();
    let (missing, pending) = (Err(ErrorCode::ObjectNotFound), Err(ErrorCode::ReplicaIsNotReady));
    assert_eq!(codes, [Ok(1), missing, Ok(1), Ok(1), pending]);
}

#[test]
fn batch_exist_key_test() {
    let mut rig = Rig::new().node_of("test_segment", 128 * MIB);
    let mut keys: Vec<String> = (0..10).map(|number| format!("test_key{number}")).collect();
    for key in &keys {
        rig.put(key, &plain());
        assert!(rig.exist(key));
    }
    keys.push("non_existent_key".to_owned());
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut expected = vec![true; 10];
    expected.push(false);
    assert_eq!(rig.batch_exist(&keys), expected);
}

#[test]
fn batch_exist_key_grouped_and_incomplete_preserves_order() {
    let mut rig = Rig::new().node_of("test_segment", 128 * MIB);
    rig.put("grouped_a", &in_group("group"));
    rig.put("grouped_b", &in_group("group"));
    rig.put("completed", &plain());
    rig.start(WRITER, "incomplete", KIB, &plain()).unwrap();
    let keys = ["grouped_a", "completed", "incomplete", "missing", "grouped_b"];
    assert_eq!(rig.batch_exist(&keys), [true, true, false, false, true]);
}

#[test]
fn batch_upsert_start_mixed_group_ids_preserves_order() {
    let mut rig = Rig::new().node("test_segment");
    let start = |rig: &mut Rig, config| {
        let (client_id, keys, tenant_id) = (WRITER, owned(&KEYS), String::new());
        let slice_lengths = vec![KIB, 2 * KIB, 4 * KIB];
        ask!(
            rig,
            BatchUpsertStart {
                client_id,
                keys,
                slice_lengths,
                config,
                tenant_id
            }
        )
    };
    let started = start(&mut rig, groups(&["group_a", "", "group_b"]));
    let sizes: Vec<u64> = started
        .iter()
        .map(|one| range(&one.as_ref().unwrap()[0]).size)
        .collect();
    assert_eq!(sizes, [KIB, 2 * KIB, 4 * KIB]);
    let (client_id, tenant_id) = (WRITER, String::new());
    let object_metas = KEYS.map(|key| meta(key, None)).to_vec();
    assert_eq!(
        ask!(
            rig,
            BatchUpsertEnd {
                client_id,
                object_metas,
                tenant_id
            }
        ),
        [Ok(()); 3]
    );
    assert!(KEYS.iter().all(|key| rig.get(key).is_ok()));
    let refused = start(&mut rig, in_group("only_one"));
    assert_eq!(refused, vec![Err(ErrorCode::InvalidParams); 3]);
}

#[test]
fn wrapped_batch_put_start_mixed_group_ids_preserves_order() {
    let mut rig = Rig::new().node("test_segment");
    let start = |rig: &mut Rig, slice_lengths: &[u64], config| {
        let (client_id, keys, tenant_id) = (WRITER, owned(&KEYS), String::new());
        let slice_lengths = slice_lengths.to_vec();
        ask!(
            rig,
            BatchPutStart {
                client_id,
                keys,
                slice_lengths,
                config,
                tenant_id
            }
        )
    };
    let (sizes, mixed) = ([KIB, 2 * KIB, 4 * KIB], groups(&["group_a", "", "group_b"]));
    let started = start(&mut rig, &sizes, mixed.clone());
    let got: Vec<u64> = started
        .iter()
        .map(|one| range(&one.as_ref().unwrap()[0]).size)
        .collect();
    assert_eq!(got, sizes);
    let (client_id, replica_type, tenant_id) = (WRITER, ReplicaType::All, String::new());
    let object_metas = KEYS.map(|key| meta(key, None)).to_vec();
    let ended = ask!(
        rig,
        BatchPutEnd {
            client_id,
            object_metas,
            replica_type,
            tenant_id
        }
    );
    assert_eq!(ended, [Ok(()); 3]);
    assert!(KEYS.iter().all(|key| rig.get(key).is_ok()));
    let invalid = vec![Err(ErrorCode::InvalidParams); 3];
    assert_eq!(start(&mut rig, &sizes, in_group("only_one")), invalid);
    assert_eq!(start(&mut rig, &[KIB], mixed), invalid);
}

#[test]
fn batch_upsert_start() {
    let mut rig = Rig::new().node("test_segment");
    let old = rig.put("key_1", &plain());
    let (client_id, keys, tenant_id) = (WRITER, owned(&["key_1", "key_2"]), String::new());
    let (slice_lengths, config) = (vec![KIB, 2 * KIB], plain());
    let started = ask!(
        rig,
        BatchUpsertStart {
            client_id,
            keys,
            slice_lengths,
            config,
            tenant_id
        }
    );
    assert_eq!(
        range(&started[0].as_ref().unwrap()[0]),
        range(&old[0]),
        "in place"
    );
    assert_eq!(range(&started[1].as_ref().unwrap()[0]).size, 2 * KIB);
    let (object_metas, tenant_id) = (vec![meta("key_1", None), meta("key_2", None)], String::new());
    assert_eq!(
        ask!(
            rig,
            BatchUpsertEnd {
                client_id,
                object_metas,
                tenant_id
            }
        ),
        [Ok(()); 2]
    );
}
