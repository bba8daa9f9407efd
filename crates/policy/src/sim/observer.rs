//! Whoever wants to see a run from inside.

/// The state after everything that happened at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The instant, in nanoseconds since the trace began.
    pub now_ns: u64,
    /// Blocks in the cache.
    pub cached_blocks: u64,
    /// Blocks that it holds at most.
    pub capacity_blocks: u64,
    /// Requests that wait for a server.
    pub waiting: u64,
    /// Servers that compute.
    pub computing: u64,
    /// Transfers on the link.
    pub transfers: u64,
    /// Requests that arrived and did not end.
    pub inside: u64,
    /// Time during which the link moved something, in nanoseconds.
    pub link_busy_ns: u64,
    /// What it moved, in bytes times 10^9, but for the transfers that are on it.
    pub link_moved_units: u128,
}

/// The story of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    /// Its number, in the order of arrival from 0.
    pub request: u32,
    /// When it arrived, in nanoseconds since the trace began.
    pub arrival_ns: u64,
    /// When it began to wait for a server.
    pub ready_ns: u64,
    /// When a server took it.
    pub start_ns: u64,
    /// When its first token was there.
    pub end_ns: u64,
    /// Tokens that it had from the cache.
    pub hit_tokens: u64,
    /// Tokens that it computed.
    pub computed_tokens: u64,
}

/// Sees a run from inside. The empty observer `()` costs nothing.
pub trait Observer {
    /// Whether it is told of instants, and the cache is audited at each of them: a look at every block every time.
    const AUDITS: bool = false;

    /// After everything that happened at an instant, if it audits.
    fn instant(&mut self, _seen: &Seen) {}

    /// A request ended.
    fn ended(&mut self, _story: &Story) {}

    /// The audit found the cache in a state that must not be; what, in words.
    fn wrong(&mut self, _what: &str) {}
}

impl Observer for () {}
