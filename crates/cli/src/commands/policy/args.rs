//! The flags of `moonquake policy`.

use super::values::{self, Format, Ticks};
use crate::quantity;
use moonquake_policy::policies::Kind;
use moonquake_policy::sim::{Decision, Discipline, Prefill, Queue, Twins, Writes};
use moonquake_policy::workload::Workload;
use std::path::PathBuf;

/// Compare cache policies under a load, in simulated time.
///
/// Requests share servers, a link and a cache; nothing is measured and no cluster is needed. Without `--trace` and
/// `--workload` all generated loads run, and one on a slow link where more hits are worse; without `--policy` all policies,
/// without `--decision` both `fetch` and `faster`. The same flags give the same bytes of output, on any number of threads.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A trace, lines of JSON in one of two forms: Mooncake's (timestamp in ms, input_length, output_length, hash_ids), or with
    /// prefixes (arrival_time in ns, namespace, prefix_id, prefix_tokens, suffix_tokens)
    #[arg(long, value_name = "FILE", help_heading = "Load")]
    pub(super) trace: Option<PathBuf>,
    /// Generated loads: scan, zipf, burst, switch (all four)
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', value_parser = values::workload, help_heading = "Load")]
    pub(super) workload: Vec<Workload>,
    /// Requests of a generated load (3000)
    #[arg(long, value_name = "N", value_parser = values::whole::<u32>(1, 10_000_000, 3000), allow_hyphen_values = true, help_heading = "Load")]
    pub(super) requests: Option<u32>,
    /// Different prefixes of a generated load (scan 1000, others 2000)
    #[arg(long, value_name = "N", value_parser = values::whole::<u32>(1, 10_000_000, 2000), allow_hyphen_values = true, help_heading = "Load")]
    pub(super) prefixes: Option<u32>,
    /// Tokens of each prefix (8192)
    #[arg(long, value_name = "TOKENS", value_parser = values::whole::<u64>(0, 16_777_216, 8192), allow_hyphen_values = true, help_heading = "Load")]
    pub(super) prefix_tokens: Option<u64>,
    /// Tokens behind the prefix that no other request has, in the mean (1024)
    #[arg(long, value_name = "TOKENS", value_parser = values::whole::<u64>(1, 16_777_216, 1024), allow_hyphen_values = true, help_heading = "Load")]
    pub(super) suffix_tokens: Option<u64>,
    /// From one request to the next, in the mean; of bursts: between them (scan 280ms, others 150ms)
    #[arg(long, value_name = "TIME", value_parser = quantity::nanoseconds, allow_hyphen_values = true, help_heading = "Load")]
    pub(super) gap: Option<u64>,
    /// The first seed: of a generated load, or of the spread inside the ticks of a trace (1)
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>(0, u64::MAX, 1), allow_hyphen_values = true, help_heading = "Load")]
    pub(super) seed: Option<u64>,
    /// How many seeds, counted up from the first; each figure is then shown with its spread (1)
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>(1, 1_000, 5), allow_hyphen_values = true, help_heading = "Load")]
    pub(super) seeds: Option<u64>,
    /// What to do with a trace's coarse ticks: raw (all requests of a tick at its instant), or spread inside the tick (raw)
    #[arg(long, value_name = "HOW", value_parser = values::ticks, help_heading = "Load")]
    pub(super) ticks: Option<Ticks>,
    /// Policies (all of them)
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', value_parser = values::policy, help_heading = "Cache")]
    pub(super) policy: Vec<Kind>,
    /// Blocks that the cache holds (10000); with `--blocks-only` several numbers give a curve
    #[arg(long, value_name = "N[,N]", value_delimiter = ',', value_parser = values::whole::<u64>(1, u32::MAX.into(), 10000), allow_hyphen_values = true, help_heading = "Cache")]
    pub(super) capacity_blocks: Vec<u64>,
    /// Bytes that the cache holds, such as 64GiB, instead of blocks
    #[arg(long, value_name = "BYTES", value_parser = quantity::size, allow_hyphen_values = true, help_heading = "Cache")]
    pub(super) capacity: Option<u64>,
    /// Flattened unit blocks without time: how many references hit, exactly
    #[arg(long, help_heading = "Cache")]
    pub(super) blocks_only: bool,
    /// Tokens of a block (512); those of a trace with hash_ids are 512
    #[arg(long, value_name = "TOKENS", value_parser = values::whole::<u64>(1, 1_048_576, 512), allow_hyphen_values = true, help_heading = "Cache")]
    pub(super) chunk: Option<u64>,
    /// Bytes of KV cache for a token, such as 128KiB (128KiB)
    #[arg(long, value_name = "BYTES", value_parser = quantity::size, allow_hyphen_values = true, help_heading = "Cache")]
    pub(super) bytes_per_token: Option<u64>,
    /// What the link moves: GiB/s, GB/s or Gb/s (20GiB/s)
    #[arg(long, value_name = "RATE", value_parser = quantity::rate, allow_hyphen_values = true, help_heading = "Machine")]
    pub(super) bandwidth: Option<u64>,
    /// How fetches share the link: fifo or shared (fifo)
    #[arg(long, value_name = "HOW", value_parser = values::link, help_heading = "Machine")]
    pub(super) link: Option<Discipline>,
    /// Whether writes into the cache have a way of their own or delay fetches: own or same (own)
    #[arg(long, value_name = "HOW", value_parser = values::writes, help_heading = "Machine")]
    pub(super) writes: Option<Writes>,
    /// From an arrival until it is known what the cache has (200us)
    #[arg(long, value_name = "TIME", value_parser = quantity::nanoseconds, allow_hyphen_values = true, help_heading = "Machine")]
    pub(super) lookup: Option<u64>,
    /// How many servers compute (4)
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>(1, 1_000_000, 4), allow_hyphen_values = true, help_heading = "Machine")]
    pub(super) servers: Option<u64>,
    /// What computing costs: constant:REQUEST, linear:REQUEST,TOKEN or quadratic:REQUEST,TOKEN,PAIR (linear:5ms,100us)
    #[arg(long, value_name = "MODEL", value_parser = values::prefill, allow_hyphen_values = true, help_heading = "Machine")]
    pub(super) prefill: Option<Prefill>,
    /// Which request a free server takes: fifo, shortest or deadline (fifo)
    #[arg(long, value_name = "HOW", value_parser = values::queue, help_heading = "Machine")]
    pub(super) queue: Option<Queue>,
    /// Whether what the cache has is fetched: fetch, recompute, or what is expected to be faster (fetch,faster)
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', value_parser = values::decision, help_heading = "Machine")]
    pub(super) decision: Vec<Decision>,
    /// A fetch that is not done after this long is given up (never)
    #[arg(long, value_name = "TIME", value_parser = quantity::some_nanoseconds, allow_hyphen_values = true, help_heading = "Machine")]
    pub(super) prefetch_deadline: Option<u64>,
    /// Two requests that miss the same at once: single (one waits for the other) or twice (single)
    #[arg(long, value_name = "HOW", value_parser = values::flight, help_heading = "Machine")]
    pub(super) flight: Option<Twins>,
    /// The SLO on the time to first token (5s)
    #[arg(long, value_name = "TIME", value_parser = quantity::some_nanoseconds, allow_hyphen_values = true, help_heading = "Machine")]
    pub(super) slo: Option<u64>,
    /// On how many threads; makes no difference to what comes out (as many as there are processors)
    #[arg(long, value_name = "N", value_parser = values::whole::<u16>(1, 1_024, 8), allow_hyphen_values = true, help_heading = "Output")]
    pub(super) threads: Option<u16>,
    /// Tables for people, or one JSON object for machines: table or json
    #[arg(long, value_name = "FORM", value_parser = values::format, default_value = "table", help_heading = "Output")]
    pub(super) format: Format,
    /// Also write a page of plots and tables into this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) html: Option<PathBuf>,
    /// Also write the plot of goodput over hit rate (with `--blocks-only`: of hits) of one load into this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) svg: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  moonquake policy --workload zipf,switch --seeds 5 --html policies.html
  moonquake policy --trace conversation_trace.jsonl --ticks spread --capacity 64GiB --policy lru,sieve
  moonquake policy --trace conversation_trace.jsonl --blocks-only --capacity-blocks 1000,10000,50000
  moonquake policy --workload burst --prefill quadratic:5ms,80us,5ns --bandwidth 2GiB/s --slo 2s --format json

