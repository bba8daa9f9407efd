//! The policies, one a file, behind one trait.

mod belady;
mod fifo;
mod kind;
mod lru;
mod queue;
mod sieve;
mod sketch;
mod time_saved;
mod tinylfu;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

pub use belady::Belady;
pub use fifo::Fifo;
pub use kind::Kind;
pub use lru::Lru;
pub use sieve::Sieve;
pub use time_saved::TimeSaved;
pub use tinylfu::TinyLfu;

/// A block of a prefix, by its dense number: traces and workloads number what they name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(pub u32);

impl Block {
    /// Its place in a table of blocks.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A block that is not used again.
pub const NEVER: u64 = u64::MAX;

/// What is known about one use of a block. A policy takes what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The number of this use, counted over all blocks.
    pub seq: u64,
    /// The number of the next use of this block, or [`NEVER`]; only where the future is known (Belady), else [`NEVER`].
    pub next: u64,
    /// Nanoseconds that having this block saves against computing it: prefill minus transfer.
    pub saved_ns: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// An order among the blocks of a full cache: which one goes when another one comes.
///
/// The cache is demand-filled: `evict` is called before `insert` while it is full, so that no policy can turn a block away.
///
/// **Blocks that may not go.** `evict` takes the first block of the policy's order that `may` go. A block that was refused is
/// out of the question until [`Policy::release`] names it (a use of it may bring it up sooner), so whoever refuses a block
/// must release it once the reason is gone. In return a long run of refused blocks at the old end of an order is walked once
/// and not at every eviction. A released block stands where it stood before.
pub trait Policy {
    /// Its name, as on the command line.
    const NAME: &'static str;

    /// Whether it reads [`Use::next`]. Nobody needs to look ahead for one that does not.
    const LOOKS_AHEAD: bool = false;

    /// For a cache of `capacity` blocks, where blocks have numbers below `blocks`.
    fn new(capacity: usize, blocks: usize) -> Self;

    /// A block of the cache was used.
    fn hit(&mut self, block: Block, used: &Use);

    /// A block came into the cache.
    fn insert(&mut self, block: Block, used: &Use);

    /// Chooses a block that `may` go, and forgets it. None if no block may: others lean on them or read them.
    fn evict(&mut self, may: impl FnMut(Block) -> bool) -> Option<Block>;

    /// A block that may not have gone may go now: the last block that leaned on it went, its last reader ended. To be told
    /// of a block that was never refused, or is not in the cache, changes nothing.
    fn release(&mut self, block: Block);
}
