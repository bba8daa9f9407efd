//! The served master as a process, with less than it asks for.

use crate::support::{Place, Said};
use moonquake_protocol::frame::{Header, RequestHeader, ResponseHeader, encode_request};
use moonquake_protocol::{Literal, Request, Uuid};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// More peers than the process has file descriptors.
const PEERS: u32 = 100;
const LIMIT: Duration = Duration::from_secs(20);

/// Lines of the log that are more than a pipe holds.
const REFUSALS: usize = 4_000;

/// A server. A test that fails in between leaves none behind.
struct Served(Option<Child>);

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A server whose log nobody reads yet, started by a shell command in which it is `"$0" serve`.
fn started(place: &Place, command: &str) -> (Served, String) {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command, env!("CARGO_BIN_EXE_moonquake")])
        .current_dir(place.path())
        .env_remove("FAILPOINTS")
        .env("MOONQUAKE_LOG", "warn")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    let served = Served(Some(child));
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    (served, address)
}

/// Ends it, and reads what it has said.
fn ended(mut served: Served) -> Said {
    let id = served.0.as_ref().unwrap().id().to_string();
    let ended = Command::new("kill").args(["-TERM", &id]).status();
    assert!(ended.unwrap().success());
    let child = served.0.take().unwrap();
    Said::of(child.wait_with_output().unwrap())
}

#[test]
fn cli_a_server_out_of_file_descriptors_serves_whoever_waits_later() {
    let place = Place::new();
    let (served, address) = started(&place, "ulimit -n 48; exec \"$0\" serve");
    let client_id = Uuid::new(1, 1);
    let peers: Vec<TcpStream> = (0..PEERS)
        .map(|sequence| {
            let mut peer = TcpStream::connect(&address).unwrap();
            peer.set_read_timeout(Some(LIMIT)).unwrap();
            peer.write_all(&encode_request(
                sequence,
                &Request::Ping { client_id },
                Literal::With,
            ))
            .unwrap();
            peer
        })
        .collect();
    // Each that leaves makes room for one that waits.
    for (sequence, mut peer) in (0..PEERS).zip(peers) {
        let mut header = [0; ResponseHeader::BYTES];
        peer.read_exact(&mut header).unwrap();
        assert_eq!(
            ResponseHeader::parse(&header).unwrap().unwrap().sequence,
            sequence
        );
    }
    ended(served)
        .exits(0)
        .complains("accepting failed, trying again and again");
}

#[test]
fn cli_a_server_whose_log_nobody_reads_answers() {
    let place = Place::new();
    let (served, address) = started(&place, "exec \"$0\" serve");
    let client_id = Uuid::new(1, 1);
    let mut frame = encode_request(5, &Request::Ping { client_id }, Literal::With);
    // The hash of the request's type: each is refused and logged.
    frame[RequestHeader::BYTES] ^= 0xf0;
    let mut peer = TcpStream::connect(&address).unwrap();
    peer.set_read_timeout(Some(LIMIT)).unwrap();
    for _ in 0..REFUSALS {
        peer.write_all(&frame).unwrap();
        let mut header = [0; ResponseHeader::BYTES];
        peer.read_exact(&mut header).unwrap();
        let header = ResponseHeader::parse(&header).unwrap().unwrap();
        assert_ne!(header.error_code, 0);
        let mut body = vec![0; header.body_bytes() as usize];
        peer.read_exact(&mut body).unwrap();
    }
    ended(served).exits(0).complains("request refused");
}
