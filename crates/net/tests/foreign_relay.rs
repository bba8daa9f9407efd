//! Between a foreign client and an owner: payload moves when told, byte by byte.

mod support;

use moonquake_net::datapath::SegmentServer;
use moonquake_net::foreign::{Relay, RelayEvent, RelayTransfer, Side};
use moonquake_net::{Net, NetError};
use moonquake_protocol::datapath::{DataHeader, DataOperation, DataStatus, DataVersion};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use support::foreign::{connect, exact, has_ended, hasty, header, introduce, lane, net, pattern, status};

const BASE: u64 = 0x7f7e_14c0_0000;
const SIZE: u64 = 8 << 20;

fn owner(net: &Net) -> SegmentServer {
    SegmentServer::start(net, "n1", BASE, SIZE).unwrap()
}

fn relay(net: &Net, owner: &SegmentServer) -> Relay {
    Relay::listen(net, owner.endpoint().parse().unwrap()).unwrap()
}

fn take(relay: &mut Relay) -> RelayTransfer {
    relay.take("the next transfer", |_| true, &mut || None).unwrap()
}

fn read(version: DataVersion, at: u64, size: u64) -> [u8; 24] {
    header(DataOperation::Read, version, BASE + at, size)
}

fn write(version: DataVersion, at: u64, size: u64) -> [u8; 24] {
    header(DataOperation::Write, version, BASE + at, size)
}

/// Writes while the relay carries, so that neither waits for the other.
fn in_the_background(mut stream: TcpStream, bytes: Vec<u8>) -> std::sync::mpsc::Receiver<TcpStream> {
    let (done, is_done) = std::sync::mpsc::channel();
    #[allow(clippy::disallowed_methods, reason = "a client is a process of its own")]
    std::thread::spawn(move || {
        stream.write_all(&bytes).unwrap();
        let _ = done.send(stream);
    });
    is_done
}

#[test]
fn the_descriptor_leads_to_the_relay_and_is_else_the_owners() {
    let net = net();
    let (server, other) = (owner(&net), owner(&net));
    let relay = relay(&net, &server);
    let own = introduce(server.endpoint().parse().unwrap());
    let mut seen = introduce(relay.endpoint());
    assert_ne!(seen.tcp_data_port, own.tcp_data_port);
    assert!(relay.endpoint().port() >= 10_000 && seen.tcp_data_port >= 10_000);
    seen.tcp_data_port = own.tcp_data_port;
    assert_eq!(seen, own);
    assert_ne!(server.endpoint(), other.endpoint());
    assert_eq!(relay.problems(), Vec::<String>::new());
}

#[test]
fn every_size_passes_in_both_directions_and_versions() {
    let net = net();
    let server = owner(&net);
    let mut relay = relay(&net, &server);
    for version in [DataVersion::V1, DataVersion::V2] {
        for size in [1, 65_537, 5 << 20] {
            let bytes = pattern(usize::try_from(size).unwrap());
            let mut client = lane(relay.endpoint());
            client.write_all(&write(version, 3, size)).unwrap();
            let writer = in_the_background(client, bytes.clone());
            let transfer = take(&mut relay);
            assert!(relay.open(transfer).unwrap());
            assert_eq!(relay.carry(transfer, size).unwrap().as_ref(), Some(&bytes));
            assert!(relay.settled(transfer).unwrap());
            assert!(relay.finish(transfer).unwrap());
            let mut client = writer.recv().unwrap();
            if version == DataVersion::V2 {
                assert_eq!(status(&mut client), DataStatus::Ok);
            }
            assert_eq!(server.read(3, bytes.len()).unwrap(), bytes);
            // The same connection, the other way.
            client.write_all(&read(version, 3, size)).unwrap();
            let transfer = take(&mut relay);
            assert!(relay.open(transfer).unwrap());
            if version == DataVersion::V2 {
                assert_eq!(status(&mut client), DataStatus::Ok);
            }
            let reader = {
                let mut client = client.try_clone().unwrap();
                let length = bytes.len();
                #[allow(clippy::disallowed_methods, reason = "a client is a process of its own")]
                std::thread::spawn(move || exact(&mut client, length))
            };
            assert_eq!(relay.carry(transfer, size).unwrap().as_ref(), Some(&bytes));
            assert_eq!(reader.join().unwrap(), bytes);
            assert!(relay.settled(transfer).unwrap() && relay.finish(transfer).unwrap());
            server.write(3, &vec![0; bytes.len()]).unwrap();
        }
    }
    assert_eq!(relay.problems(), Vec::<String>::new());
}

