//! Ranges of objects, and the slices of a write.

use moonquake_client::{
    ByteRange, Call, ClientConfig, GetSession, Happened, Move, MoveFailure, Moved, Operation, Outcome, Put,
    PutKind, PutSession, PutWrite, RangedGet, ReadSession, RpcFailure, Want,
};
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span};
use moonquake_faults::Quirks;
use moonquake_protocol::{
    BufferDescriptor, DescriptorVariant, ErrorCode, GetReplicaListResponse, MemoryDescriptor,
    ReplicaDescriptor, ReplicaStatus, ReplicateConfig, Request, Response, Uuid,
};

const OBJECT: u64 = 1000;
const BASE: u64 = 1 << 40;
const LEASE_MS: u64 = 1_000;

fn ms(ms: u64) -> Clocks {
    Clocks {
        realtime: RealtimeNs(ms * 1_000_000),
        monotonic: MonotonicNs(ms * 1_000_000),
    }
}

fn upstream() -> ClientConfig {
    ClientConfig::new(Uuid::new(1, 1))
}

fn buffer() -> BufferDescriptor {
    BufferDescriptor {
        size: OBJECT,
        buffer_address: BASE,
        transport_endpoint: "n1".into(),
        ..Default::default()
    }
}

fn replica(id: u64, status: ReplicaStatus) -> ReplicaDescriptor {
    ReplicaDescriptor {
        id,
        descriptor: DescriptorVariant::Memory(MemoryDescriptor { buffer: buffer() }),
        status,
    }
}

fn range(from: u64, size: u64) -> ByteRange {
    ByteRange { from, size }
}

fn call(want: Want) -> Call {
    match want {
        Want::Call(call) => call,
        other => panic!("expected a call, got {other:?}"),
    }
}

fn sequence(want: Want) -> (Vec<Move>, Option<Span>) {
    match want {
        Want::Sequence { moves, look_after } => (moves, look_after),
        other => panic!("expected transfers, got {other:?}"),
    }
}

fn slices(want: Want) -> Vec<Move> {
    match want {
        Want::Moves(moves) => moves,
        other => panic!("expected slices, got {other:?}"),
    }
}

fn error(code: ErrorCode) -> Outcome {
    Outcome::Error(code)
}

fn found(lease_ms: u64) -> GetReplicaListResponse {
    GetReplicaListResponse {
        replicas: vec![replica(1, ReplicaStatus::Complete)],
        lease_ttl_ms: lease_ms,
        object_checksum: None,
    }
}

fn queried(lease_ms: u64) -> Happened {
    Happened::Answered(Ok(Response::GetReplicaList(Ok(found(lease_ms)))))
}

fn renewed(result: Result<u64, ErrorCode>) -> Happened {
    Happened::Answered(Ok(Response::BatchGetReplicaList(vec![result.map(found)])))
}

fn landed(at_ms: u64) -> Moved {
    Moved {
        result: Ok(()),
        at: ms(at_ms),
    }
}

fn closed(at_ms: u64) -> Moved {
    Moved {
        result: Err(MoveFailure::Closed),
        at: ms(at_ms),
    }
}

/// A ranged get that has been told a lease at 0 and again at 1 ms, and has submitted its transfers.
fn reading(ranges: &[ByteRange]) -> (RangedGet, Vec<Move>, Option<Span>) {
    let mut get = RangedGet::new(upstream(), "k".into(), ranges.to_vec());
    assert!(matches!(
        call(get.begin(ms(0))).request,
        Request::GetReplicaList { .. }
    ));
    let renewal = call(get.next(ms(1), queried(LEASE_MS)));
    assert!(matches!(&renewal.request, Request::BatchGetReplicaList { keys, .. } if keys == &["k"]));
    let (moves, look_after) = sequence(get.next(ms(1), renewed(Ok(LEASE_MS))));
    (get, moves, look_after)
}

