//! What an agent can be told to do: one call of upstream's Python API each
//! (`mooncake-integration/store/store_py.cpp:MooncakeStorePyWrapper`).

use super::arena::Range;
use serde::Serialize;

/// What to do about a soft pin. Mirrors upstream `SoftPinAction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SoftPin {
    /// Upstream `PRESERVE`.
    Preserve,
    /// Upstream `ENABLE`.
    Enable,
    /// Upstream `DISABLE`.
    Disable,
}

/// How a value is to be stored. Mirrors upstream `ReplicateConfig`; what is none keeps the client's own default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replication {
    /// Number of replicas in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_num: Option<u64>,
    /// Number of replicas on NVMe over fabrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nof_replica_num: Option<u64>,
    /// Number of replicas in a distributed file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dfs_replica_num: Option<u64>,
    /// What to do about a soft pin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_pin_action: Option<SoftPin>,
    /// How long the soft pin holds, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_pin_ttl_ms: Option<u64>,
    /// Never to be evicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_hard_pin: Option<bool>,
    /// Names of segments, the first choice first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_segments: Option<Vec<String>>,
    /// Name of one segment; the older form of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_segment: Option<String>,
    /// All parts on one node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefer_alloc_in_same_node: Option<bool>,
    /// The group of each key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_ids: Option<Vec<String>>,
    /// What the bytes are, by the name of upstream's `ObjectDataType`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_type: Option<String>,
}

/// How a client connects. Mirrors the arguments of upstream's `setup`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setup {
    /// Name of the client, `HOST` or `HOST:PORT`; with `P2PHANDSHAKE` the client chooses the port.
    pub local_hostname: String,
    /// `P2PHANDSHAKE`, or the address of a metadata server such as `http://127.0.0.1:8080/metadata`.
    pub metadata_server: String,
    /// Bytes of the segment that it mounts; none if 0.
    pub global_segment_size: u64,
    /// Bytes of its staging memory.
    pub local_buffer_size: u64,
    /// Transport, `tcp` or `rdma`.
    pub protocol: String,
    /// RDMA devices, joined by commas; empty for TCP.
    pub rdma_devices: String,
    /// Where the master is, `HOST:PORT`.
    pub master_server_addr: String,
    /// The tenant; none keeps the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
}

impl Setup {
    /// A client over TCP that finds its peers by handshake, with a segment of `segment` bytes (0: none) and 16 MiB of staging memory.
    pub fn tcp(master: impl Into<String>, segment: u64) -> Setup {
        Setup {
            local_hostname: "127.0.0.1".to_owned(),
            metadata_server: "P2PHANDSHAKE".to_owned(),
            global_segment_size: segment,
            local_buffer_size: 16 << 20,
            protocol: "tcp".to_owned(),
            rdma_devices: String::new(),
            master_server_addr: master.into(),
            tenant_id: None,
        }
    }
}

/// Parts of one object that go to places of one buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RangedRead {
    /// The object.
    pub key: String,
    /// Where in the buffer each part goes, in bytes from its begin.
    pub dst_offsets: Vec<u64>,
    /// Where in the object each part begins, in bytes.
    pub src_offsets: Vec<u64>,
    /// Length of each part in bytes.
    pub sizes: Vec<u64>,
}

/// One call of the client. Each variant has the name of upstream's method; where buffers are meant, ranges of the arena are given.
///
/// While `setup`, `close` or `health_check` is under way upstream holds the interpreter's lock: other commands are accepted by the
/// pipe but begin, and their results arrive, after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields carry upstream's argument names")]
pub enum Command {
    /// Makes a client and connects it. A number.
    Setup(Setup),
    /// Its own name, after `setup`. A text.
    GetHostname,
    /// Whether the master answers. A number.
    HealthCheck,
    /// Ends the client; another may be set up afterwards. A number.
    Close,

    /// Staged write. A number.
    Put {
        key: String,
        value: Range,
        config: Replication,
    },
    /// Staged write of a value that lies in several parts. A number.
    PutParts {
        key: String,
        parts: Vec<Range>,
        config: Replication,
    },
    /// Zero-copy write. A number.
    PutFrom {
        key: String,
        buffer: Range,
        config: Replication,
    },
    /// Staged write of several values. One number.
    PutBatch {
        keys: Vec<String>,
        values: Vec<Range>,
        config: Replication,
    },
    /// Zero-copy write of several values. A number for each.
    BatchPutFrom {
        keys: Vec<String>,
        buffers: Vec<Range>,
        config: Replication,
    },
    /// Zero-copy write of values that lie in several parts each. A number for each.
    BatchPutFromMultiBuffers {
        keys: Vec<String>,
        buffers: Vec<Vec<Range>>,
        config: Replication,
    },
    /// Staged write or replacement. A number.
    Upsert {
        key: String,
        value: Range,
        config: Replication,
    },
    /// Staged write or replacement by a value that lies in several parts. A number.
    UpsertParts {
        key: String,
        parts: Vec<Range>,
        config: Replication,
    },
    /// Zero-copy write or replacement. A number.
    UpsertFrom {
        key: String,
        buffer: Range,
        config: Replication,
    },
    /// Staged writes or replacements. One number.
    UpsertBatch {
        keys: Vec<String>,
        values: Vec<Range>,
        config: Replication,
    },
    /// Zero-copy writes or replacements. A number for each.
    BatchUpsertFrom {
        keys: Vec<String>,
        buffers: Vec<Range>,
        config: Replication,
    },

