//! The 64 methods that the master registers, each written once. Mirrors upstream
//! `mooncake-store/src/rpc_service.cpp:RegisterRpcService`.
//!
//! One line gives name, arguments in wire order and result; ids, type literals and hashes are computed from it.

use crate::enums::{ReplicaType, SegmentStatus};
use crate::error_code::ErrorCode;
use crate::ids::Uuid;
use crate::rpc::{CallResult, arguments_literal};
#[cfg(feature = "proptest")]
use crate::strategies::{WireStrategy, nested_pattern, nested_strategies};
use crate::struct_pack::{DecodeError, Reader, StructPack, Writer};
use crate::types::{
    CopyStartResponse, GetReplicaListResponse, GetStorageConfigResponse, MoveStartResponse, NoFSegment,
    NoFSegmentOwnerInfo, ObjectMeta, OffloadTaskItem, PingResponse, PromotionAllocStartResponse,
    PromotionTaskItem, QueryTaskResponse, ReplicaDescriptor, ReplicateConfig, Segment, StorageObjectMetadata,
    TaskAssignment, TaskCompleteRequest,
};
#[cfg(feature = "proptest")]
use proptest::strategy::{BoxedStrategy, Strategy};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

rpc_table! {
    ExistKey { key: String, tenant_id: String } -> Result<bool, ErrorCode>;
    BatchQueryIp { client_ids: Vec<Uuid> } -> Result<BTreeMap<Uuid, Vec<String>>, ErrorCode>;
    BatchReplicaClear {
        object_keys: Vec<String>,
        client_id: Uuid,
        segment_name: String,
    } -> Result<Vec<String>, ErrorCode>;
    GetReplicaListByRegex {
        regex: String,
        tenant_id: String,
    } -> Result<BTreeMap<String, Vec<ReplicaDescriptor>>, ErrorCode>;
    GetReplicaList { key: String, tenant_id: String } -> Result<GetReplicaListResponse, ErrorCode>;
    BatchGetReplicaList {
        keys: Vec<String>,
        tenant_id: String,
    } -> Vec<Result<GetReplicaListResponse, ErrorCode>>;
    PutStart {
        client_id: Uuid,
        key: String,
        slice_length: u64,
        config: ReplicateConfig,
        tenant_id: String,
    } -> Result<Vec<ReplicaDescriptor>, ErrorCode>;
    PutEnd {
        client_id: Uuid,
        object_meta: ObjectMeta,
        replica_type: ReplicaType,
        tenant_id: String,
    } -> Result<(), ErrorCode>;
    PutRevoke {
        client_id: Uuid,
        key: String,
        replica_type: ReplicaType,
        tenant_id: String,
    } -> Result<(), ErrorCode>;
    BatchPutStart {
        client_id: Uuid,
        keys: Vec<String>,
        slice_lengths: Vec<u64>,
        config: ReplicateConfig,
        tenant_id: String,
    } -> Vec<Result<Vec<ReplicaDescriptor>, ErrorCode>>;
    BatchPutEnd {
        client_id: Uuid,
        object_metas: Vec<ObjectMeta>,
        replica_type: ReplicaType,
        tenant_id: String,
    } -> Vec<Result<(), ErrorCode>>;
    BatchPutRevoke {
        client_id: Uuid,
        keys: Vec<String>,
        replica_type: ReplicaType,
        tenant_id: String,
    } -> Vec<Result<(), ErrorCode>>;
    UpsertStart {
        client_id: Uuid,
        key: String,
        slice_length: u64,
        config: ReplicateConfig,
        tenant_id: String,
    } -> Result<Vec<ReplicaDescriptor>, ErrorCode>;
    UpsertEnd {
        client_id: Uuid,
        object_meta: ObjectMeta,
        replica_type: ReplicaType,
        tenant_id: String,
    } -> Result<(), ErrorCode>;
    UpsertRevoke {
        client_id: Uuid,
        key: String,
        replica_type: ReplicaType,
        tenant_id: String,
    } -> Result<(), ErrorCode>;
    BatchUpsertStart {
        client_id: Uuid,
        keys: Vec<String>,
        slice_lengths: Vec<u64>,
        config: ReplicateConfig,
        tenant_id: String,
    } -> Vec<Result<Vec<ReplicaDescriptor>, ErrorCode>>;
    BatchUpsertEnd {
        client_id: Uuid,
        object_metas: Vec<ObjectMeta>,
        tenant_id: String,
    } -> Vec<Result<(), ErrorCode>>;
    BatchUpsertRevoke { client_id: Uuid, keys: Vec<String>, tenant_id: String } -> Vec<Result<(), ErrorCode>>;
    Remove { key: String, force: bool, tenant_id: String } -> Result<(), ErrorCode>;
    RemoveByRegex { regex: String, force: bool, tenant_id: String } -> Result<i64, ErrorCode>;
    RemoveAll { force: bool, tenant_id: String } -> i64;
    BatchRemove { keys: Vec<String>, force: bool, tenant_id: String } -> Vec<Result<(), ErrorCode>>;
    MountSegment { segment: Segment, client_id: Uuid } -> Result<(), ErrorCode>;
    MountNoFSegment { segment: NoFSegment, client_id: Uuid } -> Result<(), ErrorCode>;
    ReMountSegment { segments: Vec<Segment>, client_id: Uuid } -> Result<(), ErrorCode>;
    ReMountNoFSegment { segments: Vec<NoFSegment>, client_id: Uuid } -> Result<(), ErrorCode>;
    UnmountSegment { segment_id: Uuid, client_id: Uuid } -> Result<(), ErrorCode>;
    GracefulUnmountSegment {
        segment_id: Uuid,
        client_id: Uuid,
        grace_period_ms: u64,
    } -> Result<(), ErrorCode>;
    UnmountNoFSegment { segment_id: Uuid, client_id: Uuid } -> Result<(), ErrorCode>;
    GetAllNoFSegments {} -> Result<Vec<NoFSegment>, ErrorCode>;
    GetNoFSegmentsByName { segment_name: String } -> Result<Vec<NoFSegmentOwnerInfo>, ErrorCode>;
    Ping { client_id: Uuid } -> Result<PingResponse, ErrorCode>;
    GetFsdir {} -> Result<String, ErrorCode>;
    QuerySegmentStatus { segment_name: String } -> Result<SegmentStatus, ErrorCode>;
    QuerySegmentStatusById { segment_id: Uuid } -> Result<SegmentStatus, ErrorCode>;
    GetStorageConfig {} -> Result<GetStorageConfigResponse, ErrorCode>;
    BatchExistKey { keys: Vec<String>, tenant_id: String } -> Vec<Result<bool, ErrorCode>>;
    ServiceReady {} -> Result<String, ErrorCode>;
    MountLocalDiskSegment { client_id: Uuid, enable_offloading: bool } -> Result<(), ErrorCode>;
    UnmountLocalDiskSegment { client_id: Uuid } -> Result<(), ErrorCode>;
    OffloadObjectHeartbeat {
        client_id: Uuid,
        enable_offloading: bool,
    } -> Result<Vec<OffloadTaskItem>, ErrorCode>;
    ReportSsdCapacity { client_id: Uuid, ssd_total_capacity_bytes: i64 } -> Result<(), ErrorCode>;
    NotifyOffloadSuccess {
        client_id: Uuid,
        tasks: Vec<OffloadTaskItem>,
        metadatas: Vec<StorageObjectMetadata>,
    } -> Result<(), ErrorCode>;
    PromotionObjectHeartbeat { client_id: Uuid } -> Result<Vec<PromotionTaskItem>, ErrorCode>;
    PromotionAllocStart {
        client_id: Uuid,
        key: String,
        tenant_id: String,
        size: u64,
        preferred_segments: Vec<String>,
    } -> Result<PromotionAllocStartResponse, ErrorCode>;
    NotifyPromotionSuccess { client_id: Uuid, key: String, tenant_id: String } -> Result<(), ErrorCode>;
    NotifyPromotionFailure { client_id: Uuid, key: String, tenant_id: String } -> Result<(), ErrorCode>;
    CopyStart {
        client_id: Uuid,
        key: String,
        tenant_id: String,
        src_segment: String,
        tgt_segments: Vec<String>,
    } -> Result<CopyStartResponse, ErrorCode>;
    DynamicReplicaCopyStart {
        client_id: Uuid,
        key: String,
        tenant_id: String,
        src_segment: String,
        tgt_segments: Vec<String>,
        dynamic_replication_lease_id: Uuid,
        dynamic_replication_version_epoch: u64,
    } -> Result<CopyStartResponse, ErrorCode>;
    CopyEnd { client_id: Uuid, key: String, tenant_id: String } -> Result<(), ErrorCode>;
    DynamicReplicaCopyEnd {
        client_id: Uuid,
        key: String,
        tenant_id: String,
        dynamic_replication_lease_id: Uuid,
        dynamic_replication_version_epoch: u64,
    } -> Result<(), ErrorCode>;
    CopyRevoke { client_id: Uuid, key: String, tenant_id: String } -> Result<(), ErrorCode>;
    DynamicReplicaCopyRevoke {
        client_id: Uuid,
        key: String,
        tenant_id: String,
        dynamic_replication_lease_id: Uuid,
        dynamic_replication_version_epoch: u64,
    } -> Result<(), ErrorCode>;
    MoveStart {
        client_id: Uuid,
        key: String,
        tenant_id: String,
        src_segment: String,
        tgt_segment: String,
    } -> Result<MoveStartResponse, ErrorCode>;
    MoveEnd { client_id: Uuid, key: String, tenant_id: String } -> Result<(), ErrorCode>;
    MoveRevoke { client_id: Uuid, key: String, tenant_id: String } -> Result<(), ErrorCode>;
    EvictDiskReplica {
        client_id: Uuid,
        key: String,
        tenant_id: String,
        replica_type: ReplicaType,
    } -> Result<(), ErrorCode>;
    BatchEvictDiskReplica {
        client_id: Uuid,
        keys: Vec<String>,
        tenant_id: String,
        replica_type: ReplicaType,
    } -> Vec<Result<(), ErrorCode>>;
    PollRemoveAll { client_id: Uuid } -> Result<bool, ErrorCode>;
    CreateCopyTask { key: String, tenant_id: String, targets: Vec<String> } -> Result<Uuid, ErrorCode>;
    CreateMoveTask {
        key: String,
        tenant_id: String,
        source: String,
        target: String,
    } -> Result<Uuid, ErrorCode>;
    QueryTask { task_id: Uuid } -> Result<QueryTaskResponse, ErrorCode>;
    FetchTasks { client_id: Uuid, batch_size: u64 } -> Result<Vec<TaskAssignment>, ErrorCode>;
    MarkTaskToComplete { client_id: Uuid, request: TaskCompleteRequest } -> Result<(), ErrorCode>;
}
