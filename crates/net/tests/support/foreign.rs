//! Clients that are not ours, as raw sockets in the test's own thread. They block, so the net must move by itself.
#![allow(dead_code, reason = "each test file uses a part of it")]

use moonquake_net::Net;
use moonquake_protocol::datapath::{DATA_HEADER_BYTES, DataHeader, DataOperation, DataStatus, DataVersion};
use moonquake_protocol::handshake::{HandshakeDecoder, HandshakeKind, HandshakeMessage, SegmentDescriptor};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub(crate) const LIMIT: Duration = Duration::from_secs(20);

pub(crate) fn net() -> Net {
    Net::background(LIMIT).unwrap()
}

/// For waits that are to end at their limit.
pub(crate) fn hasty() -> Net {
    Net::background(Duration::from_millis(300)).unwrap()
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Whether the other side has closed; nothing else may have come.
pub(crate) fn has_ended(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => true,
        Err(error) => panic!("the connection is still open: {error}"),
    }
}

pub(crate) fn exact(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

pub(crate) fn status(stream: &mut TcpStream) -> DataStatus {
    let bytes: [u8; 8] = exact(stream, 8).try_into().unwrap();
    DataStatus::from_bytes(&bytes).unwrap()
}

/// Asks whoever is at the handshake port for a descriptor.
pub(crate) fn introduce(endpoint: SocketAddr) -> SegmentDescriptor {
    let mut stream = connect(endpoint);
    let question = HandshakeMessage::new(HandshakeKind::Metadata, &serde_json::Map::new()).unwrap();
    stream.write_all(&question.to_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let mut decoder = HandshakeDecoder::new();
    decoder.feed(&bytes);
    let answer = decoder.next_message().unwrap().expect("the daemon answers");
    SegmentDescriptor::from_json(&answer.json).unwrap()
}

/// A data connection as the descriptor says.
pub(crate) fn lane(endpoint: SocketAddr) -> TcpStream {
    let descriptor = introduce(endpoint);
    let host = descriptor.data_host("127.0.0.1").parse().unwrap();
    connect(SocketAddr::new(host, descriptor.tcp_data_port))
}

pub(crate) fn header(
    operation: DataOperation,
    version: DataVersion,
    address: u64,
    size_bytes: u64,
) -> [u8; DATA_HEADER_BYTES] {
    DataHeader {
        size_bytes,
        address,
        operation,
        version,
    }
    .to_bytes()
}

pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8 + 1).collect()
}