    /// Reserves objects without a transfer. A number for each.
    BatchPutSessionStart {
        keys: Vec<String>,
        sizes: Vec<u64>,
        config: Replication,
    },
    /// Writes parts of reserved objects at offsets. A number for each.
    BatchPutFromMultiBufferRanges {
        keys: Vec<String>,
        buffers: Vec<Vec<Range>>,
        dst_offsets: Vec<Vec<u64>>,
    },
    /// Makes reserved objects readable. A number for each.
    BatchPutSessionEnd { keys: Vec<String> },
    /// Gives reserved objects up. A number for each.
    BatchPutSessionRevoke { keys: Vec<String> },

    /// Staged read; what came is copied to `into`, as far as it fits. A length; upstream tells no reason when nothing came.
    Get { key: String, into: Range },
    /// Staged read of several objects; what came is copied to `into`, one behind the other. A length for each.
    GetBatch { keys: Vec<String>, into: Range },
    /// Zero-copy read. A number: the size, or a code.
    GetInto { key: String, buffer: Range },
    /// Zero-copy read of several objects. A number for each.
    BatchGetInto { keys: Vec<String>, buffers: Vec<Range> },
    /// Zero-copy read of objects into several parts each. A number for each.
    BatchGetIntoMultiBuffers {
        keys: Vec<String>,
        buffers: Vec<Vec<Range>>,
        prefer_alloc_in_same_node: bool,
    },
    /// Zero-copy read of parts of objects; the reads of a buffer stand at its index. A number for each buffer, object and part.
    GetIntoRanges {
        buffers: Vec<Range>,
        reads: Vec<Vec<RangedRead>>,
    },

    /// Asks once for the replicas of objects and keeps what is told. A number for each.
    BatchGetSessionStart { keys: Vec<String> },
    /// Reads parts of objects of a session. A number for each.
    BatchGetIntoMultiBufferRanges {
        keys: Vec<String>,
        buffers: Vec<Vec<Range>>,
        src_offsets: Vec<Vec<u64>>,
    },
    /// Forgets what the session keeps. A number.
    BatchGetSessionEnd { keys: Vec<String> },

    /// 1, 0 or a code.
    IsExist { key: String },
    /// 1, 0 or a code for each.
    BatchIsExist { keys: Vec<String> },
    /// A size or a code.
    GetSize { key: String },
    /// A number.
    Remove { key: String, force: bool },
    /// A number for each.
    BatchRemove { keys: Vec<String>, force: bool },
    /// How many were removed, or a code.
    RemoveByRegex { pattern: String, force: bool },
    /// How many were removed, or a code.
    RemoveAll { force: bool },

    /// A number.
    RegisterBuffer { buffer: Range },
    /// A number.
    UnregisterBuffer { offset: u64 },
    /// Makes a descriptor for page faults of the process (`userfaultfd`) and leaves it open to be taken. Its number, or minus the
    /// number of an error.
    OpenFaults {},
    /// Closes a descriptor. A number.
    CloseDescriptor { descriptor: i32 },
    /// Forgets where whole pages that a file lies under are mapped; what is in them stays. A number: 0, or minus that of an error.
    ForgetPages { address: u64, size: u64 },
    /// Puts the file of a descriptor that the process has inherited under whole pages that nobody has written yet, and makes each of
    /// them present. A number, as with `ForgetPages`.
    SharePages {
        descriptor: i32,
        address: u64,
        size: u64,
    },
    /// Reads or writes bytes of the process by a way: `cpu`, `file` (a pipe) or `socket` (a connection of the process
    /// to itself). How many.
    Touch {
        address: u64,
        size: u64,
        way: &'static str,
        write: bool,
    },
    /// Allocates a segment in the client and mounts it. A mount.
    AllocateAndMountSegment { size: u64, protocol: String },
    /// A number.
    UnmountAndFreeSegment {
        segment_ids: Vec<String>,
        grace_period_seconds: u64,
    },

    /// Where an object lies. Replicas of one key.
    GetReplicaDesc { key: String },
    /// Where objects lie. Replicas of each key that has some.
    BatchGetReplicaDesc { keys: Vec<String> },
    /// Drops replicas; of one segment if it is named. The keys for which it was done.
    BatchReplicaClear { keys: Vec<String>, segment_name: String },
    /// A task.
    CreateCopyTask { key: String, targets: Vec<String> },
    /// A task.
    CreateMoveTask {
        key: String,
        source: String,
        target: String,
    },
    /// What has become of a task.
    QueryTask { task_id: (u64, u64) },

    /// Looks at both clocks of the process. Two numbers: wall and monotonic, in nanoseconds.
    Clocks,
    /// Ends the process without closing the client. There is no answer.
    Exit,
}
