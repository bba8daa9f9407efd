//! Replicas outside memory: disk, a client's own disk, and the way back into memory.

use super::peer::{Peer, as_map, as_set, draw, draws};
use super::values::{
    any_text, complete, different, id, mounted, put, replicas_of, segment, size_bytes, text,
};
use moonquake_protocol::strategies::WireStrategy;
use moonquake_protocol::{
    DescriptorVariant, DiskDescriptor, GetStorageConfigResponse, LocalDiskDescriptor, OffloadTaskItem,
    PromotionTaskItem, ReplicaDescriptor, ReplicaStatus, ReplicaType, ReplicateConfig, Request, Response,
    Segment, StorageObjectMetadata, Uuid,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;

const OBJECTS: usize = 40;

/// The master's own settings come back, and with a shared directory every put gets a file in it.
pub(crate) fn disk() {
    let mut draws = draws();
    for round in 0..3 {
        let (quota_bytes, evicts, cluster) = draw(
            &mut draws,
            &(u64::strategy(), any::<bool>(), "[a-z\u{e9}\u{4e2d}]{1,20}"),
        );
        let quota_bytes = if round == 0 { u64::MAX } else { quota_bytes };
        let root = tempfile::tempdir().expect("a folder");
        let mut peer = Peer::start([
            ("root_fs_dir", root.path().display().to_string()),
            ("cluster_id", cluster.clone()),
            ("quota_bytes", quota_bytes.to_string()),
            ("enable_disk_eviction", evicts.to_string()),
        ]);
        let fsdir = format!("{}/{cluster}", root.path().display());
        assert_eq!(
            peer.call(&Request::GetFsdir {}),
            Response::GetFsdir(Ok(fsdir.clone()))
        );
        let config = GetStorageConfigResponse {
            fsdir: fsdir.clone(),
            enable_disk_eviction: evicts,
            quota_bytes,
        };
        assert_eq!(
            peer.call(&Request::GetStorageConfig {}),
            Response::GetStorageConfig(Ok(config))
        );
        mounted(&mut peer, 1);
        for key in different(&mut peer, 12, &"[a-z0-9]{1,200}".boxed()) {
            file_of(&mut peer, &key, &fsdir);
        }
    }
}

fn file_of(peer: &mut Peer, key: &str, fsdir: &str) {
    let (client_id, slice_length, tenant_id) = peer.draw(&(id(), 1..1_u64 << 40, any_text()));
    let request = Request::PutStart {
        client_id,
        key: key.to_owned(),
        slice_length,
        config: ReplicateConfig::default(),
        tenant_id,
    };
    match peer.call(&request) {
        Response::PutStart(Ok(replicas)) => {
            let [memory, disk] = <[ReplicaDescriptor; 2]>::try_from(replicas).expect("memory and disk");
            assert_eq!((disk.id, disk.status), (memory.id + 1, ReplicaStatus::Processing));
            match disk.descriptor {
                DescriptorVariant::Disk(DiskDescriptor {
                    file_path,
                    object_size,
                }) => {
                    assert_eq!(object_size, slice_length);
                    assert!(
                        file_path.starts_with(fsdir) && file_path.ends_with(&format!("/{key}")),
                        "{file_path}"
                    );
                }
                other => panic!("{other:?}"),
            }
        }
        other => panic!("{other:?} to {request:?}"),
    }
}

/// A client with a memory segment and a disk, in good standing.
fn disk_owner(peer: &mut Peer) -> (Segment, Uuid) {
    let (segment, client_id, capacity) = peer.draw(&(segment(), id(), 0..=i64::MAX));
    peer.accept(&Request::ReMountSegment {
        segments: vec![segment.clone()],
        client_id,
    });
    peer.accept(&Request::MountLocalDiskSegment {
        client_id,
        enable_offloading: true,
    });
    let report = |ssd_total_capacity_bytes| Request::ReportSsdCapacity {
        client_id,
        ssd_total_capacity_bytes,
    };
    // Measured: the sign arrives.
    assert_eq!(peer.code(&report(!capacity)), -600);
    peer.accept(&report(capacity));
    (segment, client_id)
}

/// Objects to offload come to their owner as they were put, and readers are told of the copies as the owner reported them.
pub(crate) fn offload_and_promotion() {
    let mut peer = Peer::start([
        ("enable_offload", "true".to_owned()),
        ("promotion_on_hit", "true".to_owned()),
        ("promotion_admission_threshold", "1".to_owned()),
        ("promotion_max_per_heartbeat", "1000".to_owned()),
    ]);
    let (segment, owner) = disk_owner(&mut peer);
    let keys = different(&mut peer, 2 * OBJECTS, &text());
    let (put_keys, found_keys) = keys.split_at(OBJECTS);
    let in_memory: Vec<_> = put_keys
        .iter()
        .map(|key| (key.clone(), put(&mut peer, key, &segment.name)))
        .collect();
    let in_memory = as_map(in_memory);
    let tasks = offload_tasks(&mut peer, owner, &in_memory);
    for (key, metadata) in report(&mut peer, owner, tasks, &(1..i64::MAX).boxed()) {
        let replicas = replicas_of(&mut peer, &key);
        assert_eq!(replicas.len(), 2, "{key:?}");
        assert_eq!(replicas[0], in_memory[&key]);
        on_disk_of(&replicas[1], owner, &metadata);
    }
    let tasks: Vec<OffloadTaskItem> = found_keys
        .iter()
        .map(|key| OffloadTaskItem {
            key: key.clone(),
            ..peer.draw(&OffloadTaskItem::strategy())
        })
        .collect();
    // Short enough to fit into the segment.
    let reported = report(
        &mut peer,
        owner,
        tasks,
        &size_bytes().prop_map(u64::cast_signed).boxed(),
    );
    for (key, metadata) in &reported {
        let replicas = replicas_of(&mut peer, key);
        assert_eq!(replicas.len(), 1, "{key:?}");
        on_disk_of(&replicas[0], owner, metadata);
    }
    promoted(&mut peer, owner, &segment, &reported);
    forgotten(&mut peer, owner, put_keys);
}

/// What the owner shall write to its disk, in any order.
fn offload_tasks(
    peer: &mut Peer,
    client_id: Uuid,
    objects: &BTreeMap<String, ReplicaDescriptor>,
) -> Vec<OffloadTaskItem> {
    let expected: Vec<OffloadTaskItem> = objects
        .iter()
        .map(|(key, replica)| OffloadTaskItem {
            tenant_id: "default".to_owned(),
            key: key.clone(),
            size: replica.memory_buffer().expect("in memory").size.cast_signed(),
        })
        .collect();
    match peer.call(&Request::OffloadObjectHeartbeat {
        client_id,
        enable_offloading: true,
    }) {
        Response::OffloadObjectHeartbeat(Ok(tasks)) => {
            assert_eq!(as_set(&tasks), as_set(&expected));
            tasks
        }
        other => panic!("{other:?}"),
    }
}

/// Reports all of them written, each to a place of its own.
fn report(
    peer: &mut Peer,
    client_id: Uuid,
    tasks: Vec<OffloadTaskItem>,
    data_sizes: &BoxedStrategy<i64>,
) -> BTreeMap<String, StorageObjectMetadata> {
    let metadatas: Vec<StorageObjectMetadata> = peer
        .draw(&vec(
            (StorageObjectMetadata::strategy(), data_sizes.clone(), text()),
            tasks.len(),
        ))
        .into_iter()
        .map(
            |(metadata, data_size, transport_endpoint)| StorageObjectMetadata {
                data_size,
                transport_endpoint,
                ..metadata
            },
        )
        .collect();
    let keys: Vec<String> = tasks.iter().map(|task| task.key.clone()).collect();
    peer.accept(&Request::NotifyOffloadSuccess {
        client_id,
        tasks,
        metadatas: metadatas.clone(),
    });
    as_map(keys.into_iter().zip(metadatas).collect())
}

fn on_disk_of(replica: &ReplicaDescriptor, client_id: Uuid, metadata: &StorageObjectMetadata) {
    let expected = LocalDiskDescriptor {
        client_id,
        object_size: metadata.data_size.cast_unsigned(),
        transport_endpoint: metadata.transport_endpoint.clone(),
    };
    assert_eq!(replica.status, ReplicaStatus::Complete);
    assert_eq!(replica.descriptor, DescriptorVariant::LocalDisk(expected));
}

/// Being read has asked for all of them to come back into memory.
fn promoted(
    peer: &mut Peer,
    client_id: Uuid,
    segment: &Segment,
    objects: &BTreeMap<String, StorageObjectMetadata>,
) {
    let expected: Vec<PromotionTaskItem> = objects
        .iter()
        .map(|(key, metadata)| PromotionTaskItem {
            tenant_id: "default".to_owned(),
            key: key.clone(),
            size: metadata.data_size,
        })
        .collect();
    match peer.call(&Request::PromotionObjectHeartbeat { client_id }) {
        Response::PromotionObjectHeartbeat(Ok(tasks)) => assert_eq!(as_set(&tasks), as_set(&expected)),
        other => panic!("{other:?}"),
    }
    for (key, metadata) in objects {
        let (tenant_id, wished, succeeds) = peer.draw(&(any_text(), vec(any_text(), 0..3), any::<bool>()));
        let size = metadata.data_size.cast_unsigned();
        let start = |size| Request::PromotionAllocStart {
            client_id,
            key: key.clone(),
            tenant_id: tenant_id.clone(),
            size,
            preferred_segments: wished.clone(),
        };
        assert_eq!(peer.code(&start(size ^ 1)), -600, "another length");
        let staged = match peer.call(&start(size)) {
            Response::PromotionAllocStart(Ok(started)) => started.memory_descriptor,
            other => panic!("{other:?} for {key:?} of {size} bytes"),
        };
        let buffer = staged.memory_buffer().expect("in memory");
        assert_eq!((staged.status, buffer.size), (ReplicaStatus::Processing, size));
        assert_eq!(buffer.transport_endpoint, segment.te_endpoint);
        let mut replicas = replicas_of(peer, key);
        let (key, tenant_id) = (key.clone(), tenant_id.clone());
        let listed = key.clone();
        if succeeds {
            peer.accept(&Request::NotifyPromotionSuccess {
                client_id,
                key,
                tenant_id,
            });
            replicas.push(complete(staged));
        } else {
            peer.accept(&Request::NotifyPromotionFailure {
                client_id,
                key,
                tenant_id,
            });
        }
        assert_eq!(replicas_of(peer, &listed), replicas);
    }
}

/// The copies on disk go, and the flag that says so is set once.
fn forgotten(peer: &mut Peer, client_id: Uuid, keys: &[String]) {
    let tenant_id = peer.draw(&any_text());
    let replica_type = ReplicaType::LocalDisk;
    let (first, rest) = keys.split_first().expect("keys");
    peer.accept(&Request::EvictDiskReplica {
        client_id,
        key: first.clone(),
        tenant_id: tenant_id.clone(),
        replica_type,
    });
    let mut keys = rest.to_vec();
    let gone = peer.draw(&select(keys.clone()));
    keys.push(format!("{gone}\u{1f31a}"));
    let mut expected = vec![Ok(()); keys.len()];
    *expected.last_mut().expect("one") = Err(moonquake_protocol::ErrorCode::ObjectNotFound);
    let evict = Request::BatchEvictDiskReplica {
        client_id,
        keys: keys.clone(),
        tenant_id,
        replica_type,
    };
    assert_eq!(peer.call(&evict), Response::BatchEvictDiskReplica(expected));
    assert!(matches!(
        replicas_of(peer, &gone)[..],
        [ReplicaDescriptor {
            descriptor: DescriptorVariant::Memory(_),
            ..
        }]
    ));
    let poll = Request::PollRemoveAll { client_id };
    assert_eq!(peer.call(&poll), Response::PollRemoveAll(Ok(false)));
    assert!(matches!(
        peer.call(&Request::RemoveAll {
            force: true,
            tenant_id: String::new()
        }),
        Response::RemoveAll(1..)
    ));
    assert_eq!(peer.call(&poll), Response::PollRemoveAll(Ok(true)));
    assert_eq!(peer.call(&poll), Response::PollRemoveAll(Ok(false)));
    peer.accept(&Request::UnmountLocalDiskSegment { client_id });
}
