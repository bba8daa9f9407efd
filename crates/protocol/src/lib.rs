//! Ids, error codes, RPC types, the struct_pack codec and the frames of Mooncake Store. No I/O.
//!
//! The types are those of release [`fingerprint::SPOKEN_RELEASE`]. Every method of the master is written once, in
//! `rpc/table.rs`; ids, type literals, hashes and both directions of the codec come from there.
//!
//! ```
//! use moonquake_protocol::frame::{FrameDecoder, RequestHeader, decode_request, encode_request};
//! use moonquake_protocol::{Literal, Request};
//!
//! let request = Request::ExistKey { key: "k1".into(), tenant_id: "default".into() };
//! let bytes = encode_request(7, &request, Literal::With);
//!
//! let mut decoder = FrameDecoder::<RequestHeader>::new();
//! for piece in bytes.chunks(5) {
//!     decoder.feed(piece);
//! }
//! let frame = decoder.next_frame()?.expect("all bytes arrived");
//! assert_eq!(frame.header.sequence, 7);
//! assert_eq!(decode_request(&frame.header, &frame.body)?, request);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`struct_pack`] | the serialisation, typed and self-describing |
//! | [`frame`] | headers, frames, errors of the RPC layer |
//! | [`datapath`] | the TCP data path of the transfer engine |
//! | [`handshake`] | how an endpoint becomes a segment descriptor |
//! | [`fingerprint`] | which release a peer is of |
//! | `strategies` | random values of every type (feature `proptest`) |

mod checksum;
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

pub use checksum::checksum;
pub use enums::{
    ClientStatus, ObjectDataType, ReplicaStatus, ReplicaType, SegmentStatus, SoftPinAction, TaskStatus,
    TaskType,
};
pub use error_code::ErrorCode;
pub use ids::{ParseUuidError, Uuid};
pub use rpc::{DEFAULT_TENANT, Request, Response, Rpc, function_id_of, is_tenant_name};
pub use struct_pack::{Literal, TypeTag};
pub use types::{
    BufferDescriptor, CopyStartResponse, DescriptorVariant, DiskDescriptor, DistributedFsDescriptor,
    GetReplicaListResponse, GetStorageConfigResponse, LocalDiskDescriptor, MemoryDescriptor,
    MoveStartResponse, NoFDescriptor, NoFSegment, NoFSegmentOwnerInfo, ObjectMeta, OffloadTaskItem,
    PingResponse, PromotionAllocStartResponse, PromotionTaskItem, QueryTaskResponse, ReplicaDescriptor,
    ReplicateConfig, Segment, StorageObjectMetadata, TaskAssignment, TaskCompleteRequest,
};
