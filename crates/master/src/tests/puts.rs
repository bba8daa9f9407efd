//! PutStart, PutEnd, PutRevoke.

use super::harness::*;
use moonquake_clock::Span;
use moonquake_protocol::{
    ErrorCode, ObjectMeta, ReplicaStatus, ReplicaType, ReplicateConfig, Request, Response, SoftPinAction,
};

#[test]
fn a_put_is_invisible_until_its_end() {
    for count in 1..=5 {
        let mut harness =
            Harness::with_segments(&[("a", MIB), ("b", MIB), ("c", MIB), ("d", MIB), ("e", MIB)]);
        let started = harness
            .put_start_as(client(1), "k", 1024, &replicas(count))
            .unwrap();
        assert_eq!(started.len() as u64, count);
        assert!(
            started
                .iter()
                .all(|replica| replica.status == ReplicaStatus::Processing)
        );
        assert!(!harness.exist("k"));
        assert_eq!(harness.get("k"), Err(ErrorCode::ReplicaIsNotReady));
        assert_eq!(harness.remove("k", true), Err(ErrorCode::ReplicaIsNotReady));
        assert_eq!(harness.put_end_as(client(2), "k"), Err(ErrorCode::IllegalClient));
        assert_eq!(
            harness.put_revoke_fenced(client(2), "k", None),
            Err(ErrorCode::IllegalClient)
        );
        harness.put_end("k").unwrap();
        let read = harness.get("k").unwrap();
        assert!(
            read.iter()
                .all(|replica| replica.status == ReplicaStatus::Complete && range(replica).size == 1024)
        );
        let ids = |list: &[moonquake_protocol::ReplicaDescriptor]| {
            list.iter().map(|one| one.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&read), ids(&started));
        assert_eq!(harness.put_end("k"), Ok(()), "a repeated End is no error");
        assert_eq!(harness.put_revoke("k"), Err(ErrorCode::InvalidWrite));
    }
}

#[test]
fn requests_are_checked_in_order() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let mut code = |key: &str, size: u64, change: fn(&mut ReplicateConfig)| {
        let mut config = ReplicateConfig::default();
        change(&mut config);
        harness.put_start_as(client(1), key, size, &config).err()
    };
    let invalid = Some(ErrorCode::InvalidParams);
    assert_eq!(code("", 1, |_| {}), invalid);
    assert_eq!(code("k", 0, |_| {}), invalid);
    assert_eq!(code("k", 1, |config| config.replica_num = 0), invalid);
    assert_eq!(code("k", 1, |config| config.dfs_replica_num = 2), invalid);
    assert_eq!(
        code("k", 1, |config| (config.replica_num, config.dfs_replica_num) =
            (0, 1)),
        invalid
    );
    assert_eq!(
        code("k", 1, |config| config.dfs_replica_num = 1),
        Some(ErrorCode::DfsServiceUnavailable)
    );
    assert_eq!(code("k", 1, |config| config.nof_replica_num = 1), invalid);
    assert_eq!(code("k", 1, |config| config.soft_pin_ttl_ms = Some(1)), invalid);
    assert_eq!(
        code("k", 1, |config| {
            config.soft_pin_action = SoftPinAction::Disable;
            config.soft_pin_ttl_ms = Some(1);
        }),
        invalid
    );
    assert_eq!(
        code("k", 1, |config| {
            config.soft_pin_action = SoftPinAction::Enable;
            config.soft_pin_ttl_ms = Some(86_400_001);
        }),
        invalid
    );
    assert_eq!(
        code("k", 1, |config| config.soft_pin_action =
            SoftPinAction::Unknown(9)),
        invalid
    );
    assert_eq!(code("k", 1, |config| config.group_ids = Some(vec![])), invalid);
    assert_eq!(
        code("k", 1, |config| config.group_ids =
            Some(vec!["g".into(), "h".into()])),
        invalid
    );
    assert_eq!(
        code("k", 1, |config| config.group_ids = Some(vec![String::new()])),
        None
    );
    assert_eq!(code("k", 1, |_| {}), Some(ErrorCode::ObjectAlreadyExists));
}

#[test]
fn an_end_after_the_segment_died() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put_start("k", 10).unwrap();
    harness.unmount("a").unwrap();
    harness.mount("b", MIB).unwrap();
    assert!(!harness.exist("k"));
    assert_eq!(harness.get("k"), Err(ErrorCode::ObjectNotFound));
    assert_eq!(harness.put_start("k", 10), Err(ErrorCode::ObjectAlreadyExists));
    assert_eq!(harness.put_end("k"), Err(ErrorCode::ObjectNotFound));
    harness.put_start("k", 10).unwrap();
}

#[test]
fn a_finished_key_on_a_dead_segment_can_be_put_again() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put("k", 10);
    harness.unmount("a").unwrap();
    harness.mount("b", MIB).unwrap();
    assert_eq!(names(&harness.put("k", 20)), ["b"]);
}

