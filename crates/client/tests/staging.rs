//! Staging memory and short buffers: who asks for how much, when, and what a refusal does. Mirrors the allocations of
//! `real_client.cpp`.

use moonquake_client::{
    BatchGet, BatchPut, ByteRange, Call, ClientConfig, Get, GetSession, Happened, Move, Moved, NearMemory,
    Operation, Outcome, Put, PutKind, PutSession, PutWrite, RangedGet, ReadSession, Want,
};
use moonquake_clock::{Clocks, Span};
use moonquake_protocol::{
    BufferDescriptor, DescriptorVariant, ErrorCode, GetReplicaListResponse, MemoryDescriptor,
    ReplicaDescriptor, ReplicaStatus, ReplicateConfig, Request, Response, Uuid,
};

const OBJECT: u64 = 64;

fn now() -> Clocks {
    Clocks::default()
}

fn config() -> ClientConfig {
    ClientConfig::new(Uuid::new(1, 1))
}

fn replica(id: u64, size: u64) -> ReplicaDescriptor {
    let buffer = BufferDescriptor {
        size,
        buffer_address: id,
        transport_endpoint: "n1".into(),
        ..Default::default()
    };
    ReplicaDescriptor {
        id,
        descriptor: DescriptorVariant::Memory(MemoryDescriptor { buffer }),
        status: ReplicaStatus::Complete,
    }
}

fn found(id: u64, size: u64) -> GetReplicaListResponse {
    GetReplicaListResponse {
        replicas: vec![replica(id, size)],
        lease_ttl_ms: 1_000,
        object_checksum: None,
    }
}

fn answered(response: Response) -> Happened {
    Happened::Answered(Ok(response))
}

fn bytes(bytes: u64) -> NearMemory {
    NearMemory::Caller { bytes: Some(bytes) }
}

fn call(want: Want) -> Call {
    match want {
        Want::Call(call) => call,
        other => panic!("expected a call, got {other:?}"),
    }
}

fn moves(want: Want) -> Vec<Move> {
    match want {
        Want::Move(only) => vec![only],
        Want::Moves(moves) | Want::Sequence { moves, .. } => moves,
        other => panic!("expected transfers, got {other:?}"),
    }
}

fn asks(want: &Want, wanted: &[u64], of_all: bool) {
    assert!(
        matches!(want, Want::Stage { blocks, all } if blocks == wanted && *all == of_all),
        "{want:?}"
    );
}

fn invalid() -> Outcome {
    Outcome::Error(ErrorCode::InvalidParams)
}

fn keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

fn put(kind: PutKind) -> Put {
    Put::new(config(), kind, "k".into(), OBJECT, ReplicateConfig::default()).out_of(NearMemory::Staging)
}

#[test]
fn a_staged_put_has_its_block_before_the_master_hears_of_it() {
    for kind in [PutKind::Put, PutKind::Upsert] {
        let mut put = put(kind);
        asks(&put.begin(now()), &[OBJECT], true);
        let start = call(put.next(now(), Happened::Staged(vec![true]))).request;
        assert!(matches!(
            start,
            Request::PutStart { .. } | Request::UpsertStart { .. }
        ));
    }
}

#[test]
fn a_staged_put_without_room_fails_and_asks_nothing() {
    for kind in [PutKind::Put, PutKind::Upsert] {
        let mut put = put(kind);
        put.begin(now());
        assert_eq!(
            put.next(now(), Happened::Staged(vec![false])),
            Want::Done(invalid())
        );
    }
}

#[test]
fn a_put_out_of_a_buffer_takes_no_block() {
    let mut put = put(PutKind::Put).out_of(bytes(OBJECT));
    call(put.begin(now()));
}

#[test]
fn a_staged_get_takes_its_block_once_it_knows_the_size() {
    let mut get = Get::new(config(), "k".into()).into(NearMemory::Staging);
    call(get.begin(now()));
    let query = answered(Response::GetReplicaList(Ok(found(1, OBJECT))));
    asks(&get.next(now(), query.clone()), &[OBJECT], true);
    let mut without_room = get.clone();
    assert_eq!(
        moves(get.next(now(), Happened::Staged(vec![true])))[0].size,
        OBJECT
    );
    assert_eq!(
        without_room.next(now(), Happened::Staged(vec![false])),
        Want::Done(invalid())
    );
}

