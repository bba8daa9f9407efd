//! RPCs of optional subsystems at a master without them: what it answers, and what it does all the same. A report that an object was
//! offloaded adds a replica on the reporter's disk, although offload is off.

use super::twin::{MIB, Twin, owner, segment};
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{
    ObjectMeta, OffloadTaskItem, ReplicaType, ReplicateConfig, Request, StorageObjectMetadata, Uuid,
};
use proptest::prelude::*;
use proptest::sample::select;

const STEPS: usize = 6_000;
const KEYS: usize = 8;
const CLIENTS: u64 = 3;

#[derive(Clone, Debug)]
enum Step {
    Ask(Box<Request>),
    Mount(u64),
    Unmount(u64),
    ReMount(u64),
    Pass(Span),
    Tick(Thread),
}

fn key() -> impl Strategy<Value = String> {
    (0..KEYS).prop_map(|number| format!("k{number}"))
}

/// Who mounts, and one whom nobody knows.
fn client() -> impl Strategy<Value = Uuid> {
    (0..=CLIENTS).prop_map(owner)
}

fn report() -> impl Strategy<Value = Request> {
    let item = (key(), select(&[-1_i64, 0, 1, 100, 1_048_576][..]), "[a-c]");
    (
        client(),
        prop::collection::vec(item, 0..3),
        prop::bool::weighted(0.05),
    )
        .prop_map(|(client_id, items, odd)| {
            let tasks = items.iter().map(|(key, size, _)| OffloadTaskItem {
                tenant_id: "default".to_owned(),
                key: key.clone(),
                size: *size,
            });
            let metadatas = items
                .iter()
                .map(|(_, data_size, transport_endpoint)| StorageObjectMetadata {
                    data_size: *data_size,
                    transport_endpoint: transport_endpoint.clone(),
                    ..StorageObjectMetadata::default()
                });
            Request::NotifyOffloadSuccess {
                client_id,
                tasks: tasks.collect(),
                metadatas: metadatas.skip(usize::from(odd)).collect(),
            }
        })
}

/// The other RPCs of subsystems that are off.
fn optional() -> impl Strategy<Value = Request> {
    let tenant = || "default".to_owned();
    let kinds = select(
        &[
            ReplicaType::All,
            ReplicaType::Memory,
            ReplicaType::Disk,
            ReplicaType::LocalDisk,
        ][..],
    );
    prop_oneof![
        2 => (client(), key(), kinds.clone()).prop_map(move |(client_id, key, replica_type)| Request::EvictDiskReplica {
            client_id, key, replica_type, tenant_id: tenant() }),
        1 => (client(), prop::collection::vec(key(), 0..3), kinds).prop_map(
            move |(client_id, keys, replica_type)| Request::BatchEvictDiskReplica {
                client_id, keys, replica_type, tenant_id: tenant() }),
        1 => (client(), any::<bool>()).prop_map(|(client_id, enable_offloading)| Request::MountLocalDiskSegment {
            client_id, enable_offloading }),
        1 => client().prop_map(|client_id| Request::UnmountLocalDiskSegment { client_id }),
        1 => (client(), any::<bool>()).prop_map(|(client_id, enable_offloading)| Request::OffloadObjectHeartbeat {
            client_id, enable_offloading }),
        1 => (client(), any::<i64>()).prop_map(|(client_id, ssd_total_capacity_bytes)| Request::ReportSsdCapacity {
            client_id, ssd_total_capacity_bytes }),
        1 => client().prop_map(|client_id| Request::PollRemoveAll { client_id }),
        1 => client().prop_map(|client_id| Request::PromotionObjectHeartbeat { client_id }),
        1 => (client(), key()).prop_map(move |(client_id, key)| Request::NotifyPromotionSuccess {
            client_id, key, tenant_id: tenant() }),
        1 => (client(), key()).prop_map(move |(client_id, key)| Request::NotifyPromotionFailure {
            client_id, key, tenant_id: tenant() }),
        1 => (client(), key(), 0..200_u64).prop_map(move |(client_id, key, size)| Request::PromotionAllocStart {
            client_id, key, tenant_id: tenant(), size, preferred_segments: vec![] }),
    ]
}