#[test]
fn payload_moves_byte_by_byte_and_the_log_says_so() {
    let net = net();
    let server = owner(&net);
    let mut relay = relay(&net, &server);
    let mut client = lane(relay.endpoint());
    let bytes = pattern(1_000);
    client
        .write_all(&[&write(DataVersion::V2, 0, 1_000)[..], &bytes].concat())
        .unwrap();
    let transfer = take(&mut relay);
    assert_eq!(server.log(), [], "the owner hears nothing before it is told");
    assert!(relay.open(transfer).unwrap());
    let mut moved = 0;
    for length in [1, 0, 498, 500] {
        let part = relay.carry(transfer, length as u64).unwrap().unwrap();
        assert_eq!(part, bytes[moved..moved + length]);
        moved += length;
        assert!(relay.settled(transfer).unwrap());
        let stored = server.read(0, 1_000).unwrap();
        assert_eq!(stored[..moved], bytes[..moved]);
        assert!(
            stored[moved..].iter().all(|byte| *byte == 0),
            "after {moved} bytes"
        );
    }
    for error in [
        relay.carry(transfer, 2).map(drop),
        relay.finish(transfer).map(drop),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("1 bytes are left"), "{error}");
    }
    relay.carry(transfer, 1).unwrap().unwrap();
    assert!(relay.finish(transfer).unwrap());
    assert_eq!(status(&mut client), DataStatus::Ok);
    let header = DataHeader::from_bytes(&write(DataVersion::V2, 0, 1_000));
    let mut expected = vec![
        RelayEvent::Arrived {
            transfer,
            connection: 1,
            header,
        },
        RelayEvent::Opened {
            transfer,
            accepted: None,
        },
    ];
    let parts = [(0, 1), (1, 499), (499, 999), (999, 1_000)];
    expected.extend(parts.map(|(from, to)| RelayEvent::Moved { transfer, from, to }));
    expected.push(RelayEvent::Status { transfer, ok: true });
    assert_eq!(relay.log(), expected);
    assert_eq!(relay.log(), []);
}

#[test]
fn a_range_that_the_owner_refuses() {
    let net = net();
    let server = owner(&net);
    let mut relay = relay(&net, &server);
    // A read hears it at once.
    for (at, size) in [(0, 0), (SIZE, 1)] {
        let mut client = lane(relay.endpoint());
        client.write_all(&read(DataVersion::V2, at, size)).unwrap();
        let transfer = take(&mut relay);
        assert!(!relay.open(transfer).unwrap());
        assert_eq!(status(&mut client), DataStatus::AddressRefused);
        relay.close(transfer, Side::Both).unwrap();
        assert!(has_ended(&mut client));
        assert!(matches!(relay.open(transfer), Err(NetError::Order { .. })));
    }
    // An empty write at its end.
    let mut client = lane(relay.endpoint());
    client.write_all(&write(DataVersion::V2, 0, 0)).unwrap();
    let transfer = take(&mut relay);
    assert!(relay.open(transfer).unwrap());
    assert!(!relay.finish(transfer).unwrap());
    assert_eq!(status(&mut client), DataStatus::AddressRefused);
    // A large write in its middle: nobody waits for ever.
    let mut client = lane(relay.endpoint());
    client.write_all(&write(DataVersion::V2, SIZE, 64 << 20)).unwrap();
    let mut hearing = client.try_clone().unwrap();
    #[allow(clippy::disallowed_methods, reason = "a client is a process of its own")]
    let writer = std::thread::spawn(move || client.write_all(&vec![1; 64 << 20]).is_err());
    let transfer = take(&mut relay);
    assert!(relay.open(transfer).unwrap());
    assert_eq!(relay.carry(transfer, 64 << 20).unwrap(), None);
    assert_eq!(status(&mut hearing), DataStatus::AddressRefused);
    assert!(relay.moved(transfer).unwrap() < 64 << 20);
    hearing.shutdown(Shutdown::Both).unwrap();
    assert!(writer.join().unwrap());
    // Version 1 says nothing but by closing.
    let mut client = lane(relay.endpoint());
    client.write_all(&read(DataVersion::V1, SIZE, 1)).unwrap();
    let transfer = take(&mut relay);
    assert!(relay.open(transfer).unwrap());
    assert_eq!(relay.carry(transfer, 1).unwrap(), None);
}

