//! The structs of the wire, fields in wire order under the wire's names. Mirrors upstream
//! `mooncake-store/include/types.h`, `rpc_types.h`, `replica.h`, `allocator.h`, `segment.h` and `task_manager.h`.
//!
//! Each is declared upstream through the reflection macro, so on the wire it is its fields back to back.

use crate::enums::{ClientStatus, ObjectDataType, ReplicaStatus, SoftPinAction, TaskStatus, TaskType};
use crate::ids::Uuid;
#[cfg(feature = "proptest")]
use crate::strategies::{WireStrategy, nested_pattern, nested_strategies};
use crate::struct_pack::{DecodeError, Reader, StructPack, Writer};
#[cfg(feature = "proptest")]
use proptest::strategy::{BoxedStrategy, Strategy};
use serde::{Deserialize, Serialize};

/// Declares a struct and its encoding at once, so that the order of fields is written in one place.
macro_rules! wire_structs {
    ($(
        $(#[$meta:meta])*
        $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl StructPack for $name {
            const BYTES_MIN: usize = 0 $(+ <$type as StructPack>::BYTES_MIN)*;

            fn push_literal(literal: &mut Vec<u8>) {
                literal.push(0xfd);
                $(<$type as StructPack>::push_literal(literal);)*
                literal.push(0xff);
            }

            fn encode(&self, writer: &mut Writer<'_>) {
                $(self.$field.encode(writer);)*
            }

            fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self { $($field: StructPack::decode(reader)?,)* })
            }
        }

        #[cfg(feature = "proptest")]
        impl WireStrategy for $name {
            fn strategy() -> BoxedStrategy<Self> {
                nested_strategies!($($type),*)
                    .prop_map(|nested_pattern!($($field),*)| $name { $($field),* })
                    .boxed()
            }
        }
    )*};
}

