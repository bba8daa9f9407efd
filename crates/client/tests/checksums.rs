//! Checksums of objects: given by a writer before it asks for anything, compared by a reader of a whole object.

use moonquake_client::{
    BatchGet, BatchPut, BufferPart, ClientConfig, Get, Happened, MoveFailure, Moved, NearMemory, Operation,
    Outcome, Put, PutKind, Want,
};
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs};
use moonquake_protocol::{
    BufferDescriptor, DescriptorVariant, ErrorCode, GetReplicaListResponse, MemoryDescriptor,
    ReplicaDescriptor, ReplicaStatus, ReplicateConfig, Request, Response, Uuid,
};

const SIZE: u64 = 64;
const LEASE_MS: u64 = 1_000;

fn at(ms: u64) -> Clocks {
    Clocks {
        realtime: RealtimeNs(ms * 1_000_000),
        monotonic: MonotonicNs(ms * 1_000_000),
    }
}

fn config() -> ClientConfig {
    ClientConfig {
        checksums: true,
        ..ClientConfig::new(Uuid::new(1, 1))
    }
}

fn replica() -> ReplicaDescriptor {
    let buffer = BufferDescriptor {
        size: SIZE,
        buffer_address: 1,
        transport_endpoint: "n1".into(),
        ..Default::default()
    };
    ReplicaDescriptor {
        id: 1,
        descriptor: DescriptorVariant::Memory(MemoryDescriptor { buffer }),
        status: ReplicaStatus::Complete,
    }
}

fn found(object_checksum: Option<u64>) -> GetReplicaListResponse {
    GetReplicaListResponse {
        replicas: vec![replica()],
        lease_ttl_ms: LEASE_MS,
        object_checksum,
    }
}

fn part(index: u64) -> BufferPart {
    BufferPart {
        at: index * SIZE,
        size: SIZE,
    }
}

fn request(want: Want) -> Request {
    match want {
        Want::Call(call) => call.request,
        other => panic!("expected a call, got {other:?}"),
    }
}

fn landed(ms: u64) -> Moved {
    Moved {
        result: Ok(()),
        at: at(ms),
    }
}

/// A get of an object with that checksum whose bytes have landed.
fn read(config: ClientConfig, checksum: Option<u64>, landed_ms: u64) -> (Get, Want) {
    let mut get = Get::new(config, "k".into());
    request(get.begin(at(0)));
    let answer = Response::GetReplicaList(Ok(found(checksum)));
    assert!(matches!(
        get.next(at(0), Happened::Answered(Ok(answer))),
        Want::Move(_)
    ));
    let want = get.next(at(landed_ms), Happened::Moved(Ok(())));
    (get, want)
}

#[test]
fn a_put_takes_its_checksum_first_and_tells_it_at_the_end() {
    let wishes = ReplicateConfig::default();
    let mut put = Put::new(config(), PutKind::Put, "k".into(), SIZE, wishes).out_of(NearMemory::Staging);
    assert!(matches!(put.begin(at(0)), Want::Stage { .. }));
    assert_eq!(
        put.next(at(0), Happened::Staged(vec![true])),
        Want::Sum(vec![part(0)])
    );
    let start = request(put.next(at(0), Happened::Summed(vec![7])));
    assert!(matches!(start, Request::PutStart { .. }));
    let granted = Response::PutStart(Ok(vec![replica()]));
    assert!(matches!(
        put.next(at(0), Happened::Answered(Ok(granted))),
        Want::Move(_)
    ));
    let end = request(put.next(at(0), Happened::Moved(Ok(()))));
    assert!(matches!(end, Request::PutEnd { object_meta, .. } if object_meta.object_checksum == Some(7)));
}

#[test]
fn each_value_of_a_batch_has_its_own() {
    let keys = vec!["a".to_owned(), "b".to_owned()];
    let mut put = BatchPut::new(config(), PutKind::Put, keys, SIZE, ReplicateConfig::default())
        .out_of(NearMemory::Staging);
    put.begin(at(0));
    assert_eq!(
        put.next(at(0), Happened::Staged(vec![true, true])),
        Want::Sum(vec![part(0), part(1)])
    );
    request(put.next(at(0), Happened::Summed(vec![7, 8])));
    let answers = Response::BatchPutStart(vec![Err(ErrorCode::NoAvailableHandle), Ok(vec![replica()])]);
    put.next(at(0), Happened::Answered(Ok(answers)));
    let end = request(put.next(at(0), Happened::MovedAll(vec![landed(0)])));
    let Request::BatchPutEnd { object_metas, .. } = end else {
        panic!("no end")
    };
    let told: Vec<(&str, Option<u64>)> = object_metas
        .iter()
        .map(|meta| (meta.key.as_str(), meta.object_checksum))
        .collect();
    assert_eq!(told, [("b", Some(8))]);
}

#[test]
fn a_get_compares_what_has_landed_before_it_looks_at_its_lease() {
    for (sum, landed_ms, wanted) in [
        (9, 5, Outcome::Ok),
        (8, 5, Outcome::Error(ErrorCode::ChecksumMismatch)),
        (9, LEASE_MS + 1, Outcome::Error(ErrorCode::LeaseExpired)),
        (8, LEASE_MS + 1, Outcome::Error(ErrorCode::ChecksumMismatch)),
    ] {
        let (mut get, want) = read(config(), Some(9), landed_ms);
        assert_eq!(want, Want::Sum(vec![part(0)]));
        let told = get.next(at(landed_ms), Happened::Summed(vec![sum]));
        assert_eq!(told, Want::Done(wanted), "{sum} after {landed_ms} ms");
    }
}

#[test]
fn nothing_is_compared_without_a_checksum_or_where_none_are_asked_for() {
    let off = ClientConfig::new(Uuid::new(1, 1));
    assert_eq!(read(config(), None, 5).1, Want::Done(Outcome::Ok));
    assert_eq!(read(off.clone(), Some(9), 5).1, Want::Done(Outcome::Ok));
    let mut put = Put::new(off, PutKind::Put, "k".into(), SIZE, ReplicateConfig::default());
    assert!(matches!(request(put.begin(at(0))), Request::PutStart { .. }));
}

#[test]
fn each_entry_of_a_batch_is_compared_by_itself() {
    let keys = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let mut get = BatchGet::new(config(), keys, false);
    get.begin(at(0));
    let answers = [Some(1), None, Some(3), Some(4)].map(|checksum| Ok(found(checksum)));
    let answers = Response::BatchGetReplicaList(answers.to_vec());
    get.next(at(0), Happened::Answered(Ok(answers)));
    let failed = Moved {
        result: Err(MoveFailure::Closed),
        at: at(1),
    };
    let want = get.next(
        at(1),
        Happened::MovedAll(vec![landed(1), landed(1), failed, landed(1)]),
    );
    assert_eq!(
        want,
        Want::Sum(vec![part(0), part(3)]),
        "of what came and has one"
    );
    let told = get.next(at(1), Happened::Summed(vec![0, 4]));
    let error = Outcome::Error;
    let wanted = [
        error(ErrorCode::ChecksumMismatch),
        Outcome::Ok,
        error(ErrorCode::TransferFail),
        Outcome::Ok,
    ];
    assert_eq!(told, Want::Done(Outcome::Batch(wanted.to_vec())));
}
