//! One plain connection to the real master, many requests under way at once.

use crate::error::DifferError;
use moonquake_protocol::frame::{FrameDecoder, ResponseHeader, decode_response, encode_request};
use moonquake_protocol::{Literal, Request, Response, Rpc};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Real time within which something must come. Only a master that hangs takes it.
const LIMIT: Duration = Duration::from_secs(30);
/// Bytes taken from the kernel at once.
const PIECE_BYTES: usize = 64 << 10;

/// A connection.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    decoder: FrameDecoder<ResponseHeader>,
    outgoing: Vec<u8>,
    waiting: Vec<Rpc>,
    piece: Vec<u8>,
    sequence: u32,
}

fn failed(doing: &'static str) -> impl FnOnce(std::io::Error) -> DifferError {
    move |source| DifferError::Wire { doing, source }
}

impl Wire {
    /// Connects.
    pub(crate) fn connect(address: SocketAddr) -> Result<Wire, DifferError> {
        let stream = TcpStream::connect_timeout(&address, LIMIT).map_err(failed("connecting"))?;
        stream.set_nodelay(true).map_err(failed("connecting"))?;
        stream
            .set_read_timeout(Some(LIMIT))
            .map_err(failed("connecting"))?;
        stream
            .set_write_timeout(Some(LIMIT))
            .map_err(failed("connecting"))?;
        Ok(Wire {
            stream,
            decoder: FrameDecoder::new(),
            outgoing: Vec::new(),
            waiting: Vec::new(),
            piece: vec![0; PIECE_BYTES],
            sequence: 0,
        })
    }

    /// Puts a request behind those that are to be sent.
    pub(crate) fn queue(&mut self, request: &Request) {
        self.sequence = self.sequence.wrapping_add(1);
        self.outgoing
            .extend_from_slice(&encode_request(self.sequence, request, Literal::With));
        self.waiting.push(request.rpc());
    }

    /// How many requests are queued.
    pub(crate) fn queued(&self) -> usize {
        self.waiting.len()
    }

    /// Sends what is queued and hands over every answer, in order; the error text is that of the RPC layer.
    pub(crate) fn exchange(
        &mut self,
        mut take: impl FnMut(Result<Response, String>),
    ) -> Result<(), DifferError> {
        self.stream.write_all(&self.outgoing).map_err(failed("sending"))?;
        self.outgoing.clear();
        for rpc in std::mem::take(&mut self.waiting) {
            take(self.answer(rpc)?);
        }
        Ok(())
    }

    fn answer(&mut self, rpc: Rpc) -> Result<Result<Response, String>, DifferError> {
        let unreadable = |what: String| DifferError::Answer { rpc, what };
        loop {
            let frame = self
                .decoder
                .next_frame()
                .map_err(|error| unreadable(error.to_string()))?;
            if let Some(frame) = frame {
                let decoded = decode_response(rpc, &frame.header, &frame.body)
                    .map_err(|error| unreadable(error.to_string()))?;
                return Ok(decoded.map_err(|error| format!("{error:?}")));
            }
            let length =
                read_some(&mut self.stream, &mut self.piece).map_err(failed("waiting for an answer"))?;
            if length == 0 {
                let ended = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                return Err(failed("waiting for an answer")(ended));
            }
            self.decoder.feed(&self.piece[..length]);
        }
    }
}

/// Reads once. A signal interrupts the read of a socket with a time limit; whoever has to do with it looks after it, and the
/// answer comes all the same.
pub(super) fn read_some(mut source: impl Read, piece: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match source.read(piece) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read_some;
    use std::io::{Error, ErrorKind, Read, Result};

    /// Two signals come first.
    struct Interrupted(u32);

    impl Read for Interrupted {
        fn read(&mut self, piece: &mut [u8]) -> Result<usize> {
            self.0 += 1;
            if self.0 < 3 {
                return Err(Error::from(ErrorKind::Interrupted));
            }
            piece[0] = 7;
            Ok(1)
        }
    }

    #[test]
    fn a_signal_does_not_end_a_read() {
        let mut piece = [0; 4];
        assert_eq!(read_some(Interrupted(0), &mut piece).unwrap(), 1);
        assert_eq!(piece, [7, 0, 0, 0]);
    }
}
