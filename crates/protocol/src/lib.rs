//! Ids, error codes, RPC types, the struct_pack codec and the frames of Mooncake Store. No I/O.

pub mod datapath;
mod enums;
mod error_code;
pub mod fingerprint;
pub mod frame;
pub mod handshake;
mod ids;
mod rpc;
#[cfg(feature = "proptest")]
pub mod strategies;
pub mod struct_pack;
mod types;

pub use enums::{
    ClientStatus, ObjectDataType, ReplicaStatus, ReplicaType, SegmentStatus, SoftPinAction, TaskStatus,
    TaskType,
};
pub use error_code::ErrorCode;
pub use ids::{ParseUuidError, Uuid};
pub use rpc::{Request, Response, Rpc, function_id_of};
pub use struct_pack::{Literal, TypeTag};
pub use types::{
    BufferDescriptor, CopyStartResponse, DescriptorVariant, DiskDescriptor, DistributedFsDescriptor,
    GetReplicaListResponse, GetStorageConfigResponse, LocalDiskDescriptor, MemoryDescriptor,
    MoveStartResponse, NoFDescriptor, NoFSegment, NoFSegmentOwnerInfo, ObjectMeta, OffloadTaskItem,
    PingResponse, PromotionAllocStartResponse, PromotionTaskItem, QueryTaskResponse, ReplicaDescriptor,
    ReplicateConfig, Segment, StorageObjectMetadata, TaskAssignment, TaskCompleteRequest,
};
