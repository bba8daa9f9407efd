//! Random values of every type, for property tests here and in other crates (feature `proptest`).
//!
//! Sizes are small, but texts and lists of more than 255 bytes or items do occur, because they change the width of
//! every length in a message.

use crate::error_code::ErrorCode;
use crate::ids::Uuid;
use crate::rpc::{Request, Response, Rpc};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Numbers at which something changes: widths, signs, ends.
const EDGES: [u64; 9] = [0, 1, 127, 255, 256, 65_535, 65_536, u64::MAX - 1, u64::MAX];

/// A type of which random values can be made.
pub trait WireStrategy: Sized + std::fmt::Debug {
    /// Values of all shapes, small ones more often.
    fn strategy() -> BoxedStrategy<Self>;
}

macro_rules! number_strategies {
    ($($type:ty),*) => {$(
        impl WireStrategy for $type {
            fn strategy() -> BoxedStrategy<Self> {
                prop_oneof![
                    any::<$type>(),
                    proptest::sample::select(&EDGES[..]).prop_map(|edge| edge as $type),
                ]
                .boxed()
            }
        }
    )*};
}

number_strategies!(u8, i32, u32, i64, u64);

impl WireStrategy for bool {
    fn strategy() -> BoxedStrategy<Self> {
        any::<bool>().boxed()
    }
}

impl WireStrategy for () {
    fn strategy() -> BoxedStrategy<Self> {
        Just(()).boxed()
    }
}

impl WireStrategy for String {
    fn strategy() -> BoxedStrategy<Self> {
        prop_oneof![
            8 => "[ -~]{0,12}",
            4 => "\\PC{0,8}",
            1 => proptest::collection::vec(any::<char>(), 0..6).prop_map(|chars| chars.into_iter().collect()),
            1 => (250_usize..600).prop_map(|length| "x".repeat(length)),
        ]
        .boxed()
    }
}

impl<T: WireStrategy + 'static> WireStrategy for Vec<T> {
    fn strategy() -> BoxedStrategy<Self> {
        proptest::collection::vec(T::strategy(), 0..5).boxed()
    }
}

impl<T: WireStrategy + 'static> WireStrategy for Option<T> {
    fn strategy() -> BoxedStrategy<Self> {
        proptest::option::of(T::strategy()).boxed()
    }
}

impl<T: WireStrategy + 'static, E: WireStrategy + 'static> WireStrategy for Result<T, E> {
    fn strategy() -> BoxedStrategy<Self> {
        prop_oneof![3 => T::strategy().prop_map(Ok), 1 => E::strategy().prop_map(Err)].boxed()
    }
}

impl<K: WireStrategy + Ord + 'static, V: WireStrategy + 'static> WireStrategy for BTreeMap<K, V> {
    fn strategy() -> BoxedStrategy<Self> {
        proptest::collection::btree_map(K::strategy(), V::strategy(), 0..4).boxed()
    }
}

impl WireStrategy for Uuid {
    fn strategy() -> BoxedStrategy<Self> {
        (u64::strategy(), u64::strategy())
            .prop_map(|(first, second)| Uuid { first, second })
            .boxed()
    }
}

impl WireStrategy for ErrorCode {
    fn strategy() -> BoxedStrategy<Self> {
        prop_oneof![
            4 => proptest::sample::select(ErrorCode::ALL),
            1 => any::<i32>().prop_map(ErrorCode::from_value),
        ]
        .boxed()
    }
}

impl WireStrategy for Rpc {
    fn strategy() -> BoxedStrategy<Self> {
        proptest::sample::select(Rpc::ALL).boxed()
    }
}

impl WireStrategy for Request {
    fn strategy() -> BoxedStrategy<Self> {
        Rpc::strategy().prop_flat_map(request_of).boxed()
    }
}

impl WireStrategy for Response {
    fn strategy() -> BoxedStrategy<Self> {
        Rpc::strategy().prop_flat_map(response_of).boxed()
    }
}

/// Requests of one method.
pub fn request_of(rpc: Rpc) -> BoxedStrategy<Request> {
    crate::rpc::request_strategy(rpc)
}

/// Responses of one method.
pub fn response_of(rpc: Rpc) -> BoxedStrategy<Response> {
    crate::rpc::response_strategy(rpc)
}

/// Tuples of strategies have at most 12 places; nested pairs have any number.
macro_rules! nested_strategies {
    () => { proptest::strategy::Just(()) };
    ($first:ty $(, $rest:ty)*) => {
        (<$first as $crate::strategies::WireStrategy>::strategy(), nested_strategies!($($rest),*))
    };
}

macro_rules! nested_pattern {
    () => { () };
    ($first:ident $(, $rest:ident)*) => { ($first, nested_pattern!($($rest),*)) };
}

pub(crate) use {nested_pattern, nested_strategies};

macro_rules! arbitrary_by_strategy {
    ($($type:ty),* $(,)?) => {$(
        impl Arbitrary for $type {
            type Parameters = ();
            type Strategy = BoxedStrategy<Self>;

            fn arbitrary_with((): ()) -> Self::Strategy {
                <$type as WireStrategy>::strategy()
            }
        }
    )*};
}

arbitrary_by_strategy! {
    Uuid, ErrorCode, Rpc, Request, Response,
    crate::ClientStatus, crate::ObjectDataType, crate::ReplicaStatus, crate::ReplicaType, crate::SegmentStatus,
    crate::SoftPinAction, crate::TaskStatus, crate::TaskType,
    crate::BufferDescriptor, crate::MemoryDescriptor, crate::NoFDescriptor, crate::DiskDescriptor,
    crate::LocalDiskDescriptor, crate::DistributedFsDescriptor, crate::DescriptorVariant, crate::ReplicaDescriptor,
    crate::Segment, crate::NoFSegment, crate::ObjectMeta, crate::ReplicateConfig, crate::GetReplicaListResponse,
    crate::PingResponse, crate::GetStorageConfigResponse, crate::NoFSegmentOwnerInfo, crate::CopyStartResponse,
    crate::MoveStartResponse, crate::PromotionAllocStartResponse, crate::QueryTaskResponse, crate::TaskAssignment,
    crate::TaskCompleteRequest, crate::OffloadTaskItem, crate::PromotionTaskItem, crate::StorageObjectMetadata,
}