/// Mirrors `real_client.cpp:execute_ranged_read` of `get_into`.
#[test]
fn a_get_into_a_buffer_that_is_a_byte_too_short_is_refused() {
    let mut told = Vec::new();
    for size in [OBJECT - 1, OBJECT, OBJECT + 1] {
        let mut get = Get::new(config(), "k".into()).into(bytes(size));
        call(get.begin(now()));
        let query = answered(Response::GetReplicaList(Ok(found(1, OBJECT))));
        told.push(match get.next(now(), query) {
            Want::Done(outcome) => outcome,
            want => {
                assert_eq!(moves(want)[0].size, OBJECT);
                Outcome::Ok
            }
        });
    }
    assert_eq!(told, [invalid(), Outcome::Ok, Outcome::Ok]);
}

fn batch_put(of: &[&str]) -> BatchPut {
    let replicate = ReplicateConfig::default();
    BatchPut::new(config(), PutKind::Put, keys(of), OBJECT, replicate)
}

fn granted(count: u64) -> Happened {
    let granted = (1..=count).map(|id| Ok(vec![replica(id, OBJECT)])).collect();
    answered(Response::BatchPutStart(granted))
}

#[test]
fn each_key_of_a_staged_batch_has_a_block_of_its_own_and_a_key_named_twice_the_first_value() {
    let mut batch = batch_put(&["a", "b", "a"]).out_of(NearMemory::Staging);
    asks(&batch.begin(now()), &[OBJECT; 3], true);
    call(batch.next(now(), Happened::Staged(vec![true; 3])));
    let places: Vec<u64> = moves(batch.next(now(), granted(3)))
        .iter()
        .map(|one| one.at)
        .collect();
    assert_eq!(places, [0, OBJECT, 0]);
}

#[test]
fn a_batch_out_of_one_buffer_has_one_value() {
    let mut batch = batch_put(&["a", "b"]).out_of(NearMemory::CALLER);
    call(batch.begin(now()));
    let places: Vec<u64> = moves(batch.next(now(), granted(2)))
        .iter()
        .map(|one| one.at)
        .collect();
    assert_eq!(places, [0, 0]);
}

#[test]
fn a_staged_batch_without_room_for_all_fails_as_a_whole() {
    let mut batch = batch_put(&["a", "b"]).out_of(NearMemory::Staging);
    batch.begin(now());
    assert_eq!(
        batch.next(now(), Happened::Staged(vec![false, false])),
        Want::Done(Outcome::Batch(vec![invalid(), invalid()]))
    );
}

/// A batch read of objects of 64, 128 and 32 bytes, with what it wants after the query.
fn batch_get(memory: NearMemory) -> (BatchGet, Want) {
    let mut batch = BatchGet::new(config(), keys(&["a", "b", "c"]), false).into(memory);
    call(batch.begin(now()));
    let answers = vec![Ok(found(1, 64)), Ok(found(2, 128)), Ok(found(3, 32))];
    let want = batch.next(now(), answered(Response::BatchGetReplicaList(answers)));
    (batch, want)
}

fn landed() -> Moved {
    Moved {
        result: Ok(()),
        at: now(),
    }
}

#[test]
fn a_key_of_a_batch_read_that_finds_no_room_fails_alone() {
    let (mut staged, want) = batch_get(NearMemory::Staging);
    asks(&want, &[64, 128, 32], false);
    let want = staged.next(now(), Happened::Staged(vec![true, false, true]));
    assert_eq!(
        places(want),
        [(0, 64), (64, 32)],
        "blocks lie one behind the other"
    );
    assert_eq!(
        staged.next(now(), Happened::MovedAll(vec![landed(), landed()])),
        Want::Done(Outcome::Batch(vec![Outcome::Ok, invalid(), Outcome::Ok]))
    );
}

