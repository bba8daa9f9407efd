//! The steps of a timeline.

use super::Name;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::Rpc;
use std::collections::BTreeMap;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its place in the timeline, from 0.
    pub index: usize,
    /// Its id, if it has one.
    pub id: Option<Name>,
    /// The instant to which both clocks of every actor move first.
    pub at: Option<Instant>,
    /// What it does.
    pub what: What,
    /// Allowed results as written (`ok`, an error name, `true`, `false`, `NEED_REMOUNT`); empty means any. Of a batch each
    /// entry may have any of them, unless one is written entry by entry, see [`entry_results`].
    pub expect: Vec<String>,
    /// Whether the timeline goes on beside it.
    pub is_async: bool,
    /// How many times it runs (1 without repetition). With `until`: the repetitions of each round.
    pub times: u32,
    /// The distance between repetitions, or between rounds with `until`.
    pub every: Option<Span>,
    /// No round starts after this instant.
    pub until: Option<Instant>,
    /// The step in words, for the evidence and the report.
    pub text: String,
}

/// Exactly one of `do`, `tick`, `await`, `check`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "a timeline holds few steps, and most are operations"
)]
pub enum What {
    /// An operation of a client or node, or `resume`.
    Do(Do),
    /// One round of a thread of the master.
    Tick(Thread),
    /// Time runs from timer to timer until it holds.
    Await {
        /// What must hold.
        until: AwaitFor,
        /// At most that long.
        within: Span,
    },
    /// A look at the world.
    Check(Check),
}

/// The results of a batch that an expectation gives entry by entry, such as `ok x3, NO_AVAILABLE_HANDLE`; none if it is
/// one result for all.
pub fn entry_results(expect: &str) -> Option<Vec<&str>> {
    if !expect.contains([',', ' ']) {
        return None;
    }
    let mut results = Vec::new();
    for item in expect.split(',').map(str::trim) {
        let (word, times) = match item.split_once(" x") {
            Some((word, times)) => (word.trim(), times.parse::<u16>().ok()?),
            None => (item, 1),
        };
        results.extend(std::iter::repeat_n(word, usize::from(times)));
    }
    Some(results)
}

/// What an `await` waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AwaitFor {
    /// The result of the step at that index.
    Step(usize),
    /// No message or transfer moves.
    Quiet,
    /// The segment of that node is mounted.
    Mounted(Name),
}

/// An operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Do {
    /// The client or node that does it; none with `resume`.
    pub who: Option<Name>,
    /// What it does.
    pub verb: Verb,
    /// The key, with `{i}` not yet replaced.
    pub key: Option<String>,
    /// The keys of a batch, expanded.
    pub keys: Vec<String>,
    /// Object bytes.
    pub size_bytes: Option<u64>,
    /// The name from which the payload is made; `None` means the writer's name.
    pub pattern: Option<Name>,
    /// The caller's source buffer (zero-copy); `None` means staged.
    pub from: Option<Name>,
    /// Names for the ranges of the replicas, in the master's order.
    pub bind: Vec<Name>,
    /// The caller's buffer (zero-copy); `None` means staged.
    pub into: Option<Name>,
    /// Ranges of the object that are read or written, in the order in which they lie in the buffer; empty means all of it.
    pub ranges: Vec<ByteRange>,
    /// The pattern that every byte must have if the result is `ok`.
    pub payload: Option<Name>,
    /// The `get_start` or `put_start` step whose descriptors are meant; `None` means the client's latest.
    pub use_step: Option<usize>,
    /// The number that a removal by pattern must return.
    pub count: Option<i64>,
    /// Further arguments under the request's field names.
    pub args: BTreeMap<String, ArgValue>,
}

/// Bytes of an object: `1MiB+64KiB` are 64 KiB behind its first MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The first byte, counted from the object's first.
    pub from: u64,
    /// How many bytes.
    pub size_bytes: u64,
}

impl Do {
    /// How many results it has, one for each of its keys or ranges, or for each range of each key; none if it has one alone.
    pub fn entries(&self) -> Option<usize> {
        match self.verb {
            Verb::Get => (!self.ranges.is_empty()).then_some(self.ranges.len()),
            Verb::BatchGet => Some(self.keys.len() * self.ranges.len().max(1)),
            verb => verb.answers_each().then_some(self.keys.len()),
        }
    }

    /// The pattern that this operation writes, if it writes.
    pub fn written_pattern(&self) -> Option<&str> {
        match self.verb {
            Verb::Put | Verb::Upsert | Verb::PutWrite | Verb::BatchPut | Verb::BatchUpsert | Verb::Fill => {
                self.pattern.as_deref().or(self.who.as_deref())
            }
            _ => None,
        }
    }

    /// The text with `{i}` replaced by the repetition.
    pub fn repeated(text: &str, repetition: u32) -> String {
        text.replace("{i}", &repetition.to_string())
    }
}

/// An argument of a request that has no key of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(u64),
    /// Text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

