//! Which replica is read.

use moonquake_protocol::{BufferDescriptor, DescriptorVariant, ReplicaDescriptor, ReplicaStatus};

/// The memory range of a descriptor, if it is a memory replica.
pub fn memory_of(descriptor: &ReplicaDescriptor) -> Option<&BufferDescriptor> {
    match &descriptor.descriptor {
        DescriptorVariant::Memory(memory) => Some(&memory.buffer),
        _ => None,
    }
}

/// The replica a read uses: the first complete memory replica on a local endpoint, else the first complete memory
/// replica. Mirrors `replica_selection.h` without scoring.
pub fn preferred<'a>(replicas: &'a [ReplicaDescriptor], local: &[String]) -> Option<&'a BufferDescriptor> {
    let complete = || {
        replicas
            .iter()
            .filter(|replica| replica.status == ReplicaStatus::Complete)
            .filter_map(memory_of)
    };
    complete()
        .find(|buffer| local.contains(&buffer.transport_endpoint))
        .or_else(|| complete().next())
}
