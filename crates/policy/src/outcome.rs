//! What one simulated run came to. Whole numbers only; shares and percentiles are made where they are shown.

/// One policy under one workload with one seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The policy's name, as on the command line.
    pub policy: String,
    /// The workload's name, or the trace file.
    pub workload: String,
    /// What the workload was made from; a trace has none but for the spread inside its ticks.
    pub seed: u64,
    /// Requests that arrived; all of them ended.
    pub requests: u64,
    /// Tokens of all prompts: hit plus computed.
    pub input_tokens: u64,
    /// Tokens that came out of the cache.
    pub hit_tokens: u64,
    /// Tokens that were computed.
    pub computed_tokens: u64,
    /// Tokens that lay in the cache and were computed all the same, because that was faster or the fetch came too late.
    pub passed_by_tokens: u64,
    /// Bytes out of the cache, over the link; a fetch given up counts with what it had moved.
    pub fetched_bytes: u64,
    /// Bytes into the cache.
    pub stored_bytes: u64,
    /// From the first arrival to the last end, in nanoseconds.
    pub span_ns: u64,
    /// How many servers there are.
    pub servers: u64,
    /// Their busy time, summed, in nanoseconds.
    pub servers_busy_ns: u64,
    /// Time during which the link moved something, in nanoseconds.
    pub link_busy_ns: u64,
    /// The most requests that waited for a server at once.
    pub queue_max: u64,
    /// Requests waiting for a server, integrated over time: request-nanoseconds. By `span_ns` it is the mean.
    pub queue_request_ns: u128,
    /// From arrival to first token, in nanoseconds, a request each, in ascending order.
    pub ttft_ns: Vec<u64>,
    /// The SLO on it, in nanoseconds.
    pub slo_ns: u64,
    /// Requests within it. By `span_ns` they are the goodput.
    pub within_slo: u64,
}