/// What an operation does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Mirrors `client_service.cpp:Client::Put`.
    #[default]
    Put,
    /// Mirrors `client_service.cpp:Client::Get`.
    Get,
    /// Mirrors `client_service.cpp:Client::Upsert`.
    Upsert,
    /// Mirrors `client_service.cpp:Client::IsExist`.
    Exist,
    /// Mirrors `real_client.cpp:get_size`.
    Size,
    /// Mirrors `client_service.cpp:Client::Remove`.
    Remove,
    /// Mirrors `client_service.cpp:Client::RemoveByRegex`.
    RemoveByRegex,
    /// Mirrors `client_service.cpp:Client::RemoveAll`.
    RemoveAll,
    /// Mirrors `client_service.cpp:Client::BatchPut`.
    BatchPut,
    /// Mirrors `client_service.cpp:Client::BatchUpsert`.
    BatchUpsert,
    /// Mirrors `client_service.cpp:Client::BatchGet`.
    BatchGet,
    /// Mirrors `client_service.cpp:Client::BatchIsExist`.
    BatchExist,
    /// Mirrors `client_service.cpp:Client::BatchRemove`.
    BatchRemove,
    /// One poll for tasks, and the copies and moves that it brings. Mirrors `client_service.cpp:PollAndDispatchTasks`.
    RunTasks,
    /// One poll for tasks, which wait for a worker then. Mirrors `client_service.cpp:PollAndDispatchTasks`.
    PollTasks,
    /// A free worker executes the task that waits longest. Mirrors `client_service.cpp:ExecuteTask`.
    RunTask,
    /// Mirrors the destruction of a client: its segments are unmounted, and every transfer of it ends.
    Close,
    /// Queries and keeps the descriptors with their lease. Mirrors a get session's start.
    GetStart,
    /// Reads with kept descriptors. Mirrors a range read of a get session.
    GetRead,
    /// Drops kept descriptors. Mirrors a get session's end.
    GetEnd,
    /// Writes the payload of a `put_start`. Mirrors a put session's write.
    PutWrite,
    /// The caller writes a pattern into its own buffer.
    Fill,
    /// The caller registers its buffer. Mirrors `real_client.cpp:RealClient::register_buffer`.
    RegisterBuffer,
    /// The caller takes its buffer back from the transfer engine. Mirrors `real_client.cpp:RealClient::unregister_buffer`.
    UnregisterBuffer,
    /// Ends a freeze or hold of the one fault.
    Resume,
    /// One RPC with the master's own code, under its upstream name in snake case.
    Rpc(Rpc),
}

/// A look at the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What is looked at.
    pub kind: CheckKind,
    /// Ranges and buffers.
    pub of: Vec<Name>,
    /// For `untouched`: since when; `None` means the end of the first operation that named it.
    pub since: Option<Instant>,
    /// For `allocated`: the bytes in all.
    pub size_bytes: Option<u64>,
    /// For `bytes`: the pattern.
    pub payload: Option<Name>,
}

/// The kinds of check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckKind {
    /// Across the last step that is no check allocated bytes did not fall and nothing else overlaps the range.
    Quarantined,
    /// Across the last step that is no check allocated bytes fell by the sizes named.
    Released,
    /// No two of the ranges overlap.
    Disjoint,
    /// Exactly `size` bytes are allocated in all.
    Allocated,
    /// Each byte of the buffer has the pattern `payload`.
    Bytes,
    /// A witness saw no access but the caller's own `fill`.
    Untouched,
}

impl CheckKind {
    /// Every check.
    pub const ALL: [CheckKind; 6] = [
        CheckKind::Quarantined,
        CheckKind::Released,
        CheckKind::Disjoint,
        CheckKind::Allocated,
        CheckKind::Bytes,
        CheckKind::Untouched,
    ];

    /// The word in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            CheckKind::Quarantined => "quarantined",
            CheckKind::Released => "released",
            CheckKind::Disjoint => "disjoint",
            CheckKind::Allocated => "allocated",
            CheckKind::Bytes => "bytes",
            CheckKind::Untouched => "untouched",
        }
    }
}

/// A symbolic instant: a base and terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instant {
    /// What it counts from.
    pub base: Base,
    /// What is added and taken away, in order.
    pub terms: Vec<Term>,
    /// As written in the file.
    pub text: String,
}

/// What an instant counts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// The world is mounted.
    Start,
    /// The injection.
    Fault,
    /// A moment of the step at that index.
    Step(usize, Moment),
}

/// Which moment of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Its first request is handled (`p1`); without a request, it runs.
    Handled,
    /// Its first request left the client (`p1.sent`).
    Sent,
    /// Its result is reported (`p1.done`).
    Done,
}

/// One `+` or `-` term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Whether it is taken away.
    pub minus: bool,
    /// How long it is.
    pub length: Length,
}

/// The length of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Length {
    /// A duration.
    Span(Span),
    /// A deadline by its key of `[world] timeouts`, times a factor.
    Deadline(String, u64),
}

#[cfg(test)]
mod tests {
    use super::entry_results;

    #[test]
    fn results_of_a_batch_are_told_one_by_one() {
        assert_eq!(entry_results("ok"), None);
        assert_eq!(entry_results("ok, true"), Some(vec!["ok", "true"]));
        let many = entry_results("ok x2,OBJECT_NOT_FOUND").unwrap_or_default();
        assert_eq!(many, ["ok", "ok", "OBJECT_NOT_FOUND"]);
        assert_eq!(entry_results("ok xx"), None);
        assert_eq!(entry_results("ok x70000"), None);
    }
}
