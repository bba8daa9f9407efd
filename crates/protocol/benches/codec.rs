//! How long encoding and decoding take: `cargo bench -p moonquake-protocol`.

use divan::Bencher;
use divan::counter::BytesCount;
use moonquake_protocol::frame::{
    BODY_BYTES_MAX, RequestHeader, decode_request, encode_request, encode_response, encode_response_into,
    first_frame,
};
use moonquake_protocol::{
    BufferDescriptor, DescriptorVariant, GetReplicaListResponse, Literal, MemoryDescriptor,
    ReplicaDescriptor, ReplicaStatus, ReplicateConfig, Request, Response, Uuid,
};

const REQUEST_HEADER_BYTES: usize = 20;
const RESPONSE_HEADER_BYTES: usize = 16;
const BATCH: u64 = 128;

fn main() {
    divan::main();
}

fn put_start() -> Request {
    Request::PutStart {
        client_id: Uuid::new(1, 2),
        key: "model/layer-17/block-000042".to_owned(),
        slice_length: 4 << 20,
        config: ReplicateConfig::default(),
        tenant_id: "default".to_owned(),
    }
}

fn exist_key() -> Request {
    Request::ExistKey {
        key: "model/layer-17/block-000042".to_owned(),
        tenant_id: "default".to_owned(),
    }
}

fn replica(id: u64) -> ReplicaDescriptor {
    let buffer = BufferDescriptor {
        size: 4 << 20,
        buffer_address: 0x7f00_0000_0000 + id * (4 << 20),
        protocol: "tcp".to_owned(),
        transport_endpoint: "127.0.0.1:15565".to_owned(),
    };
    let descriptor = DescriptorVariant::Memory(MemoryDescriptor { buffer });
    ReplicaDescriptor {
        id,
        descriptor,
        status: ReplicaStatus::Complete,
    }
}

fn batch_get_replica_list() -> Response {
    let answer = |id| GetReplicaListResponse {
        replicas: vec![replica(id)],
        lease_ttl_ms: 5000,
        object_checksum: None,
    };
    Response::BatchGetReplicaList((0..BATCH).map(|id| Ok(answer(id))).collect())
}

#[divan::bench(args = [Literal::With, Literal::Without])]
fn encode_put_start(bencher: Bencher, literal: Literal) {
    let request = put_start();
    bencher.bench(|| encode_request(1, &request, literal));
}

#[divan::bench]
fn decode_put_start(bencher: Bencher) {
    let request = put_start();
    let frame = encode_request(1, &request, Literal::With);
    bencher.bench(|| Request::decode(request.rpc(), &frame[REQUEST_HEADER_BYTES..]));
}

#[divan::bench]
fn encode_exist_key(bencher: Bencher) {
    let request = exist_key();
    bencher.bench(|| encode_request(1, &request, Literal::With));
}

#[divan::bench]
fn decode_exist_key(bencher: Bencher) {
    let request = exist_key();
    let frame = encode_request(1, &request, Literal::With);
    bencher.bench(|| Request::decode(request.rpc(), &frame[REQUEST_HEADER_BYTES..]));
}

/// What a server does with a request besides handling it: the frame is found, decoded, and answered into a buffer that is
/// used again.
#[divan::bench]
fn serve_exist_key(bencher: Bencher) {
    let frame = encode_request(1, &exist_key(), Literal::With);
    let answer = Response::ExistKey(Ok(true));
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        let view = first_frame::<RequestHeader>(&frame, BODY_BYTES_MAX)
            .ok()
            .flatten()?;
        let request = decode_request(&view.header, view.body).ok()?;
        encode_response_into(&mut out, view.header.sequence, &answer, Literal::With);
        Some(request)
    });
}

#[divan::bench]
fn encode_batch_get_replica_list_128(bencher: Bencher) {
    let response = batch_get_replica_list();
    let length = encode_response(1, &response, Literal::With).len();
    bencher
        .counter(BytesCount::new(length))
        .bench(|| encode_response(1, &response, Literal::With));
}

#[divan::bench]
fn decode_batch_get_replica_list_128(bencher: Bencher) {
    let response = batch_get_replica_list();
    let frame = encode_response(1, &response, Literal::With);
    bencher
        .counter(BytesCount::new(frame.len()))
        .bench(|| Response::decode(response.rpc(), &frame[RESPONSE_HEADER_BYTES..]));
}