#[test]
fn connections_have_partners_of_their_own_and_keep_them() {
    let net = net();
    let server = owner(&net);
    let mut relay = relay(&net, &server);
    let mut clients: Vec<_> = (0..4).map(|_| lane(relay.endpoint())).collect();
    for round in 0..2 {
        // The last connection speaks first, and is also taken first.
        for (at, client) in clients.iter_mut().enumerate().rev() {
            let bytes = [at as u8 + 1; 10];
            let head = write(DataVersion::V2, at as u64 * 10, 10);
            client.write_all(&[&head[..], &bytes].concat()).unwrap();
            let transfer = take(&mut relay);
            assert_eq!(relay.header(transfer).unwrap().address, BASE + at as u64 * 10);
            assert!(relay.open(transfer).unwrap());
            assert_eq!(relay.carry(transfer, 10).unwrap(), Some(bytes.to_vec()));
            assert!(relay.finish(transfer).unwrap());
            assert_eq!(status(client), DataStatus::Ok);
        }
        assert_eq!(server.open_connections(), 4, "in round {round}");
    }
    assert_eq!(
        (relay.open_connections(), relay.close_all_of_client().unwrap()),
        (4, 4)
    );
    for client in &mut clients {
        assert!(has_ended(client));
    }
    assert_eq!(relay.close_all_of_client().unwrap(), 0);
}

#[test]
fn headers_wait_and_can_be_taken_in_any_order() {
    let net = hasty();
    let server = owner(&net);
    let mut relay = relay(&net, &server);
    let no = |_: &DataHeader| false;
    let error = relay.take("a read", no, &mut || None).unwrap_err().to_string();
    assert!(
        error.contains("no transfer to") && error.contains("0 data connections"),
        "{error}"
    );
    let (mut first, mut second) = (lane(relay.endpoint()), lane(relay.endpoint()));
    for byte in read(DataVersion::V2, 0, 5) {
        first.write_all(&[byte]).unwrap();
    }
    let wanted = |size| move |header: &DataHeader| header.size_bytes == size;
    let read_of_five = relay.take("5 bytes", wanted(5), &mut || None).unwrap();
    second.write_all(&read(DataVersion::V1, 0, 6)).unwrap();
    let error = relay.take("7 bytes", wanted(7), &mut || None).unwrap_err();
    let words = format!("transfer 2 (Read of 6 bytes at {BASE:#x})");
    assert!(error.to_string().contains(&words), "{error}");
    assert!(matches!(error, NetError::Missing { .. }));
    assert_eq!(relay.pending().len(), 1);
    let read_of_six = relay.take("6 bytes", wanted(6), &mut || None).unwrap();
    assert_eq!((read_of_five, read_of_six), (RelayTransfer(1), RelayTransfer(2)));
    let mut dead = || Some("killed".to_owned());
    let error = relay.take("more", |_| true, &mut dead).unwrap_err();
    assert!(matches!(error, NetError::Gone { .. }), "{error}");
}

#[test]
fn what_a_dead_client_had_sent_is_found() {
    let net = net();
    let server = owner(&net);
    let mut relay = relay(&net, &server);
    let mut client = lane(relay.endpoint());
    client
        .write_all(&[&write(DataVersion::V2, 0, 10)[..], &[7; 4]].concat())
        .unwrap();
    drop(client);
    let mut dead = || Some("killed".to_owned());
    let transfer = relay.take("its write", |_| true, &mut dead).unwrap();
    assert!(relay.open(transfer).unwrap());
    assert_eq!(relay.carry(transfer, 10).unwrap(), None);
    assert_eq!(relay.moved(transfer), Some(4));
    assert_eq!(relay.close_all_of_client().unwrap(), 1);
    let closed = |side| RelayEvent::Closed {
        connection: 1,
        side,
        by_relay: true,
        moved: 4,
        missing: 6,
    };
    let log = relay.log();
    assert_eq!(log[log.len() - 2..], [closed(Side::Owner), closed(Side::Client)]);
    assert!(matches!(relay.carry(transfer, 1), Err(NetError::Order { .. })));
}

