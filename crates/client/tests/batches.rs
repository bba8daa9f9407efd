//! The client's batch machines, told step by step what happened.

use moonquake_client::{
    BatchGet, BatchPut, ByteRange, Call, ClientConfig, Happened, Move, MoveFailure, Moved, Operation,
    Outcome, PutKind, RpcFailure, Want,
};
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs};
use moonquake_faults::{Quirk, Quirks};
use moonquake_protocol::{
    BufferDescriptor, DescriptorVariant, ErrorCode, GetReplicaListResponse, MemoryDescriptor,
    ReplicaDescriptor, ReplicaStatus, ReplicateConfig, Request, Response, Uuid,
};

const LEASE_MS: u64 = 10_000;

fn at(ms: u64) -> Clocks {
    Clocks {
        realtime: RealtimeNs(ms * 1_000_000),
        monotonic: MonotonicNs(ms * 1_000_000),
    }
}

fn config(quirks: Quirks) -> ClientConfig {
    ClientConfig {
        quirks,
        ..ClientConfig::new(Uuid::new(1, 1))
    }
}

fn replica(id: u64, endpoint: &str) -> ReplicaDescriptor {
    let buffer = BufferDescriptor {
        size: 64,
        buffer_address: id,
        transport_endpoint: endpoint.into(),
        ..Default::default()
    };
    ReplicaDescriptor {
        id,
        descriptor: DescriptorVariant::Memory(MemoryDescriptor { buffer }),
        status: ReplicaStatus::Complete,
    }
}

fn keys(all: &[&str]) -> Vec<String> {
    all.iter().map(|key| (*key).to_owned()).collect()
}

fn call(want: Want) -> Call {
    match want {
        Want::Call(call) => call,
        other => panic!("expected a call, got {other:?}"),
    }
}

fn moves(want: Want) -> Vec<Move> {
    match want {
        Want::Moves(moves) => moves,
        other => panic!("expected transfers, got {other:?}"),
    }
}

fn results(want: Want) -> Vec<String> {
    match want {
        Want::Done(Outcome::Batch(entries)) => entries.iter().map(Outcome::to_string).collect(),
        Want::FenceThen(then) => results(*then),
        other => panic!("expected results, got {other:?}"),
    }
}

fn moved(ends: &[(Result<(), MoveFailure>, u64)]) -> Happened {
    let moved = ends.iter().map(|(result, ms)| Moved {
        result: *result,
        at: at(*ms),
    });
    Happened::MovedAll(moved.collect())
}

fn put(quirks: Quirks, of: &[&str], replicate: ReplicateConfig) -> BatchPut {
    BatchPut::new(config(quirks), PutKind::Put, keys(of), 64, replicate)
}

/// A batch of a (granted, two replicas), b (exists), c (no room) and d (granted).
fn started() -> (BatchPut, Vec<Move>) {
    let mut batch = put(Quirks::all(), &["a", "b", "c", "d"], ReplicateConfig::default());
    let start = call(batch.begin(at(0)));
    assert!(
        matches!(start.request, Request::BatchPutStart { ref slice_lengths, .. } if *slice_lengths == [64; 4])
    );
    let answer = Response::BatchPutStart(vec![
        Ok(vec![replica(1, "n1"), replica(2, "n2")]),
        Err(ErrorCode::ObjectAlreadyExists),
        Err(ErrorCode::NoAvailableHandle),
        Ok(vec![replica(3, "n1")]),
    ]);
    let moves = moves(batch.next(at(0), Happened::Answered(Ok(answer))));
    (batch, moves)
}

#[test]
fn a_batch_put_moves_all_at_once_and_ends_and_revokes_by_key() {
    let (mut batch, moves) = started();
    let addresses: Vec<u64> = moves.iter().map(|wanted| wanted.replica.buffer_address).collect();
    assert_eq!(addresses, [1, 2, 3]);
    let failed = moved(&[(Ok(()), 1), (Err(MoveFailure::Closed), 2), (Ok(()), 3)]);
    let end = call(batch.next(at(3), failed));
    let Request::BatchPutEnd { object_metas, .. } = end.request else {
        panic!("{:?}", end.request)
    };
    assert_eq!(object_metas.len(), 1);
    assert_eq!((object_metas[0].key.as_str(), end.fences), ("d", vec![Some(3)]));
    let ended = Happened::Answered(Ok(Response::BatchPutEnd(vec![Ok(())])));
    let revoke = call(batch.next(at(3), ended));
    assert!(matches!(revoke.request, Request::BatchPutRevoke { ref keys, .. } if *keys == ["a"]));
    // Whatever the revoke answers, the transfer's error stands.
    let revoked = Happened::Answered(Ok(Response::BatchPutRevoke(vec![Err(ErrorCode::IllegalClient)])));
    let told = results(batch.next(at(3), revoked));
    assert_eq!(told, ["TRANSFER_FAIL", "ok", "NO_AVAILABLE_HANDLE", "ok"]);
}