fn results(want: Want) -> Vec<Outcome> {
    match want {
        Want::Done(Outcome::Batch(results)) => results,
        other => panic!("expected results, got {other:?}"),
    }
}

#[test]
fn ranges_move_one_after_the_other_and_lie_side_by_side_in_the_buffer() {
    let (get, moves, _) = reading(&[range(100, 10), range(0, 20), range(990, 10)]);
    let shape: Vec<(u64, u64, u64)> = moves.iter().map(|one| (one.from, one.size, one.at)).collect();
    assert_eq!(shape, [(100, 10, 0), (0, 20, 10), (990, 10, 30)]);
    assert!(
        moves
            .iter()
            .all(|one| !one.write && !one.limited && one.replica.buffer_address == BASE)
    );
    let places: Vec<u64> = get.places().into_iter().flatten().map(|place| place.at).collect();
    assert_eq!(places, [0, 10, 30]);
}

#[test]
fn a_range_beyond_the_object_fails_alone() {
    let ranges = [
        range(0, 10),
        range(995, 10),
        range(u64::MAX, 10),
        range(990, 10),
        range(1000, 0),
    ];
    let (mut get, moves, _) = reading(&ranges);
    let shape: Vec<(u64, u64)> = moves.iter().map(|one| (one.from, one.at)).collect();
    assert_eq!(
        shape,
        [(0, 0), (990, 30)],
        "nothing of it moves, and its place stays empty"
    );
    let told = results(get.next(ms(2), Happened::MovedAll(vec![landed(2), closed(2)])));
    let (bad, failed) = (error(ErrorCode::InvalidParams), error(ErrorCode::TransferFail));
    assert_eq!(told, [Outcome::Ok, bad.clone(), bad, failed, Outcome::Ok]);
}

#[test]
fn the_lease_is_renewed_when_half_of_it_is_over() {
    let (mut get, _, look_after) = reading(&[range(0, 10), range(10, 10)]);
    assert_eq!(look_after, Some(Span::from_ms(LEASE_MS / 2)));
    let renewal = call(get.next(ms(501), Happened::Waited));
    assert!(matches!(renewal.request, Request::BatchGetReplicaList { .. }));
    // The answer took 100 ms; the lease counts from the question.
    let want = get.next(ms(601), renewed(Ok(LEASE_MS)));
    assert_eq!(want, Want::Await(Some(Span::from_ms(450))));
    // Without the renewal the second range would be late.
    let told = results(get.next(ms(1400), Happened::MovedAll(vec![landed(400), landed(1400)])));
    assert_eq!(told, [Outcome::Ok, Outcome::Ok]);
}

#[test]
fn a_range_that_ends_with_the_lease_is_late() {
    for (end, wanted) in [(1000, Outcome::Ok), (1001, error(ErrorCode::LeaseExpired))] {
        let (mut get, ..) = reading(&[range(0, 10)]);
        let told = results(get.next(ms(end), Happened::MovedAll(vec![landed(end)])));
        assert_eq!(told, [wanted], "at {end} ms");
    }
}

#[test]
fn what_lands_after_a_renewal_that_failed_is_told_its_code() {
    let (mut get, ..) = reading(&[range(0, 10), range(10, 10), range(20, 10)]);
    call(get.next(ms(501), Happened::Waited));
    let want = get.next(ms(600), renewed(Err(ErrorCode::ObjectNotFound)));
    assert_eq!(want, Want::Await(None), "nothing is asked again");
    // The second one lands while the question is under way, so it is looked at after the answer.
    let moved = vec![landed(500), landed(550), landed(700)];
    let told = results(get.next(ms(700), Happened::MovedAll(moved)));
    let gone = error(ErrorCode::ObjectNotFound);
    assert_eq!(told, [Outcome::Ok, gone.clone(), gone]);
}

