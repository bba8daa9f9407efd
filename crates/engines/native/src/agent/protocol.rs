//! The protocol between this process and an agent: one JSON object a line, each way.
//!
//! The agent says hello first. Then commands go to it, `{"id": 1, "op": "put", ...}`, and results come back,
//! `{"id": 1, "result": {"number": 0}}`, in any order.

use super::command::Command;
use super::reply::{Outcome, Reply};
use serde::{Deserialize, Serialize};

/// Version of this protocol. Both sides are built together; the number guards against a mixture.
pub const PROTOCOL_VERSION: u32 = 2;

/// Longest line that an agent may send, in bytes.
pub(crate) const LINE_LIMIT: usize = 16 << 20;

/// What an agent says first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Hello {
    /// Version of the protocol.
    pub protocol: u32,
    /// Version of the interpreter.
    pub python: String,
    /// File that the client was loaded from.
    pub store: String,
    /// Address of the arena's first byte in the agent: an address there minus this is an offset here.
    pub arena_base: u64,
    /// Length of the mapping in bytes.
    pub arena_size: u64,
}

/// A command on its way.
#[derive(Serialize)]
pub(crate) struct Numbered<'a> {
    pub(crate) id: u64,
    #[serde(flatten)]
    pub(crate) command: &'a Command,
}

/// A line of the agent's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Hello(Hello),
    Reply(Reply),
}

#[derive(Deserialize)]
struct RawReply {
    id: u64,
    result: Outcome,
}

#[derive(Deserialize)]
struct RawHello {
    hello: Hello,
}

/// Reads a line, without its end.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse(line: &[u8], first: bool) -> Result<Line, String> {
    let wrong = |error: serde_json::Error| {
        let shown = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
        format!("it said {shown:?}: {error}")
    };
    if !first {
        let raw: RawReply = serde_json::from_slice(line).map_err(wrong)?;
        return Ok(Line::Reply(Reply {
            id: raw.id,
            outcome: raw.result,
        }));
    }
    let raw: RawHello = serde_json::from_slice(line).map_err(wrong)?;
    if raw.hello.protocol != PROTOCOL_VERSION {
        return Err(format!(
            "it speaks version {} of the protocol, not {PROTOCOL_VERSION}",
            raw.hello.protocol
        ));
    }
    Ok(Line::Hello(raw.hello))
}