/// Declares a variant; the order of its alternatives is their index on the wire.
macro_rules! wire_variant {
    (
        $(#[$meta:meta])*
        $name:ident { $($index:literal => $alternative:ident($type:ty),)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(#[doc = concat!("Index ", stringify!($index), " on the wire.")] $alternative($type),)*
        }

        impl StructPack for $name {
            const BYTES_MIN: usize = {
                let sizes = [$(<$type as StructPack>::BYTES_MIN),*];
                let mut smallest = sizes[0];
                let mut at = 1;
                while at < sizes.len() {
                    if sizes[at] < smallest {
                        smallest = sizes[at];
                    }
                    at += 1;
                }
                1 + smallest
            };

            fn push_literal(literal: &mut Vec<u8>) {
                literal.push(0x86);
                $(<$type as StructPack>::push_literal(literal);)*
                literal.push(0xff);
            }

            fn encode(&self, writer: &mut Writer<'_>) {
                match self {
                    $($name::$alternative(value) => {
                        writer.put(&[$index]);
                        value.encode(writer);
                    })*
                }
            }

            fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                let offset = reader.position();
                match u8::decode(reader)? {
                    $($index => Ok($name::$alternative(StructPack::decode(reader)?)),)*
                    index => {
                        let alternatives = [$($index),*].len();
                        Err(DecodeError::Alternative { offset, index, alternatives })
                    }
                }
            }
        }

        #[cfg(feature = "proptest")]
        impl WireStrategy for $name {
            fn strategy() -> BoxedStrategy<Self> {
                proptest::prop_oneof![
                    $(<$type as WireStrategy>::strategy().prop_map($name::$alternative)),*
                ]
                .boxed()
            }
        }
    };
}

wire_structs! {
    /// A range of memory and how to reach it. Mirrors `allocator.h:AllocatedBuffer::Descriptor`.
    #[derive(Default)]
    BufferDescriptor {
        /// Length in bytes.
        size: u64,
        /// Absolute virtual address inside the process that serves `transport_endpoint`.
        buffer_address: u64,
        /// Transport protocol, such as `tcp`.
        protocol: String,
        /// The `te_endpoint` of the segment the range lies in.
        transport_endpoint: String,
    }

    /// A replica in a memory segment. Mirrors `replica.h:MemoryDescriptor`.
    #[derive(Default)]
    MemoryDescriptor {
        /// Where its bytes are.
        buffer: BufferDescriptor,
    }

    /// A replica on an NVMe-over-Fabrics device. Mirrors `replica.h:NoFDescriptor`.
    #[derive(Default)]
    NoFDescriptor {
        /// Where its bytes are.
        buffer: BufferDescriptor,
    }

    /// A replica in a file of the shared file system. Mirrors `replica.h:DiskDescriptor`.
    #[derive(Default)]
    DiskDescriptor {
        /// Path of the file.
        file_path: String,
        /// Length in bytes.
        object_size: u64,
    }

    /// A replica on a disk that one client owns. Mirrors `replica.h:LocalDiskDescriptor`.
    #[derive(Default)]
    LocalDiskDescriptor {
        /// The owner.
        client_id: Uuid,
        /// Length in bytes.
        object_size: u64,
        /// Where the owner answers reads.
        transport_endpoint: String,
    }

    /// A replica in a distributed file system. Mirrors `replica.h:DistributedFSDescriptor`.
    #[derive(Default)]
    DistributedFsDescriptor {
        /// Path of the file.
        file_path: String,
        /// Where in the file the bytes begin.
        offset: u64,
        /// Length in bytes.
        object_size: u64,
        /// Length in bytes, rounded up to the alignment of the file system.
        aligned_size: u64,
        /// Shard that holds the file.
        shard_idx: i32,
    }

    /// One copy of an object. Mirrors `replica.h:Replica::Descriptor`.
    ReplicaDescriptor {
        /// The master's number of this replica, unique while the master lives.
        id: u64,
        /// Where the bytes are.
        descriptor: DescriptorVariant,
        /// How far the replica is.
        status: ReplicaStatus,
    }

    /// A range of memory that a client lends to the store. Mirrors `types.h:Segment`.
    #[derive(Default)]
    Segment {
        /// The segment's own id, chosen by the client.
        id: Uuid,
        /// Name, by default the client's `host:port`.
        name: String,
        /// First address, in the client's process.
        base: u64,
        /// Length in bytes.
        size: u64,
        /// Where peers ask for the segment descriptor (transfer engine).
        te_endpoint: String,
        /// Transport protocol, such as `tcp`.
        protocol: String,
        /// Name of the machine; empty if unknown.
        host_id: String,
    }

    /// An NVMe-over-Fabrics namespace lent to the store. Mirrors `types.h:NoFSegment`.
    #[derive(Default)]
    NoFSegment {
        /// The segment's own id.
        id: Uuid,
        /// Name.
        name: String,
        /// First address.
        base: u64,
        /// Length in bytes.
        size: u64,
        /// Where peers reach it.
        te_endpoint: String,
    }

    /// What a finished put tells about its object. Mirrors `rpc_types.h:ObjectMeta`.
    #[derive(Default)]
    ObjectMeta {
        /// The key.
        key: String,
        /// CRC-64/ECMA-182 of the bytes; absent unless the client computes checksums.
        object_checksum: Option<u64>,
    }

    /// How a put wants to be placed. Mirrors `replica.h:ReplicateConfig`.
    ReplicateConfig {
        /// Wanted replicas in memory.
        replica_num: u64,
        /// Wanted replicas on NVMe-over-Fabrics.
        nof_replica_num: u64,
        /// Wanted replicas in the distributed file system.
        dfs_replica_num: u64,
        /// What happens to the soft pin.
        soft_pin_action: SoftPinAction,
        /// Length of the soft pin in ms; the master's own value if absent.
        soft_pin_ttl_ms: Option<u64>,
        /// Never evict.
        with_hard_pin: bool,
        /// Segments to try first, by name.
        preferred_segments: Vec<String>,
        /// The older form of `preferred_segments`; empty if unused.
        preferred_segment: String,
        /// NVMe-over-Fabrics segments to try first, by name.
        preferred_nof_segments: Vec<String>,
        /// Place all replicas on one node.
        prefer_alloc_in_same_node: bool,
        /// What the bytes are.
        data_type: ObjectDataType,
        /// Name of the writer's machine; empty if unknown.
        host_id: String,
        /// When present, one group per key.
        group_ids: Option<Vec<String>>,
    }

    /// Answer of GetReplicaList. Mirrors `rpc_types.h:GetReplicaListResponse`.
    #[derive(Default)]
    GetReplicaListResponse {
        /// The replicas that are complete.
        replicas: Vec<ReplicaDescriptor>,
        /// Lease granted with this answer, in ms.
        lease_ttl_ms: u64,
        /// CRC-64/ECMA-182 of the bytes, if the writer sent one.
        object_checksum: Option<u64>,
    }

    /// Answer of Ping. Mirrors `rpc_types.h:PingResponse`.
    PingResponse {
        /// Version of the master's view; 0 without high availability.
        view_version_id: i64,
        /// Whether the client must mount again.
        client_status: ClientStatus,
    }

    /// Answer of GetStorageConfig. Mirrors `rpc_types.h:GetStorageConfigResponse`.
    #[derive(Default)]
    GetStorageConfigResponse {
        /// Directory for disk replicas; empty if there are none.
        fsdir: String,
        /// Whether disk replicas are evicted.
        enable_disk_eviction: bool,
        /// Quota of the disk tier in bytes; 0 for none.
        quota_bytes: u64,
    }

    /// Who mounted an NVMe-over-Fabrics segment. Mirrors `rpc_types.h:NoFSegmentOwnerInfo`.
    #[derive(Default)]
    NoFSegmentOwnerInfo {
        /// The segment.
        segment_id: Uuid,
        /// Its owner.
        client_id: Uuid,
    }

    /// Answer of CopyStart. Mirrors `rpc_types.h:CopyStartResponse`.
    CopyStartResponse {
        /// The replica to read.
        source: ReplicaDescriptor,
        /// The replicas to write.
        targets: Vec<ReplicaDescriptor>,
    }

    /// Answer of MoveStart. Mirrors `rpc_types.h:MoveStartResponse`.
    MoveStartResponse {
        /// The replica to read.
        source: ReplicaDescriptor,
        /// The replica to write; absent if the target segment has one already.
        target: Option<ReplicaDescriptor>,
    }

    /// Answer of PromotionAllocStart. Mirrors `rpc_types.h:PromotionAllocStartResponse`.
    PromotionAllocStartResponse {
        /// The memory replica to fill.
        memory_descriptor: ReplicaDescriptor,
    }

    /// Answer of QueryTask. Mirrors `rpc_types.h:QueryTaskResponse`.
    QueryTaskResponse {
        /// The task.
        id: Uuid,
        /// What it does.
        r#type: TaskType,
        /// How far it is.
        status: TaskStatus,
        /// Wall time in ms since 1970 at which it was created.
        created_at_ms_epoch: i64,
        /// Wall time in ms since 1970 of its last change.
        last_updated_at_ms_epoch: i64,
        /// The client that executes it.
        assigned_client: Uuid,
        /// Text of the executing client.
        message: String,
    }

    /// A task handed to a client. Mirrors `rpc_types.h:TaskAssignment`.
    TaskAssignment {
        /// The task.
        id: Uuid,
        /// What to do.
        r#type: TaskType,
        /// Arguments as JSON text.
        payload: String,
        /// Wall time in ms since 1970 at which it was created.
        created_at_ms_epoch: i64,
        /// How often the client may try again.
        max_retry_attempts: u32,
    }

    /// A client's report on a task. Mirrors `rpc_types.h:TaskCompleteRequest`.
    TaskCompleteRequest {
        /// The task.
        id: Uuid,
        /// How it ended.
        status: TaskStatus,
        /// Text for people.
        message: String,
    }

    /// An object to write to the local disk. Mirrors `rpc_types.h:OffloadTaskItem`.
    #[derive(Default)]
    OffloadTaskItem {
        /// Tenant.
        tenant_id: String,
        /// Key.
        key: String,
        /// Length in bytes.
        size: i64,
    }

    /// An object to bring back into memory. Mirrors `rpc_types.h:PromotionTaskItem`.
    #[derive(Default)]
    PromotionTaskItem {
        /// Tenant.
        tenant_id: String,
        /// Key.
        key: String,
        /// Length in bytes.
        size: i64,
    }

    /// Where an offloaded object lies. Mirrors `types.h:StorageObjectMetadata`.
    #[derive(Default)]
    StorageObjectMetadata {
        /// Bucket (a file of many objects).
        bucket_id: i64,
        /// Where in the bucket the object begins.
        offset: i64,
        /// Length of the key in bytes.
        key_size: i64,
        /// Length of the object in bytes.
        data_size: i64,
        /// Where the owner answers reads.
        transport_endpoint: String,
    }
}

wire_variant! {
    /// Where the bytes of a replica are. Mirrors `replica.h:Replica::Descriptor::descriptor_variant`.
    DescriptorVariant {
        0 => Memory(MemoryDescriptor),
        1 => NoF(NoFDescriptor),
        2 => Disk(DiskDescriptor),
        3 => LocalDisk(LocalDiskDescriptor),
        4 => DistributedFs(DistributedFsDescriptor),
    }
}

impl ReplicaDescriptor {
    /// The range of a memory replica; `None` for the other kinds.
    pub fn memory_buffer(&self) -> Option<&BufferDescriptor> {
        match &self.descriptor {
            DescriptorVariant::Memory(memory) => Some(&memory.buffer),
            _ => None,
        }
    }
}

/// Upstream's defaults: one replica in memory, no pin, no wishes.
impl Default for ReplicateConfig {
    fn default() -> Self {
        Self {
            replica_num: 1,
            nof_replica_num: 0,
            dfs_replica_num: 0,
            soft_pin_action: SoftPinAction::Preserve,
            soft_pin_ttl_ms: None,
            with_hard_pin: false,
            preferred_segments: Vec::new(),
            preferred_segment: String::new(),
            preferred_nof_segments: Vec::new(),
            prefer_alloc_in_same_node: false,
            data_type: ObjectDataType::Unclassified,
            host_id: String::new(),
            group_ids: None,
        }
    }
}
