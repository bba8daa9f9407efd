//! The data path: owners and transfers of ours, strangers at both ends.

mod support;

use moonquake_net::datapath::{
    ClosedHow, OwnerEvent, PlainMemory, SegmentServer, Transfer, TransferError, TransferRequest,
};
use moonquake_net::{Net, NetError};
use moonquake_protocol::datapath::{DataHeader, DataOperation, DataStatus, DataVersion};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const BASE: u64 = 0x7f7e_14c0_0000;
const SIZE: u64 = 4 << 20;

fn net() -> Net {
    Net::stepped(Duration::from_secs(20)).unwrap()
}

fn owner(net: &Net) -> SegmentServer {
    SegmentServer::start(net, "n1", BASE, SIZE).unwrap()
}

fn request(server: &SegmentServer, operation: DataOperation, offset: u64, size: u64) -> TransferRequest {
    TransferRequest {
        endpoint: server.endpoint(),
        operation,
        address: BASE + offset,
        size_bytes: size,
        version: DataVersion::V2,
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8 + 1).collect()
}

fn opened(
    connection: u64,
    operation: DataOperation,
    offset: u64,
    size: u64,
    version: DataVersion,
) -> OwnerEvent {
    OwnerEvent::Opened {
        connection,
        own: true,
        write: operation == DataOperation::Write,
        address: BASE + offset,
        size,
        version,
        accepted: true,
    }
}

#[test]
fn a_write_lands_part_by_part_in_both_versions() {
    let net = net();
    for version in [DataVersion::V1, DataVersion::V2] {
        let server =
            SegmentServer::start_with(&net, "n1", BASE, version, Box::new(PlainMemory::new(1 << 20)))
                .unwrap();
        let bytes = pattern(150_000);
        let request = request(&server, DataOperation::Write, 4096, 150_000);
        let mut transfer = Transfer::open(&net, request).unwrap();
        assert_eq!((transfer.version(), transfer.is_observed()), (version, true));
        assert_eq!(transfer.connection(), Some(1));
        assert_eq!(
            server.log(),
            [opened(1, DataOperation::Write, 4096, 150_000, version)]
        );
        transfer.write_part(&bytes[..1]).unwrap();
        transfer.write_part(&bytes[1..100_000]).unwrap();
        let landed = |from, to| OwnerEvent::Landed {
            connection: 1,
            from,
            to,
        };
        assert_eq!(server.log(), [landed(0, 1), landed(1, 100_000)]);
        assert_eq!(server.read(4096, 100_000).unwrap(), &bytes[..100_000]);
        assert_eq!(
            server.read(4096 + 100_000, 50_000).unwrap(),
            vec![0; 50_000],
            "a byte landed ungranted"
        );
        transfer.write_part(&bytes[100_000..]).unwrap();
        transfer.finish().unwrap();
        let closed = OwnerEvent::Closed {
            connection: 1,
            how: ClosedHow::Complete,
            moved: 150_000,
            missing: 0,
        };
        assert_eq!(server.log(), [landed(100_000, 150_000), closed]);
        assert_eq!(server.read(4096, 150_000).unwrap(), bytes);
        assert_eq!(server.open_connections(), 0);
    }
}

#[test]
fn a_read_takes_the_bytes_that_are_there_when_they_leave() {
    let net = net();
    for version in [DataVersion::V1, DataVersion::V2] {
        let server =
            SegmentServer::start_with(&net, "n1", BASE, version, Box::new(PlainMemory::new(1 << 20)))
                .unwrap();
        server.write(0, &[1; 1000]).unwrap();
        let mut transfer = Transfer::open(&net, request(&server, DataOperation::Read, 0, 1000)).unwrap();
        let mut out = [0; 1000];
        transfer.read_part(&mut out[..400]).unwrap();
        server.write(0, &[2; 1000]).unwrap();
        transfer.read_part(&mut out[400..]).unwrap();
        assert_eq!((out[399], out[400], out[999]), (1, 2, 2));
        transfer.finish().unwrap();
        let left = |from, to| OwnerEvent::Left {
            connection: 1,
            from,
            to,
        };
        let closed = OwnerEvent::Closed {
            connection: 1,
            how: ClosedHow::Complete,
            moved: 1000,
            missing: 0,
        };
        let expected = [
            opened(1, DataOperation::Read, 0, 1000, version),
            left(0, 400),
            left(400, 1000),
            closed,
        ];
        assert_eq!(server.log(), expected);
    }
}

