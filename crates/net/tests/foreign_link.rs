//! What a foreign client takes for its master: each request waits until it is taken and answered.

mod support;

use moonquake_net::foreign::{ForeignLink, ForeignMessage, Substitution, Taken};
use moonquake_net::link::{Decoded, Leg};
use moonquake_net::{NetError, RpcFailure};
use moonquake_protocol::frame::{Header, RequestHeader, RpcError, RpcErrorCode, encode_request};
use moonquake_protocol::{
    BufferDescriptor, DescriptorVariant, ErrorCode, GetReplicaListResponse, Literal, MemoryDescriptor,
    ReplicaDescriptor, ReplicaStatus, Request, Response, Rpc,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use support::foreign::{connect, has_ended, hasty, net};
use support::served::read_answers;
use support::{exist, ping};

fn yes() -> Response {
    Response::ExistKey(Ok(true))
}

fn no() -> Response {
    Response::ExistKey(Ok(false))
}

fn say(stream: &mut TcpStream, sequence: u32, request: &Request) {
    stream
        .write_all(&encode_request(sequence, request, Literal::With))
        .unwrap();
}

/// The next answer: its sequence number and what it says.
fn heard(stream: &mut TcpStream, rpc: Rpc) -> (u32, Response) {
    let (sequence, body, error) = read_answers(stream, 1).remove(0);
    assert_eq!(error, 0);
    (sequence, Response::decode(rpc, &body).unwrap())
}

fn key_of(taken: &Taken) -> &str {
    match &taken.request {
        Request::ExistKey { key, .. } => key,
        other => panic!("{} was taken", other.rpc().name()),
    }
}

fn is(rpc: Rpc) -> impl Fn(&Request) -> bool {
    move |request| request.rpc() == rpc
}

#[test]
fn a_master_that_is_gone_refuses_and_is_found_again_at_the_same_place() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let addr = link.addr();
    let mut open = connect(addr);
    link.set_reachable(false).unwrap();
    let refused = TcpStream::connect(addr).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    say(&mut open, 1, &exist("on the open one"));
    assert_eq!(
        key_of(&link.take("ExistKey", is(Rpc::ExistKey)).unwrap()),
        "on the open one"
    );
    assert_eq!(link.close_all().unwrap(), 1);
    link.set_reachable(true).unwrap();
    assert_eq!(link.addr(), addr);
    let mut client = connect(addr);
    say(&mut client, 2, &exist("found again"));
    assert_eq!(
        key_of(&link.take("ExistKey", is(Rpc::ExistKey)).unwrap()),
        "found again"
    );
    assert!(link.problems().is_empty(), "{:?}", link.problems());
}

#[test]
fn two_requests_of_one_connection_are_answered_in_reverse_order() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut client = connect(link.addr());
    let both = [
        encode_request(7, &exist("a"), Literal::With),
        encode_request(9, &exist("b"), Literal::With),
    ];
    client.write_all(&both.concat()).unwrap();
    let first = link.take("the first request", |_| true).unwrap();
    let second = link.take("the second request", |_| true).unwrap();
    assert_eq!((key_of(&first), key_of(&second)), ("a", "b"));
    assert_eq!((first.connection, second.connection), (1, 1));
    assert_eq!((&first.bytes, first.lossless), (&both[0], true));
    assert_eq!(link.unanswered(), [first.message, second.message]);
    assert!(link.answer(second.message, &Ok(yes()), &[]).unwrap());
    assert_eq!(heard(&mut client, Rpc::ExistKey), (9, yes()));
    assert!(link.answer(first.message, &Ok(no()), &[]).unwrap());
    assert_eq!(heard(&mut client, Rpc::ExistKey), (7, no()));
    let legs: Vec<_> = link
        .frames()
        .into_iter()
        .map(|frame| (frame.leg, frame.sequence, frame.rpc))
        .collect();
    let rpc = Some(Rpc::ExistKey);
    assert_eq!(
        legs,
        [
            (Leg::RequestArrived, 7, rpc),
            (Leg::RequestArrived, 9, rpc),
            (Leg::ResponseDelivered, 9, rpc),
            (Leg::ResponseDelivered, 7, rpc),
        ]
    );
    assert_eq!((link.frames(), link.unanswered()), (vec![], vec![]));
}