#[test]
fn with_one_of_two_segments_gone_the_put_ends_with_one_replica() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    harness.put_start_as(client(1), "k", 10, &replicas(2)).unwrap();
    harness.unmount("a").unwrap();
    harness.put_end("k").unwrap();
    assert_eq!(names(&harness.get("k").unwrap()), ["b"]);
}

#[test]
fn a_late_end_of_the_same_client_completes_the_newer_attempt() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    let first = harness.put_start("k", MIB).unwrap();
    harness.advance(Span::from_secs(31));
    let second = harness.put_start("k", MIB).unwrap();
    assert_ne!(range(&first[0]).buffer_address, range(&second[0]).buffer_address);
    harness.put_end_fenced(client(1), "k", Some(first[0].id)).unwrap();
    assert_eq!(harness.get("k").unwrap()[0].id, second[0].id);
}

#[test]
fn a_put_that_preempts_and_finds_no_room_has_removed_the_old_one() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    harness.put_start("k", 16 * MIB).unwrap();
    harness.advance(Span::from_secs(31));
    assert_eq!(
        harness.put_start("k", 16 * MIB),
        Err(ErrorCode::NoAvailableHandle)
    );
    assert_eq!(harness.put_end("k"), Err(ErrorCode::ObjectNotFound));
}

#[test]
fn a_revoke_frees_at_once_and_only_once() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    let first = harness.put_start("k", MIB).unwrap();
    harness.put_revoke("k").unwrap();
    assert_eq!(harness.allocated(), 0);
    assert_eq!(harness.put_revoke("k"), Err(ErrorCode::ObjectNotFound));
    let second = harness.put_start("other", MIB).unwrap();
    assert_eq!(range(&first[0]).buffer_address, range(&second[0]).buffer_address);
}

fn end_as(harness: &mut Harness, replica_type: ReplicaType, checksum: Option<u64>) -> Result<(), ErrorCode> {
    let object_meta = ObjectMeta {
        key: "k".to_owned(),
        object_checksum: checksum,
    };
    answer!(
        harness,
        PutEnd {
            client_id: client(1),
            object_meta,
            replica_type,
            tenant_id: String::new()
        }
    )
}

#[test]
fn an_end_of_a_kind_that_the_put_does_not_have_changes_nothing() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put_start("k", 10).unwrap();
    for other in [
        ReplicaType::Disk,
        ReplicaType::LocalDisk,
        ReplicaType::NofSsd,
        ReplicaType::Dfs,
    ] {
        assert_eq!(end_as(&mut harness, other, None), Ok(()));
        assert_eq!(harness.get("k"), Err(ErrorCode::ReplicaIsNotReady));
    }
    assert_eq!(end_as(&mut harness, ReplicaType::Memory, None), Ok(()));
    assert_eq!(end_as(&mut harness, ReplicaType::Memory, None), Ok(()));
    assert_eq!(
        end_as(&mut harness, ReplicaType::Disk, None),
        Err(ErrorCode::InvalidWrite)
    );
}

#[test]
fn batches_check_their_lists_and_take_each_key_by_itself() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let mut start = |keys: &[&str], sizes: &[u64], groups: Option<&[&str]>| {
        let config = ReplicateConfig {
            group_ids: groups.map(|groups| groups.iter().map(ToString::to_string).collect()),
            ..ReplicateConfig::default()
        };
        let results = answer!(
            harness,
            BatchPutStart {
                client_id: client(1),
                keys: keys.iter().map(ToString::to_string).collect(),
                slice_lengths: sizes.to_vec(),
                config,
                tenant_id: String::new(),
            }
        );
        results.into_iter().map(Result::err).collect::<Vec<_>>()
    };
    let invalid = Some(ErrorCode::InvalidParams);
    assert_eq!(start(&["x", "y"], &[1], None), [invalid, invalid]);
    assert_eq!(start(&["x", "y"], &[1, 1], Some(&["g"])), [invalid, invalid]);
    let exists = Some(ErrorCode::ObjectAlreadyExists);
    assert_eq!(
        start(&["x", "", "x", "y"], &[1, 1, 1, 1], None),
        [None, invalid, exists, None]
    );
    assert_eq!(start(&["u", "v"], &[1, 1], Some(&["g", ""])), [None, None]);
    let keys = ["x", "none", "y"].map(str::to_owned).to_vec();
    let object_metas = keys
        .iter()
        .map(|key| ObjectMeta {
            key: key.clone(),
            object_checksum: None,
        })
        .collect();
    let ended = answer!(
        harness,
        BatchPutEnd {
            client_id: client(1),
            object_metas,
            replica_type: ReplicaType::All,
            tenant_id: String::new()
        }
    );
    assert_eq!(ended, [Ok(()), Err(ErrorCode::ObjectNotFound), Ok(())]);
    let keys = ["u", "x", "v"].map(str::to_owned).to_vec();
    let revoked = answer!(
        harness,
        BatchPutRevoke {
            client_id: client(1),
            keys,
            replica_type: ReplicaType::All,
            tenant_id: String::new()
        }
    );
    assert_eq!(revoked, [Ok(()), Err(ErrorCode::InvalidWrite), Ok(())]);
}
