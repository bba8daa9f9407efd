//! Random values of every type go to the real master and come back, or their effect does.
//!
//! Values are drawn from the strategies of the protocol with a fixed seed (`MOONQUAKE_ECHO_SEED` names another). Requests go with
//! and without the literal of their type in turn. Every answer must decode as the type of its method, by both halves of the codec, and
//! encode to the bytes that came; only a map is compared by value, as its order is that of the peer's hash table.
//!
//! | what is sent | where it comes back |
//! |---|---|
//! | key | GetReplicaListByRegex, BatchReplicaClear, OffloadObjectHeartbeat, PromotionObjectHeartbeat, a task's payload, a replica's file |
//! | length, checksum | GetReplicaList and its batch |
//! | segment: id, name, base, endpoint | QuerySegmentStatusById, placement by name, descriptors, BatchQueryIp |
//! | segment: all but the host | the admin server, as text: so that halves of ids cannot change places unseen |
//! | segment: every field | ReMountSegment compares with what was mounted |
//! | client id | ILLEGAL_CLIENT for any other, BatchQueryIp, LocalDiskDescriptor, QueryTask |
//! | ReplicateConfig | refused or taken as documented; placement by `replica_num`, `preferred_segment(s)`, `host_id` |
//! | StorageObjectMetadata: data size, endpoint | LocalDiskDescriptor |
//! | id, status and message of a task | QueryTask, FetchTasks |
//! | instants on the wall clock | times of a task |
//! | the master's flags: lease, quota, retries, directory | GetReplicaList, GetStorageConfig, FetchTasks, GetFsdir |
//!
//! Nothing tells again: tenants (this mode ignores them), the other fields of ReplicateConfig and StorageObjectMetadata, SSD capacity
//! (only its sign), grace period, and the tokens of dynamic replication. NoFDescriptor, DistributedFsDescriptor, NoFSegment and
//! NoFSegmentOwnerInfo never come from this release: it is built without NVMe-over-Fabrics, and its file system needs more than flags.
//!
//! Where the typed codec and the master differ, because Rust texts are UTF-8 and Rust bools 0 or 1, `odd` says how.

mod config;
mod every;
mod objects;
mod odd;
pub(crate) mod peer;
mod segments;
mod tasks;
mod tiers;
pub(crate) mod values;

use crate::Test;

pub(crate) const TESTS: &[Test] = &[
    (
        "real_echo_keys_lengths_and_checksums",
        objects::keys_lengths_and_checksums,
    ),
    ("real_echo_replicate_config", config::replicate_config),
    ("real_echo_segments", segments::segments),
    ("real_echo_tasks", tasks::tasks),
    ("real_echo_copies_and_moves", tasks::copies_and_moves),
    ("real_echo_disk", tiers::disk),
    ("real_echo_offload_and_promotion", tiers::offload_and_promotion),
    ("real_echo_every_method", every::methods),
    ("real_echo_keys_that_are_no_text", odd::keys_that_are_no_text),
    ("real_echo_flags_that_are_neither", odd::flags_that_are_neither),
    ("real_echo_deep_patterns_end_the_master", odd::deep_patterns),
];
