//! The Rust master as a server, and raw talk to it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, SteppedClock};
use moonquake_master::{Master, MasterConfig};
use moonquake_net::{Net, Rounds, ServerHandle, serve};
use moonquake_protocol::frame::{FrameDecoder, ResponseHeader};
use moonquake_protocol::{ReplicateConfig, Request, Segment, Uuid};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const LIMIT: Duration = Duration::from_secs(20);
pub(crate) const CLIENT: Uuid = Uuid::new(1, 1);

pub(crate) fn any_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

pub(crate) fn start() -> Clocks {
    Clocks {
        realtime: RealtimeNs(1_700_000_000_000_000_000),
        monotonic: MonotonicNs(1_000_000_000),
    }
}

/// A master that serves by itself, for peers that block.
pub(crate) fn busy() -> (Net, ServerHandle) {
    let net = Net::background(LIMIT).unwrap();
    let clock = Arc::new(SteppedClock::new(start()));
    let master = Master::new(MasterConfig::default(), start()).unwrap();
    let server = serve(master, clock, any_port(), Rounds::ByCommand).unwrap();
    (net, server)
}

pub(crate) fn mount(name: &str) -> Request {
    let segment = Segment {
        id: Uuid::new(9, 9),
        name: name.to_owned(),
        base: 1 << 32,
        size: 16 << 20,
        te_endpoint: "127.0.0.1:1".to_owned(),
        protocol: "tcp".to_owned(),
        ..Segment::default()
    };
    Request::MountSegment {
        segment,
        client_id: CLIENT,
    }
}

pub(crate) fn put_start(key: &str) -> Request {
    Request::PutStart {
        client_id: CLIENT,
        key: key.to_owned(),
        slice_length: 4096,
        config: ReplicateConfig {
            replica_num: 1,
            ..ReplicateConfig::default()
        },
        tenant_id: "default".to_owned(),
    }
}

/// Sends raw bytes and returns what came until the server closed, or until `frames` answers came.
pub(crate) fn talk(server: &ServerHandle, bytes: &[u8], frames: usize) -> Vec<(u32, Vec<u8>, u8)> {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(bytes).unwrap();
    read_answers(&mut stream, frames)
}

pub(crate) fn read_answers(stream: &mut TcpStream, frames: usize) -> Vec<(u32, Vec<u8>, u8)> {
    let mut decoder = FrameDecoder::<ResponseHeader>::new();
    let mut answers = Vec::new();
    let mut buffer = [0; 4096];
    while answers.len() < frames {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => decoder.feed(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("after {} answers: {error}", answers.len()),
        }
        while let Some(frame) = decoder.next_frame().unwrap() {
            answers.push((frame.header.sequence, frame.body, frame.header.error_code));
        }
    }
    answers
}
