//! What can be seen.

use crate::{Content, Op};
use moonquake_clock::{MonotonicNs, RealtimeNs, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Bytes inside a segment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Range {
    /// The segment's name.
    pub segment: String,
    /// The offset of the first byte from the segment's base.
    pub offset: u64,
    /// The number of bytes.
    pub size: u64,
}

impl Range {
    /// Whether the two share a byte.
    pub fn overlaps(&self, other: &Range) -> bool {
        let (end, other_end) = (
            self.offset.saturating_add(self.size),
            other.offset.saturating_add(other.size),
        );
        self.segment == other.segment && self.offset < other_end && other.offset < end
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}[{}, {})",
            self.segment,
            self.offset,
            self.offset.saturating_add(self.size)
        )
    }
}

/// Bytes of the staging memory of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Block {
    /// The first byte, counted from the start of the client's staging memory.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
}

/// The name of the staging memory of a client, as a place.
pub fn staging_of(client: &str) -> String {
    format!("{client} staging")
}

/// Where on its way a message was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leg {
    /// The request left the client.
    RequestSent,
    /// The request reached the master and was handled; the event carries the master's answer.
    RequestHandled,
    /// The response reached the client.
    ResponseDelivered,
    /// The request was lost on its way.
    RequestLost,
    /// The response was lost on its way.
    ResponseLost,
    /// The response found no client: it is gone.
    ResponseUndeliverable,
    /// The connection closed before an answer came.
    Closed,
}

/// What became of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Its connections closed at once and it is gone.
    Killed,
    /// It stands still.
    Frozen,
    /// It goes on after a freeze.
    Resumed,
    /// A new instance runs.
    Started,
    /// It ended by itself, as asked.
    Stopped,
}

/// The master's state as an outside observer reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Bytes allocated in all mounted segments, as the master counts them (requested sizes).
    pub allocated_bytes: u64,
    /// Bytes of all mounted segments.
    pub capacity_bytes: u64,
    /// Readable keys with the ranges of their readable memory replicas.
    pub keys: BTreeMap<String, Vec<Range>>,
    /// Mounted segments, with capacity in bytes.
    pub segments: BTreeMap<String, u64>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Kind {
    /// A step of the timeline begins (each repetition).
    StepBegan {
        /// The step in words.
        text: String,
    },
    /// An operation, tick, await or check has its result.
    StepEnded {
        /// `ok`, `true`, `false`, an error name, `NEED_REMOUNT`; `no result` if its actor died; `not run` if it could not begin.
        outcome: String,
        /// One outcome for each entry of a batch.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        entries: Vec<String>,
        /// What a removal by pattern counted.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        count: Option<i64>,
        /// The bytes a successful read brought.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        content: Option<Content>,
        /// Why, where the outcome alone does not tell.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        note: Option<String>,
    },
    /// What one entry of a batch read brought.
    Brought {
        /// Its key.
        key: String,
        /// Its bytes.
        content: Content,
    },
    /// A frame between a client and the master.
    Frame {
        /// The number of the message (request and response share it).
        message: u64,
        /// Where it was seen.
        leg: Leg,
        /// Upstream's name of the RPC.
        rpc: String,
        /// The key it names, if one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        key: Option<String>,
        /// The answer's code (`ok` or an error name), on legs that carry an answer. For batches the entries joined by `,`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        code: Option<String>,
        /// Memory ranges that the answer hands out, in the master's order.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        ranges: Vec<Range>,
        /// In a batch, how many of the ranges belong to each entry.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        shares: Vec<u32>,
        /// The lease that the answer promises, in milliseconds.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        lease_ms: Option<u64>,
    },
    /// A transfer was opened between a client and the owner of a range.
    TransferOpened {
        /// The number of the transfer.
        transfer: u64,
        /// Whether bytes go to the owner (a put) or come from it (a get).
        write: bool,
        /// The range at the owner.
        range: Range,
        /// The caller's buffer, by name, if the scenario names it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        buffer: Option<String>,
        /// Where in its client's staging memory its bytes lie, if the operation has no buffer of the caller.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        block: Option<Block>,
    },
    /// Parts of a payload landed: at the owner (write) or in the caller's buffer (read).
    Payload {
        /// The number of the transfer.
        transfer: u64,
        /// Direction, as in `TransferOpened`.
        write: bool,
        /// The bytes at the owner that moved.
        range: Range,
        /// The first byte within the object; of a batch read, within the buffer that all its objects go to.
        from: u64,
        /// One past the last byte, counted alike.
        to: u64,
        /// The number of the first part, from 1.
        first_part: u32,
        /// The number of the last part.
        last_part: u32,
        /// How many parts the payload has.
        parts: u32,
    },
    /// A transfer ended.
    TransferClosed {
        /// The number of the transfer.
        transfer: u64,
        /// `complete`, `closed: ...`, `refused`, `fenced`.
        how: String,
    },
    /// A name of the scenario was bound to a range, or never will be.
    Bound {
        /// The name.
        name: String,
        /// The range; none if it never came into being.
        range: Option<Range>,
    },
    /// The injector says that it injects now.
    Injected {
        /// The dimension.
        dimension: String,
        /// The phase, if the trigger is one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        phase: Option<String>,
        /// The action, in the scenario's words; none where the boundary or stimulus is the fault.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        action: Option<String>,
        /// The message concerned.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        message: Option<u64>,
        /// The transfer concerned.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        transfer: Option<u64>,
    },
    /// The injector ends a freeze or hold (`resume`), or a delay is over.
    Released,
    /// Something became of an actor, as somebody else than the injector saw it.
    Actor {
        /// What.
        change: Change,
        /// The exit status of a process, the number of connections that closed, ...
        detail: String,
    },
    /// A clock, read back from the process that lives by it.
    ClockRead {
        /// Its wall clock.
        realtime: RealtimeNs,
        /// Its monotonic clock.
        monotonic: MonotonicNs,
    },
    /// One round of a thread of the master.
    Tick {
        /// The thread.
        thread: String,
    },
    /// The master's state after a step.
    State(State),
    /// What the witness of a buffer can see and cannot.
    Sight {
        /// The watched name.
        buffer: String,
        /// The witness.
        witness: String,
        /// Kinds of access it sees.
        sees: Vec<String>,
        /// Kinds of access it is blind to.
        blind: Vec<String>,
    },
    /// An access to a watched buffer or range. `actor` is who did it.
    Access {
        /// The watched name.
        buffer: String,
        /// Whether it was written or read.
        write: bool,
        /// The first byte within the buffer.
        from: u64,
        /// One past the last byte.
        to: u64,
    },
    /// Memory of a client was given to the operation of this event while transfers of others can still reach it.
    Reused {
        /// The buffer, or the client's staging memory.
        place: String,
        /// The first byte within the place.
        from: u64,
        /// One past the last byte.
        to: u64,
        /// The operations whose transfers can still reach it.
        reachable_by: Vec<Op>,
    },
    /// The bytes of a buffer or range, read for a check.
    Bytes {
        /// The name.
        name: String,
        /// Its bytes; none if it does not exist.
        content: Option<Content>,
    },
    /// The timeline moved its clocks.
    Advanced {
        /// By how much.
        by: Span,
    },
    /// A remark that no verdict rests on.
    Note {
        /// The text.
        text: String,
    },
}
