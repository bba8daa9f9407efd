//! Bytes that mean nothing, at every listener of ours: they bring nothing down and make nobody hold what a length says.

mod support;

use moonquake_net::Net;
use moonquake_net::datapath::{SegmentServer, Transfer, TransferRequest};
use moonquake_protocol::Literal;
use moonquake_protocol::datapath::{DataOperation, DataVersion};
use moonquake_protocol::frame::{RequestHeader, encode_request};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use support::exist;
use support::served::{LIMIT, busy, talk};

/// Numbers that look random and are the same in every run (splitmix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.next() % most;
        (0..length).map(|_| self.next() as u8).collect()
    }
}

/// Sends the bytes, ends the stream and waits until the other side has closed.
fn throw(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    // The other side may close in the middle.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    match stream.read_to_end(&mut Vec::new()) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the connection was not closed: {error}"),
    }
}

#[test]
fn the_master_survives_noise() {
    let (_net, server) = busy();
    let mut noise = Noise(1);
    let good = encode_request(0, &exist("k"), Literal::With);
    for round in 0..300 {
        let mut bytes = match round % 3 {
            0 => Vec::new(),
            1 => good[..usize::try_from(noise.next()).unwrap() % good.len()].to_vec(),
            _ => {
                // One byte of a good request is changed, the length in the header apart: it would only wait.
                let mut changed = good.clone();
                let at = 20 + usize::try_from(noise.next()).unwrap() % (good.len() - 20);
                changed[at] = noise.next() as u8;
                changed
            }
        };
        bytes.extend(noise.bytes(200));
        throw(server.address(), &bytes);
    }
    assert_eq!(talk(&server, &good, 1).len(), 1);
}

#[test]
fn an_owner_survives_noise() {
    let net = Net::background(LIMIT).unwrap();
    let server = SegmentServer::start(&net, "n1", 1 << 40, 1 << 16).unwrap();
    let mut noise = Noise(2);
    let daemon: SocketAddr = server.endpoint().parse().unwrap();
    for round in 0..300_u64 {
        // Some with a length that fits, so that the JSON behind it is looked at.
        let payload = noise.bytes(60);
        let length = if round % 2 == 0 {
            payload.len() as u64
        } else {
            noise.next()
        };
        throw(daemon, &[&length.to_le_bytes()[..], &payload].concat());
        throw(server.data_address(), &noise.bytes(100));
    }
    let deep = [&[b'['; 100_000][..], &[b']'; 100_000]].concat();
    throw(
        daemon,
        &[&(deep.len() as u64 + 1).to_le_bytes()[..], &[1], &deep].concat(),
    );
    let request = TransferRequest {
        endpoint: server.endpoint(),
        operation: DataOperation::Read,
        address: 1 << 40,
        size_bytes: 4,
        version: DataVersion::V2,
    };
    let mut out = [1; 4];
    Transfer::open(&net, request)
        .unwrap()
        .read_part(&mut out)
        .unwrap();
    assert_eq!(out, [0; 4], "noise got into the memory");
}

/// Memory of this process in use, in bytes.
#[cfg(target_os = "linux")]
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

#[test]
#[cfg(target_os = "linux")]
fn announced_lengths_take_no_memory() {
    let (_net, server) = busy();
    let net = Net::background(LIMIT).unwrap();
    let owner = SegmentServer::start(&net, "n1", 1 << 40, 1 << 16).unwrap();
    let daemon: SocketAddr = owner.endpoint().parse().unwrap();
    let header = RequestHeader {
        function_id: 7,
        body_bytes: 60 << 20,
        ..RequestHeader::default()
    };
    let before = resident_bytes();
    let held: Vec<TcpStream> = (0..100)
        .flat_map(|_| {
            let mut to_master = TcpStream::connect(server.address()).unwrap();
            to_master.write_all(&header.to_bytes()).unwrap();
            let mut to_daemon = TcpStream::connect(daemon).unwrap();
            to_daemon.write_all(&(1_u64 << 20).to_le_bytes()).unwrap();
            [to_master, to_daemon]
        })
        .collect();
    // Both are still served, so they have read what came before.
    assert_eq!(
        talk(&server, &encode_request(0, &exist("k"), Literal::With), 1).len(),
        1
    );
    throw(daemon, &0_u64.to_le_bytes());
    let grown = resident_bytes().saturating_sub(before);
    assert!(
        grown < 64 << 20,
        "{grown} bytes for {} connections that announced 6 GB",
        held.len()
    );
}
