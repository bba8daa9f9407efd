//! One connection to a server: a call at a time, as the real client does.

use crate::Failure;
use moonquake_protocol::frame::{Header, ResponseHeader, decode_response, encode_request};
use moonquake_protocol::{Literal, Request, Response};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// No answer takes that long unless the server hangs.
const LIMIT: Duration = Duration::from_secs(30);
const BUFFER_BYTES: usize = 64 << 10;

/// A blocking socket and one buffer.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LIMIT))?;
        Ok(Connection {
            stream,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Sends a frame and reads the answer to its last byte; returns the body. Nothing is looked at but its length, and
    /// that the answer is not one of the RPC layer.
    pub(crate) fn exchange(&mut self, frame: &[u8]) -> io::Result<&[u8]> {
        self.stream.write_all(frame)?;
        let mut filled = 0;
        let mut whole = ResponseHeader::BYTES;
        while filled < whole {
            match self.stream.read(&mut self.buffer[filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
            if whole == ResponseHeader::BYTES && filled >= whole {
                let header = parse(&self.buffer[..filled])?;
                if header.error_code != 0 {
                    return Err(io::Error::other(format!("RPC error {}", header.error_code)));
                }
                whole += header.body_bytes() as usize;
                if whole > self.buffer.len() {
                    self.buffer.resize(whole, 0);
                }
            }
        }
        match filled == whole {
            true => Ok(&self.buffer[ResponseHeader::BYTES..whole]),
            false => Err(io::Error::other("more bytes came than were announced")),
        }
    }

    /// The same for a request, decoded.
    pub(crate) fn call(&mut self, request: &Request) -> Result<Response, Failure> {
        let frame = encode_request(0, request, Literal::With);
        let body = self.exchange(&frame)?;
        decode_response(request.rpc(), &ResponseHeader::default(), body)?
            .map_err(|error| format!("{}: {}", request.rpc().name(), error.message).into())
    }
}

fn parse(bytes: &[u8]) -> io::Result<ResponseHeader> {
    ResponseHeader::parse(bytes)
        .map_err(io::Error::other)?
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
