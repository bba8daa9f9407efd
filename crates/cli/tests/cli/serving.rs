//! The served master as a process, with less than it asks for.

use crate::support::{Place, Said};
use moonquake_protocol::frame::{Header, ResponseHeader, encode_request};
use moonquake_protocol::{Literal, Request, Uuid};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

/// More peers than the process has file descriptors.
const PEERS: u32 = 100;
const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn cli_a_server_out_of_file_descriptors_serves_whoever_waits_later() {
    let place = Place::new();
    let mut limited = Command::new("sh");
    limited
        .args([
            "-c",
            "ulimit -n 48; exec \"$0\" serve",
            env!("CARGO_BIN_EXE_moonquake"),
        ])
        .current_dir(place.path())
        .env_remove("FAILPOINTS")
        .env("MOONQUAKE_LOG", "warn")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = limited.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
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
    let ended = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(ended.unwrap().success());
    Said::of(child.wait_with_output().unwrap())
        .exits(0)
        .complains("accepting failed, trying again and again");
}
