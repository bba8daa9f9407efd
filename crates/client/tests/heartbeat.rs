//! The heartbeat: when a client connects anew, and what it mounts again.

use moonquake_client::{Happened, PingRound};
use moonquake_client::{Heartbeat, Operation, Outcome, Remount, RpcFailure, Single, Want};
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Rules, Span};
use moonquake_protocol::fingerprint::SERVICE_VERSION;
use moonquake_protocol::{ClientStatus, ErrorCode, PingResponse, Request, Response, Segment, Uuid};

fn at(ns: u64) -> Clocks {
    Clocks {
        realtime: RealtimeNs(ns),
        monotonic: MonotonicNs(ns),
    }
}

fn client() -> Uuid {
    Uuid::new(1, 1)
}

fn request(want: Want) -> Request {
    match want {
        Want::Call(call) => call.request,
        other => panic!("expected a call, got {other:?}"),
    }
}

fn answered(client_status: ClientStatus) -> Happened {
    Happened::Answered(Ok(Response::Ping(Ok(PingResponse {
        view_version_id: 0,
        client_status,
    }))))
}

fn lost() -> Happened {
    Happened::Answered(Err(RpcFailure::Timeout))
}

/// One round in which the ping is lost; what the client wants then, and its heartbeat after it.
fn lose_one(heartbeat: &mut Heartbeat, now: u64) -> (PingRound, Want) {
    let mut round = heartbeat.round(client());
    assert_eq!(
        request(round.begin(at(now))),
        Request::Ping { client_id: client() }
    );
    let want = round.next(at(now), lost());
    heartbeat.rest(at(now), round.failed_pings());
    (round, want)
}

#[test]
fn the_third_failed_ping_in_a_row_connects_anew_and_the_second_does_not() {
    let mut heartbeat = Heartbeat::new(at(0));
    let timeout = Want::Done(Outcome::Error(ErrorCode::RpcTimeout));
    assert_eq!(lose_one(&mut heartbeat, 1).1, timeout);
    assert_eq!(lose_one(&mut heartbeat, 2).1, timeout);
    let (mut round, want) = lose_one(&mut heartbeat, 3);
    assert_eq!(request(want), Request::ServiceReady {});
    // It pings again at once, and counts from the beginning.
    let ready = Happened::Answered(Ok(Response::ServiceReady(Ok(SERVICE_VERSION.to_owned()))));
    assert_eq!(
        request(round.next(at(3), ready)),
        Request::Ping { client_id: client() }
    );
    assert_eq!(round.next(at(3), lost()), timeout);
    assert_eq!(round.failed_pings(), 1);
}

#[test]
fn an_answer_between_them_starts_the_count_anew() {
    let mut heartbeat = Heartbeat::new(at(0));
    lose_one(&mut heartbeat, 1);
    lose_one(&mut heartbeat, 2);
    let mut round = heartbeat.round(client());
    round.begin(at(3));
    assert_eq!(
        round.next(at(3), answered(ClientStatus::Ok)),
        Want::Done(Outcome::Ok)
    );
    heartbeat.rest(at(3), round.failed_pings());
    lose_one(&mut heartbeat, 4);
    let (_, want) = lose_one(&mut heartbeat, 5);
    assert!(matches!(want, Want::Done(_)), "two of the last three failed");
}

#[test]
fn a_client_that_cannot_connect_tries_after_every_ping_that_fails() {
    let mut heartbeat = Heartbeat::new(at(0));
    lose_one(&mut heartbeat, 1);
    lose_one(&mut heartbeat, 2);
    for second in 3..6 {
        let (mut round, want) = lose_one(&mut heartbeat, second);
        assert_eq!(request(want), Request::ServiceReady {}, "at {second}");
        let refused = Happened::Answered(Err(RpcFailure::Failed));
        assert_eq!(
            round.next(at(second), refused),
            Want::Done(Outcome::Error(ErrorCode::RpcFail))
        );
        heartbeat.rest(at(second), round.failed_pings());
    }
}

#[test]
fn a_master_of_another_version_is_refused_at_the_connection_and_obeyed_at_the_next_ping() {
    let mut heartbeat = Heartbeat::new(at(0));
    lose_one(&mut heartbeat, 1);
    lose_one(&mut heartbeat, 2);
    let (mut round, _) = lose_one(&mut heartbeat, 3);
    let foreign = Happened::Answered(Ok(Response::ServiceReady(Ok("0.0.1".to_owned()))));
    assert_eq!(
        round.next(at(3), foreign),
        Want::Done(Outcome::Error(ErrorCode::InvalidVersion))
    );
    heartbeat.rest(at(3), round.failed_pings());
    let mut round = heartbeat.round(client());
    round.begin(at(4));
    assert_eq!(
        round.next(at(4), answered(ClientStatus::NeedRemount)),
        Want::Done(Outcome::NeedRemount),
        "nobody asks for a version here"
    );
    assert_eq!(round.failed_pings(), 0);
}

#[test]
fn the_next_ping_is_due_a_second_after_the_last_round_was_over() {
    let rules = Rules::default();
    let mut heartbeat = Heartbeat::new(at(0));
    let second = Span::from_secs(1);
    assert_eq!(heartbeat.until(&rules, at(0)), second);
    // A ping that took 30 s to fail.
    heartbeat.rest(at(30 * second.ns), 1);
    assert_eq!(heartbeat.until(&rules, at(30 * second.ns)), second);
    assert_eq!(heartbeat.until(&rules, at(31 * second.ns)), Span::ZERO);
}

#[test]
fn a_remount_names_its_segments_and_is_not_repeated() {
    let segments = vec![Segment {
        name: "n1".into(),
        ..Default::default()
    }];
    let mut remount = Remount::new(client(), segments.clone());
    assert_eq!(
        request(remount.begin(at(0))),
        Request::ReMountSegment {
            segments,
            client_id: client()
        }
    );
    let refused = Happened::Answered(Ok(Response::ReMountSegment(Err(
        ErrorCode::UnavailableInCurrentStatus,
    ))));
    assert_eq!(
        remount.next(at(0), refused),
        Want::Done(Outcome::Error(ErrorCode::UnavailableInCurrentStatus))
    );
}

#[test]
fn a_segment_on_its_way_out_leaves_the_list_and_a_refused_one_stays() {
    let segment_id = Uuid::new(7, 7);
    let graceful = || {
        let request = Request::GracefulUnmountSegment {
            segment_id,
            client_id: client(),
            grace_period_ms: 1_000,
        };
        let mut call = Single::new(request, Vec::new());
        call.begin(at(0));
        call
    };
    let mut leaves = graceful();
    leaves.next(
        at(0),
        Happened::Answered(Ok(Response::GracefulUnmountSegment(Ok(())))),
    );
    assert_eq!(leaves.mounted(), Some((segment_id, false)));
    let mut stays = graceful();
    let refused = Response::GracefulUnmountSegment(Err(ErrorCode::SegmentNotFound));
    stays.next(at(0), Happened::Answered(Ok(refused)));
    assert_eq!(stays.mounted(), None);
}