#[test]
fn a_request_that_is_not_wanted_stays() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut clients = [connect(link.addr()), connect(link.addr())];
    say(&mut clients[0], 0, &ping(1));
    let message = link.take("the first ping", is(Rpc::Ping)).unwrap().message;
    link.discard(message).unwrap();
    say(&mut clients[0], 1, &ping(2));
    say(&mut clients[1], 0, &exist("k"));
    let taken = link.take("the question", is(Rpc::ExistKey)).unwrap();
    assert_eq!(key_of(&taken), "k");
    // The ping may be behind it; it is taken next in any case.
    let taken = link.take("the ping", is(Rpc::Ping)).unwrap();
    assert_eq!((taken.request, taken.sequence), (ping(2), 1));
    assert_eq!(link.pending(), []);
}

#[test]
fn a_wait_ends_at_its_limit_and_names_what_waits_instead() {
    let net = hasty();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let error = link
        .take("PutEnd of w1", is(Rpc::PutEnd))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("PutEnd of w1") && error.contains("0 of its connections"),
        "{error}"
    );
    let mut client = connect(link.addr());
    say(&mut client, 0, &ping(1));
    say(&mut client, 1, &exist("k"));
    let error = link.take("PutEnd of w1", is(Rpc::PutEnd)).unwrap_err();
    assert!(matches!(error, NetError::Missing { .. }));
    let words = "pending instead from w1: Ping (message 1), ExistKey (message 2)";
    assert!(error.to_string().contains(words), "{error}");
    assert_eq!(link.pending().len(), 2);
}

#[test]
fn the_death_of_the_process_is_told_before_the_limit_and_after_what_it_sent() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut client = connect(link.addr());
    say(&mut client, 0, &exist("k"));
    drop(client);
    let mut dead = || Some("exit status 9".to_owned());
    let taken = link
        .take_unless("a question", is(Rpc::ExistKey), &mut dead)
        .unwrap();
    assert_eq!(key_of(&taken), "k");
    let error = link.take_unless("another", |_| true, &mut dead).unwrap_err();
    assert!(
        matches!(&error, NetError::Gone { why, .. } if why == "exit status 9"),
        "{error}"
    );
    assert_eq!(link.await_closed().unwrap(), 1);
    // The answer reaches nobody, and that is told.
    assert!(!link.answer(taken.message, &Ok(yes()), &[]).unwrap());
    let legs: Vec<_> = link.frames().into_iter().map(|frame| frame.leg).collect();
    let closed = Leg::Closed { connections: 1 };
    assert_eq!(legs, [Leg::RequestArrived, closed, Leg::ResponseUndeliverable]);
}

#[test]
fn the_end_of_every_connection_is_seen() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    for round in [3, 0, 2] {
        let clients: Vec<_> = (0..round).map(|_| connect(link.addr())).collect();
        drop(clients);
        assert_eq!(link.await_closed().unwrap(), round);
        assert_eq!(link.open_connections(), 0);
    }
    let hasty = hasty();
    let mut link = ForeignLink::listen(&hasty, "w1").unwrap();
    let _open = connect(link.addr());
    assert!(matches!(link.await_closed(), Err(NetError::Limit { .. })));
    assert_eq!(link.open_connections(), 1);
    assert_eq!(link.close_all().unwrap(), 1);
    assert_eq!(link.open_connections(), 0);
}

fn replica(id: u64, endpoint: &str) -> ReplicaDescriptor {
    ReplicaDescriptor {
        id,
        descriptor: DescriptorVariant::Memory(MemoryDescriptor {
            buffer: BufferDescriptor {
                size: 110,
                buffer_address: 0x7f9c_6a00_0000,
                protocol: "tcp".to_owned(),
                transport_endpoint: endpoint.to_owned(),
            },
        }),
        status: ReplicaStatus::Complete,
    }
}

