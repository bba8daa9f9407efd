//! The two masters.

mod engines;
mod http;
mod jobs;
mod real;
mod rust;
mod wire;

pub use jobs::JobSeen;
pub use real::RealSide;
pub use rust::RustSide;

use moonquake_protocol::{ErrorCode, Response, Uuid};
use serde::Serialize;
use std::collections::BTreeMap;

/// What one operation did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A request was answered.
    Answer(Response),
    /// The RPC layer refused a request.
    Refused(String),
    /// A thread was let through; whether it did its round or saw that it was too early.
    Ticked(bool),
    /// The clocks moved.
    Moved,
    /// A drain job was asked for.
    JobCreated(Result<Uuid, ErrorCode>),
    /// A drain job was asked about.
    Job(Result<JobSeen, ErrorCode>),
    /// A drain job was to end.
    JobCanceled(Result<(), ErrorCode>),
}

/// What an observer sees that changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct State {
    /// Requested bytes that are taken, quarantined ones included.
    pub allocated_bytes: u64,
    /// Bytes of all segments.
    pub capacity_bytes: u64,
    /// Objects, readable or not.
    pub key_count: u64,
    /// Objects with a soft pin that nobody has found to be over.
    pub soft_pinned_keys: u64,
    /// Clients that are OK.
    pub active_clients: u64,
    /// The mounted segments in the order in which the master walks its table.
    pub mounts: Vec<MountSeen>,
    /// For every mounted name that can be read in a list of gauges those of its segments: allocated bytes and capacity.
    pub gauges: BTreeMap<String, [i64; 2]>,
    /// For every key of the alphabet its readable replicas, or the error of a query.
    pub keys: BTreeMap<String, KeySeen>,
    /// The readable keys in the order in which the master walks its tables.
    pub order: Vec<String>,
    /// The status of every mounted segment, by its id.
    pub segments: BTreeMap<String, String>,
}

/// Whether gauges of a name can be read back: it is a label in a text of lines.
fn is_readable_label(name: &str) -> bool {
    let breaks = |letter: char| letter.is_control() || letter == '"' || letter == '\\';
    !name.is_empty() && !name.contains(breaks)
}

/// What is told about a mounted segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MountSeen {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The client of the latest mount of that name.
    pub client: String,
    /// Requested bytes that are taken in all allocatable mounts of that name.
    pub used_bytes: u64,
    /// Bytes of those mounts.
    pub capacity_bytes: u64,
}

/// What a query of a key without a lease tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySeen {
    /// The readable replicas in memory, in the master's order.
    Readable(Vec<ReplicaSeen>),
    /// The name of the error.
    Refused(String),
}

/// One readable replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplicaSeen {
    /// Bytes.
    pub size_bytes: u64,
    /// Address.
    pub address: u64,
    /// Who serves it.
    pub endpoint: String,
}
