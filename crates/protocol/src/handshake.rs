//! The handshake daemon of the transfer engine: how an endpoint becomes a segment descriptor. Mirrors
//! `mooncake-transfer-engine/include/common.h:readString` and `src/transfer_metadata_plugin.cpp`.
//!
//! One exchange per connection, the same framing both ways: a u64 length, a type byte, JSON text.

use serde::{Deserialize, Serialize};

/// The default limit on one message; upstream's `MC_HANDSHAKE_MAX_LENGTH` changes it.
pub const HANDSHAKE_BYTES_MAX: u64 = 1 << 20;
/// Port of an endpoint text without one.
pub const HANDSHAKE_PORT: u16 = 12001;

const LENGTH_BYTES: usize = 8;

/// What a handshake message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HandshakeKind {
    /// 0: RDMA endpoint data.
    Connection,
    /// 1: segment descriptors.
    Metadata,
    /// 2: a notification.
    Notify,
    /// 3: is anybody there?
    Probe,
}

impl HandshakeKind {
    fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(HandshakeKind::Connection),
            1 => Some(HandshakeKind::Metadata),
            2 => Some(HandshakeKind::Notify),
            3 => Some(HandshakeKind::Probe),
            _ => None,
        }
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeMessage {
    /// What it is about.
    pub kind: HandshakeKind,
    /// The form of old releases, without a type byte. It is answered in the same form.
    pub old_form: bool,
    /// JSON text.
    pub json: String,
}

/// Why a handshake is dropped. The real daemon closes without an answer.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// A message of no bytes.
    #[error("a handshake message announces 0 bytes; the type byte alone is one")]
    Empty,
    /// More than this side is willing to hold.
    #[error("a handshake message announces {length} bytes, at most {limit} are accepted")]
    TooLarge {
        /// Announced length.
        length: u64,
        /// The limit.
        limit: u64,
    },
    /// Not text.
    #[error("a handshake message is not UTF-8 after {valid_up_to} bytes")]
    NotUtf8 {
        /// Bytes that are.
        valid_up_to: usize,
    },
    /// Not the JSON that was expected.
    #[error("a handshake message is not the JSON it should be")]
    Json(#[from] serde_json::Error),
    /// A segment descriptor that upstream refuses as a whole.
    #[error("buffer {index} of segment {name:?} has an empty name, or its address or length is 0")]
    Buffer {
        /// Name of the segment.
        name: String,
        /// Which buffer.
        index: usize,
    },
}

impl HandshakeMessage {
    /// In the present form, from a value. The text ends in a line feed, as upstream's does.
    ///
    /// # Errors
    /// [`HandshakeError::Json`] if the value has no JSON form.
    pub fn new<T: Serialize>(kind: HandshakeKind, value: &T) -> Result<Self, HandshakeError> {
        Ok(Self {
            kind,
            old_form: false,
            json: serde_json::to_string(value)? + "\n",
        })
    }

    /// The text as a value. Numbers keep their 64 bits.
    ///
    /// # Errors
    /// [`HandshakeError::Json`] if it is no such value.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, HandshakeError> {
        Ok(serde_json::from_str(&self.json)?)
    }

    /// The message as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let kind: &[u8] = if self.old_form { &[] } else { &[self.kind as u8] };
        let length = (kind.len() + self.json.len()) as u64;
        [&length.to_le_bytes()[..], kind, self.json.as_bytes()].concat()
    }

    fn from_payload(payload: &[u8]) -> Result<Self, HandshakeError> {
        let kind = payload.first().and_then(|&byte| HandshakeKind::from_byte(byte));
        let (kind, old_form, text) = match kind {
            Some(kind) => (kind, false, &payload[1..]),
            None => (HandshakeKind::Connection, true, payload),
        };
        let text = str::from_utf8(text).map_err(|error| HandshakeError::NotUtf8 {
            valid_up_to: error.valid_up_to(),
        })?;
        Ok(Self {
            kind,
            old_form,
            json: text.to_owned(),
        })
    }
}

