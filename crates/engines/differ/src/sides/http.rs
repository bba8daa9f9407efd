//! One connection to the admin server that stays open.

use super::wire::read_some;
use crate::error::DifferError;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

/// A connection.
#[derive(Debug)]
pub(crate) struct Http {
    address: SocketAddr,
    stream: TcpStream,
    buffer: Vec<u8>,
}

fn failed(source: std::io::Error) -> DifferError {
    DifferError::Wire {
        doing: "asking the admin server",
        source,
    }
}

impl Http {
    /// Connects.
    pub(crate) fn connect(address: SocketAddr) -> Result<Http, DifferError> {
        let stream = TcpStream::connect_timeout(&address, LIMIT).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_read_timeout(Some(LIMIT)).map_err(failed)?;
        stream.set_write_timeout(Some(LIMIT)).map_err(failed)?;
        Ok(Http {
            address,
            stream,
            buffer: Vec::new(),
        })
    }

    /// The body of an answer to a query that changes nothing.
    pub(crate) fn get(&mut self, path: &str) -> Result<String, DifferError> {
        self.ask("GET", path, "").map(|(_, body)| body)
    }

    /// Status and body of an answer.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<(u16, String), DifferError> {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {length}\r\n\r\n{body}",
            self.address
        );
        self.stream.write_all(request.as_bytes()).map_err(failed)?;
        self.buffer.clear();
        let mut piece = [0; 16_384];
        loop {
            if let Some((status, head, length)) = self.head()?
                && let Some(body) = self.buffer.get(head..head.saturating_add(length))
            {
                let body = String::from_utf8(body.to_vec()).map_err(|error| nonsense(error.to_string()))?;
                return Ok((status, body));
            }
            let read = read_some(&mut self.stream, &mut piece).map_err(failed)?;
            if read == 0 {
                return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
            }
            self.buffer.extend_from_slice(&piece[..read]);
        }
    }

    /// Status, length of the head and length of the body, once the head is there.
    fn head(&self) -> Result<Option<(u16, usize, usize)>, DifferError> {
        let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|value| value.trim().parse().ok());
        match (status, length) {
            (Some(status), Some(length)) => Ok(Some((status, end + 4, length))),
            _ => Err(nonsense(format!("no status or no length in {head}"))),
        }
    }
}

pub(super) fn nonsense(what: String) -> DifferError {
    failed(std::io::Error::new(std::io::ErrorKind::InvalidData, what))
}