#[test]
fn a_failed_end_gives_its_code_to_its_keys_and_revokes_none() {
    let (mut batch, _) = started();
    call(batch.next(at(3), moved(&[(Ok(()), 1), (Ok(()), 2), (Ok(()), 3)])));
    let told = results(batch.next(at(3), Happened::Answered(Err(RpcFailure::Timeout))));
    assert_eq!(told, ["RPC_TIMEOUT", "ok", "NO_AVAILABLE_HANDLE", "RPC_TIMEOUT"]);
    // An answer of another length is no answer.
    let (mut batch, _) = started();
    call(batch.next(at(3), moved(&[(Ok(()), 1), (Ok(()), 2), (Ok(()), 3)])));
    let short = Happened::Answered(Ok(Response::BatchPutEnd(vec![Ok(())])));
    let told = results(batch.next(at(3), short));
    assert_eq!(told, ["RPC_FAIL", "ok", "NO_AVAILABLE_HANDLE", "RPC_FAIL"]);
}

#[test]
fn a_batch_put_that_prefers_one_node_fails_by_node_and_takes_one_replica() {
    let same_node = ReplicateConfig {
        prefer_alloc_in_same_node: true,
        ..ReplicateConfig::default()
    };
    let mut batch = put(Quirks::all(), &["a", "b", "c"], same_node.clone());
    batch.begin(at(0));
    let answer = Response::BatchPutStart(vec![
        Ok(vec![replica(1, "n1")]),
        Ok(vec![replica(2, "n2")]),
        Ok(vec![replica(3, "n1")]),
    ]);
    moves(batch.next(at(0), Happened::Answered(Ok(answer))));
    let failed = moved(&[(Err(MoveFailure::Closed), 1), (Ok(()), 2), (Ok(()), 3)]);
    call(batch.next(at(3), failed));
    call(batch.next(at(3), Happened::Answered(Ok(Response::BatchPutEnd(vec![Ok(())])))));
    let revoked = Happened::Answered(Ok(Response::BatchPutRevoke(vec![Ok(()), Ok(())])));
    assert_eq!(
        results(batch.next(at(3), revoked)),
        ["TRANSFER_FAIL", "ok", "TRANSFER_FAIL"]
    );
    let two = ReplicateConfig {
        replica_num: 2,
        ..same_node
    };
    let told = results(put(Quirks::all(), &["a", "b"], two).begin(at(0)));
    assert_eq!(told, ["INVALID_PARAMS", "INVALID_PARAMS"]);
}

fn answer(lease_ttl_ms: u64, id: u64) -> Result<GetReplicaListResponse, ErrorCode> {
    Ok(GetReplicaListResponse {
        replicas: vec![replica(id, "n1")],
        lease_ttl_ms,
        object_checksum: None,
    })
}

/// A batch get of a, b (absent) and c, whose transfers ended at 4 s and at exactly 10 s.
fn read(quirks: Quirks, same_node: bool) -> Vec<String> {
    let mut batch = BatchGet::new(config(quirks), keys(&["a", "b", "c"]), same_node);
    call(batch.begin(at(0)));
    let answers = vec![
        answer(LEASE_MS, 1),
        Err(ErrorCode::ObjectNotFound),
        answer(LEASE_MS, 2),
    ];
    let answered = Happened::Answered(Ok(Response::BatchGetReplicaList(answers)));
    let wanted = moves(batch.next(at(1), answered));
    let places: Vec<u64> = wanted.iter().map(|wanted| wanted.at).collect();
    assert_eq!(places, [0, 64]);
    let places: Vec<Option<(u64, ByteRange)>> = batch
        .places()
        .into_iter()
        .map(|place| place.map(|place| (place.at, place.range)))
        .collect();
    let whole = ByteRange { from: 0, size: 64 };
    assert_eq!(places, [Some((0, whole)), None, Some((64, whole))]);
    results(batch.next(at(LEASE_MS), moved(&[(Ok(()), 4_000), (Ok(()), LEASE_MS)])))
}