/// Takes handshake messages out of a stream that arrives in pieces. It holds what arrived and nothing more.
#[derive(Clone, Debug)]
pub struct HandshakeDecoder {
    buffer: Vec<u8>,
    limit: u64,
}

impl Default for HandshakeDecoder {
    fn default() -> Self {
        Self::with_limit(HANDSHAKE_BYTES_MAX)
    }
}

impl HandshakeDecoder {
    /// With the default limit of [`HANDSHAKE_BYTES_MAX`].
    pub fn new() -> Self {
        Self::default()
    }

    /// With a limit in bytes.
    pub fn with_limit(limit: u64) -> Self {
        Self {
            buffer: Vec::new(),
            limit,
        }
    }

    /// Takes what arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message; `None` if it is not complete yet.
    ///
    /// # Errors
    /// [`HandshakeError`]: the length is 0 or above the limit, or the text is not UTF-8. Close the connection.
    pub fn next_message(&mut self) -> Result<Option<HandshakeMessage>, HandshakeError> {
        let Some((length, rest)) = self.buffer.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length = u64::from_le_bytes(*length);
        if length == 0 {
            return Err(HandshakeError::Empty);
        }
        if length > self.limit {
            return Err(HandshakeError::TooLarge {
                length,
                limit: self.limit,
            });
        }
        let Some(payload) = usize::try_from(length).ok().and_then(|length| rest.get(..length)) else {
            return Ok(None);
        };
        let message = HandshakeMessage::from_payload(payload)?;
        let end = LENGTH_BYTES + payload.len();
        self.buffer.drain(..end);
        Ok(Some(message))
    }
}

/// A range of memory that an owner registered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SegmentBuffer {
    /// First address, 64 bits.
    pub addr: u64,
    /// Length in bytes.
    pub length: u64,
    /// Name; upstream repeats the segment's.
    pub name: String,
}

/// What an owner of memory tells about itself. Mirrors `transfer_metadata.h:SegmentDesc` for TCP; keys are written
/// in upstream's (alphabetical) order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SegmentDescriptor {
    /// Every registered range.
    #[serde(default)]
    pub buffers: Vec<SegmentBuffer>,
    /// The endpoint text.
    pub name: String,
    /// `tcp`.
    pub protocol: String,
    /// Empty for TCP.
    #[serde(default)]
    pub rdma_server_name: String,
    /// Where the data listener is, if not at the host of the endpoint. Published since 0.3.13.post1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_data_host: Option<String>,
    /// Port of the data listener.
    #[serde(default)]
    pub tcp_data_port: u16,
    /// 2: transfers are acknowledged. Absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_proto_version: Option<u32>,
    /// For people.
    #[serde(default)]
    pub timestamp: String,
}

impl SegmentDescriptor {
    /// From JSON text, refused as a whole if one buffer is impossible. Mirrors
    /// `transfer_metadata.cpp:decodeSegmentDesc`.
    ///
    /// # Errors
    /// [`HandshakeError::Json`] or [`HandshakeError::Buffer`].
    pub fn from_json(text: &str) -> Result<Self, HandshakeError> {
        let descriptor: Self = serde_json::from_str(text)?;
        let broken =
            |buffer: &SegmentBuffer| buffer.name.is_empty() || buffer.addr == 0 || buffer.length == 0;
        match descriptor.buffers.iter().position(broken) {
            Some(index) => Err(HandshakeError::Buffer {
                name: descriptor.name,
                index,
            }),
            None => Ok(descriptor),
        }
    }

    /// The host that data goes to: the published one, or that of the endpoint if none is.
    pub fn data_host<'a>(&'a self, endpoint_host: &'a str) -> &'a str {
        self.tcp_data_host
            .as_deref()
            .filter(|host| !host.is_empty())
            .unwrap_or(endpoint_host)
    }
}

