//! The two headers.

use crate::rpc::Rpc;

/// First byte of every frame.
pub const MAGIC: u8 = 0x15;
/// The only protocol version.
const VERSION: u8 = 0;
/// struct_pack.
const SERIALIZE_TYPE: u8 = 0;

/// Why a stream of frames cannot go on. The real master closes the connection without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The stream is not coro_rpc, HTTP for example.
    #[error("a frame begins with {found:#04x} instead of 0x15: the peer does not speak coro_rpc")]
    Magic {
        /// The byte that came.
        found: u8,
    },
    /// A later protocol version.
    #[error("protocol version {found} is not known, only 0 is")]
    Version {
        /// The version that came.
        found: u8,
    },
    /// Another serialisation than struct_pack.
    #[error("serialize type {found} is not known, only 0 (struct_pack) is")]
    SerializeType {
        /// The type that came.
        found: u8,
    },
    /// The header announces more than this side is willing to hold.
    #[error("a frame announces {body_bytes} + {attachment_bytes} bytes, at most {limit} are accepted")]
    TooLarge {
        /// Announced length of the body.
        body_bytes: u32,
        /// Announced length of the attachment.
        attachment_bytes: u32,
        /// The limit on their sum.
        limit: u64,
    },
}

/// A header of fixed size.
pub trait Header: Copy {
    /// Its size in bytes.
    const BYTES: usize;

    /// Reads it from the front of `bytes`; `None` if bytes are missing.
    ///
    /// # Errors
    /// [`FrameError`] for what the real peer refuses by closing the connection.
    fn parse(bytes: &[u8]) -> Result<Option<Self>, FrameError>;

    /// Length of the body in bytes.
    fn body_bytes(&self) -> u32;

    /// Length of the attachment in bytes.
    fn attachment_bytes(&self) -> u32;
}

/// What stands before the body of a request: 20 bytes. Mirrors `coro_rpc_protocol.hpp:req_header`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestHeader {
    /// 0; the server ignores it.
    pub message_type: u8,
    /// Chosen by the client, echoed by the server. May repeat.
    pub sequence: u32,
    /// Which function: see [`Rpc::function_id`].
    pub function_id: u32,
    /// Length of the body in bytes.
    pub body_bytes: u32,
    /// Length of the attachment in bytes; the store never sends one.
    pub attachment_bytes: u32,
}

/// What stands before the body of a response: 16 bytes. Mirrors `coro_rpc_protocol.hpp:resp_header`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResponseHeader {
    /// [`MAGIC`]. The real client does not check it, so another value arrives here.
    pub magic: u8,
    /// 0. The real client does not check it either.
    pub version: u8,
    /// 0: the call ran. Else an RPC-level error.
    pub error_code: u8,
    /// 0.
    pub message_type: u8,
    /// That of the request.
    pub sequence: u32,
    /// Length of the body in bytes.
    pub body_bytes: u32,
    /// Length of the attachment in bytes.
    pub attachment_bytes: u32,
}

impl Default for ResponseHeader {
    fn default() -> Self {
        Self {
            magic: MAGIC,
            version: VERSION,
            error_code: 0,
            message_type: 0,
            sequence: 0,
            body_bytes: 0,
            attachment_bytes: 0,
        }
    }
}

impl RequestHeader {
    /// The header as bytes.
    pub fn to_bytes(&self) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes[..4].copy_from_slice(&[MAGIC, VERSION, SERIALIZE_TYPE, self.message_type]);
        bytes[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.function_id.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.body_bytes.to_le_bytes());
        bytes[16..].copy_from_slice(&self.attachment_bytes.to_le_bytes());
        bytes
    }

    /// The method that is called; `None` if the master does not register it.
    pub fn rpc(&self) -> Option<Rpc> {
        Rpc::from_function_id(self.function_id)
    }
}

impl ResponseHeader {
    /// The header as bytes.
    pub fn to_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&[self.magic, self.version, self.error_code, self.message_type]);
        bytes[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.body_bytes.to_le_bytes());
        bytes[12..].copy_from_slice(&self.attachment_bytes.to_le_bytes());
        bytes
    }
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// `None` if bytes are missing.
fn parse_request(bytes: &[u8]) -> Option<(u8, u8, u8, RequestHeader)> {
    let &[magic, version, serialize_type, message_type, ..] = bytes else {
        return None;
    };
    let header = RequestHeader {
        message_type,
        sequence: u32_at(bytes, 4)?,
        function_id: u32_at(bytes, 8)?,
        body_bytes: u32_at(bytes, 12)?,
        attachment_bytes: u32_at(bytes, 16)?,
    };
    Some((magic, version, serialize_type, header))
}

impl Header for RequestHeader {
    const BYTES: usize = 20;

    fn parse(bytes: &[u8]) -> Result<Option<Self>, FrameError> {
        let Some((magic, version, serialize_type, header)) = parse_request(bytes) else {
            return Ok(None);
        };
        if magic != MAGIC {
            return Err(FrameError::Magic { found: magic });
        }
        if version > VERSION {
            return Err(FrameError::Version { found: version });
        }
        if serialize_type != SERIALIZE_TYPE {
            return Err(FrameError::SerializeType {
                found: serialize_type,
            });
        }
        Ok(Some(header))
    }

    fn body_bytes(&self) -> u32 {
        self.body_bytes
    }

    fn attachment_bytes(&self) -> u32 {
        self.attachment_bytes
    }
}

fn parse_response(bytes: &[u8]) -> Option<ResponseHeader> {
    let &[magic, version, error_code, message_type, ..] = bytes else {
        return None;
    };
    Some(ResponseHeader {
        magic,
        version,
        error_code,
        message_type,
        sequence: u32_at(bytes, 4)?,
        body_bytes: u32_at(bytes, 8)?,
        attachment_bytes: u32_at(bytes, 12)?,
    })
}

impl Header for ResponseHeader {
    const BYTES: usize = 16;

    fn parse(bytes: &[u8]) -> Result<Option<Self>, FrameError> {
        Ok(parse_response(bytes))
    }

    fn body_bytes(&self) -> u32 {
        self.body_bytes
    }

    fn attachment_bytes(&self) -> u32 {
        self.attachment_bytes
    }
}
