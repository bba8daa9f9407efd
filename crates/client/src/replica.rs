//! Which replica is read.

use moonquake_protocol::{BufferDescriptor, DescriptorVariant, ReplicaDescriptor, ReplicaStatus};

/// The memory range of a descriptor, if it is a memory replica.
pub fn memory_of(descriptor: &ReplicaDescriptor) -> Option<&BufferDescriptor> {
    match &descriptor.descriptor {
        DescriptorVariant::Memory(memory) => Some(&memory.buffer),
        _ => None,
    }
}

/// The range of the replica that a read uses, see [`preferred_replica`].
pub fn preferred<'a>(replicas: &'a [ReplicaDescriptor], local: &[String]) -> Option<&'a BufferDescriptor> {
    preferred_replica(replicas, local).and_then(memory_of)
}

/// How far a replica is from a reader with these local endpoints; the nearest is read.
fn distance(replica: &ReplicaDescriptor, local: &[String]) -> u8 {
    let is_local = |buffer: &BufferDescriptor| local.contains(&buffer.transport_endpoint);
    match &replica.descriptor {
        DescriptorVariant::Memory(memory) if is_local(&memory.buffer) => 0,
        DescriptorVariant::NoF(nof) if is_local(&nof.buffer) => 0,
        DescriptorVariant::Memory(_) => 1,
        DescriptorVariant::NoF(_) => 2,
        DescriptorVariant::LocalDisk(_) => 3,
        DescriptorVariant::DistributedFs(_) => 4,
        DescriptorVariant::Disk(_) => 5,
    }
}

/// The replica a read uses: the nearest complete one, and of those equally near the first in the master's order; among disks of
/// clients and files of a shared system the last. Mirrors `replica_selection.h:SelectBestReplica` without scoring, which is
/// off unless asked for.
pub fn preferred_replica<'a>(
    replicas: &'a [ReplicaDescriptor],
    local: &[String],
) -> Option<&'a ReplicaDescriptor> {
    let mut best: Option<(u8, &ReplicaDescriptor)> = None;
    for replica in replicas
        .iter()
        .filter(|replica| replica.status == ReplicaStatus::Complete)
    {
        let distance = distance(replica, local);
        let replaces_equals = matches!(distance, 3 | 4);
        let is_better = best.is_none_or(|(best, _)| distance < best || distance == best && replaces_equals);
        if is_better {
            best = Some((distance, replica));
        }
    }
    best.map(|(_, replica)| replica)
}