/// What is asked and answered in a [`HandshakeKind::Notify`] exchange.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Notification {
    /// Who sends it; empty in an answer.
    pub name: String,
    /// The text; `success` in an answer.
    pub notify_msg: String,
}

/// What is answered to a [`HandshakeKind::Probe`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProbeStatus {
    /// `success`.
    pub status: String,
}

#[cfg(test)]
mod tests {
    use super::{HandshakeDecoder, HandshakeError, HandshakeKind, HandshakeMessage, SegmentDescriptor};

    #[test]
    fn lengths_are_judged_before_anything_is_held() {
        for (length, limit, wrong) in [
            (0_u64, 100, true),
            (101, 100, true),
            (u64::MAX, 100, true),
            (100, 100, false),
        ] {
            let mut decoder = HandshakeDecoder::with_limit(limit);
            decoder.feed(&length.to_le_bytes());
            assert_eq!(decoder.next_message().is_err(), wrong, "length {length}");
        }
    }

    #[test]
    fn the_old_form_has_no_type_byte() {
        let old = HandshakeMessage {
            kind: HandshakeKind::Connection,
            old_form: true,
            json: "{}".to_owned(),
        };
        assert_eq!(old.to_bytes(), b"\x02\0\0\0\0\0\0\0{}");
        let mut decoder = HandshakeDecoder::new();
        for byte in old.to_bytes() {
            assert!(decoder.next_message().unwrap().is_none());
            decoder.feed(&[byte]);
        }
        assert_eq!(decoder.next_message().unwrap(), Some(old));
    }

    #[test]
    fn addresses_keep_all_64_bits() {
        let text = r#"{"name":"n","protocol":"tcp","tcp_data_port":1,
            "buffers":[{"name":"n","addr":18446744073709551615,"length":9007199254740993}]}"#;
        let descriptor = SegmentDescriptor::from_json(text).unwrap();
        assert_eq!(
            (descriptor.buffers[0].addr, descriptor.buffers[0].length),
            (u64::MAX, 9_007_199_254_740_993)
        );
        assert_eq!(
            (descriptor.tcp_proto_version, descriptor.data_host("h")),
            (None, "h")
        );
    }

    #[test]
    fn one_impossible_buffer_refuses_the_descriptor() {
        for buffer in [
            r#"{"name":"","addr":1,"length":1}"#,
            r#"{"name":"n","addr":0,"length":1}"#,
            r#"{"name":"n","addr":1,"length":0}"#,
        ] {
            let good = r#"{"name":"n","addr":1,"length":1}"#;
            let text = format!(r#"{{"name":"s","protocol":"tcp","buffers":[{good},{buffer}]}}"#);
            let error = SegmentDescriptor::from_json(&text).unwrap_err();
            assert!(
                matches!(error, HandshakeError::Buffer { index: 1, .. }),
                "{buffer}: {error}"
            );
        }
        assert!(matches!(
            SegmentDescriptor::from_json("{"),
            Err(HandshakeError::Json(_))
        ));
        let float = r#"{"name":"s","protocol":"tcp","buffers":[{"name":"n","addr":1.5,"length":1}]}"#;
        assert!(matches!(
            SegmentDescriptor::from_json(float),
            Err(HandshakeError::Json(_))
        ));
    }

    #[test]
    fn data_goes_to_the_published_host_if_there_is_one() {
        let descriptor = |host: &str| {
            let text = format!(r#"{{"name":"s","protocol":"tcp","tcp_data_port":9{host}}}"#);
            SegmentDescriptor::from_json(&text).unwrap()
        };
        for (published, expected) in [
            ("", "endpoint"),
            (r#","tcp_data_host":"""#, "endpoint"),
            (r#","tcp_data_host":"data""#, "data"),
        ] {
            assert_eq!(
                descriptor(published).data_host("endpoint"),
                expected,
                "{published}"
            );
        }
    }
}
