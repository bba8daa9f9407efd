//! Requests as frames, made before anything is measured, and the answers that echoes give.

use crate::work::BATCH_KEYS;
use moonquake_protocol::frame::encode_request;
use moonquake_protocol::{
    BufferDescriptor, DescriptorVariant, GetReplicaListResponse, Literal, MemoryDescriptor, ObjectMeta,
    ReplicaDescriptor, ReplicaStatus, ReplicaType, ReplicateConfig, Request, Response, Rpc, Segment, Uuid,
};

/// The one client; it owns the one segment.
const CLIENT: Uuid = Uuid::new(1, 1);
/// Where the segment says it is. Nobody moves a byte.
const ENDPOINT: &str = "127.0.0.1:15999";
const SEGMENT_BYTES: u64 = 64 << 30;
const OBJECT_BYTES: u64 = 4 << 10;

/// Makes the segment known.
pub(crate) fn mount() -> Request {
    Request::MountSegment {
        segment: Segment {
            id: Uuid::new(2, 2),
            name: "load".to_owned(),
            base: 1 << 40,
            size: SEGMENT_BYTES,
            te_endpoint: ENDPOINT.to_owned(),
            protocol: "tcp".to_owned(),
            ..Segment::default()
        },
        client_id: CLIENT,
    }
}

/// Keeps the segment.
pub(crate) fn ping() -> Request {
    Request::Ping { client_id: CLIENT }
}

/// A key of 32 bytes; `family` tells apart what is stored from what comes and goes.
pub(crate) fn key(family: &str, number: usize) -> String {
    format!("{family}{number:0>width$}", width = 32 - family.len())
}

/// The request of `rpc` that names `keys`: one of them, or all.
///
/// # Panics
/// For a method that is not measured.
pub(crate) fn request(rpc: Rpc, keys: &[String]) -> Request {
    let (client_id, tenant_id) = (CLIENT, "default".to_owned());
    let meta = |key: &String| ObjectMeta {
        key: key.clone(),
        object_checksum: None,
    };
    let key = || keys[0].clone();
    let config = ReplicateConfig::default();
    match rpc {
        Rpc::ExistKey => Request::ExistKey {
            key: key(),
            tenant_id,
        },
        Rpc::GetReplicaList => Request::GetReplicaList {
            key: key(),
            tenant_id,
        },
        Rpc::PutStart => Request::PutStart {
            client_id,
            key: key(),
            slice_length: OBJECT_BYTES,
            config,
            tenant_id,
        },
        Rpc::PutEnd => Request::PutEnd {
            client_id,
            object_meta: meta(&keys[0]),
            replica_type: ReplicaType::Memory,
            tenant_id,
        },
        Rpc::Remove => Request::Remove {
            key: key(),
            force: false,
            tenant_id,
        },
        Rpc::BatchExistKey => Request::BatchExistKey {
            keys: keys.to_vec(),
            tenant_id,
        },
        Rpc::BatchGetReplicaList => Request::BatchGetReplicaList {
            keys: keys.to_vec(),
            tenant_id,
        },
        Rpc::BatchPutStart => Request::BatchPutStart {
            client_id,
            keys: keys.to_vec(),
            slice_lengths: vec![OBJECT_BYTES; keys.len()],
            config,
            tenant_id,
        },
        Rpc::BatchPutEnd => Request::BatchPutEnd {
            client_id,
            object_metas: keys.iter().map(meta).collect(),
            replica_type: ReplicaType::Memory,
            tenant_id,
        },
        Rpc::BatchRemove => Request::BatchRemove {
            keys: keys.to_vec(),
            force: false,
            tenant_id,
        },
        other => panic!("{} is not measured", other.name()),
    }
}

/// The same as a frame, as the real client sends it.
pub(crate) fn frame(rpc: Rpc, keys: &[String]) -> Vec<u8> {
    encode_request(0, &request(rpc, keys), Literal::With)
}

/// What a master that does its work answers, with the numbers of some object: what echoes send, and whether an answer
/// is good. `None` for a method that is not measured.
pub(crate) fn answer(rpc: Rpc) -> Option<Response> {
    let replica = |status| ReplicaDescriptor {
        id: 1,
        descriptor: DescriptorVariant::Memory(MemoryDescriptor {
            buffer: BufferDescriptor {
                size: OBJECT_BYTES,
                buffer_address: 1 << 40,
                protocol: "tcp".to_owned(),
                transport_endpoint: ENDPOINT.to_owned(),
            },
        }),
        status,
    };
    let list = GetReplicaListResponse {
        replicas: vec![replica(ReplicaStatus::Complete)],
        lease_ttl_ms: 5_000,
        object_checksum: None,
    };
    let given = vec![replica(ReplicaStatus::Processing)];
    Some(match rpc {
        Rpc::ExistKey => Response::ExistKey(Ok(true)),
        Rpc::GetReplicaList => Response::GetReplicaList(Ok(list)),
        Rpc::PutStart => Response::PutStart(Ok(given)),
        Rpc::PutEnd => Response::PutEnd(Ok(())),
        Rpc::Remove => Response::Remove(Ok(())),
        Rpc::BatchExistKey => Response::BatchExistKey(vec![Ok(true); BATCH_KEYS]),
        Rpc::BatchGetReplicaList => Response::BatchGetReplicaList(vec![Ok(list); BATCH_KEYS]),
        Rpc::BatchPutStart => Response::BatchPutStart(vec![Ok(given); BATCH_KEYS]),
        Rpc::BatchPutEnd => Response::BatchPutEnd(vec![Ok(()); BATCH_KEYS]),
        Rpc::BatchRemove => Response::BatchRemove(vec![Ok(()); BATCH_KEYS]),
        Rpc::MountSegment => Response::MountSegment(Ok(())),
        _ => return None,
    })
}
