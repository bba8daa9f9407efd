//! The questions to a master, against masters of every kind.

mod support;

use moonquake_net::fingerprint::{PeerError, check, check_at};
use moonquake_net::{Link, Net, NetError};
use moonquake_protocol::fingerprint::RELEASES;
use moonquake_protocol::frame::{FrameDecoder, RequestHeader, ResponseHeader, RpcError, encode_error};
use moonquake_protocol::struct_pack::peek_type_hash;
use moonquake_protocol::{ErrorCode, Literal, Request, Response, Rpc};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;
use support::{Reply, ScriptedMaster, nobody, peer};
use tracing_test::traced_test;

fn net() -> Net {
    Net::stepped(Duration::from_secs(20)).unwrap()
}

fn agreeing(request: &Request) -> Reply {
    Reply::Say(match request {
        Request::ServiceReady {} => Response::ServiceReady(Ok("2.0.0".to_owned())),
        Request::ExistKey { .. } => Response::ExistKey(Ok(false)),
        Request::PutStart { key, .. } if key.is_empty() => Response::PutStart(Err(ErrorCode::InvalidParams)),
        Request::MountSegment { segment, .. } if segment.size == 0 => {
            Response::MountSegment(Err(ErrorCode::InvalidParams))
        }
        Request::GetReplicaList { .. } => Response::GetReplicaList(Err(ErrorCode::ObjectNotFound)),
        Request::PutEnd { .. } => Response::PutEnd(Err(ErrorCode::ObjectNotFound)),
        other => panic!("{other:?} is no question"),
    })
}

#[test]
fn six_questions_and_no_more_go_to_the_right_release() {
    let master = ScriptedMaster::start(agreeing);
    let mut link = Link::connect(&net(), "w1", master.address).unwrap();
    assert_eq!(check(&link).unwrap().name, "0.3.13.post1");
    assert!(link.frames().is_empty(), "the questions are not the actor's");
    let asked: Vec<Rpc> = master
        .seen()
        .iter()
        .map(|(_, _, request)| request.rpc())
        .collect();
    let expected = [
        Rpc::ServiceReady,
        Rpc::ExistKey,
        Rpc::PutStart,
        Rpc::MountSegment,
        Rpc::GetReplicaList,
        Rpc::PutEnd,
    ];
    assert_eq!(asked, expected);
}

/// A master with the types of another release: it answers what has the right request hash, with that release's
/// response hash, and refuses the rest.
#[allow(
    clippy::disallowed_methods,
    reason = "a peer is a process of its own, so here it has a thread"
)]
fn master_of(name: &'static str) -> SocketAddr {
    let release = RELEASES.iter().find(|release| release.name == name).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut decoder = FrameDecoder::<RequestHeader>::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            decoder.feed(&buffer[..count]);
            while let Some(frame) = decoder.next_frame().unwrap() {
                let sequence = frame.header.sequence;
                let rpc = frame.header.rpc().unwrap();
                let taken = release
                    .hashes(rpc)
                    .filter(|(wanted, _)| peek_type_hash(&frame.body) == Some(*wanted));
                let answer = match (rpc, taken) {
                    (Rpc::ServiceReady, _) => response(sequence, 0x1cb3_cc34, b"\x01\x052.0.0"),
                    (Rpc::ExistKey, Some((_, hash))) => response(sequence, hash, &[1, 0]),
                    (Rpc::PutStart | Rpc::MountSegment, Some((_, hash))) => {
                        response(sequence, hash, &[0, 0xa8, 0xfd, 0xff, 0xff])
                    }
                    (_, Some((_, hash))) => response(sequence, hash, &[0, 0x40, 0xfd, 0xff, 0xff]),
                    (_, None) => encode_error(sequence, &RpcError::invalid_arguments(), Literal::With),
                };
                if stream.write_all(&answer).is_err() {
                    return;
                }
            }
        }
    });
    address
}

fn response(sequence: u32, hash: u32, value: &[u8]) -> Vec<u8> {
    let body_bytes = 4 + u32::try_from(value.len()).unwrap();
    let header = ResponseHeader {
        sequence,
        body_bytes,
        ..ResponseHeader::default()
    };
    [&header.to_bytes()[..], &hash.to_le_bytes(), value].concat()
}

#[test]
#[traced_test]
fn every_other_release_is_refused_by_name() {
    for (name, wanted) in [
        ("0.3.8", vec!["0.3.8"]),
        ("0.3.10.post2", vec!["0.3.10.post2"]),
        ("0.3.11.post1", vec!["0.3.11.post1"]),
        ("0.3.12.post1", vec!["0.3.12.post1"]),
    ] {
        let error = check_at(&net(), master_of(name)).unwrap_err();
        let text = error.to_string();
        let PeerError::OtherRelease { found, .. } = error else {
            panic!("{name}: {text}")
        };
        assert_eq!(found, wanted, "{text}");
        let told = format!("is of release {name}, and this build speaks 0.3.13.post1 only");
        assert!(text.contains(&told), "{text}");
        assert!(
            text.contains("To mend this, start the master of mooncake-transfer-engine-non-cuda 0.3.13.post1"),
            "{text}"
        );
        assert!(logs_contain(&told), "the refusal of {name} is not in the log");
    }
    // 0.3.13 has the same types.
    assert!(check_at(&net(), master_of("0.3.13")).is_ok());
}

#[test]
fn one_disagreement_is_enough() {
    type Change = fn(&Request) -> Option<Reply>;
    let cases: [(Change, &str); 4] = [
        (
            |request| match request {
                Request::ServiceReady {} => Some(Reply::Say(Response::ServiceReady(Ok("2.0.1".to_owned())))),
                _ => None,
            },
            "\"2.0.1\"",
        ),
        (
            |request| match request {
                Request::PutStart { .. } => Some(Reply::Say(Response::PutStart(Ok(Vec::new())))),
                _ => None,
            },
            "probe 3",
        ),
        (
            |request| match request {
                Request::MountSegment { .. } => Some(Reply::Refuse(RpcError::invalid_arguments())),
                _ => None,
            },
            "probe 4",
        ),
        (
            |request| match request {
                Request::PutEnd { .. } => Some(Reply::Refuse(RpcError::not_registered())),
                _ => None,
            },
            "probe 6",
        ),
    ];
    for (change, words) in cases {
        let master =
            ScriptedMaster::start(move |request| change(request).unwrap_or_else(|| agreeing(request)));
        let error = check_at(&net(), master.address).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn what_is_no_master_is_told_so() {
    let http = peer(|mut stream| {
        let _ = stream.read(&mut [0; 64]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let error = check_at(&net(), http).unwrap_err();
    assert!(matches!(error, PeerError::NotAMaster { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("not that of its admin or metadata server"),
        "{error}"
    );
    let error = check_at(&net(), nobody()).unwrap_err();
    assert!(
        matches!(error, PeerError::Net(NetError::Unreachable { .. })),
        "{error}"
    );
    let silent = ScriptedMaster::start(|_| Reply::Silence);
    let impatient = Net::stepped(Duration::from_millis(50)).unwrap();
    let error = check_at(&impatient, silent.address).unwrap_err();
    assert!(matches!(error, PeerError::Net(NetError::Limit { .. })), "{error}");
}