#[test]
fn a_renewal_without_an_answer_is_told_as_such() {
    let (mut get, ..) = reading(&[range(0, 10)]);
    call(get.next(ms(501), Happened::Waited));
    get.next(ms(600), Happened::Answered(Err(RpcFailure::Timeout)));
    let told = results(get.next(ms(700), Happened::MovedAll(vec![landed(700)])));
    assert_eq!(told, [error(ErrorCode::RpcTimeout)]);
}

/// A read of the same two ranges of `a` and `b`, with its query of `a` under way.
fn of_two_keys() -> RangedGet {
    let keys = vec!["a".to_owned(), "b".to_owned()];
    let mut get = RangedGet::of_each(upstream(), keys, &[range(0, 10), range(990, 20)]);
    assert!(matches!(call(get.begin(ms(0))).request, Request::GetReplicaList { key, .. } if key == "a"));
    get
}

fn refused(code: ErrorCode) -> Happened {
    Happened::Answered(Ok(Response::GetReplicaList(Err(code))))
}

#[test]
fn each_key_is_asked_for_and_all_leases_are_renewed_in_one_call() {
    let mut get = of_two_keys();
    let second = call(get.next(ms(1), queried(LEASE_MS)));
    assert!(matches!(second.request, Request::GetReplicaList { key, .. } if key == "b"));
    let renewal = call(get.next(ms(2), queried(LEASE_MS)));
    assert!(matches!(renewal.request, Request::BatchGetReplicaList { keys, .. } if keys == ["a", "b"]));
    let answers = Response::BatchGetReplicaList(vec![Ok(found(LEASE_MS)), Ok(found(LEASE_MS / 2))]);
    let (moves, look_after) = sequence(get.next(ms(2), Happened::Answered(Ok(answers))));
    let shape: Vec<(u64, u64)> = moves.iter().map(|one| (one.from, one.at)).collect();
    assert_eq!(
        shape,
        [(0, 0), (0, 30)],
        "behind the place of the range that was refused"
    );
    assert_eq!(
        look_after,
        Some(Span::from_ms(LEASE_MS / 4)),
        "the shortest counts"
    );
    let told = results(get.next(ms(3), Happened::MovedAll(vec![landed(3), landed(3)])));
    let bad = error(ErrorCode::InvalidParams);
    assert_eq!(told, [Outcome::Ok, bad.clone(), Outcome::Ok, bad]);
}

#[test]
fn a_key_that_cannot_be_read_fails_its_own_ranges_alone() {
    let mut get = of_two_keys();
    call(get.next(ms(1), refused(ErrorCode::ObjectNotFound)));
    let renewal = call(get.next(ms(2), queried(LEASE_MS)));
    assert!(matches!(renewal.request, Request::BatchGetReplicaList { keys, .. } if keys == ["b"]));
    let (moves, _) = sequence(get.next(ms(2), renewed(Ok(LEASE_MS))));
    assert_eq!((moves.len(), moves[0].at), (1, 30), "each key has its place");
    let told = results(get.next(ms(3), Happened::MovedAll(vec![landed(3)])));
    let gone = error(ErrorCode::ObjectNotFound);
    assert_eq!(
        told,
        [gone.clone(), gone, Outcome::Ok, error(ErrorCode::InvalidParams)]
    );
}

#[test]
fn without_a_key_that_can_be_read_nothing_is_renewed() {
    let mut get = of_two_keys();
    call(get.next(ms(1), Happened::Answered(Err(RpcFailure::Timeout))));
    let told = results(get.next(ms(2), refused(ErrorCode::ReplicaIsNotReady)));
    let (late, open) = (error(ErrorCode::RpcTimeout), error(ErrorCode::ReplicaIsNotReady));
    assert_eq!(told, [late.clone(), late, open.clone(), open]);
}

