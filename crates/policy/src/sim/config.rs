//! What a run is given besides the requests.

use super::SimError;

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// The machine that the requests share, and what it does with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How much the cache holds.
    pub capacity: Capacity,
    /// Tokens of a block (the chunk size). A trace that was made with another size is refused.
    pub block_tokens: u64,
    /// Bytes of KV cache for one token.
    pub bytes_per_token: u64,
    /// What the link moves, in bytes per second, all transfers together.
    pub bandwidth_bytes_per_s: u64,
    /// How transfers share the link.
    pub link: Discipline,
    /// What writes into the cache do to reads.
    pub writes: Writes,
    /// From an arrival until it is known what the cache has, in nanoseconds. Lookups do not wait for each other.
    pub lookup_ns: u64,
    /// What computing a prompt costs.
    pub prefill: Prefill,
    /// How many servers compute, each one request at a time.
    pub servers: u64,
    /// Which request a free server takes.
    pub queue: Queue,
    /// A fetch that is not finished this many nanoseconds after it was asked for is given up, and its tokens are computed.
    /// At the very nanosecond it is in time. None: fetches are waited for.
    pub prefetch_deadline_ns: Option<u64>,
    /// Whether what the cache has is fetched.
    pub decision: Decision,
    /// What a request does that misses a block which another one is about to compute.
    pub twins: Twins,
    /// The SLO on the time to first token, in nanoseconds.
    pub slo_ns: u64,
}

/// How much the cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// So many blocks. A last block that is not full takes the place of a full one.
    Blocks(u64),
    /// So many bytes: as many full blocks as fit.
    Bytes(u64),
}

/// How transfers share the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// One after the other, in the order in which they were asked for.
    Fifo,
    /// All at once, each with an equal share (processor sharing).
    Shared,
}

/// What writes into the cache do to reads. A block can be found from the nanosecond in which its computation ended: the
/// memory of the pool stands beside the servers, and what is still on its way is served from where it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// The link is full duplex and a write delays no read.
    OwnWay,
    /// Writes are transfers like any other on the one link.
    SameWay,
}

/// What it costs to compute `n` tokens that follow `c` tokens whose KV cache is there. Coefficients in picoseconds, so that
/// a rate of ten thousand tokens per second is a whole number; the result is rounded up to a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefill {
    /// The same for each request.
    Constant {
        /// Nanoseconds per request.
        request_ns: u64,
    },
    /// `request + n * token`.
    Linear {
        /// Nanoseconds per request.
        request_ns: u64,
        /// Picoseconds per token computed.
        token_ps: u64,
    },
    /// `request + n * token + (n * c + n * (n + 1) / 2) * pair`: each new token attends to all before it and to itself.
    Quadratic {
        /// Nanoseconds per request.
        request_ns: u64,
        /// Picoseconds per token computed.
        token_ps: u64,
        /// Picoseconds per pair of a computed token and a token that it attends to.
        pair_ps: u64,
    },
}

/// Which request a free server takes. Equal ones go in the order in which they became ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// The one that became ready first.
    Fifo,
    /// The one with the least to compute.
    Shortest,
    /// The one whose SLO ends first: arrival plus SLO.
    Deadline,
}

/// Whether what the cache has is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Always.
    Fetch,
    /// Never.
    Recompute,
    /// If fetching and computing the rest is expected to take no longer than computing all, given what is on the link now.
    Faster,
}

/// What a request does that misses a block which another one is about to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twins {
    /// It waits until the other one has computed, and looks again (single flight).
    Wait,
    /// It computes the block a second time; it is stored once.
    Twice,
}

impl Default for Config {
    /// Four servers of 10,000 tokens per second, a model with 128 KiB per token, blocks of 512 tokens, 20 GiB/s, room for
    /// 10,000 blocks (625 GiB), and 5 s until the first token.
    fn default() -> Config {
        Config {
            capacity: Capacity::Blocks(10_000),
            block_tokens: 512,
            bytes_per_token: 131_072,
            bandwidth_bytes_per_s: 20 << 30,
            link: Discipline::Fifo,
            writes: Writes::OwnWay,
            lookup_ns: 200_000,
            prefill: Prefill::Linear {
                request_ns: 5_000_000,
                token_ps: 100_000_000,
            },
            servers: 4,
            queue: Queue::Fifo,
            prefetch_deadline_ns: None,
            decision: Decision::Fetch,
            twins: Twins::Wait,
            slo_ns: 5 * SECOND_NS,
        }
    }
}

impl Config {
    /// Bytes of a full block.
    ///
    /// # Errors
    ///
    /// If they do not fit into 64 bits.
    pub fn block_bytes(&self) -> Result<u64, SimError> {
        let bytes = self.block_tokens.checked_mul(self.bytes_per_token);
        bytes.ok_or(SimError::TooBig {
            what: "block_tokens * bytes_per_token",
        })
    }

    /// How many blocks the cache holds.
    ///
    /// # Errors
    ///
    /// If the capacity is given in bytes and those of a block do not fit into 64 bits.
    pub fn capacity_blocks(&self) -> Result<u64, SimError> {
        match self.capacity {
            Capacity::Blocks(blocks) => Ok(blocks),
            Capacity::Bytes(bytes) => Ok(bytes / self.block_bytes()?.max(1)),
        }
    }

    /// Refuses what no machine has.
    ///
    /// # Errors
    ///
    /// The first field that is zero where it must not be, or a capacity that holds no block.
    pub fn check(&self) -> Result<(), SimError> {
        let positive = [
            ("block_tokens", self.block_tokens),
            ("bytes_per_token", self.bytes_per_token),
            ("bandwidth_bytes_per_s", self.bandwidth_bytes_per_s),
            ("servers", self.servers),
            ("slo_ns", self.slo_ns),
        ];
        for (field, value) in positive {
            if value == 0 {
                return Err(SimError::Zero { field });
            }
        }
        if self.prefetch_deadline_ns == Some(0) {
            return Err(SimError::Zero {
                field: "prefetch_deadline_ns",
            });
        }
        if self.capacity_blocks()? == 0 {
            return Err(SimError::NoBlock {
                block_bytes: self.block_bytes()?,
            });
        }
        Ok(())
    }
}

impl Prefill {
    /// What computing `tokens` costs after `context` tokens that are there, in nanoseconds, rounded up.
    pub fn ns(&self, tokens: u64, context: u64) -> u128 {
        let (new, old) = (u128::from(tokens), u128::from(context));
        match *self {
            Prefill::Constant { request_ns } => u128::from(request_ns),
            Prefill::Linear { request_ns, token_ps } => u128::from(request_ns)
                .saturating_add(new.saturating_mul(u128::from(token_ps)).div_ceil(1_000)),
            Prefill::Quadratic {
                request_ns,
                token_ps,
                pair_ps,
            } => {
                let pairs = new
                    .saturating_mul(old)
                    .saturating_add(new.saturating_mul(new.saturating_add(1)) / 2);
                let ps = new
                    .saturating_mul(u128::from(token_ps))
                    .saturating_add(pairs.saturating_mul(u128::from(pair_ps)));
                u128::from(request_ns).saturating_add(ps.div_ceil(1_000))
            }
        }
    }
}
