//! A link, step by step, against a master that does as it is told.

mod support;

use moonquake_net::link::{Decoded, Leg, TapFrame};
use moonquake_net::{Delivery, Link, Net, NetError, RpcFailure};
use moonquake_protocol::frame::RpcError;
use moonquake_protocol::{ErrorCode, Request, Response, Rpc};
use std::time::Duration;
use support::{Reply, ScriptedMaster, exist, nobody, ping};

fn net() -> Net {
    Net::stepped(Duration::from_secs(20)).unwrap()
}

/// A master that answers every ExistKey by whether the key begins with `y`.
fn yes_master() -> ScriptedMaster {
    ScriptedMaster::start(|request| match request {
        Request::ExistKey { key, .. } => Reply::Say(Response::ExistKey(Ok(key.starts_with('y')))),
        _ => Reply::Refuse(RpcError::not_registered()),
    })
}

fn legs(frames: &[TapFrame]) -> Vec<(u64, Leg)> {
    frames
        .iter()
        .map(|frame| (frame.message.map_or(0, |message| message.0), frame.leg))
        .collect()
}

#[test]
fn each_step_goes_so_far_and_no_further() {
    let master = yes_master();
    let mut link = Link::connect(&net(), "w1", master.address).unwrap();
    let message = link.send(&exist("yes")).unwrap();
    assert!(
        master.seen().is_empty(),
        "a request reached the master before it was forwarded"
    );
    let frames = link.frames();
    assert_eq!(legs(&frames), [(1, Leg::RequestArrived)]);
    assert_eq!(frames[0].decoded, Decoded::Request(exist("yes")));
    assert_eq!(
        (frames[0].rpc, frames[0].sequence, frames[0].connection),
        (Some(Rpc::ExistKey), 0, 1)
    );
    assert_eq!(
        &frames[0].bytes[8..12],
        &Rpc::ExistKey.function_id().to_le_bytes()
    );

    assert_eq!(link.forward(message).unwrap(), Ok(Response::ExistKey(Ok(true))));
    assert_eq!(master.seen().len(), 1);
    let frames = link.frames();
    assert_eq!(legs(&frames), [(1, Leg::RequestHandled)]);
    assert_eq!(frames[0].decoded, Decoded::Response(Response::ExistKey(Ok(true))));

    let delivered = Delivery::Delivered(Ok(Response::ExistKey(Ok(true))));
    assert_eq!(link.deliver(message).unwrap(), delivered);
    let frames = link.frames();
    assert_eq!(legs(&frames), [(1, Leg::ResponseDelivered)]);
    assert!(!frames[0].bytes.is_empty() && link.outstanding().is_empty());
    assert!(matches!(link.deliver(message), Err(NetError::Order { .. })));
    assert!(matches!(link.forward(message), Err(NetError::Order { .. })));
}

#[test]
fn one_request_a_connection_and_more_connections_when_needed() {
    let master = yes_master();
    let mut link = Link::connect(&net(), "w1", master.address).unwrap();
    for _ in 0..2 {
        link.call(&exist("y")).unwrap().unwrap();
    }
    let first = link.send(&exist("y1")).unwrap();
    let second = link.send(&exist("n2")).unwrap();
    let numbers: Vec<(u64, u32)> = link
        .frames()
        .iter()
        .filter(|frame| frame.leg == Leg::RequestArrived)
        .map(|frame| (frame.connection, frame.sequence))
        .collect();
    assert_eq!(numbers, [(1, 0), (1, 1), (1, 2), (2, 0)]);
    // In any order.
    assert_eq!(link.forward(second).unwrap(), Ok(Response::ExistKey(Ok(false))));
    assert_eq!(link.forward(first).unwrap(), Ok(Response::ExistKey(Ok(true))));
    link.deliver(first).unwrap();
    link.deliver(second).unwrap();
    link.call(&exist("y")).unwrap().unwrap();
    let last = link.frames().pop().unwrap();
    assert_eq!((last.connection, last.sequence), (1, 3));
}

#[test]
fn a_killed_client_leaves_its_requests_on_their_way() {
    let master = yes_master();
    let mut link = Link::connect(&net(), "w1", master.address).unwrap();
    let sent = link.send(&exist("y1")).unwrap();
    let answered = link.send(&exist("y2")).unwrap();
    let _ = link.forward(answered).unwrap();
    link.frames();
    assert_eq!(link.kill().unwrap(), 2);
    let frames = link.frames();
    assert_eq!(legs(&frames), [(0, Leg::Closed { connections: 2 })]);
    assert_eq!(link.deliver(answered).unwrap(), Delivery::Undeliverable);
    assert_eq!(link.forward(sent).unwrap(), Ok(Response::ExistKey(Ok(true))));
    assert_eq!(link.deliver(sent).unwrap(), Delivery::Undeliverable);
    let expected = [
        (2, Leg::ResponseUndeliverable),
        (1, Leg::RequestHandled),
        (1, Leg::ResponseUndeliverable),
    ];
    assert_eq!(legs(&link.frames()), expected);
    let error = link.send(&exist("y3")).unwrap_err();
    assert!(error.to_string().contains("has not reconnected"), "{error}");
    link.reconnect(None).unwrap();
    assert_eq!(link.call(&exist("y3")).unwrap(), Ok(Response::ExistKey(Ok(true))));
    assert_eq!(link.frames()[0].connection, 3);
}

