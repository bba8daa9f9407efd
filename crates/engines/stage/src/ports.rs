//! What a stage needs from an engine: a master, links to it, and the memory of the segments.

use crate::clients::Clients;
use moonquake_client::RpcFailure;
use moonquake_clock::{Clocks, Thread};
use moonquake_evidence::{Baseline, Block, Leg, State};
use moonquake_protocol::{ErrorCode, Request, Response};
use std::collections::BTreeMap;

/// Why a port did not do what it was asked. The run ends, and no verdict rests on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PortError(pub String);

impl PortError {
    /// From anything that can be shown.
    pub fn new(what: impl std::fmt::Display) -> PortError {
        PortError(what.to_string())
    }
}

/// A frame, as the observer on the link saw and decoded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The message.
    pub message: u64,
    /// Where on its way.
    pub leg: Leg,
    /// The request, decoded by the observer.
    pub request: Request,
    /// The answer, on legs that carry one; a text is an error of the RPC layer.
    pub answer: Option<Result<Response, String>>,
}

/// What a delivery brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What the client got; none if nobody was there to take it.
    pub answer: Option<Result<Response, RpcFailure>>,
    /// What the observer saw.
    pub seen: Vec<Seen>,
}

/// A transfer to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferSpec {
    /// Its number.
    pub id: u64,
    /// The client that moves the bytes.
    pub actor: String,
    /// The operation that waits for it; none once it was given up.
    pub operation: Option<u64>,
    /// The node that owns the range.
    pub owner: String,
    /// To the owner or from it.
    pub write: bool,
    /// The id of the replica whose descriptor is used; only an engine whose owners know of it can look at it.
    pub replica_id: u64,
    /// The absolute address of the first byte.
    pub address: u64,
    /// The number of bytes.
    pub size: u64,
    /// The first byte of the replica that moves, and how many bytes the replica has.
    pub within: (u64, u64),
    /// Whether it stays within one process.
    pub local: bool,
    /// The client's side of it.
    pub near: Near,
}

/// The memory on the client's side of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Near {
    /// The caller's buffer of that name, from that byte on.
    Named(String, u64),
    /// Staging memory of that operation, from that byte of its value on.
    Staging {
        /// The operation.
        operation: u64,
        /// The byte of its value.
        at: u64,
        /// Where that is in all staging memory of its client, if it lies there.
        block: Option<Block>,
    },
    /// The client's own segment.
    Own,
}

/// A request that a client writes to its link.
#[derive(Clone, Debug)]
pub struct Sending<'a> {
    /// The client.
    pub actor: &'a str,
    /// The number of the message.
    pub message: u64,
    /// The operation that sends it.
    pub operation: u64,
    /// The request, as the machine predicts it where the client is a process of its own.
    pub request: &'a Request,
    /// The attempts that it means, for a master that hears them.
    pub fences: &'a [Option<u64>],
}

/// How a transfer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All its bytes have moved.
    Complete,
    /// The client's transport closes it after too long without a byte.
    NoProgress,
    /// The network closes it.
    Cut,
    /// The network breaks it.
    Error,
    /// Its client is gone.
    ClientGone,
    /// Its client has closed.
    ClientClosed,
    /// Its owner is gone.
    OwnerGone,
    /// The owner refused it.
    Refused,
    /// No connection was made for it.
    NoConnection,
    /// The owner did not acknowledge it.
    NotAcknowledged,
    /// Its client fences it.
    Fenced,
}

impl Ending {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Ending::Complete => "complete",
            Ending::NoProgress => "closed: no progress",
            Ending::Cut => "closed: cut",
            Ending::Error => "closed: error",
            Ending::ClientGone => "closed: the client is gone",
            Ending::ClientClosed => "closed: the client has closed",
            Ending::OwnerGone => "closed: the owner is gone",
            Ending::Refused => "closed: the owner refused it",
            Ending::NoConnection => "closed: no connection was made",
            Ending::NotAcknowledged => "closed: no acknowledgement",
            Ending::Fenced => "fenced",
        }
    }

    /// Whether all bytes have moved.
    pub fn is_complete(self) -> bool {
        self == Ending::Complete
    }
}

/// What the owner of a segment logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerSeen {
    /// The transfer.
    pub transfer: u64,
    /// What happened to it.
    pub event: OwnerEvent,
}

