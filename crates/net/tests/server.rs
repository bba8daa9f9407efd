//! The Rust master over TCP: through links, and against peers that do not keep to the protocol.

mod support;

use moonquake_clock::{Span, SteppedClock, SystemClock, Thread};
use moonquake_master::{Master, MasterConfig};
use moonquake_net::{Link, Net, Rounds, ServerHandle, fingerprint, serve};
use moonquake_protocol::frame::{
    RequestHeader, ResponseHeader, RpcErrorCode, decode_response, encode_request,
};
use moonquake_protocol::{
    ErrorCode, Literal, ObjectMeta, ReplicaStatus, ReplicaType, Request, Response, Rpc,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use support::served::{CLIENT, LIMIT, any_port, busy, mount, put_start, read_answers, start, talk};
use support::{exist, ping};
use tracing_test::traced_test;

/// A master under a clock that only the test moves.
fn stepped() -> (Net, Arc<SteppedClock>, ServerHandle) {
    let net = Net::stepped(LIMIT).unwrap();
    let clock = Arc::new(SteppedClock::new(start()));
    let master = Master::new(MasterConfig::default(), start()).unwrap();
    let server = serve(master, clock.clone(), any_port(), Rounds::ByCommand).unwrap();
    (net, clock, server)
}

fn put_end(key: &str) -> Request {
    Request::PutEnd {
        client_id: CLIENT,
        object_meta: ObjectMeta {
            key: key.to_owned(),
            object_checksum: None,
        },
        replica_type: ReplicaType::All,
        tenant_id: "default".to_owned(),
    }
}

fn remove(key: &str) -> Request {
    Request::Remove {
        key: key.to_owned(),
        force: false,
        tenant_id: "default".to_owned(),
    }
}

#[test]
fn an_object_lives_its_life_over_a_link() {
    let (net, clock, server) = stepped();
    let mut link = Link::connect(&net, "w1", server.address()).unwrap();
    assert_eq!(
        link.call(&mount("n1")).unwrap(),
        Ok(Response::MountSegment(Ok(())))
    );
    let Ok(Response::PutStart(Ok(replicas))) = link.call(&put_start("k")).unwrap() else {
        panic!("PutStart was refused");
    };
    assert_eq!(
        (replicas.len(), replicas[0].status),
        (1, ReplicaStatus::Processing)
    );
    assert_eq!(link.call(&exist("k")).unwrap(), Ok(Response::ExistKey(Ok(false))));
    assert_eq!(link.call(&put_end("k")).unwrap(), Ok(Response::PutEnd(Ok(()))));
    // ExistKey grants a lease of ten seconds; the clock that decides is the test's.
    assert_eq!(link.call(&exist("k")).unwrap(), Ok(Response::ExistKey(Ok(true))));
    clock.advance(Span::from_ns(9_999_999_999));
    assert_eq!(
        link.call(&remove("k")).unwrap(),
        Ok(Response::Remove(Err(ErrorCode::ObjectHasLease)))
    );
    clock.advance(Span::from_ns(1));
    assert_eq!(link.call(&remove("k")).unwrap(), Ok(Response::Remove(Ok(()))));
    assert_eq!(server.with_master(|master| master.view().allocated_bytes), 0);
}

#[test]
fn rounds_happen_on_command() {
    let (net, clock, server) = stepped();
    let mut link = Link::connect(&net, "n1", server.address()).unwrap();
    link.call(&ping(1)).unwrap().unwrap();
    link.call(&mount("n1")).unwrap().unwrap();
    // The monitor learns of the client in one round and expires it in a later one.
    server.tick(Thread::ClientMonitor);
    clock.advance(Span::from_secs(60));
    assert_eq!(
        server.with_master(|master| master.view().capacity_bytes),
        16 << 20
    );
    server.tick(Thread::ClientMonitor);
    assert_eq!(server.with_master(|master| master.view().capacity_bytes), 0);
}

#[test]
fn rounds_happen_by_themselves_when_the_clock_runs() {
    let net = Net::background(LIMIT).unwrap();
    let config = MasterConfig {
        client_ttl: Span::from_ms(1),
        ..MasterConfig::default()
    };
    let clock = Arc::new(SystemClock::new());
    let now = moonquake_clock::ClockSource::now(&*clock);
    let master = Master::new(config, now).unwrap();
    let server = serve(master, clock, any_port(), Rounds::ByTimer).unwrap();
    let mut link = Link::connect(&net, "n1", server.address()).unwrap();
    link.call(&ping(1)).unwrap().unwrap();
    link.call(&mount("n1")).unwrap().unwrap();
    let gone = async {
        while server.with_master(|master| master.view().capacity_bytes) > 0 {
            tokio::task::yield_now().await;
        }
    };
    net.step("waiting for the monitor to expire a silent client", gone)
        .unwrap();
}

#[test]
fn the_pinned_release_is_recognised() {
    let (net, _clock, server) = stepped();
    let link = Link::connect(&net, "w1", server.address()).unwrap();
    assert_eq!(fingerprint::check(&link).unwrap().name, "0.3.13.post1");
    let view = server.with_master(|master| master.view());
    assert!(
        view.keys.is_empty() && view.segments.is_empty(),
        "the questions left something behind: {view:?}"
    );
}

fn raw(sequence: u32, function_id: u32, body: &[u8], announced: u32) -> Vec<u8> {
    let header = RequestHeader {
        sequence,
        function_id,
        body_bytes: announced,
        ..RequestHeader::default()
    };
    [&header.to_bytes()[..], body].concat()
}

#[test]
#[traced_test]
fn odd_requests_are_answered_as_the_real_master_does() {
    let (_net, server) = busy();
    let good = encode_request(77, &exist("k"), Literal::Without);
    let body = &good[20..];
    let id = Rpc::ExistKey.function_id();
    let whole = |sequence, body: &[u8]| raw(sequence, id, body, u32::try_from(body.len()).unwrap());
    let mut wrong_hash = body.to_vec();
    wrong_hash[3] ^= 0x40;
    let stream = [
        raw(1, 0xdead_beef, b"", 0),
        raw(2, 0x8ecf_1981, b"", 0),
        whole(3, &wrong_hash),
        whole(4, &body[..body.len() - 1]),
        whole(5, b""),
        whole(6, &[body, b"extra"].concat()),
        raw(7, Rpc::ServiceReady.function_id(), b"junk", 4),
        good.clone(),
        good.clone(),
    ]
    .concat();
    let answers = talk(&server, &stream, 9);
    let kinds: Vec<(u32, u8)> = answers
        .iter()
        .map(|(sequence, _, error)| (*sequence, *error))
        .collect();
    assert_eq!(
        kinds,
        [
            (1, 11),
            (2, 11),
            (3, 4),
            (4, 4),
            (5, 4),
            (6, 0),
            (7, 0),
            (77, 0),
            (77, 0)
        ]
    );
    let header = |error_code| ResponseHeader {
        error_code,
        ..ResponseHeader::default()
    };
    let text = |at: usize| {
        decode_response(Rpc::ExistKey, &header(answers[at].2), &answers[at].1)
            .unwrap()
            .unwrap_err()
    };
    assert_eq!(
        (text(0).code, &*text(0).message),
        (
            RpcErrorCode::FunctionNotRegistered,
            "the rpc function not registered"
        )
    );
    assert_eq!(
        (text(2).code, &*text(2).message),
        (RpcErrorCode::InvalidArguments, "invalid rpc arg")
    );
    // The real answer to ServiceReady, byte for byte, and that of a key that is not there, with the type literal.
    assert_eq!(answers[6].1, hex("35ccb31c0487800c01000105322e302e30"));
    assert_eq!(answers[7].1, hex("d300e89004870b01000100"));
    assert!(logs_contain("request refused: no function has the id deadbeef"));
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
        .collect()
}

#[test]
#[traced_test]
fn what_is_no_frame_is_closed_without_a_word() {
    let (_net, server) = busy();
    let with = |offset: usize, value: u8| {
        let mut frame = encode_request(0, &exist("k"), Literal::With);
        frame[offset] = value;
        frame
    };
    let cases: [(&str, Vec<u8>, &str); 5] = [
        ("magic", with(0, 22), "does not speak coro_rpc"),
        ("version", with(1, 1), "protocol version 1"),
        ("serialize type", with(2, 1), "serialize type 1"),
        (
            "HTTP",
            b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
            "does not speak coro_rpc",
        ),
        (
            "4 GB",
            raw(0, Rpc::ExistKey.function_id(), b"", 4_000_000_000),
            "announces 4000000000",
        ),
    ];
    for (name, bytes, words) in cases {
        assert_eq!(talk(&server, &bytes, 1), [], "{name}");
        assert!(logs_contain(words), "{name}: the log does not say {words:?}");
    }
    // The message type is ignored, and the server is still there.
    assert_eq!(talk(&server, &with(3, 9), 1).len(), 1);
}

#[test]
fn pipelined_slow_and_half_requests() {
    let (_net, server) = busy();
    let pipelined: Vec<u8> = (0..200)
        .flat_map(|sequence| encode_request(sequence, &exist("k"), Literal::With))
        .collect();
    let order: Vec<u32> = talk(&server, &pipelined, 200)
        .into_iter()
        .map(|(sequence, ..)| sequence)
        .collect();
    assert_eq!(order, (0..200).collect::<Vec<u32>>());

    let mut slow = TcpStream::connect(server.address()).unwrap();
    slow.set_nodelay(true).unwrap();
    slow.set_read_timeout(Some(LIMIT)).unwrap();
    let frame = encode_request(5, &exist("k"), Literal::With);
    let (last, first) = frame.split_last().unwrap();
    for byte in first {
        slow.write_all(&[*byte]).unwrap();
    }
    // Half a request of one peer is in nobody's way.
    assert_eq!(talk(&server, &frame, 1).len(), 1);
    slow.write_all(&[*last]).unwrap();
    assert_eq!(read_answers(&mut slow, 1)[0].0, 5);
    // A peer that leaves in the middle is forgotten.
    slow.write_all(first).unwrap();
    drop(slow);
    assert_eq!(talk(&server, &frame, 1).len(), 1);
}

#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "a peer is a process of its own, so here it has a thread"
)]
fn many_peers_at_once_each_get_their_own_answers() {
    let (_net, server) = busy();
    let address = server.address();
    let peers: Vec<_> = (0..32_u32)
        .map(|peer| {
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.set_read_timeout(Some(LIMIT)).unwrap();
                for round in 0..20 {
                    let sequence = peer * 1000 + round;
                    stream
                        .write_all(&encode_request(sequence, &ping(u64::from(peer)), Literal::With))
                        .unwrap();
                    assert_eq!(read_answers(&mut stream, 1)[0].0, sequence);
                }
            })
        })
        .collect();
    peers.into_iter().for_each(|peer| peer.join().unwrap());
}