#[test]
fn half_a_header_is_a_problem_and_nothing_else() {
    let net = net();
    let server = owner(&net);
    let mut relay = relay(&net, &server);
    let mut half = lane(relay.endpoint());
    half.write_all(&read(DataVersion::V2, 0, 5)[..23]).unwrap();
    drop(half);
    let mut good = lane(relay.endpoint());
    good.write_all(&read(DataVersion::V2, 0, 5)).unwrap();
    let transfer = take(&mut relay);
    assert!(relay.open(transfer).unwrap());
    assert_eq!(relay.close_all_of_client().unwrap(), 2);
    let problems = relay.problems();
    assert!(
        problems.len() == 1 && problems[0].contains("after 23 of the 24 bytes"),
        "{problems:?}"
    );
}

#[test]
fn an_owner_that_dies_in_the_middle_ends_the_transfer() {
    for operation in [DataOperation::Read, DataOperation::Write] {
        let net = net();
        let mut server = owner(&net);
        let mut relay = relay(&net, &server);
        let mut client = lane(relay.endpoint());
        client
            .write_all(&header(operation, DataVersion::V2, BASE, 100))
            .unwrap();
        if operation == DataOperation::Write {
            client.write_all(&[1; 100]).unwrap();
        }
        let transfer = take(&mut relay);
        assert!(relay.open(transfer).unwrap());
        assert!(relay.carry(transfer, 10).unwrap().is_some());
        server.kill().unwrap();
        // What had left the owner before may still come.
        let rest = relay.carry(transfer, 90).unwrap();
        assert!(rest.is_none() || operation == DataOperation::Read);
        relay.kill_owner_side().unwrap();
        let mut rest = Vec::new();
        // Whatever was passed on, then the end or a reset.
        let _ = client.read_to_end(&mut rest);
        assert!(
            matches!(TcpStream::connect(relay.endpoint()), Err(error) if error.kind() == ErrorKind::ConnectionRefused)
        );
        assert_eq!(relay.open_connections(), 0);
    }
}

#[test]
fn an_owner_that_is_gone_is_told_at_the_opening() {
    let net = net();
    let mut server = owner(&net);
    let mut relay = relay(&net, &server);
    let mut client = lane(relay.endpoint());
    server.kill().unwrap();
    client.write_all(&read(DataVersion::V2, 0, 5)).unwrap();
    let transfer = take(&mut relay);
    assert!(!relay.open(transfer).unwrap());
    relay.close(transfer, Side::Client).unwrap();
    assert!(has_ended(&mut client));
    // A handshake ends as well, without an answer.
    let mut asking = connect(relay.endpoint());
    asking.write_all(b"\x03\0\0\0\0\0\0\0\x01{}").unwrap();
    assert!(has_ended(&mut asking));
    assert_eq!(relay.problems().len(), 2);
}

#[test]
fn a_client_that_closes_in_the_middle_ends_the_transfer() {
    let net = net();
    let server = owner(&net);
    let mut relay = relay(&net, &server);
    let mut client = lane(relay.endpoint());
    client.write_all(&read(DataVersion::V2, 0, SIZE)).unwrap();
    let transfer = take(&mut relay);
    assert!(relay.open(transfer).unwrap());
    assert!(relay.carry(transfer, 5).unwrap().is_some());
    drop(client);
    relay.client_closed(transfer).unwrap();
    assert_eq!(relay.carry(transfer, SIZE - 5).unwrap(), None);
    relay.close(transfer, Side::Owner).unwrap();
    let closed = relay.log().into_iter().filter_map(|event| match event {
        RelayEvent::Closed {
            side,
            by_relay,
            moved,
            missing,
            ..
        } => Some((side, by_relay, moved, missing)),
        _ => None,
    });
    let closed: Vec<_> = closed.collect();
    let left = SIZE - 5;
    assert_eq!(
        closed,
        [(Side::Client, false, 5, left), (Side::Owner, true, 5, left)]
    );
}