fn ordinary() -> impl Strategy<Value = Request> {
    let tenant = || "default".to_owned();
    let size = select(&[100_u64, 1_048_576, 3_000_000][..]);
    let config = (1..3_u64).prop_map(|replica_num| ReplicateConfig {
        replica_num,
        ..ReplicateConfig::default()
    });
    prop_oneof![
        4 => (client(), key(), size.clone(), config.clone()).prop_map(
            move |(client_id, key, slice_length, config)| Request::PutStart {
                client_id, key, slice_length, config, tenant_id: tenant() }),
        4 => (client(), key()).prop_map(move |(client_id, key)| Request::PutEnd {
            client_id, object_meta: ObjectMeta { key, object_checksum: None }, replica_type: ReplicaType::All,
            tenant_id: tenant() }),
        2 => (client(), key()).prop_map(move |(client_id, key)| Request::PutRevoke {
            client_id, key, replica_type: ReplicaType::All, tenant_id: tenant() }),
        2 => (client(), key(), size, config).prop_map(move |(client_id, key, slice_length, config)| Request::UpsertStart {
            client_id, key, slice_length, config, tenant_id: tenant() }),
        4 => key().prop_map(move |key| Request::GetReplicaList { key, tenant_id: tenant() }),
        2 => key().prop_map(move |key| Request::ExistKey { key, tenant_id: tenant() }),
        1 => Just(Request::GetReplicaListByRegex { regex: "k[0-3]".to_owned(), tenant_id: tenant() }),
        2 => (key(), any::<bool>()).prop_map(move |(key, force)| Request::Remove { key, force, tenant_id: tenant() }),
        1 => (prop::collection::vec(key(), 0..3), any::<bool>()).prop_map(
            move |(keys, force)| Request::BatchRemove { keys, force, tenant_id: tenant() }),
        1 => (prop::collection::vec(key(), 0..3), client(), any::<bool>()).prop_map(
            |(object_keys, client_id, all)| Request::BatchReplicaClear {
                object_keys, client_id, segment_name: if all { String::new() } else { "n0".to_owned() } }),
        1 => (client(), key()).prop_map(move |(client_id, key)| Request::CopyStart {
            client_id, key, tenant_id: tenant(), src_segment: "n0".to_owned(), tgt_segments: vec!["n1".to_owned()] }),
        1 => (client(), key()).prop_map(move |(client_id, key)| Request::CopyEnd { client_id, key, tenant_id: tenant() }),
        1 => key().prop_map(move |key| Request::CreateCopyTask {
            key, tenant_id: tenant(), targets: vec!["n2".to_owned()] }),
        1 => client().prop_map(|client_id| Request::Ping { client_id }),
        1 => prop::bool::weighted(0.1).prop_map(move |force| Request::RemoveAll { force, tenant_id: tenant() }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let ask = prop_oneof![3 => report(), 3 => optional(), 14 => ordinary()];
    prop_oneof![
        20 => ask.prop_map(|request| Step::Ask(Box::new(request))),
        2 => (0..CLIENTS).prop_map(Step::Mount),
        1 => (0..CLIENTS).prop_map(Step::Unmount),
        2 => (0..=CLIENTS).prop_map(Step::ReMount),
        2 => select(&[1, 1_000_000_000, 4_000_000_000, 31_000_000_000_u64][..]).prop_map(|ns| Step::Pass(Span::from_ns(ns))),
        2 => select(&Thread::ALL[..]).prop_map(Step::Tick),
    ]
}

/// Histories in which objects come to be on disks and go from memory.
pub(crate) fn at_random() {
    let mut twin = Twin::start([("eviction_high_watermark_ratio", "0.3")]);
    let mut on_disk = 0;
    for _ in 0..STEPS {
        match twin.draw(&step()) {
            Step::Ask(request) => {
                let answer = format!("{:?}", twin.call(&request));
                on_disk += usize::from(answer.contains("LocalDisk"));
            }
            Step::Mount(number) => {
                twin.mount(number, 16 * MIB, owner(number));
            }
            Step::Unmount(number) => {
                let (segment_id, client_id) = (segment(number, 1).id, owner(number));
                twin.code(&Request::UnmountSegment {
                    segment_id,
                    client_id,
                });
                twin.settle();
            }
            Step::ReMount(number) => {
                let segments = if number < CLIENTS {
                    vec![segment(number, 16 * MIB)]
                } else {
                    Vec::new()
                };
                twin.code(&Request::ReMountSegment {
                    segments,
                    client_id: owner(number),
                });
            }
            Step::Pass(span) => twin.pass(span),
            Step::Tick(thread) => {
                twin.tick(thread);
                twin.settle();
            }
        }
    }
    twin.compare_state();
    assert!(on_disk > 100, "{on_disk} answers name a disk");
}