#[test]
fn an_endpoint_is_replaced_where_it_is_whole() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut client = connect(link.addr());
    let wanted = Request::GetReplicaList {
        key: "k".to_owned(),
        tenant_id: "default".to_owned(),
    };
    say(&mut client, 0, &wanted);
    let message = link.take("the query", |_| true).unwrap().message;
    let answer = |endpoints: [&str; 3]| {
        let replicas = endpoints
            .iter()
            .zip(1..)
            .map(|(endpoint, id)| replica(id, endpoint));
        Response::GetReplicaList(Ok(GetReplicaListResponse {
            replicas: replicas.collect(),
            ..GetReplicaListResponse::default()
        }))
    };
    let told = answer(["127.0.0.1:1561", "127.0.0.1:15613", "127.0.0.1:15610"]);
    let substitutions = [
        Substitution::new("127.0.0.1:1561", "127.0.0.1:9999").unwrap(),
        Substitution::new("127.0.0.1:15613", "127.0.0.1:45231").unwrap(),
    ];
    assert!(link.answer(message, &Ok(told.clone()), &substitutions).unwrap());
    let (_, seen) = heard(&mut client, Rpc::GetReplicaList);
    assert_eq!(
        seen,
        answer(["127.0.0.1:9999", "127.0.0.1:45231", "127.0.0.1:15610"])
    );
    let frame = link.frames().pop().unwrap();
    assert_eq!(frame.decoded, Decoded::Response(told));
    let sent = String::from_utf8_lossy(&frame.bytes).into_owned();
    assert!(sent.contains("127.0.0.1:45231"), "the log has what was sent");
}

#[test]
fn nonsense_costs_its_own_connection_only() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut good = connect(link.addr());
    let whole = encode_request(0, &exist("k"), Literal::With);
    let mut oversized = whole.clone();
    oversized[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    for (bytes, closed_by_us) in [
        (b"GET /metrics HTTP/1.1\r\n\r\n".to_vec(), true),
        (oversized, true),
        (whole[..whole.len() - 1].to_vec(), false),
        (whole[..3].to_vec(), false),
    ] {
        let mut bad = connect(link.addr());
        bad.write_all(&bytes).unwrap();
        if closed_by_us {
            assert!(has_ended(&mut bad));
        }
    }
    say(&mut good, 5, &exist("good"));
    let taken = link.take("the good request", |_| true).unwrap();
    assert_eq!(key_of(&taken), "good");
    assert!(link.answer(taken.message, &Ok(yes()), &[]).unwrap());
    assert_eq!(heard(&mut good, Rpc::ExistKey), (5, yes()));
    drop(good);
    // Of the five, two were closed by the link itself.
    assert_eq!(link.await_closed().unwrap(), 3);
    let problems = link.problems().join("\n");
    let short = format!("after {} bytes of a frame", whole.len() - 1);
    for words in ["0x47", "at most 67108864", &short, "after 3 bytes of a frame"] {
        assert!(problems.contains(words), "{words}: {problems}");
    }
    assert_eq!(link.problems().len(), 4, "{problems}");
}

#[test]
fn what_the_rpc_layer_of_a_master_answers_is_answered_at_once() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut client = connect(link.addr());
    let header = RequestHeader {
        sequence: 3,
        function_id: 1,
        ..RequestHeader::default()
    };
    client.write_all(&header.to_bytes()).unwrap();
    let mut damaged = encode_request(4, &exist("k"), Literal::With);
    damaged[RequestHeader::BYTES] ^= 0xff;
    client.write_all(&damaged).unwrap();
    say(&mut client, 5, &exist("k"));
    let refusals: Vec<_> = read_answers(&mut client, 2)
        .into_iter()
        .map(|(sequence, _, code)| (sequence, code))
        .collect();
    assert_eq!(refusals, [(3, 11), (4, 4)]);
    let taken = link.take("the good one", |_| true).unwrap();
    assert_eq!(taken.sequence, 5);
    assert_eq!(link.problems().len(), 2);
}

#[test]
fn a_frame_of_another_encoding_is_taken_and_said_to_be_so() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut client = connect(link.addr());
    let bytes = encode_request(0, &exist("k"), Literal::Without);
    for byte in &bytes {
        client.write_all(&[*byte]).unwrap();
    }
    let taken = link.take("a request in pieces", |_| true).unwrap();
    assert_eq!((key_of(&taken), taken.lossless), ("k", false));
    assert_eq!(taken.bytes, bytes);
}

