//! The memory of a client's side: a buffer of the caller, or a block of the client's own staging memory. Mirrors
//! `client_buffer.cpp:ClientBufferAllocator` and its use in `real_client.cpp`.

use crate::{Outcome, Want};
use moonquake_offset::{Allocation, OffsetAllocator};
use moonquake_protocol::ErrorCode;

/// The bytes of staging memory that a client has unless told otherwise. Mirrors the default of `local_buffer_size` in
/// `real_client.h:setup_real`.
pub const STAGING_BYTES: u64 = 16 << 20;

/// What an operation is told that finds no staging memory, or a buffer too short for what it reads.
pub(crate) const NO_ROOM: Outcome = Outcome::Error(ErrorCode::InvalidParams);

/// Where an operation has its bytes on the client's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearMemory {
    /// In staging memory, block by block. Mirrors `put`, `put_batch`, `get_buffer` and their likes.
    Staging,
    /// In a buffer of the caller. Mirrors `put_from`, `get_into` and their likes.
    Caller {
        /// Its bytes; none if it is as large as it must be.
        bytes: Option<u64>,
    },
}

impl NearMemory {
    /// A buffer of the caller that is as large as it must be.
    pub const CALLER: NearMemory = NearMemory::Caller { bytes: None };

    /// What an operation wants that cannot go on without all of these blocks; none if it has a buffer.
    pub(crate) fn all(self, blocks: Vec<u64>) -> Option<Want> {
        (self == NearMemory::Staging).then_some(Want::Stage { blocks, all: true })
    }

    /// Whether the bytes from `at` on lie in it, as far as is known before staging memory is asked for.
    pub(crate) fn holds(self, at: u64, size: u64) -> bool {
        match self {
            NearMemory::Caller { bytes: Some(bytes) } => at.checked_add(size).is_some_and(|end| end <= bytes),
            NearMemory::Caller { bytes: None } | NearMemory::Staging => true,
        }
    }
}

/// A block that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagingBlock {
    /// Its first byte, counted from that of the staging memory.
    pub offset: u64,
    /// How many bytes were asked for; more may be reserved.
    pub size: u64,
    allocation: Allocation,
}

/// The staging memory of one client: which of its bytes are taken, not what they are.
#[derive(Clone, Debug)]
pub struct StagingMemory {
    allocator: OffsetAllocator,
}

impl StagingMemory {
    /// All of `bytes` is free. Without a byte nothing can be taken.
    pub fn new(bytes: u64) -> StagingMemory {
        StagingMemory {
            allocator: OffsetAllocator::new(bytes),
        }
    }

    /// Takes a block of `size` bytes. None if there is no room for it, and for no bytes.
    pub fn take(&mut self, size: u64) -> Option<StagingBlock> {
        let allocation = self.allocator.allocate(size)?;
        Some(StagingBlock {
            offset: allocation.offset,
            size,
            allocation,
        })
    }

    /// Takes a block for each size, one after the other. With `all` the first that finds no room gives back those
    /// before it; without, it is left out.
    pub fn take_each(&mut self, sizes: &[u64], all: bool) -> Vec<Option<StagingBlock>> {
        let mut taken = Vec::new();
        for size in sizes {
            match self.take(*size) {
                None if all => {
                    for block in taken.into_iter().flatten() {
                        self.give_back(block);
                    }
                    return vec![None; sizes.len()];
                }
                block => taken.push(block),
            }
        }
        taken
    }

    /// Gives a block back that was taken here.
    pub fn give_back(&mut self, block: StagingBlock) {
        self.allocator.free(block.allocation, block.size);
    }

    /// The bytes that are asked for and not given back.
    pub fn taken_bytes(&self) -> u64 {
        self.allocator.requested_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{STAGING_BYTES, StagingBlock, StagingMemory};

    const MIB: u64 = 1 << 20;

    /// Mirrors ZeroSizeAllocator of `client_buffer_test.cpp`.
    #[test]
    fn memory_of_no_bytes_has_no_block() {
        assert_eq!(StagingMemory::new(0).take(1024), None);
    }

    /// Mirrors AllocationTooLarge and SmallAllocation of `client_buffer_test.cpp`.
    #[test]
    fn a_block_is_as_large_as_the_memory_at_most_and_a_byte_at_least() {
        assert_eq!(StagingMemory::new(MIB).take(MIB + 1), None);
        let all = StagingMemory::new(MIB).take(MIB).unwrap();
        assert_eq!((all.offset, all.size), (0, MIB));
        assert_eq!(StagingMemory::new(MIB).take(1).unwrap().size, 1);
    }

    /// Mirrors MultipleAllocations and MemoryExhaustion of `client_buffer_test.cpp`.
    #[test]
    fn eight_blocks_of_eight_fit_and_a_ninth_does_once_one_is_given_back() {
        let mut staging = StagingMemory::new(64 << 10);
        let mut blocks: Vec<StagingBlock> = (0..8).map(|_| staging.take(8 << 10).unwrap()).collect();
        for (first, second) in blocks.iter().zip(&blocks[1..]) {
            assert!(first.offset + first.size <= second.offset, "{blocks:?}");
        }
        assert_eq!(staging.take(8 << 10), None);
        staging.give_back(blocks.pop().unwrap());
        assert!(staging.take(8 << 10).is_some());
    }

    /// Mirrors ZeroSizeAllocation of `client_buffer_test.cpp`.
    #[test]
    fn no_bytes_have_no_block() {
        let mut staging = StagingMemory::new(STAGING_BYTES);
        assert_eq!(staging.take(0), None);
        assert_eq!(staging.taken_bytes(), 0);
    }

    #[test]
    fn what_was_given_back_is_taken_first() {
        let mut staging = StagingMemory::new(STAGING_BYTES);
        let blocks: Vec<StagingBlock> = (0..4).map(|_| staging.take(MIB).unwrap()).collect();
        let offsets: Vec<u64> = blocks.iter().map(|block| block.offset).collect();
        assert_eq!(offsets, [0, MIB, 2 * MIB, 3 * MIB]);
        staging.give_back(blocks[0]);
        staging.give_back(blocks[2]);
        assert_eq!(
            staging.take(MIB).unwrap().offset,
            2 * MIB,
            "the last one given back"
        );
        assert_eq!(staging.take(MIB).unwrap().offset, 0);
        assert_eq!(staging.taken_bytes(), 4 * MIB);
    }

    #[test]
    fn one_that_needs_all_takes_all_or_nothing() {
        let mut staging = StagingMemory::new(4 * MIB);
        assert_eq!(staging.take_each(&[MIB, 4 * MIB, MIB], true), [None; 3]);
        assert_eq!(staging.taken_bytes(), 0, "what it had taken is free again");
        let each = staging.take_each(&[MIB, 4 * MIB, MIB], false);
        assert_eq!(
            each.iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, false, true]
        );
        assert_eq!(staging.taken_bytes(), 2 * MIB);
    }
}
