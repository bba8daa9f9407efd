//! Ends and revokes that mean one kind of replica, on writes that have two: the one in memory, and one that a client has
//! reported on its disk while the write was under way.

use super::disks::report;
use super::harness::*;
use super::pins::{pin_end, pinned};
use crate::objects::PendingPin;
use moonquake_clock::Span;
use moonquake_protocol::{
    ErrorCode, ObjectMeta, ReplicaType, ReplicateConfig, Request, Response, SoftPinAction,
};

/// `k` as it is written to memory, and already on the disk of a client.
fn half_done(config: &ReplicateConfig) -> Harness {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
    harness.put_start_as(client(1), "k", MIB, config).unwrap();
    report(&mut harness, client(0), "k", 100).unwrap();
    harness
}

fn end(
    harness: &mut Harness,
    replica_type: ReplicaType,
    object_checksum: Option<u64>,
) -> Result<(), ErrorCode> {
    let object_meta = ObjectMeta {
        key: "k".to_owned(),
        object_checksum,
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

fn revoke(harness: &mut Harness, replica_type: ReplicaType) -> Result<(), ErrorCode> {
    answer!(
        harness,
        PutRevoke {
            client_id: client(1),
            key: "k".to_owned(),
            replica_type,
            tenant_id: String::new()
        }
    )
}

fn checksum(harness: &Harness) -> Option<u64> {
    harness.master.objects.get("k").unwrap().checksum
}

#[test]
fn only_an_end_that_means_memory_takes_a_checksum_away() {
    let kinds = [
        (ReplicaType::All, None),
        (ReplicaType::Memory, None),
        (ReplicaType::NofSsd, None),
        (ReplicaType::LocalDisk, Some(7)),
        (ReplicaType::Disk, Some(7)),
    ];
    for (kind, left) in kinds {
        let mut harness = half_done(&ReplicateConfig::default());
        end(&mut harness, ReplicaType::LocalDisk, Some(7)).unwrap();
        assert_eq!(checksum(&harness), Some(7));
        end(&mut harness, kind, None).unwrap();
        assert_eq!(checksum(&harness), left, "{kind:?}");
    }
}

#[test]
fn a_pin_waits_for_an_end_that_finishes_a_replica_of_its_write() {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
    harness.put_start_as(client(1), "k", MIB, &pinned(None)).unwrap();
    end(&mut harness, ReplicaType::LocalDisk, None).unwrap();
    assert_eq!(pin_end(&harness), None, "nothing was finished");
    harness.at(Span::from_secs(5));
    end(&mut harness, ReplicaType::Memory, None).unwrap();
    assert_eq!(pin_end(&harness), Some(Span::from_secs(1_805)));
}

#[test]
fn a_pin_is_not_carried_out_where_the_object_could_be_read_before() {
    let mut harness = half_done(&pinned(None));
    end(&mut harness, ReplicaType::All, None).unwrap();
    assert_eq!(pin_end(&harness), None);
}

#[test]
fn a_revoke_of_what_is_finished_is_refused_and_one_of_nothing_is_not() {
    let mut harness = half_done(&ReplicateConfig::default());
    assert_eq!(
        revoke(&mut harness, ReplicaType::LocalDisk),
        Err(ErrorCode::InvalidWrite)
    );
    assert_eq!(revoke(&mut harness, ReplicaType::Disk), Ok(()));
    end(&mut harness, ReplicaType::All, None).unwrap();
    let kinds = [ReplicaType::All, ReplicaType::LocalDisk, ReplicaType::Disk];
    for kind in kinds {
        assert_eq!(
            revoke(&mut harness, kind),
            Err(ErrorCode::InvalidWrite),
            "{kind:?}"
        );
    }
}

#[test]
fn a_revoke_of_nothing_leaves_the_pin_to_the_end() {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
    harness.put_start_as(client(1), "k", MIB, &pinned(None)).unwrap();
    revoke(&mut harness, ReplicaType::LocalDisk).unwrap();
    end(&mut harness, ReplicaType::All, None).unwrap();
    assert_eq!(pin_end(&harness), Some(Span::from_secs(1_800)));
}

/// Whether `k` still wants to pin after a write of it is settled, when that wish is bound to replicas with these ids.
fn still_wants(harness: &mut Harness, replicas: Vec<u64>) -> bool {
    let id = harness.master.objects.find("k").unwrap();
    let wish = PendingPin {
        action: SoftPinAction::Enable,
        ttl_ms: 1_000,
        replicas,
    };
    harness
        .master
        .objects
        .at_mut(id)
        .unwrap()
        .set_pending_pin(Some(wish));
    harness.master.settle_write_at(id);
    harness
        .master
        .objects
        .at(id)
        .unwrap()
        .extra()
        .pending_pin
        .is_some()
}

#[test]
fn a_pin_is_forgotten_once_no_unfinished_replica_in_reach_is_its_own() {
    // Replica 1 is unfinished, 2 is finished.
    let mut harness = half_done(&ReplicateConfig::default());
    assert!(still_wants(&mut harness, vec![1]));
    assert!(still_wants(&mut harness, vec![2, 1]));
    assert!(!still_wants(&mut harness, vec![2]), "finished");
    assert!(!still_wants(&mut harness, vec![9]), "of another write");
    harness.unmount("a").unwrap();
    assert!(!still_wants(&mut harness, vec![1]), "out of reach");
}

#[test]
fn a_sweep_closes_a_write_at_once_that_has_only_finished_replicas_left() {
    let mut harness = half_done(&ReplicateConfig::default());
    harness.unmount("a").unwrap();
    // Opening the object drops the replica that is out of reach, and leaves the one on the disk.
    let request = Request::PutRevoke {
        client_id: client(8),
        key: "k".to_owned(),
        replica_type: ReplicaType::All,
        tenant_id: String::new(),
    };
    assert_eq!(
        harness.send(&request),
        Response::PutRevoke(Err(ErrorCode::IllegalClient))
    );
    harness.advance(NS);
    harness.master.sweep(harness.now);
    assert_eq!(
        end(&mut harness, ReplicaType::All, None),
        Err(ErrorCode::InvalidWrite)
    );
    assert_eq!(end(&mut harness, ReplicaType::LocalDisk, None), Ok(()));
}

#[test]
fn an_end_that_finishes_nothing_makes_nothing_readable() {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
    harness.put_start("k", MIB).unwrap();
    end(&mut harness, ReplicaType::LocalDisk, None).unwrap();
    assert!(!harness.exist("k"));
}
