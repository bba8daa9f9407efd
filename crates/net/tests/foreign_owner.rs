//! Transfers to owners that are not ours and do not keep to the protocol.

mod support;

use moonquake_net::Net;
use moonquake_net::datapath::{Transfer, TransferRequest};
use moonquake_protocol::datapath::{DataOperation, DataStatus, DataVersion};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use support::peer;

const BASE: u64 = 0x7f7e_14c0_0000;

fn net() -> Net {
    Net::stepped(Duration::from_secs(20)).unwrap()
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8 + 1).collect()
}

fn exact<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// An owner that is not ours: `act` serves its one data connection.
fn foreign(version: &str, act: impl FnOnce(TcpStream) + Send + 'static) -> String {
    let data = peer(act);
    let json = format!(
        r#"{{"name":"x","protocol":"tcp","tcp_data_host":"127.0.0.1","tcp_data_port":{},{version}"buffers":[]}}"#,
        data.port()
    );
    let daemon = peer(move |mut stream| {
        let question: [u8; 12] = exact(&mut stream);
        assert_eq!(question[8..], [1, b'{', b'}', b'\n']);
        let answer = [&(json.len() as u64 + 1).to_le_bytes()[..], &[1], json.as_bytes()].concat();
        stream.write_all(&answer).unwrap();
    });
    daemon.to_string()
}

const V2: &str = r#""tcp_proto_version":2,"#;

fn to_foreign(endpoint: String, operation: DataOperation, size_bytes: u64) -> TransferRequest {
    TransferRequest {
        endpoint,
        operation,
        address: BASE,
        size_bytes,
        version: DataVersion::V2,
    }
}

#[test]
fn an_early_word_is_heard_in_the_middle_of_a_large_write() {
    for (status, words) in [
        (DataStatus::AddressRefused, "refuses the range"),
        (DataStatus::Ok, "before it was given all of them"),
    ] {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let endpoint = foreign(V2, move |mut stream| {
            let _: [u8; 24] = exact(&mut stream);
            stream.write_all(&status.to_bytes()).unwrap();
            // Nothing of the body is ever read, and the connection stays until the writer is through.
            let _ = is_done.recv();
        });
        let net = net();
        let size = 64 << 20;
        let mut transfer = Transfer::open(&net, to_foreign(endpoint, DataOperation::Write, size)).unwrap();
        assert!(!transfer.is_observed());
        let error = transfer.write_part(&pattern(64 << 20)).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        drop(done);
    }
}

#[test]
fn odd_owners_fail_a_write_and_nothing_else() {
    type Act = fn(TcpStream);
    let cases: [(&str, &str, Act, &str); 4] = [
        (
            "junk as status",
            V2,
            |mut stream| {
                let _: [u8; 34] = exact(&mut stream);
                stream.write_all(&[0xee; 8]).unwrap();
            },
            "0xeeeeeeeeeeeeeeee is no status",
        ),
        (
            "half a status",
            V2,
            |mut stream| {
                let _: [u8; 34] = exact(&mut stream);
                stream.write_all(&[0; 3]).unwrap();
            },
            "ended after 10 bytes",
        ),
        (
            "closes after the body",
            V2,
            |mut stream| {
                let _: [u8; 34] = exact(&mut stream);
            },
            "ended after 10 bytes",
        ),
        (
            "is of version 1 and takes it",
            "",
            |mut stream| {
                let header: [u8; 34] = exact(&mut stream);
                assert_eq!(header[16], 1, "version 2 was spoken to an owner of version 1");
            },
            "",
        ),
    ];
    for (name, version, act, words) in cases {
        let net = net();
        let endpoint = foreign(version, act);
        let request = to_foreign(endpoint, DataOperation::Write, 10);
        let result = Transfer::open(&net, request).and_then(|mut transfer| {
            transfer.write_part(&[1; 10])?;
            transfer.finish()
        });
        let said = result.map_or_else(|error| error.to_string(), |()| String::new());
        assert!(
            said.contains(words) && said.is_empty() == words.is_empty(),
            "{name}: {said}"
        );
    }
}

#[test]
fn odd_owners_fail_a_read_and_nothing_else() {
    type Act = fn(TcpStream);
    let cases: [(&str, &str, Act, &str); 5] = [
        (
            "refuses",
            V2,
            |mut stream| {
                let _: [u8; 24] = exact(&mut stream);
                stream.write_all(&DataStatus::AddressRefused.to_bytes()).unwrap();
            },
            "refuses the range",
        ),
        (
            "junk as status",
            V2,
            |mut stream| {
                let _: [u8; 24] = exact(&mut stream);
                stream.write_all(&[1; 18]).unwrap();
            },
            "is no status",
        ),
        (
            "closes at once",
            V2,
            |mut stream| {
                let _: [u8; 24] = exact(&mut stream);
            },
            "ended after 0 bytes",
        ),
        (
            "closes in the middle",
            V2,
            |mut stream| {
                let _: [u8; 24] = exact(&mut stream);
                stream.write_all(&DataStatus::Ok.to_bytes()).unwrap();
                stream.write_all(&[1; 9]).unwrap();
            },
            "ended after 0 bytes",
        ),
        (
            "closes in the middle of version 1",
            "",
            |mut stream| {
                let _: [u8; 24] = exact(&mut stream);
                stream.write_all(&[1; 9]).unwrap();
            },
            "ended after 0 bytes",
        ),
    ];
    for (name, version, act, words) in cases {
        let net = net();
        let request = to_foreign(foreign(version, act), DataOperation::Read, 10);
        let error = Transfer::open(&net, request)
            .and_then(|mut transfer| transfer.read_part(&mut [0; 10]))
            .unwrap_err();
        assert_eq!(error.code(), moonquake_protocol::ErrorCode::TransferFail);
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
}

#[test]
fn odd_daemons_and_endpoints_are_told_by_name() {
    let daemon = |answer: &'static [u8]| {
        peer(move |mut stream| {
            let _: [u8; 12] = exact(&mut stream);
            stream.write_all(answer).unwrap();
        })
        .to_string()
    };
    let cases = [
        (String::new(), "it is empty"),
        ("127.0.0.1:99999".to_owned(), "no number below 65536"),
        (support::nobody().to_string(), "refused"),
        (daemon(b""), "closed without an answer"),
        (daemon(b"HTTP/1.1 200 OK"), "at most 1048576"),
        (daemon(&[0; 8]), "0 bytes"),
        (daemon(b"\x03\0\0\0\0\0\0\0\x01{}"), "not the JSON"),
        (daemon(b"\x03\0\0\0\0\0\0\0\x01\xff\xff"), "not UTF-8"),
    ];
    for (endpoint, words) in cases {
        let error = Transfer::open(&net(), to_foreign(endpoint.clone(), DataOperation::Read, 1)).unwrap_err();
        assert!(error.to_string().contains(words), "{endpoint}: {error}");
    }
}