#[test]
fn a_cut_ends_one_connection_and_a_discard_none() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut clients = [connect(link.addr()), connect(link.addr())];
    say(&mut clients[0], 0, &exist("a"));
    say(&mut clients[0], 1, &exist("b"));
    let first = link.take("the first", |_| true).unwrap();
    let second = link.take("the second", |_| true).unwrap();
    assert!(link.cut(first.message).unwrap());
    assert!(has_ended(&mut clients[0]));
    assert!(!link.answer(second.message, &Ok(yes()), &[]).unwrap());
    say(&mut clients[1], 0, &exist("c"));
    let lost = link.take("the third", |_| true).unwrap();
    link.discard(lost.message).unwrap();
    say(&mut clients[1], 1, &exist("d"));
    let told = link.take("the fourth", |_| true).unwrap();
    assert!(link.answer_with(told.message, ErrorCode::ObjectNotFound).unwrap());
    let answer = Response::ExistKey(Err(ErrorCode::ObjectNotFound));
    assert_eq!(heard(&mut clients[1], Rpc::ExistKey), (1, answer));
    let legs: Vec<_> = link.frames().into_iter().map(|frame| frame.leg).collect();
    assert_eq!(
        legs,
        [
            Leg::RequestArrived,
            Leg::RequestArrived,
            Leg::Cut,
            Leg::ResponseUndeliverable,
            Leg::RequestArrived,
            Leg::RequestDropped,
            Leg::RequestArrived,
            Leg::AnsweredByTap,
            Leg::ResponseDelivered,
        ]
    );
}

#[test]
fn steps_that_cannot_be_are_out_of_order() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut client = connect(link.addr());
    say(&mut client, 0, &exist("a"));
    say(&mut client, 1, &exist("b"));
    let taken = link.take("the first", |_| true).unwrap();
    let out_of_order = |result: Result<bool, NetError>| matches!(result, Err(NetError::Order { .. }));
    let other = Ok(Response::RemoveAll(0));
    let none = Err(RpcFailure::Closed { why: "x".to_owned() });
    assert!(out_of_order(link.answer(taken.message, &other, &[])));
    assert!(out_of_order(link.answer(taken.message, &none, &[])));
    assert!(out_of_order(link.answer(ForeignMessage(99), &Ok(yes()), &[])));
    // Nobody has taken the second.
    assert!(out_of_order(link.answer(ForeignMessage(2), &Ok(yes()), &[])));
    assert!(link.answer(taken.message, &Ok(yes()), &[]).unwrap());
    assert!(out_of_order(link.answer(taken.message, &Ok(yes()), &[])));
    assert!(out_of_order(link.cut(taken.message)));
}

#[test]
fn an_answer_of_the_rpc_layer_goes_out_as_one() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut client = connect(link.addr());
    say(&mut client, 0, &exist("a"));
    let taken = link.take("the request", |_| true).unwrap();
    let refusal = Err(RpcFailure::Rpc(RpcError::invalid_arguments()));
    assert!(link.answer(taken.message, &refusal, &[]).unwrap());
    let (sequence, _, code) = read_answers(&mut client, 1).remove(0);
    assert_eq!((sequence, code), (0, 4));
}

#[test]
fn a_client_that_does_not_read_costs_the_limit_and_its_connection() {
    let net = hasty();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut client = connect(link.addr());
    say(&mut client, 0, &exist("a"));
    let taken = link.take("the request", |_| true).unwrap();
    let long = RpcError {
        code: RpcErrorCode::InvalidArguments,
        message: "x".repeat(32 << 20),
    };
    let answer = link.answer(taken.message, &Err(RpcFailure::Rpc(long)), &[]);
    assert!(matches!(answer, Err(NetError::Limit { .. })));
    assert_eq!((link.open_connections(), link.unanswered()), (0, vec![]));
    let mut rest = Vec::new();
    // The end comes behind what was written, or as a reset.
    let _ = client.read_to_end(&mut rest);
    assert!(rest.len() < 32 << 20);
}

#[test]
fn more_requests_than_are_held_wait_in_the_kernel() {
    let net = net();
    let mut link = ForeignLink::listen(&net, "w1").unwrap();
    let mut client = connect(link.addr());
    let keys: Vec<String> = (0..200).map(|at| format!("k{at}")).collect();
    let frames: Vec<_> = keys
        .iter()
        .zip(0..)
        .map(|(key, sequence)| encode_request(sequence, &exist(key), Literal::With))
        .collect();
    client.write_all(&frames.concat()).unwrap();
    for key in &keys {
        let taken = link.take("the next request", |_| true).unwrap();
        assert_eq!(key_of(&taken), key);
        assert!(link.answer(taken.message, &Ok(yes()), &[]).unwrap());
    }
    assert_eq!(read_answers(&mut client, 200).len(), 200);
}
