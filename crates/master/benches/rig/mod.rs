//! Masters with objects in them.
#![allow(dead_code, reason = "each bench uses a part")]

use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span};
use moonquake_master::{Master, MasterConfig};
use moonquake_protocol::{ObjectMeta, ReplicaType, ReplicateConfig, Request, Segment, Uuid};

/// Who does everything.
pub(crate) const CLIENT: Uuid = Uuid::new(1, 1);
/// When it begins.
pub(crate) const START: Clocks = Clocks {
    realtime: RealtimeNs(1_700_000_000_000_000_000),
    monotonic: MonotonicNs(1_000_000_000_000),
};

/// A key of 32 bytes.
pub(crate) fn key(number: usize) -> String {
    format!("key-{number:028}")
}

/// The two requests of a put.
pub(crate) fn put(key: &str) -> [Request; 2] {
    let start = Request::PutStart {
        client_id: CLIENT,
        key: key.to_owned(),
        slice_length: 4_096,
        config: ReplicateConfig::default(),
        tenant_id: String::new(),
    };
    let end = Request::PutEnd {
        client_id: CLIENT,
        object_meta: ObjectMeta {
            key: key.to_owned(),
            object_checksum: None,
        },
        replica_type: ReplicaType::All,
        tenant_id: String::new(),
    };
    [start, end]
}

/// The two requests of a batch of puts.
pub(crate) fn put_of(keys: &[String]) -> [Request; 2] {
    let start = Request::BatchPutStart {
        client_id: CLIENT,
        keys: keys.to_vec(),
        slice_lengths: vec![4_096; keys.len()],
        config: ReplicateConfig::default(),
        tenant_id: String::new(),
    };
    let meta = |key: &String| ObjectMeta {
        key: key.clone(),
        object_checksum: None,
    };
    let end = Request::BatchPutEnd {
        client_id: CLIENT,
        object_metas: keys.iter().map(meta).collect(),
        replica_type: ReplicaType::All,
        tenant_id: String::new(),
    };
    [start, end]
}

/// A master with that many objects in one segment of 16 GiB, each ended a nanosecond after the one before.
pub(crate) fn filled(objects: usize) -> Master {
    let mut master = Master::new(MasterConfig::default(), START).expect("upstream's defaults are valid");
    let segment = Segment {
        id: Uuid::new(2, 2),
        name: "n1".to_owned(),
        base: 1 << 40,
        size: 16 << 30,
        te_endpoint: "n1:1".to_owned(),
        protocol: "tcp".to_owned(),
        host_id: String::new(),
    };
    let client_id = CLIENT;
    master.handle(START, &Request::MountSegment { segment, client_id }, &[]);
    for number in 0..objects {
        for request in put(&key(number)) {
            master.handle(START + Span::from_ns(number as u64), &request, &[]);
        }
    }
    master
}