#[test]
fn a_renewal_that_fails_for_one_key_leaves_the_other_its_lease() {
    let mut get = of_two_keys();
    call(get.next(ms(1), queried(LEASE_MS)));
    call(get.next(ms(2), queried(LEASE_MS)));
    let answers = vec![Err(ErrorCode::ObjectNotFound), Ok(found(LEASE_MS))];
    let answers = Response::BatchGetReplicaList(answers);
    let (moves, _) = sequence(get.next(ms(2), Happened::Answered(Ok(answers))));
    assert_eq!(moves.len(), 2, "its bytes are read all the same");
    let again = call(get.next(ms(502), Happened::Waited));
    assert!(matches!(again.request, Request::BatchGetReplicaList { keys, .. } if keys == ["b"]));
    assert_eq!(
        get.next(ms(502), renewed(Ok(LEASE_MS))),
        Want::Await(Some(Span::from_ms(LEASE_MS / 2)))
    );
    let told = results(get.next(ms(1_400), Happened::MovedAll(vec![landed(3), landed(1_400)])));
    let (gone, bad) = (error(ErrorCode::ObjectNotFound), error(ErrorCode::InvalidParams));
    assert_eq!(told, [gone.clone(), gone, Outcome::Ok, bad]);
}

#[test]
fn a_key_that_is_named_twice_is_asked_for_once() {
    let keys = vec!["a".to_owned(), "a".to_owned()];
    let mut get = RangedGet::of_each(upstream(), keys, &[range(0, 10)]);
    call(get.begin(ms(0)));
    let renewal = call(get.next(ms(1), queried(LEASE_MS)));
    assert!(matches!(renewal.request, Request::BatchGetReplicaList { keys, .. } if keys == ["a"]));
    let (moves, _) = sequence(get.next(ms(1), renewed(Ok(LEASE_MS))));
    let places: Vec<u64> = moves.iter().map(|one| one.at).collect();
    assert_eq!(places, [0, 10]);
}

/// A range of no bytes has its result when the others are submitted.
#[test]
fn a_range_of_no_bytes_outlives_a_lease_that_ends_while_the_others_move() {
    let (mut get, ..) = reading(&[range(0, 0), range(0, 10)]);
    let told = results(get.next(ms(5_000), Happened::MovedAll(vec![landed(5_000)])));
    assert_eq!(told, [Outcome::Ok, error(ErrorCode::LeaseExpired)]);
}

fn session(lease_ms: u64) -> GetSession {
    GetSession {
        replica: buffer(),
        replica_id: 1,
        sent_at: ms(0),
        lease: Span::from_ms(lease_ms),
    }
}

#[test]
fn one_range_beyond_the_object_fails_the_whole_read_of_a_session() {
    let ranges = vec![range(0, 10), range(995, 10)];
    let mut read = ReadSession::new(upstream(), session(LEASE_MS), ranges);
    assert_eq!(read.begin(ms(1)), Want::Done(error(ErrorCode::InvalidParams)));
}

#[test]
fn a_session_looks_at_its_lease_after_the_last_range() {
    for (end, wanted) in [(999, Outcome::Ok), (1000, error(ErrorCode::LeaseExpired))] {
        let ranges = vec![range(0, 10), range(500, 10)];
        let mut read = ReadSession::new(upstream(), session(LEASE_MS), ranges);
        let (moves, look_after) = sequence(read.begin(ms(1)));
        assert_eq!((moves.len(), look_after), (2, None));
        let moved = Happened::MovedAll(vec![landed(2), landed(end)]);
        assert_eq!(read.next(ms(end), moved), Want::Done(wanted), "at {end} ms");
    }
}