Units of flags: sizes B, KiB, MiB, GiB, TiB, PiB, KB, MB, GB, TB; rates B/s, KiB/s, MiB/s, GiB/s, TiB/s, KB/s, MB/s, GB/s, TB/s,
and of bits Kb/s, Mb/s, Gb/s, Tb/s; times ps (in --prefill), ns, us, ms, s, min.

Traces (`--trace`): all lines of a file are in one form. timestamp is in milliseconds, arrival_time in nanoseconds, both from the
beginning of the trace and in order; lengths are in tokens. hash_ids names a request's blocks of 512 tokens from its beginning.
namespace and prefix_id are whole numbers or texts: requests with both the same share the full blocks of the prefix, such as
  {\"arrival_time\": 0, \"namespace\": \"v1\", \"prefix_id\": 7, \"prefix_tokens\": 8192, \"suffix_tokens\": 100}
--blocks-only also takes a table of block ids, and lengths that do not go with the number of hash_ids.

JSON (`--format json`): one object. With --blocks-only its rows each have workload, policy, capacity_blocks, hits, references and
hit_rate_ppm; the row of policy infinite, whose capacity_blocks is null, forgets nothing. Else results.rows has a row for each
workload, policy, capacity_blocks and decision, runs.rows one for each seed, findings the sentences, and workloads the notes of
each and the machine that was simulated (its capacity_blocks is null where rows differ in it).
Fields of JSON carry their unit: `_ns` nanoseconds, `_ps` picoseconds, `_bytes`, `_tokens`, `_blocks`, `_requests`,
`bytes_per_token`, `_bytes_per_second`, `_ppm` millionths, `_milli` thousandths, `_mrps` thousandths of a request per second;
with _min or _max behind it, the least or most over seeds. Others are counts.

Exit codes: 0 done, 64 wrong command line or trace, 70 a file or standard output cannot be written.";
