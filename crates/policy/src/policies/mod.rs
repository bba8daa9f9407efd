//! The policies, one a file, behind one trait.

/// A block of a prefix, by its dense number: traces and workloads number what they name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(pub u32);

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
pub trait Policy {
    /// Its name, as on the command line.
    const NAME: &'static str;

    /// For a cache of `capacity` blocks, where blocks have numbers below `blocks`.
    fn new(capacity: usize, blocks: usize) -> Self;

    /// A block of the cache was used.
    fn hit(&mut self, block: Block, used: &Use);

    /// A block came into the cache.
    fn insert(&mut self, block: Block, used: &Use);

    /// Chooses a block that `may` go, and forgets it. None if no block may: others lean on them or read them.
    fn evict(&mut self, may: impl FnMut(Block) -> bool) -> Option<Block>;
}
