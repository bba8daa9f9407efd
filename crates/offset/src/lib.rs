//! Memory handed out exactly as upstream's default allocator does it: that of a segment by the master, and that of its
//! staging memory by a client. Mirrors `offset_allocator.cpp`, which both use.

mod bins;
mod offset;

pub use offset::{Allocation, OffsetAllocator};
