//! The metadata server over real sockets, as a client uses it.

#![allow(
    clippy::disallowed_methods,
    reason = "clients are threads, and sockets have limits of real time"
)]

use moonquake_net::MetadataServer;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// Long enough that only a defect reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

fn server() -> MetadataServer {
    MetadataServer::serve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a free port")
}

struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn of(server: &MetadataServer) -> Client {
        let stream = TcpStream::connect(server.address()).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        Client {
            stream: BufReader::new(stream),
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("it reads");
    }

    /// The status line and the body of the next answer.
    fn answer(&mut self) -> (String, String) {
        let mut status = String::new();
        self.stream.read_line(&mut status).expect("an answer");
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("a field");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().expect("a number"),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("the body");
        (
            status.trim_end().to_owned(),
            String::from_utf8(body).expect("text"),
        )
    }

    fn ask(&mut self, line: &str, body: &str) -> (String, String) {
        let text = format!(
            "{line} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.send(text.as_bytes());
        self.answer()
    }
}

fn ok(body: &str) -> (String, String) {
    ("HTTP/1.1 200 OK".to_owned(), body.to_owned())
}

#[test]
fn one_client_reads_what_another_wrote() {
    let server = server();
    assert!(server.url().ends_with("/metadata"));
    let (mut writer, mut reader) = (Client::of(&server), Client::of(&server));
    assert_eq!(
        writer.ask("PUT /metadata?key=a", "{\"x\":1}"),
        ok("metadata updated")
    );
    assert_eq!(reader.ask("GET /metadata?key=a", ""), ok("{\"x\":1}"));
    assert_eq!(reader.ask("GET /health", ""), ok("OK"));
    assert_eq!(reader.ask("GET /elsewhere", "").0, "HTTP/1.1 404 Not Found");
    assert_eq!(writer.ask("DELETE /metadata?key=a", ""), ok("metadata deleted"));
    assert_eq!(reader.ask("GET /metadata?key=a", "").0, "HTTP/1.1 404 Not Found");
}

#[test]
fn requests_that_arrive_together_are_answered_in_order() {
    let server = server();
    let mut client = Client::of(&server);
    let put = "PUT /metadata?key=a HTTP/1.1\r\nContent-Length: 1\r\n\r\n7";
    let get = "GET /metadata?key=a HTTP/1.1\r\n\r\n";
    client.send(format!("{put}{get}{get}").as_bytes());
    assert_eq!(client.answer(), ok("metadata updated"));
    assert_eq!(client.answer(), ok("7"));
    assert_eq!(client.answer(), ok("7"));
}

#[test]
fn a_client_that_waits_to_send_its_body_is_told_to() {
    let server = server();
    let mut client = Client::of(&server);
    client.send(b"PUT /metadata?key=a HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.answer().0, "HTTP/1.1 100 Continue");
    client.send(b"7");
    assert_eq!(client.answer(), ok("metadata updated"));
}

#[test]
fn whoever_sends_what_is_no_request_is_told_and_closed() {
    let server = server();
    for (bytes, status) in [
        (b"\x00\x01\x02\r\n\r\n".to_vec(), "400"),
        (
            format!("GET /{} HTTP/1.1\r\n", "a".repeat(20_000)).into_bytes(),
            "431",
        ),
        (
            b"PUT /metadata?key=a HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n".to_vec(),
            "413",
        ),
    ] {
        let mut client = Client::of(&server);
        client.send(&bytes);
        let said = client.answer().0;
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{said}");
        // It may be reset, as it has not read all.
        let mut rest = Vec::new();
        let closed = client.stream.read_to_end(&mut rest);
        assert!(closed.is_err() || rest.is_empty());
    }
    // Others are not bothered.
    assert_eq!(Client::of(&server).ask("GET /health", ""), ok("OK"));
}

#[test]
fn nobody_listens_when_it_is_gone() {
    let server = server();
    let address = server.address();
    let mut client = Client::of(&server);
    assert_eq!(client.ask("GET /health", ""), ok("OK"));
    drop(server);
    assert!(TcpStream::connect(address).is_err());
    let mut rest = Vec::new();
    let closed = client.stream.read_to_end(&mut rest);
    assert!(closed.is_err() || rest.is_empty());
}
