//! Which replica is read. Each test is named after a case of `replica_selection_test.cpp`; those about scores belong to a
//! switch that is off (`MC_STORE_REPLICA_SCORING`).

use moonquake_client::preferred_replica;
use moonquake_protocol::{
    BufferDescriptor, DescriptorVariant, DiskDescriptor, DistributedFsDescriptor, LocalDiskDescriptor,
    MemoryDescriptor, NoFDescriptor, ReplicaDescriptor, ReplicaStatus,
};

fn buffer(endpoint: &str) -> BufferDescriptor {
    BufferDescriptor {
        size: 1024,
        transport_endpoint: endpoint.into(),
        ..Default::default()
    }
}

fn memory(endpoint: &str) -> DescriptorVariant {
    let buffer = buffer(endpoint);
    DescriptorVariant::Memory(MemoryDescriptor { buffer })
}

fn nof(endpoint: &str) -> DescriptorVariant {
    let buffer = buffer(endpoint);
    DescriptorVariant::NoF(NoFDescriptor { buffer })
}

fn local_disk() -> DescriptorVariant {
    DescriptorVariant::LocalDisk(LocalDiskDescriptor::default())
}

fn dfs() -> DescriptorVariant {
    DescriptorVariant::DistributedFs(DistributedFsDescriptor::default())
}

fn disk() -> DescriptorVariant {
    DescriptorVariant::Disk(DiskDescriptor::default())
}

/// The place in the list of the replica that is read by a client with one endpoint, `near`.
fn chosen_of(replicas: Vec<(DescriptorVariant, ReplicaStatus)>) -> Option<u64> {
    let replicas: Vec<ReplicaDescriptor> = (0..)
        .zip(replicas)
        .map(|(id, (descriptor, status))| ReplicaDescriptor {
            id,
            descriptor,
            status,
        })
        .collect();
    preferred_replica(&replicas, &["near".to_owned()]).map(|replica| replica.id)
}

fn chosen(replicas: impl IntoIterator<Item = DescriptorVariant>) -> Option<u64> {
    let complete = |descriptor| (descriptor, ReplicaStatus::Complete);
    chosen_of(replicas.into_iter().map(complete).collect())
}

#[test]
fn local_memory_always_wins() {
    assert_eq!(chosen([memory("far"), memory("near")]), Some(1));
    assert_eq!(
        chosen([memory("far"), nof("far"), local_disk(), memory("near")]),
        Some(3)
    );
}

#[test]
fn scoring_off_keeps_the_first_remote_memory() {
    assert_eq!(chosen([memory("far"), memory("farther")]), Some(0));
    assert_eq!(
        chosen([nof("far"), disk(), memory("far"), memory("far")]),
        Some(2)
    );
}

#[test]
fn local_nof_precedes_remote_nof_and_remote_memory() {
    assert_eq!(chosen([nof("far"), nof("near")]), Some(1));
    assert_eq!(chosen([memory("far"), nof("near")]), Some(1));
    assert_eq!(
        chosen([nof("near"), memory("near")]),
        Some(0),
        "near is near, in the master's order"
    );
}

#[test]
fn remote_nof_fallback_keeps_the_masters_order() {
    assert_eq!(chosen([local_disk(), nof("far"), nof("farther")]), Some(1));
}

#[test]
fn local_disk_precedes_dfs_and_dfs_precedes_disk() {
    assert_eq!(chosen([disk(), local_disk()]), Some(1));
    assert_eq!(chosen([dfs(), local_disk()]), Some(1));
    assert_eq!(chosen([local_disk(), dfs(), disk()]), Some(0));
    assert_eq!(chosen([disk(), dfs()]), Some(1));
    assert_eq!(chosen([dfs(), disk()]), Some(0));
}

#[test]
fn of_disks_of_one_kind_the_last_is_read_but_of_shared_ones_the_first() {
    assert_eq!(chosen([local_disk(), local_disk()]), Some(1));
    assert_eq!(chosen([dfs(), dfs()]), Some(1));
    assert_eq!(chosen([disk(), disk()]), Some(0));
}

#[test]
fn disk_is_the_last_complete_fallback() {
    let failed = (memory("near"), ReplicaStatus::Failed);
    assert_eq!(
        chosen_of(vec![failed, (disk(), ReplicaStatus::Complete)]),
        Some(1)
    );
}

#[test]
fn no_complete_replica_is_none() {
    let open = (memory("near"), ReplicaStatus::Processing);
    assert_eq!(chosen_of(vec![open, (nof("near"), ReplicaStatus::Failed)]), None);
    assert_eq!(chosen([]), None);
}
