//! One end of a connection that carries frames.

use moonquake_protocol::frame::{Frame, FrameDecoder, FrameError, Header, RequestHeader, ResponseHeader};
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What is read from a socket at once.
const READ_BYTES: usize = 16 << 10;

/// Why no further frame comes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamEnd {
    /// The other side closed; some bytes of a frame may have come.
    #[error("the other side closed the connection {}", after(*pending_bytes))]
    Closed {
        /// Bytes of an unfinished frame.
        pending_bytes: usize,
    },
    /// The socket failed, for example by a reset.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// What came is no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

fn after(pending_bytes: usize) -> String {
    match pending_bytes {
        0 => "between two frames".to_owned(),
        count => format!("after {count} bytes of a frame"),
    }
}

/// A socket and the decoder of what arrives on it.
#[derive(Debug)]
pub(crate) struct FrameStream<H> {
    stream: TcpStream,
    decoder: FrameDecoder<H>,
    buffer: Vec<u8>,
}

impl<H: Header> FrameStream<H> {
    pub(crate) fn new(stream: TcpStream) -> Self {
        // Frames are whole messages: waiting to fill a packet only delays them. A socket that cannot do it still works.
        let _ = stream.set_nodelay(true);
        Self {
            stream,
            decoder: FrameDecoder::new(),
            buffer: vec![0; READ_BYTES],
        }
    }

    pub(crate) async fn connect(address: SocketAddr) -> io::Result<Self> {
        Ok(Self::new(TcpStream::connect(address).await?))
    }

    pub(crate) fn local_address(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// The next whole frame. Dropping this future loses nothing that arrived.
    pub(crate) async fn next(&mut self) -> Result<Frame<H>, StreamEnd> {
        loop {
            if let Some(frame) = self.decoder.next_frame()? {
                return Ok(frame);
            }
            match self.stream.read(&mut self.buffer).await? {
                0 => {
                    return Err(StreamEnd::Closed {
                        pending_bytes: self.decoder.pending_bytes(),
                    });
                }
                count => self.decoder.feed(&self.buffer[..count]),
            }
        }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Returns when the other side is gone; what it still sent is thrown away.
    pub(crate) async fn gone(&mut self) {
        while matches!(self.stream.read(&mut self.buffer).await, Ok(count) if count > 0) {}
    }
}

/// A frame as the bytes it came in.
pub(crate) trait Raw {
    fn raw(&self) -> Vec<u8>;
}

impl Raw for Frame<RequestHeader> {
    fn raw(&self) -> Vec<u8> {
        [&self.header.to_bytes()[..], &self.body, &self.attachment].concat()
    }
}

impl Raw for Frame<ResponseHeader> {
    fn raw(&self) -> Vec<u8> {
        [&self.header.to_bytes()[..], &self.body, &self.attachment].concat()
    }
}
