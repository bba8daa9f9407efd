//! Memory of a segment, handed out exactly as upstream's default allocator does it.

mod bins;
mod offset;

pub(crate) use offset::{Allocation, OffsetAllocator};
