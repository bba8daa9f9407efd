//! The client's machines, told step by step what happened.

use moonquake_client::{
    Call, ClientConfig, Get, GetSession, Happened, MoveFailure, Operation, Outcome, Put, PutKind,
    ReadSession, RpcFailure, Single, Want,
};
use moonquake_clock::{Clocks, Compare, DeadlineId, MonotonicNs, RealtimeNs, Rule, Span};
use moonquake_faults::{PhaseId, Quirks};
use moonquake_protocol::{
    BufferDescriptor, DescriptorVariant, ErrorCode, GetReplicaListResponse, MemoryDescriptor,
    ReplicaDescriptor, ReplicaStatus, ReplicateConfig, Request, Response, Uuid,
};

fn at(ns: u64) -> Clocks {
    Clocks {
        realtime: RealtimeNs(ns),
        monotonic: MonotonicNs(ns),
    }
}

fn replica(id: u64, endpoint: &str, status: ReplicaStatus) -> ReplicaDescriptor {
    let buffer = BufferDescriptor {
        size: 64,
        buffer_address: id,
        transport_endpoint: endpoint.into(),
        ..Default::default()
    };
    ReplicaDescriptor {
        id,
        descriptor: DescriptorVariant::Memory(MemoryDescriptor { buffer }),
        status,
    }
}

fn strict() -> ClientConfig {
    ClientConfig {
        quirks: Quirks::none(),
        ..ClientConfig::new(Uuid::new(1, 1))
    }
}

fn upstream() -> ClientConfig {
    ClientConfig::new(Uuid::new(1, 1))
}

fn put(config: ClientConfig) -> Put {
    Put::new(config, PutKind::Put, "k".into(), 64, ReplicateConfig::default())
}

fn granted(count: u64) -> Happened {
    let replicas = (1..=count)
        .map(|id| replica(id, "n1", ReplicaStatus::Processing))
        .collect();
    Happened::Answered(Ok(Response::PutStart(Ok(replicas))))
}

fn call(want: Want) -> Call {
    match want {
        Want::Call(call) => call,
        other => panic!("expected a call, got {other:?}"),
    }
}

#[test]
fn a_put_starts_writes_every_replica_and_ends() {
    let mut put = put(upstream());
    let start = call(put.begin(at(0)));
    assert!(matches!(
        start.request,
        Request::PutStart { slice_length: 64, .. }
    ));
    assert_eq!(start.phases.response, Some(PhaseId::PutStartResponse));
    let Want::Move(first) = put.next(at(0), granted(2)) else {
        panic!("no transfer")
    };
    assert!(first.write && first.replica.buffer_address == 1);
    let Want::Move(second) = put.next(at(0), Happened::Moved(Ok(()))) else {
        panic!("no second transfer")
    };
    assert_eq!(second.replica.buffer_address, 2);
    let end = call(put.next(at(0), Happened::Moved(Ok(()))));
    assert!(matches!(end.request, Request::PutEnd { .. }));
    assert_eq!(
        (end.fences, end.phases.sent),
        (vec![Some(1)], Some(PhaseId::PutEndSent))
    );
    let done = put.next(at(0), Happened::Answered(Ok(Response::PutEnd(Ok(())))));
    assert_eq!(done, Want::Done(Outcome::Ok));
}

#[test]
fn an_existing_key_is_success_for_put_and_an_error_for_a_single_call() {
    let exists = || Happened::Answered(Ok(Response::PutStart(Err(ErrorCode::ObjectAlreadyExists))));
    let mut put = put(upstream());
    put.begin(at(0));
    assert_eq!(put.next(at(0), exists()), Want::Done(Outcome::Ok));
    let request = Request::Ping {
        client_id: Uuid::default(),
    };
    let mut single = Single::new(request, Vec::new());
    single.begin(at(0));
    assert_eq!(
        single.next(at(0), exists()),
        Want::Done(Outcome::Error(ErrorCode::ObjectAlreadyExists))
    );
}

#[test]
fn a_failed_transfer_is_revoked_and_only_strict_fences_it_first() {
    for (config, fences) in [(upstream(), false), (strict(), true)] {
        let mut put = put(config);
        put.begin(at(0));
        put.next(at(0), granted(1));
        let want = put.next(at(0), Happened::Moved(Err(MoveFailure::Limit)));
        let want = match want {
            Want::FenceThen(then) if fences => *then,
            other if !fences => other,
            other => panic!("{other:?}"),
        };
        let revoke = call(want);
        assert!(matches!(revoke.request, Request::PutRevoke { .. }));
        assert_eq!(revoke.phases.before, Some(PhaseId::RevokeBefore));
        let done = put.next(at(0), Happened::Answered(Ok(Response::PutRevoke(Ok(())))));
        assert_eq!(done, Want::Done(Outcome::Error(ErrorCode::TransferFail)));
    }
}

#[test]
fn a_transfer_that_the_transport_closed_needs_no_fence() {
    let mut put = put(strict());
    put.begin(at(0));
    put.next(at(0), granted(1));
    call(put.next(at(0), Happened::Moved(Err(MoveFailure::Closed))));
}