/// One line of the owner's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerEvent {
    /// A request arrived and was accepted.
    Opened {
        /// To the owner or from it.
        write: bool,
        /// Offset of the first byte in the segment.
        offset: u64,
        /// The number of bytes.
        size: u64,
    },
    /// Bytes were stored (write) or left (read); positions within the transfer.
    Moved {
        /// The first byte.
        from: u64,
        /// One past the last byte.
        to: u64,
    },
    /// The transfer ended.
    Closed {
        /// In words.
        how: String,
    },
}

/// What the witness of this engine can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Its name.
    pub witness: String,
    /// Kinds of access that it sees.
    pub sees: Vec<String>,
    /// Kinds of access that it is blind to.
    pub blind: Vec<String>,
}

/// A result of a port.
pub type PortResult<T> = Result<T, PortError>;

/// The master, the links and the memory of one run.
pub trait Ports: Clients {
    /// Adds versions and configuration to the baseline.
    fn baseline(&self, baseline: &mut Baseline);

    /// What processes did in real time so far, by actor, in words; whoever did nothing is not in it.
    fn real_time(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// What the witness sees.
    fn sight(&self) -> Sight;

    /// Sets the master's clocks.
    fn set_master_clocks(&mut self, now: Clocks) -> PortResult<()>;
    /// The clocks that the master itself last read.
    fn read_master_clocks(&mut self) -> PortResult<Clocks>;
    /// Lets a thread of the master do one round.
    fn tick(&mut self, thread: Thread) -> PortResult<()>;
    /// Reads the master's state from outside, once its clean-up work is done.
    fn observe(&mut self) -> PortResult<State>;
    /// Ends the master at once; says how its end was seen.
    fn kill_master(&mut self) -> PortResult<String>;
    /// Stops the master where it stands, or lets it go on; says how that was seen.
    fn freeze_master(&mut self, frozen: bool) -> PortResult<String>;
    /// Starts a new master without any memory of the old one; says what was seen of it.
    fn start_master(&mut self) -> PortResult<String>;

    /// The client writes a request to its link.
    fn send(&mut self, sending: &Sending<'_>) -> PortResult<Vec<Seen>>;
    /// The request reaches the master and is handled.
    fn handle(&mut self, message: u64) -> PortResult<Vec<Seen>>;
    /// The request reaches the master once more.
    fn repeat(&mut self, message: u64) -> PortResult<Vec<Seen>>;
    /// The response reaches the client.
    fn deliver(&mut self, message: u64) -> PortResult<Delivery>;
    /// The network answers in the master's place.
    fn answer_with(&mut self, message: u64, code: ErrorCode) -> PortResult<Vec<Seen>>;
    /// The message is lost where it is.
    fn lose(&mut self, message: u64) -> PortResult<Vec<Seen>>;
    /// The connection of the message closes.
    fn cut(&mut self, message: u64) -> PortResult<Vec<Seen>>;
    /// The client gives up on an answer and closes the connection of that message.
    fn abandon(&mut self, message: u64) -> PortResult<()>;
    /// A client that starts connects to the master, before it has anything to say.
    fn open_link(&mut self, actor: &str) -> PortResult<()>;
    /// All connections of a client close at once; says how many the other side saw closing.
    fn close_link(&mut self, actor: &str) -> PortResult<usize>;

    /// Starts the memory of a node's segment; returns the endpoint that descriptors will carry.
    fn start_owner(&mut self, node: &str, base: u64, size: u64) -> PortResult<String>;
    /// Ends a node's memory and all connections to it.
    fn kill_owner(&mut self, node: &str) -> PortResult<()>;
    /// Stops or continues a node.
    fn freeze_owner(&mut self, node: &str, frozen: bool) -> PortResult<()>;
    /// Opens a transfer; false if the owner refused it.
    fn open_transfer(&mut self, spec: &TransferSpec) -> PortResult<bool>;
    /// Moves bytes to the owner; false if the owner is gone.
    fn write_part(&mut self, transfer: u64, bytes: &[u8]) -> PortResult<bool>;
    /// Moves bytes from the owner; none if the owner is gone.
    fn read_part(&mut self, transfer: u64, len: u64) -> PortResult<Option<Vec<u8>>>;
    /// Ends a transfer: complete, with the owner's acknowledgement (false if there was none), or closed where it is.
    fn close_transfer(&mut self, transfer: u64, ending: Ending) -> PortResult<bool>;
    /// Drains the owners' log.
    fn owner_log(&mut self) -> PortResult<Vec<OwnerSeen>>;
    /// Reads a segment's memory without leaving a trace.
    fn peek(&mut self, node: &str, offset: u64, len: u64) -> PortResult<Vec<u8>>;
}