#[test]
fn a_put_session_writes_its_ranges_to_every_replica() {
    let granted = PutSession {
        key: "k".into(),
        granted: vec![
            replica(1, ReplicaStatus::Processing),
            replica(2, ReplicaStatus::Processing),
        ],
        size_bytes: OBJECT,
    };
    let ranges = vec![range(900, 100), range(0, 50)];
    let mut write = PutWrite::new(upstream(), granted.clone(), ranges);
    let (moves, _) = sequence(write.begin(ms(0)));
    let shape: Vec<(u64, u64, u64)> = moves
        .iter()
        .map(|one| (one.replica_id, one.from, one.at))
        .collect();
    assert_eq!(shape, [(1, 900, 0), (1, 0, 100), (2, 900, 0), (2, 0, 100)]);
    let moved = vec![landed(1), closed(1), landed(1), landed(1)];
    assert_eq!(
        write.next(ms(1), Happened::MovedAll(moved)),
        Want::Done(error(ErrorCode::TransferFail))
    );
    let mut beyond = PutWrite::new(upstream(), granted, vec![range(0, 10), range(1, OBJECT)]);
    assert_eq!(beyond.begin(ms(0)), Want::Done(error(ErrorCode::InvalidParams)));
}

fn put(quirks: Quirks, slice_bytes: u64) -> Put {
    let config = ClientConfig {
        slice_bytes,
        quirks,
        ..upstream()
    };
    let mut put = Put::new(
        config,
        PutKind::Put,
        "k".into(),
        OBJECT,
        ReplicateConfig::default(),
    );
    put.begin(ms(0));
    put
}

fn granted() -> Happened {
    let granted = vec![replica(1, ReplicaStatus::Processing)];
    Happened::Answered(Ok(Response::PutStart(Ok(granted))))
}

#[test]
fn a_write_is_cut_into_slices_and_one_of_exactly_a_slice_is_not() {
    let mut whole = put(Quirks::all(), OBJECT);
    assert!(matches!(whole.next(ms(0), granted()), Want::Move(one) if one.size == OBJECT));
    let mut cut = put(Quirks::all(), OBJECT - 1);
    let shape = |moves: Vec<Move>| -> Vec<(u64, u64, u64)> {
        moves.iter().map(|one| (one.from, one.size, one.at)).collect()
    };
    assert_eq!(
        shape(slices(cut.next(ms(0), granted()))),
        [(0, 999, 0), (999, 1, 999)]
    );
    let mut three = put(Quirks::all(), 400);
    assert_eq!(
        shape(slices(three.next(ms(0), granted()))),
        [(0, 400, 0), (400, 400, 400), (800, 200, 800)]
    );
}

#[test]
fn one_slice_that_failed_revokes_the_put_and_one_that_still_runs_is_fenced_first() {
    let given_up = Moved {
        result: Err(MoveFailure::Limit),
        at: ms(60_000),
    };
    let ends = |quirks: Quirks, last: Moved| {
        let mut put = put(quirks, 500);
        slices(put.next(ms(0), granted()));
        put.next(ms(60_000), Happened::MovedAll(vec![landed(1), last]))
    };
    let revokes =
        |want: &Want| matches!(want, Want::Call(call) if matches!(call.request, Request::PutRevoke { .. }));
    assert!(revokes(&ends(Quirks::all(), closed(2))));
    assert!(revokes(&ends(Quirks::none(), closed(2))));
    assert!(
        revokes(&ends(Quirks::all(), given_up)),
        "upstream lets the slice run"
    );
    assert!(matches!(ends(Quirks::none(), given_up), Want::FenceThen(then) if revokes(&then)));
}

#[test]
fn ranges_of_an_owner_that_cannot_be_met_are_bad_arguments() {
    let unopened = Moved {
        result: Err(MoveFailure::Unopened),
        at: ms(1),
    };
    let invalid = error(ErrorCode::InvalidParams);
    let (mut get, ..) = reading(&[range(0, 10), range(10, 0)]);
    let told = results(get.next(ms(1), Happened::MovedAll(vec![unopened])));
    assert_eq!(told, [invalid.clone(), Outcome::Ok]);
    let mut read = ReadSession::new(upstream(), session(LEASE_MS), vec![range(0, 10), range(10, 10)]);
    sequence(read.begin(ms(1)));
    let told = read.next(ms(1), Happened::MovedAll(vec![closed(1), unopened]));
    assert_eq!(told, Want::Done(invalid), "it was known before anything moved");
}
