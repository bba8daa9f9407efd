//! One connection to the admin server that stays open, for queries that change nothing.

use crate::error::DifferError;
use std::io::{Read, Write};
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

    /// The body of an answer.
    pub(crate) fn get(&mut self, path: &str) -> Result<String, DifferError> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        self.stream.write_all(request.as_bytes()).map_err(failed)?;
        self.buffer.clear();
        let mut piece = [0; 16_384];
        loop {
            if let Some((head, length)) = self.lengths()?
                && let Some(body) = self.buffer.get(head..head + length)
            {
                return String::from_utf8(body.to_vec()).map_err(|error| nonsense(error.to_string()));
            }
            let read = self.stream.read(&mut piece).map_err(failed)?;
            if read == 0 {
                return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
            }
            self.buffer.extend_from_slice(&piece[..read]);
        }
    }

    /// Length of the head and of the body, once the head is there.
    fn lengths(&self) -> Result<Option<(usize, usize)>, DifferError> {
        let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|value| value.trim().parse().ok());
        match length {
            Some(length) => Ok(Some((end + 4, length))),
            None => Err(nonsense(format!("no length in {head}"))),
        }
    }
}

fn nonsense(what: String) -> DifferError {
    failed(std::io::Error::new(std::io::ErrorKind::InvalidData, what))
}