#[test]
fn a_lost_answer_ends_a_put_without_a_revoke() {
    for (failure, code) in [
        (RpcFailure::Timeout, ErrorCode::RpcTimeout),
        (RpcFailure::Failed, ErrorCode::RpcFail),
    ] {
        let mut put = put(upstream());
        put.begin(at(0));
        put.next(at(0), granted(1));
        put.next(at(0), Happened::Moved(Ok(())));
        assert_eq!(
            put.next(at(0), Happened::Answered(Err(failure))),
            Want::Done(Outcome::Error(code))
        );
    }
}

fn found(lease_ttl_ms: u64) -> Happened {
    let replicas = vec![
        replica(7, "far", ReplicaStatus::Processing),
        replica(8, "far", ReplicaStatus::Complete),
        replica(9, "near", ReplicaStatus::Complete),
    ];
    let answer = GetReplicaListResponse {
        replicas,
        lease_ttl_ms,
        object_checksum: None,
    };
    Happened::Answered(Ok(Response::GetReplicaList(Ok(answer))))
}

#[test]
fn a_get_reads_a_complete_replica_and_prefers_its_own_memory() {
    for (local, address) in [(Vec::new(), 8), (vec!["near".to_owned()], 9)] {
        let config = ClientConfig {
            local_endpoints: local,
            ..upstream()
        };
        let mut get = Get::new(config, "k".into());
        get.begin(at(0));
        let Want::Move(read) = get.next(at(0), found(10)) else {
            panic!("no transfer")
        };
        assert_eq!((read.write, read.replica.buffer_address), (false, address));
    }
}

#[test]
fn a_lease_is_over_at_its_deadline_counted_from_before_the_query() {
    let ends = |now: u64, compare: Compare| {
        let mut config = upstream();
        let domain = moonquake_clock::Domain::Monotonic;
        config.rules.set(
            DeadlineId::ClientLease,
            Rule {
                domain,
                compare,
                mistaken: false,
            },
        );
        let mut get = Get::new(config, "k".into());
        get.begin(at(100));
        get.next(at(500), found(10));
        get.next(at(now), Happened::Moved(Ok(())))
    };
    let expired = Want::Done(Outcome::Error(ErrorCode::LeaseExpired));
    assert_eq!(ends(100 + 9_999_999, Compare::Inclusive), Want::Done(Outcome::Ok));
    assert_eq!(ends(100 + 10_000_000, Compare::Inclusive), expired);
    // The flip that the deadline table allows is seen exactly here.
    assert_eq!(ends(100 + 10_000_000, Compare::Strict), Want::Done(Outcome::Ok));
}

#[test]
fn a_session_checks_its_lease_before_it_reads() {
    let session = GetSession {
        replica_id: 1,
        replica: BufferDescriptor {
            size: 64,
            ..Default::default()
        },
        sent_at: at(0),
        lease: Span::from_ns(10),
    };
    let mut late = ReadSession::new(upstream(), session.clone(), Vec::new());
    assert_eq!(
        late.begin(at(10)),
        Want::Done(Outcome::Error(ErrorCode::LeaseExpired))
    );
    let mut early = ReadSession::new(upstream(), session, Vec::new());
    let Want::Sequence {
        moves,
        look_after: None,
    } = early.begin(at(9))
    else {
        panic!("no transfer")
    };
    assert!(
        matches!(moves.as_slice(), [whole] if whole.size == 64 && !whole.limited),
        "a session waits for its bytes without a limit"
    );
}

#[test]
fn an_answer_of_another_type_is_a_failed_call() {
    let mut get = Get::new(upstream(), "k".into());
    get.begin(at(0));
    let wrong = Happened::Answered(Ok(Response::PutEnd(Ok(()))));
    assert_eq!(
        get.next(at(0), wrong),
        Want::Done(Outcome::Error(ErrorCode::RpcFail))
    );
}

#[test]
fn a_replica_on_the_own_node_is_copied_within_the_process() {
    for (endpoint, local) in [("n1", true), ("n2", false)] {
        let own = || ClientConfig {
            local_endpoints: vec!["n1".into()],
            ..upstream()
        };
        let mut put = put(own());
        put.begin(at(0));
        let granted = vec![replica(1, endpoint, ReplicaStatus::Processing)];
        let started = Happened::Answered(Ok(Response::PutStart(Ok(granted))));
        let Want::Move(written) = put.next(at(0), started) else {
            panic!("no transfer")
        };
        let mut get = Get::new(own(), "k".into());
        get.begin(at(0));
        let answer = GetReplicaListResponse {
            replicas: vec![replica(1, endpoint, ReplicaStatus::Complete)],
            lease_ttl_ms: 10,
            object_checksum: None,
        };
        let queried = Happened::Answered(Ok(Response::GetReplicaList(Ok(answer))));
        let Want::Move(read) = get.next(at(0), queried) else {
            panic!("no transfer")
        };
        assert_eq!((written.local, read.local), (local, local), "{endpoint}");
    }
}