#[test]
fn a_transfer_that_is_closed_early_is_seen_so() {
    let net = net();
    let server = owner(&net);
    let mut write = Transfer::open(&net, request(&server, DataOperation::Write, 0, 100)).unwrap();
    write.write_part(&[7; 30]).unwrap();
    write.close().unwrap();
    let mut read = Transfer::open(&net, request(&server, DataOperation::Read, 0, 100)).unwrap();
    read.read_part(&mut [0; 10]).unwrap();
    read.close().unwrap();
    let closed: Vec<OwnerEvent> = server
        .log()
        .into_iter()
        .filter(|event| matches!(event, OwnerEvent::Closed { .. }))
        .collect();
    let early = |connection, moved, missing| OwnerEvent::Closed {
        connection,
        how: ClosedHow::Early,
        moved,
        missing,
    };
    assert_eq!(closed, [early(1, 30, 70), early(2, 10, 90)]);
    assert_eq!(server.read(0, 31).unwrap()[29..], [7, 0]);
}

#[test]
fn ranges_outside_the_buffer_are_refused() {
    let net = net();
    let server = owner(&net);
    let ranges = [
        (BASE, 0),
        (BASE - 1, 2),
        (BASE + SIZE, 1),
        (BASE + SIZE - 1, 2),
        (u64::MAX - 3, 8),
        (0, 1),
        (BASE, SIZE + 1),
    ];
    for (address, size_bytes) in ranges {
        for operation in [DataOperation::Read, DataOperation::Write] {
            for version in [DataVersion::V1, DataVersion::V2] {
                let endpoint = server.endpoint();
                let request = TransferRequest {
                    endpoint,
                    operation,
                    address,
                    size_bytes,
                    version,
                };
                let error = Transfer::open(&net, request.clone()).unwrap_err();
                match version {
                    DataVersion::V1 => assert!(
                        matches!(error, TransferError::Closed { .. }),
                        "{request:?}: {error}"
                    ),
                    DataVersion::V2 => assert!(
                        matches!(error, TransferError::Refused { .. }),
                        "{request:?}: {error}"
                    ),
                }
            }
        }
    }
    let whole = request(&server, DataOperation::Write, 0, SIZE);
    Transfer::open(&net, whole).unwrap();
    assert_eq!(server.read(0, 4).unwrap(), [0; 4]);
    assert!(matches!(server.read(SIZE, 1), Err(NetError::Order { .. })));
    assert!(matches!(
        server.write(u64::MAX, &[1]),
        Err(NetError::Order { .. })
    ));
}

#[test]
fn a_frozen_owner_takes_nothing_and_goes_on_where_it_was() {
    let net = net();
    let server = owner(&net);
    let mut transfer = Transfer::open(&net, request(&server, DataOperation::Write, 0, 100)).unwrap();
    transfer.write_part(&[1; 40]).unwrap();
    server.freeze();
    assert!(matches!(
        transfer.write_part(&[2; 60]),
        Err(TransferError::Frozen { .. })
    ));
    let second = Transfer::open(&net, request(&server, DataOperation::Read, 0, 1));
    assert!(matches!(second, Err(TransferError::Frozen { .. })));
    // A stranger's connection is made by the kernel, and nothing of it is read.
    let mut stranger = TcpStream::connect(server.data_address()).unwrap();
    stranger.write_all(&write_header(200, 1).to_bytes()).unwrap();
    stranger.write_all(&[9]).unwrap();
    net.step("letting the owner run", tokio::task::yield_now())
        .unwrap();
    assert_eq!(server.read(40, 200).unwrap(), vec![0; 200]);
    assert_eq!(server.open_connections(), 1);
    server.unfreeze();
    transfer.write_part(&[2; 60]).unwrap();
    transfer.finish().unwrap();
    assert_eq!(server.read(39, 3).unwrap(), [1, 2, 2]);
}