fn places(want: Want) -> Vec<(u64, u64)> {
    moves(want).iter().map(|one| (one.at, one.size)).collect()
}

/// The caller has given each object its place before it knows that one is refused.
#[test]
fn a_key_that_ends_behind_the_buffer_keeps_its_place() {
    let (mut short, want) = batch_get(bytes(96));
    assert_eq!(places(want), [(0, 64)]);
    assert_eq!(
        short.next(now(), Happened::MovedAll(vec![landed()])),
        Want::Done(Outcome::Batch(vec![Outcome::Ok, invalid(), invalid()]))
    );
}

#[test]
fn a_batch_read_without_any_room_asks_for_no_bytes() {
    let (mut batch, _) = batch_get(NearMemory::Staging);
    assert_eq!(
        batch.next(now(), Happened::Staged(vec![false; 3])),
        Want::Done(Outcome::Batch(vec![invalid(); 3]))
    );
}

fn range(from: u64, size: u64) -> ByteRange {
    ByteRange { from, size }
}

#[test]
fn a_ranged_read_takes_one_block_before_it_asks() {
    let ranges = vec![range(0, 10), range(20, 5)];
    let mut get = RangedGet::new(config(), "k".into(), ranges).into(NearMemory::Staging);
    asks(&get.begin(now()), &[15], true);
    let mut without_room = get.clone();
    call(get.next(now(), Happened::Staged(vec![true])));
    assert_eq!(
        without_room.next(now(), Happened::Staged(vec![false])),
        Want::Done(Outcome::Batch(vec![invalid(), invalid()]))
    );
}

/// Mirrors the check of `transfer_engine.cpp:ScatterTransferOperation::Impl::build`.
#[test]
fn a_range_that_ends_behind_the_buffer_is_refused_and_keeps_its_place() {
    let ranges = vec![range(0, 10), range(20, 6), range(30, 5)];
    let mut get = RangedGet::new(config(), "k".into(), ranges).into(bytes(15));
    call(get.begin(now()));
    call(get.next(now(), answered(Response::GetReplicaList(Ok(found(1, OBJECT))))));
    let renewed = answered(Response::BatchGetReplicaList(vec![Ok(found(1, OBJECT))]));
    let shape: Vec<(u64, u64)> = moves(get.next(now(), renewed))
        .iter()
        .map(|one| (one.from, one.at))
        .collect();
    assert_eq!(
        shape,
        [(0, 0)],
        "the last one would fit in the place of the one before it"
    );
    let told = get.next(now(), Happened::MovedAll(vec![landed()]));
    assert_eq!(
        told,
        Want::Done(Outcome::Batch(vec![Outcome::Ok, invalid(), invalid()]))
    );
}

#[test]
fn a_session_takes_its_block_first_and_fails_without_one() {
    let session = GetSession {
        replica: BufferDescriptor {
            size: OBJECT,
            ..Default::default()
        },
        replica_id: 1,
        sent_at: now(),
        lease: Span::from_secs(1),
    };
    let mut read = ReadSession::new(config(), session, vec![range(0, 8), range(8, 8)]);
    read = read.into(NearMemory::Staging);
    asks(&read.begin(now()), &[16], true);
    let mut without_room = read.clone();
    assert_eq!(moves(read.next(now(), Happened::Staged(vec![true]))).len(), 2);
    assert_eq!(
        without_room.next(now(), Happened::Staged(vec![false])),
        Want::Done(invalid())
    );
    let session = PutSession {
        key: "k".into(),
        granted: vec![replica(1, OBJECT)],
        size_bytes: OBJECT,
    };
    let mut write = PutWrite::new(config(), session, Vec::new()).out_of(NearMemory::Staging);
    asks(&write.begin(now()), &[OBJECT], true);
    let mut without_room = write.clone();
    assert_eq!(moves(write.next(now(), Happened::Staged(vec![true]))).len(), 1);
    assert_eq!(
        without_room.next(now(), Happened::Staged(vec![false])),
        Want::Done(invalid())
    );
}