#[test]
#[traced_test]
fn the_release_of_an_old_client_is_named_in_the_log() {
    let (_net, server) = busy();
    // PutStart of 0.3.11.post1, as far as its hash.
    let body = 0x5ddd_cc88_u32.to_le_bytes();
    let answers = talk(&server, &raw(1, Rpc::PutStart.function_id(), &body, 4), 1);
    assert_eq!(answers[0].2, 4);
    assert!(logs_contain("the peer is of release 0.3.11.post1"));
}

#[test]
fn a_frozen_master_answers_when_it_is_thawed() {
    let (net, _clock, server) = stepped();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream
        .write_all(&encode_request(7, &ping(1), Literal::With))
        .unwrap();
    let first = async {
        while stream.peek(&mut [0; 1]).is_err() {
            tokio::task::yield_now().await;
        }
    };
    stream.set_nonblocking(true).unwrap();
    net.step("waiting for the first answer", first).unwrap();
    assert_eq!(read_answers(&mut stream, 1)[0].0, 7);
    // Its connection stands; the kernel takes what is sent to a process that stands still.
    server.freeze();
    stream
        .write_all(&encode_request(8, &ping(1), Literal::With))
        .unwrap();
    stream.set_nonblocking(true).unwrap();
    let rounds = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    };
    net.step("letting the server run", rounds).unwrap();
    let early = stream.read(&mut [0; 1]).unwrap_err();
    assert_eq!(
        early.kind(),
        std::io::ErrorKind::WouldBlock,
        "a frozen master answered"
    );
    server.unfreeze();
    let answered = async {
        while stream.peek(&mut [0; 1]).is_err() {
            tokio::task::yield_now().await;
        }
    };
    net.step("waiting for the answer", answered).unwrap();
    assert_eq!(read_answers(&mut stream, 1)[0].0, 8);
}

#[test]
fn a_stopped_master_is_gone() {
    let (net, _clock, mut server) = stepped();
    let mut link = Link::connect(&net, "w1", server.address()).unwrap();
    link.call(&ping(1)).unwrap().unwrap();
    server.freeze();
    server.stop().unwrap();
    assert!(
        TcpStream::connect(server.address()).is_err(),
        "a stopped master still listens"
    );
    assert_eq!(
        link.call(&ping(1)).unwrap().unwrap_err().code(),
        ErrorCode::RpcFail
    );
}