#[test]
fn a_freeze_in_the_middle_of_a_strangers_write_stops_it_there() {
    let net = net();
    let server = owner(&net);
    let mut stranger = TcpStream::connect(server.data_address()).unwrap();
    stranger.write_all(&write_header(0, 100).to_bytes()).unwrap();
    stranger.write_all(&[1; 40]).unwrap();
    let landed = async {
        while server.read(39, 1).unwrap() != [1] {
            tokio::task::yield_now().await;
        }
    };
    net.step("waiting for the first part", landed).unwrap();
    // The owner waits for more when it is frozen, and what arrives then stays in the kernel.
    server.freeze();
    stranger.write_all(&[2; 60]).unwrap();
    let rounds = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    };
    net.step("letting the owner run", rounds).unwrap();
    assert_eq!(
        server.read(40, 60).unwrap(),
        [0; 60],
        "a frozen owner stored bytes"
    );
    server.unfreeze();
    stranger.set_nonblocking(true).unwrap();
    let acknowledged = async {
        while stranger.peek(&mut [0; 8]).is_err() {
            tokio::task::yield_now().await;
        }
    };
    net.step("waiting for the status", acknowledged).unwrap();
    stranger.set_nonblocking(false).unwrap();
    assert_eq!(exact(&mut stranger), DataStatus::Ok.to_bytes());
    assert_eq!(server.read(40, 60).unwrap(), [2; 60]);
}

#[test]
fn a_killed_owner_closes_everything() {
    let net = net();
    let mut server = owner(&net);
    let mut write = Transfer::open(&net, request(&server, DataOperation::Write, 0, 100)).unwrap();
    write.write_part(&[1; 40]).unwrap();
    let read = Transfer::open(&net, request(&server, DataOperation::Read, 0, 100)).unwrap();
    server.log();
    server.freeze();
    server.kill().unwrap();
    let killed = |connection, moved, missing| OwnerEvent::Closed {
        connection,
        how: ClosedHow::Killed,
        moved,
        missing,
    };
    assert_eq!(server.log(), [killed(1, 40, 60), killed(2, 0, 100)]);
    assert!(
        TcpStream::connect(server.data_address()).is_err(),
        "a dead owner still listens"
    );
    let error = write.write_part(&[2; 60]).unwrap_err();
    assert!(
        matches!(error, TransferError::Closed { moved: 40, .. }),
        "{error}"
    );
    read.close().unwrap();
    let error = Transfer::open(&net, request(&server, DataOperation::Read, 0, 1)).unwrap_err();
    assert!(matches!(error, TransferError::LookUp { .. }), "{error}");
}

fn write_header(offset: u64, size_bytes: u64) -> DataHeader {
    let (operation, version) = (DataOperation::Write, DataVersion::V2);
    DataHeader {
        size_bytes,
        address: BASE + offset,
        operation,
        version,
    }
}

/// Strangers are served while the test waits for them, so their owner runs by itself.
fn busy_owner() -> (Net, SegmentServer) {
    let net = Net::background(Duration::from_secs(20)).unwrap();
    let server = SegmentServer::start(&net, "n1", BASE, SIZE).unwrap();
    (net, server)
}

fn exact<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_stranger_is_served_without_grants_even_byte_by_byte() {
    let (_net, server) = busy_owner();
    let bytes = pattern(150_000);
    let mut stream = TcpStream::connect(server.data_address()).unwrap();
    stream.set_nodelay(true).unwrap();
    for byte in write_header(10, 150_000).to_bytes() {
        stream.write_all(&[byte]).unwrap();
    }
    stream.write_all(&bytes).unwrap();
    assert_eq!(exact(&mut stream), DataStatus::Ok.to_bytes());
    // The next request on the same connection: a read of version 1, then one of version 2.
    let read = |version| DataHeader {
        operation: DataOperation::Read,
        version,
        ..write_header(10, 150_000)
    };
    stream.write_all(&read(DataVersion::V1).to_bytes()).unwrap();
    assert!(exact::<150_000>(&mut stream) == bytes[..]);
    stream.write_all(&read(DataVersion::V2).to_bytes()).unwrap();
    assert_eq!(exact(&mut stream), DataStatus::Ok.to_bytes());
    assert!(exact::<150_000>(&mut stream) == bytes[..]);
    let log = server.log();
    let marks: Vec<(u64, u64)> = log
        .iter()
        .filter_map(|event| match event {
            OwnerEvent::Landed { from, to, .. } => Some((*from, *to)),
            _ => None,
        })
        .collect();
    assert_eq!(marks, [(0, 65_536), (65_536, 131_072), (131_072, 150_000)]);
    assert!(matches!(
        log[0],
        OwnerEvent::Opened {
            own: false,
            write: true,
            accepted: true,
            ..
        }
    ));
}