#[test]
fn duplicates_drops_and_answers_of_the_tap() {
    let master = yes_master();
    let mut link = Link::connect(&net(), "w1", master.address).unwrap();
    let twice = link.send(&exist("y")).unwrap();
    let _ = link.forward(twice).unwrap();
    assert_eq!(link.duplicate(twice).unwrap(), Ok(Response::ExistKey(Ok(true))));
    link.deliver(twice).unwrap();
    let seen = master.seen();
    assert_eq!(
        (seen.len(), &seen[0].2, &seen[1].2),
        (2, &exist("y"), &exist("y"))
    );
    assert_ne!(
        seen[0].0, seen[1].0,
        "the copy must travel on a connection of its own"
    );

    let lost = link.send(&exist("y")).unwrap();
    link.drop_request(lost).unwrap();
    assert!(matches!(link.forward(lost), Err(NetError::Order { .. })));
    let unheard = link.send(&exist("y")).unwrap();
    let _ = link.forward(unheard).unwrap();
    link.drop_response(unheard).unwrap();
    assert!(matches!(link.deliver(unheard), Err(NetError::Order { .. })));
    assert_eq!(link.outstanding(), [lost, unheard]);
    link.abandon(lost).unwrap();
    link.abandon(unheard).unwrap();
    assert!(link.outstanding().is_empty());

    let told = link.send(&exist("y")).unwrap();
    link.answer_with(told, ErrorCode::RpcFail).unwrap();
    let answer = Response::ExistKey(Err(ErrorCode::RpcFail));
    assert_eq!(link.deliver(told).unwrap(), Delivery::Delivered(Ok(answer)));
    assert_eq!(master.seen().len(), 3);
    let expected = [
        (1, Leg::RequestArrived),
        (1, Leg::RequestHandled),
        (1, Leg::DuplicateHandled),
        (1, Leg::ResponseDelivered),
        (2, Leg::RequestArrived),
        (2, Leg::RequestDropped),
        (3, Leg::RequestArrived),
        (3, Leg::RequestHandled),
        (3, Leg::ResponseDropped),
        (0, Leg::Closed { connections: 1 }),
        (0, Leg::Closed { connections: 1 }),
        (4, Leg::RequestArrived),
        (4, Leg::AnsweredByTap),
        (4, Leg::ResponseDelivered),
    ];
    assert_eq!(legs(&link.frames()), expected);
}

#[test]
fn a_request_that_the_client_gave_up_is_still_handled() {
    let master = yes_master();
    let mut link = Link::connect(&net(), "w1", master.address).unwrap();
    let slow = link.send(&exist("y")).unwrap();
    link.abandon(slow).unwrap();
    assert_eq!(link.forward(slow).unwrap(), Ok(Response::ExistKey(Ok(true))));
    assert_eq!(link.deliver(slow).unwrap(), Delivery::Undeliverable);
    assert_eq!(link.call(&exist("n")).unwrap(), Ok(Response::ExistKey(Ok(false))));
}

#[test]
fn a_cut_connection_fails_the_call() {
    let master = yes_master();
    let mut link = Link::connect(&net(), "w1", master.address).unwrap();
    let message = link.send(&exist("y")).unwrap();
    let Delivery::Delivered(Err(failure)) = link.cut(message).unwrap() else {
        panic!("the client must see its call fail");
    };
    assert_eq!(failure.code(), ErrorCode::RpcFail);
    assert!(matches!(failure, RpcFailure::Closed { .. }), "{failure}");
    assert_eq!(legs(&link.frames()), [(1, Leg::RequestArrived), (1, Leg::Cut)]);
    assert!(master.seen().is_empty());
    assert_eq!(link.call(&exist("y")).unwrap(), Ok(Response::ExistKey(Ok(true))));
}

/// What a master does that keeps to no rule, and what its client is told, by a name.
type OddCase = (&'static str, Reply, Result<Response, &'static str>);