#[test]
fn the_lease_of_a_batch_read_is_checked_for_each_key_once_or_never() {
    let (good, late) = ("ok", "LEASE_EXPIRED");
    assert_eq!(read(Quirks::none(), false), [good, "OBJECT_NOT_FOUND", late]);
    assert_eq!(read(Quirks::none(), true), [good, "OBJECT_NOT_FOUND", late]);
    let once = Quirks::only(Quirk::BatchLeaseCheckedOnce);
    assert_eq!(read(once, false), [late, "OBJECT_NOT_FOUND", late]);
    let never = Quirks::only(Quirk::GroupedGetSkipsLeaseCheck);
    assert_eq!(read(never.clone(), true), [good, "OBJECT_NOT_FOUND", good]);
    assert_eq!(read(never, false), [good, "OBJECT_NOT_FOUND", late]);
}

#[test]
fn a_query_that_fails_fails_every_key() {
    let mut batch = BatchGet::new(config(Quirks::all()), keys(&["a", "b"]), false);
    batch.begin(at(0));
    let told = results(batch.next(at(0), Happened::Answered(Err(RpcFailure::Failed))));
    assert_eq!(told, ["RPC_FAIL", "RPC_FAIL"]);
}

#[test]
fn only_strict_fences_a_batch_transfer_that_is_given_up() {
    for (quirks, fences) in [(Quirks::all(), false), (Quirks::none(), true)] {
        let mut batch = BatchGet::new(config(quirks), keys(&["a"]), false);
        batch.begin(at(0));
        let answers = Response::BatchGetReplicaList(vec![answer(LEASE_MS, 1)]);
        moves(batch.next(at(0), Happened::Answered(Ok(answers))));
        let want = batch.next(at(0), moved(&[(Err(MoveFailure::Limit), 60_000)]));
        assert_eq!(matches!(want, Want::FenceThen(_)), fences);
        assert_eq!(results(want), ["TRANSFER_FAIL"]);
    }
}

/// Which of the transfers of a batch write to these endpoints are copies within the process of a client at `n1:1`.
fn local(kind: PutKind, endpoints: &[&str]) -> Vec<bool> {
    let config = ClientConfig {
        local_endpoints: vec!["n1:1".to_owned()],
        ..config(Quirks::all())
    };
    let granted: Vec<_> = (1..)
        .zip(endpoints)
        .map(|(id, endpoint)| Ok(vec![replica(id, endpoint)]))
        .collect();
    let mut batch = BatchPut::new(config, kind, keys(endpoints), 64, ReplicateConfig::default());
    batch.begin(at(0));
    let answer = match kind {
        PutKind::Put => Response::BatchPutStart(granted),
        PutKind::Upsert => Response::BatchUpsertStart(granted),
    };
    let moves = moves(batch.next(at(0), Happened::Answered(Ok(answer))));
    moves.iter().map(|wanted| wanted.local).collect()
}

/// Mirrors BatchWriteStagesActualNonLocalAllocation of `client_integration_test.cpp`: where the master placed a replica decides,
/// not where the client wanted it.
#[test]
fn a_batch_write_copies_at_home_what_lies_there_and_sends_the_rest() {
    for kind in [PutKind::Put, PutKind::Upsert] {
        assert_eq!(local(kind, &["n1:1", "n2:1", "n1:1"]), [true, false, true]);
    }
}

/// Mirrors IsSameProcessEndpoint and CanUseLocalMemcpyRequiresSameProcessEndpoint of `transfer_task_test.cpp`.
#[test]
fn only_the_very_same_endpoint_is_this_process() {
    let others = ["n1:2", "n2:1", "n1", ""];
    assert_eq!(local(PutKind::Put, &others), [false; 4]);
    let nowhere = ClientConfig {
        local_endpoints: vec![String::new()],
        ..config(Quirks::all())
    };
    let mut batch = BatchPut::new(
        nowhere,
        PutKind::Put,
        keys(&["k"]),
        64,
        ReplicateConfig::default(),
    );
    batch.begin(at(0));
    let granted = Response::BatchPutStart(vec![Ok(vec![replica(1, "")])]);
    assert!(!moves(batch.next(at(0), Happened::Answered(Ok(granted))))[0].local);
}