/// Sends until the kernel takes no more, and says how much it took.
fn fill(stream: &mut TcpStream) -> u64 {
    stream.set_nonblocking(true).unwrap();
    let mut sent = 0;
    loop {
        match stream.write(&[5; 64 << 10]) {
            Ok(count) => sent += count as u64,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return sent,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_close_behind_a_full_buffer_is_seen_and_nothing_is_read_for_it() {
    let net = net();
    let server = owner(&net);
    let mut relay = relay(&net, &server);
    let mut client = lane(relay.endpoint());
    client.write_all(&write(DataVersion::V2, 0, SIZE)).unwrap();
    let transfer = take(&mut relay);
    assert!(relay.open(transfer).unwrap());
    assert!(fill(&mut client) < SIZE, "the client could send all of it ahead");
    drop(client);
    relay.client_closed(transfer).unwrap();
    assert_eq!((relay.moved(transfer), relay.open_connections()), (Some(0), 0));
    assert_eq!(server.read(0, 64).unwrap(), [0; 64]);
}

#[test]
fn a_client_that_does_not_close_is_waited_for_to_the_limit() {
    let net = hasty();
    let server = owner(&net);
    let mut relay = relay(&net, &server);
    let mut client = lane(relay.endpoint());
    client.write_all(&write(DataVersion::V2, 0, 9)).unwrap();
    let transfer = take(&mut relay);
    assert!(matches!(
        relay.client_closed(transfer),
        Err(NetError::Limit { .. })
    ));
    // Nor does it send its payload.
    assert!(relay.open(transfer).unwrap());
    assert!(matches!(relay.carry(transfer, 9), Err(NetError::Limit { .. })));
    client.write_all(&[3; 9]).unwrap();
    assert_eq!(relay.carry(transfer, 9).unwrap(), Some(vec![3; 9]));
    assert!(relay.finish(transfer).unwrap());
}

#[test]
fn a_frozen_owner_costs_the_limit_and_no_byte() {
    let net = hasty();
    // More than all buffers on the way hold.
    let size = 32 << 20;
    let server = SegmentServer::start(&net, "n1", BASE, size).unwrap();
    let bytes = pattern(32 << 20);
    server.write(0, &bytes).unwrap();
    let mut relay = relay(&net, &server);
    let mut client = lane(relay.endpoint());
    server.freeze();
    client.write_all(&read(DataVersion::V2, 0, size)).unwrap();
    let transfer = take(&mut relay);
    assert!(matches!(relay.open(transfer), Err(NetError::Limit { .. })));
    server.unfreeze();
    assert!(relay.open(transfer).unwrap());
    assert_eq!(status(&mut client), DataStatus::Ok);
    // The client does not read either: what was carried by the limit counts, the rest is not lost.
    server.freeze();
    let error = relay.carry(transfer, size).map(drop);
    assert!(matches!(error, Err(NetError::Limit { .. })), "{error:?}");
    server.unfreeze();
    let before = usize::try_from(relay.moved(transfer).unwrap()).unwrap();
    let mut seen = exact(&mut client, before);
    let reader = {
        let length = bytes.len() - before;
        #[allow(clippy::disallowed_methods, reason = "a client is a process of its own")]
        std::thread::spawn(move || exact(&mut client, length))
    };
    let rest = relay.carry(transfer, size - before as u64).unwrap().unwrap();
    seen.extend(reader.join().unwrap());
    assert!(rest == bytes[before..]);
    assert!(seen == bytes);
}

#[test]
fn a_receiver_that_does_not_read_has_not_settled() {
    let net = hasty();
    let server = owner(&net);
    let mut relay = relay(&net, &server);
    let mut client = lane(relay.endpoint());
    client.write_all(&read(DataVersion::V2, 0, 100)).unwrap();
    let transfer = take(&mut relay);
    assert!(relay.open(transfer).unwrap());
    assert!(relay.carry(transfer, 100).unwrap().is_some());
    assert!(matches!(relay.settled(transfer), Err(NetError::Limit { .. })));
    exact(&mut client, 108);
    assert!(relay.settled(transfer).unwrap());
    drop(client);
    assert!(!relay.settled(transfer).unwrap());
}

#[test]
fn handshakes_that_are_none_are_dropped() {
    let net = net();
    let server = owner(&net);
    let relay = relay(&net, &server);
    for bytes in [&b"HTTP/1.1 200 OK"[..], &[0; 8], &[1, 0, 0]] {
        let mut asking = connect(relay.endpoint());
        asking.write_all(bytes).unwrap();
        asking.shutdown(Shutdown::Write).unwrap();
        assert!(has_ended(&mut asking));
    }
    assert_eq!(relay.problems().len(), 3);
    assert_eq!(introduce(relay.endpoint()).name, server.endpoint());
    let owner: SocketAddr = server.endpoint().parse().unwrap();
    assert_eq!(relay.owner(), owner);
}