fn odd_masters() -> Vec<OddCase> {
    let header = |sequence: u32, length: u32| {
        let mut bytes = vec![0x15, 0, 0, 0];
        bytes.extend(sequence.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        bytes
    };
    let exist_yes = [&header(0, 7)[..], &0x90e8_00d2_u32.to_le_bytes(), &[1, 1, 9]].concat();
    vec![
        (
            "extra bytes, no literal",
            Reply::Bytes(exist_yes),
            Ok(Response::ExistKey(Ok(true))),
        ),
        (
            "byte by byte",
            Reply::Slowly(Response::ExistKey(Ok(true))),
            Ok(Response::ExistKey(Ok(true))),
        ),
        ("closes", Reply::Close, Err("between two frames")),
        (
            "closes in the header",
            Reply::BytesThenClose(vec![0x15; 9]),
            Err("after 9 bytes"),
        ),
        (
            "closes in the body",
            Reply::BytesThenClose(header(0, 100)),
            Err("after 16 bytes"),
        ),
        ("4 GB", Reply::Bytes(header(0, 4_000_000_000)), Err("4000000000")),
        (
            "another sequence number",
            Reply::Bytes([&header(7, 0)[..]].concat()),
            Err("number 7 instead of 0"),
        ),
        ("empty body", Reply::Bytes(header(0, 0)), Err("does not decode")),
        (
            "another type",
            Reply::Say(Response::RemoveAll(3)),
            Err("type hash"),
        ),
        (
            "RPC error",
            Reply::Refuse(RpcError::invalid_arguments()),
            Err("invalid rpc arg"),
        ),
    ]
}

#[test]
fn what_an_odd_master_answers_is_an_answer() {
    for (name, reply, wanted) in odd_masters() {
        let once = std::sync::Mutex::new(Some(reply));
        let master = ScriptedMaster::start(move |_| {
            once.lock()
                .unwrap()
                .take()
                .unwrap_or(Reply::Say(Response::ExistKey(Ok(false))))
        });
        let mut link = Link::connect(&net(), "w1", master.address).unwrap();
        let message = link.send(&exist("k")).unwrap();
        let seen_by_the_tap = link.forward(message).unwrap();
        let Delivery::Delivered(seen_by_the_client) = link.deliver(message).unwrap() else {
            panic!("{name}: the client lives");
        };
        match (seen_by_the_tap, wanted) {
            (Ok(response), Ok(wanted)) => {
                assert_eq!(response, wanted, "{name}");
                assert_eq!(seen_by_the_client, Ok(response), "{name}");
            }
            (Err(failure), Err(words)) => {
                assert!(failure.to_string().contains(words), "{name}: {failure}");
                assert_eq!(
                    seen_by_the_client.unwrap_err().code(),
                    ErrorCode::RpcFail,
                    "{name}"
                );
            }
            (got, wanted) => panic!("{name}: {got:?} instead of {wanted:?}"),
        }
        // As with the real client, the next call on a new connection succeeds.
        assert_eq!(
            link.call(&exist("k")).unwrap(),
            Ok(Response::ExistKey(Ok(false))),
            "{name}"
        );
    }
}

#[test]
fn a_silent_master_is_an_error_and_no_hang() {
    let master = ScriptedMaster::start(|_| Reply::Silence);
    let net = Net::stepped(Duration::from_millis(50)).unwrap();
    let mut link = Link::connect(&net, "w1", master.address).unwrap();
    let message = link.send(&ping(1)).unwrap();
    let error = link.forward(message).unwrap_err();
    assert!(matches!(error, NetError::Limit { .. }), "{error}");
    assert!(
        error.to_string().contains("forwarding Ping of w1 (message 1)"),
        "{error}"
    );
}

#[test]
fn a_missing_master_is_told_at_once() {
    let address = nobody();
    let error = Link::connect(&net(), "w1", address).unwrap_err();
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    assert!(matches!(error, NetError::Unreachable { .. }));
}

/// Only the first connection is made before there is anything to pass on: a master that stands still accepts nobody.
#[test]
fn a_further_connection_reaches_the_master_with_its_first_request() {
    let master = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut link = Link::connect(&net(), "w1", master.local_addr().unwrap()).unwrap();
    let first = link.send(&exist("y")).unwrap();
    drop(master);
    let second = link.send(&exist("y")).unwrap();
    assert_eq!(link.outstanding(), [first, second]);
    let failed = link.forward(second).unwrap();
    assert!(matches!(failed, Err(RpcFailure::Connect { .. })), "{failed:?}");
}

#[test]
fn a_new_master_takes_over_after_reconnect() {
    let (old, new) = (yes_master(), yes_master());
    let mut link = Link::connect(&net(), "w1", old.address).unwrap();
    let on_the_way = link.send(&exist("y")).unwrap();
    link.reconnect(Some(new.address)).unwrap();
    // Its connection led to the old master.
    let lost = link.forward(on_the_way).unwrap();
    assert!(matches!(lost, Err(RpcFailure::Closed { .. })), "{lost:?}");
    assert_eq!(link.deliver(on_the_way).unwrap(), Delivery::Undeliverable);
    assert_eq!(link.call(&exist("y")).unwrap(), Ok(Response::ExistKey(Ok(true))));
    assert_eq!((old.seen().len(), new.seen().len()), (0, 1));
}

#[test]
fn a_large_request_and_a_large_answer_pass_whole() {
    let keys: Vec<String> = (0..20_000).map(|index| format!("key-{index:08}")).collect();
    let master = ScriptedMaster::start(|request| match request {
        Request::BatchExistKey { keys, .. } => {
            Reply::Say(Response::BatchExistKey(vec![Ok(true); keys.len()]))
        }
        _ => Reply::Close,
    });
    let mut link = Link::connect(&net(), "w1", master.address).unwrap();
    let request = Request::BatchExistKey {
        keys,
        tenant_id: "default".to_owned(),
    };
    let answer = link.call(&request).unwrap();
    assert_eq!(answer, Ok(Response::BatchExistKey(vec![Ok(true); 20_000])));
    assert_eq!(master.seen()[0].2, request);
}
