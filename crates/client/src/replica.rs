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

/// The replica a read uses: the first complete memory replica on a local endpoint, else the first complete memory
/// replica. Mirrors `replica_selection.h` without scoring.
pub fn preferred_replica<'a>(
    replicas: &'a [ReplicaDescriptor],
    local: &[String],
) -> Option<&'a ReplicaDescriptor> {
    let complete = || {
        replicas
            .iter()
            .filter(|replica| replica.status == ReplicaStatus::Complete && memory_of(replica).is_some())
    };
    let is_local = |replica: &&ReplicaDescriptor| {
        memory_of(replica).is_some_and(|buffer| local.contains(&buffer.transport_endpoint))
    };
    complete().find(is_local).or_else(|| complete().next())
}