#[test]
fn a_stranger_is_refused_as_by_the_real_owner() {
    let (_net, server) = busy_owner();
    let refused = |version| {
        let mut stream = TcpStream::connect(server.data_address()).unwrap();
        let header = DataHeader {
            version,
            ..write_header(SIZE, 1 << 20)
        };
        stream.write_all(&header.to_bytes()).unwrap();
        // Before any byte of the body was sent.
        let mut answer = Vec::new();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.read_to_end(&mut answer).unwrap();
        answer
    };
    assert_eq!(refused(DataVersion::V2), DataStatus::AddressRefused.to_bytes());
    assert!(refused(DataVersion::V1).is_empty());
}

#[test]
fn handshakes_of_every_kind() {
    let (_net, server) = busy_owner();
    let ask = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(server.endpoint()).unwrap();
        stream.set_nodelay(true).unwrap();
        bytes.iter().for_each(|byte| stream.write_all(&[*byte]).unwrap());
        let mut answer = Vec::new();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        match stream.read_to_end(&mut answer) {
            // A daemon that closes with bytes unread resets the connection; what it said before counts.
            Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => panic!("no end: {error}"),
            _ => answer,
        }
    };
    let message = |kind: u8, json: &str| {
        [
            &(json.len() as u64 + 1).to_le_bytes()[..],
            &[kind],
            json.as_bytes(),
        ]
        .concat()
    };
    let descriptor = ask(&message(1, "{}"));
    assert_eq!(descriptor[8], 1);
    let json: serde_json::Value = serde_json::from_slice(&descriptor[9..]).unwrap();
    assert_eq!(json["name"], server.endpoint());
    assert_eq!(json["tcp_data_port"], server.data_address().port());
    assert_eq!(
        (&json["tcp_proto_version"], &json["protocol"]),
        (&2.into(), &"tcp".into())
    );
    assert_eq!(
        (&json["buffers"][0]["addr"], &json["buffers"][0]["length"]),
        (&BASE.into(), &SIZE.into())
    );
    assert_eq!(ask(&message(3, "{}")), message(3, "{\"status\":\"success\"}\n"));
    let notify = message(2, r#"{"name":"n","notify_msg":"hello"}"#);
    assert_eq!(
        ask(&notify),
        message(2, "{\"name\":\"\",\"notify_msg\":\"success\"}\n")
    );
    for dropped in [
        &message(1, "{")[..],
        &[0; 8],
        &u64::MAX.to_le_bytes(),
        &message(1, "\u{0}"),
        &message(0, "{}"),
    ] {
        assert!(ask(dropped).is_empty(), "{dropped:?} was answered");
    }
}

#[test]
fn captured_headers_are_served() {
    let (_net, server) = busy_owner();
    let mut headers = 0;
    for line in include_str!("../../../fixtures/wire/datapath-vectors.jsonl").lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        if vector["kind"] != "data header" {
            continue;
        }
        headers += 1;
        let hex = vector["hex"].as_str().unwrap();
        let mut bytes: Vec<u8> = (0..24)
            .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        bytes[8..16].copy_from_slice(&BASE.to_le_bytes());
        let mut stream = TcpStream::connect(server.data_address()).unwrap();
        stream.write_all(&bytes).unwrap();
        let size = usize::try_from(vector["decoded"]["size"].as_u64().unwrap()).unwrap();
        let acknowledged = vector["decoded"]["version"] == 2;
        if vector["decoded"]["op"] == "write" {
            stream.write_all(&pattern(size)).unwrap();
        }
        if acknowledged {
            assert_eq!(exact(&mut stream), DataStatus::Ok.to_bytes());
        }
        if vector["decoded"]["op"] == "read" {
            let mut read = vec![0; size];
            stream.read_exact(&mut read).unwrap();
            assert!(read == pattern(size), "{line}");
        }
        // The end of the connection is the proof that a write of version 1 is through.
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
    assert_eq!(headers, 5);
}

#[test]
fn parts_beyond_the_transfer_and_the_wrong_way_are_out_of_order() {
    let net = net();
    let server = owner(&net);
    let mut transfer = Transfer::open(&net, request(&server, DataOperation::Write, 0, 10)).unwrap();
    for error in [
        transfer.write_part(&[0; 11]).unwrap_err(),
        transfer.read_part(&mut [0; 1]).unwrap_err(),
    ] {
        assert!(
            matches!(error, TransferError::Net(NetError::Order { .. })),
            "{error}"
        );
    }
    transfer.write_part(&[1; 9]).unwrap();
    let error = transfer.finish().unwrap_err();
    assert!(error.to_string().contains("9 of 10 bytes"), "{error}");
}
