//! One connection: requests one after the other, each answered before the next is read.

use super::request::{self, HEAD_LIMIT, Head, Refusal, Target};
use super::table::{Answer, Table};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Real time that a request may take to arrive, and an answer to leave; also how long a connection may be idle.
const LIMIT: Duration = Duration::from_secs(60);

/// Answers until the client closes, wants no more, or sends what cannot be read.
pub(super) async fn serve(mut stream: TcpStream, table: &Mutex<Table>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = Vec::new();
    loop {
        let read = timeout(LIMIT, next(&mut stream, &mut bytes)).await??;
        let (answer, keeps) = match read {
            Next::End => return Ok(()),
            Next::Refused((status, why)) => (Answer::text(status, why), false),
            Next::Request(head) => {
                let end = head.length + head.body;
                let answer = handle(&head, &bytes[head.length..end], table);
                bytes.drain(..end);
                (answer, head.keeps)
            }
        };
        timeout(LIMIT, stream.write_all(&written(&answer, keeps))).await??;
        if !keeps {
            return stream.shutdown().await;
        }
    }
}

enum Next {
    End,
    Refused(Refusal),
    /// A head, with the whole body behind it.
    Request(Head),
}

/// Reads until a request is whole. What is held is bounded by the limits of head and body, whatever a length says.
async fn next(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<Next> {
    let mut encouraged = false;
    loop {
        match request::parse(bytes) {
            Err(refusal) => return Ok(Next::Refused(refusal)),
            Ok(Some(head)) if bytes.len() >= head.length + head.body => return Ok(Next::Request(head)),
            Ok(Some(head)) if head.waits && !encouraged => {
                stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
                encouraged = true;
            }
            Ok(_) => {}
        }
        let mut part = [0; HEAD_LIMIT];
        match stream.read(&mut part).await? {
            0 => return Ok(Next::End),
            length => bytes.extend_from_slice(&part[..length]),
        }
    }
}

fn handle(head: &Head, body: &[u8], table: &Mutex<Table>) -> Answer {
    match &head.target {
        Target::Metadata(method, key) => {
            let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
            table.handle(*method, key, body)
        }
        Target::Health => Answer::text("200 OK", "OK"),
        Target::Nothing => Answer::text("404 Not Found", "nothing is here"),
    }
}

fn written(answer: &Answer, keeps: bool) -> Vec<u8> {
    let close = if keeps { "" } else { "Connection: close\r\n" };
    let mut bytes = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{close}\r\n",
        answer.status,
        answer.content_type,
        answer.body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(&answer.body);
    bytes
}
