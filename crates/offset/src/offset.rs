//! The offset allocator: binned free regions, last in first out, merged when freed. Mirrors `offset_allocator.cpp` and
//! `allocator.cpp:OffsetBufferAllocator`.

use crate::bins::{BINS, MAX_UNITS, bin_down, bin_up, bin_value};

const NONE: u32 = u32::MAX;

/// A range that was handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// First byte, relative to the first one of the memory.
    pub offset: u64,
    node: u32,
}

/// A region of the segment, free or taken, in units.
#[derive(Clone, Copy, Debug)]
struct Node {
    offset: u32,
    size: u32,
    used: bool,
    /// Neighbours in the list of the bin; meaningful while the region is free.
    bin_previous: u32,
    bin_next: u32,
    /// The regions just before and behind this one in the segment.
    before: u32,
    behind: u32,
}

/// The allocator of one segment, or of the staging memory of one client.
#[derive(Clone, Debug)]
pub struct OffsetAllocator {
    unit_bits: u32,
    units: u32,
    nodes: Vec<Node>,
    spare_nodes: Vec<u32>,
    max_nodes: usize,
    bins: Vec<u32>,
    /// One bit for each bin that holds a region.
    filled: [u64; BINS / 64],
    requested_bytes: u64,
    /// Requests above it fail without a look; see [`OffsetAllocator::allocate`].
    largest_free_bytes: u64,
    /// Whether `largest_free_bytes` was ever lowered and must be raised again by frees.
    tightened: bool,
}

impl OffsetAllocator {
    /// All of `size_bytes` is free.
    pub fn new(size_bytes: u64) -> OffsetAllocator {
        let unit_bits = (0..64).find(|bits| size_bytes >> bits <= MAX_UNITS).unwrap_or(63);
        let units = u32::try_from(size_bytes >> unit_bits).unwrap_or(u32::MAX);
        let max_nodes = (size_bytes / 1024).clamp(1 << 20, 64 << 20);
        let mut allocator = OffsetAllocator {
            unit_bits,
            units,
            nodes: Vec::new(),
            spare_nodes: Vec::new(),
            max_nodes: usize::try_from(max_nodes).unwrap_or(usize::MAX),
            bins: vec![NONE; BINS],
            filled: [0; BINS / 64],
            requested_bytes: 0,
            largest_free_bytes: 0,
            tightened: false,
        };
        allocator.file(units, 0);
        allocator.largest_free_bytes = allocator.largest_free();
        allocator
    }

    /// The sum of what was asked for, which is what upstream counts as used; more may be reserved.
    #[inline]
    pub fn requested_bytes(&self) -> u64 {
        self.requested_bytes
    }

    /// Takes `size_bytes` from the front of the last filed region of the smallest fitting bin.
    ///
    /// The request is rounded up to a bin value and all of that is reserved. Upstream refuses requests above its note
    /// of the largest free region at once; the note is only an upper bound, lowered when a request fails behind it.
    #[inline]
    pub fn allocate(&mut self, size_bytes: u64) -> Option<Allocation> {
        if size_bytes == 0 || size_bytes > self.largest_free_bytes {
            return None;
        }
        let wanted = size_bytes.div_ceil(1 << self.unit_bits);
        if wanted > MAX_UNITS {
            return None;
        }
        match self.take(u32::try_from(wanted).ok()?) {
            Some(node) => {
                self.requested_bytes += size_bytes;
                let offset = u64::from(self.nodes[node as usize].offset) << self.unit_bits;
                Some(Allocation { offset, node })
            }
            None => {
                self.largest_free_bytes = self.largest_free();
                self.tightened = self.largest_free_bytes < u64::from(self.units) << self.unit_bits;
                None
            }
        }
    }

    /// Gives a range back that was allocated for `size_bytes`.
    #[inline]
    pub fn free(&mut self, allocation: Allocation, size_bytes: u64) {
        let merged = self.give_back(allocation.node);
        let merged = if self.out_of_nodes() {
            0
        } else {
            u64::from(merged) << self.unit_bits
        };
        if self.tightened {
            self.largest_free_bytes = self.largest_free_bytes.max(merged);
            self.tightened = merged < u64::from(self.units) << self.unit_bits;
        }
        self.requested_bytes = self.requested_bytes.saturating_sub(size_bytes);
    }

    fn out_of_nodes(&self) -> bool {
        self.nodes.len() - self.spare_nodes.len() >= self.max_nodes
    }

    /// The value of the highest bin that holds a region, in bytes.
    fn largest_free(&self) -> u64 {
        let highest = (0..BINS as u32).rev().find(|bin| self.is_filled(*bin));
        match highest {
            Some(bin) if !self.out_of_nodes() => u64::from(bin_value(bin)) << self.unit_bits,
            _ => 0,
        }
    }

    fn is_filled(&self, bin: u32) -> bool {
        self.filled[bin as usize / 64] & (1 << (bin % 64)) != 0
    }

    /// The lowest bin from `bin` on that holds a region.
    fn first_filled(&self, bin: u32) -> Option<u32> {
        let mut word = bin as usize / 64;
        let mut bits = self.filled.get(word)? & (u64::MAX << (bin % 64));
        loop {
            if bits != 0 {
                return Some(word as u32 * 64 + bits.trailing_zeros());
            }
            word += 1;
            bits = *self.filled.get(word)?;
        }
    }

    /// Takes a region of `units`, rounded up; the index of its node.
    fn take(&mut self, units: u32) -> Option<u32> {
        if self.out_of_nodes() {
            return None;
        }
        let wanted_bin = bin_up(units);
        let bin = self.first_filled(wanted_bin)?;
        let index = self.bins[bin as usize];
        self.unfile(index);
        let node = &mut self.nodes[index as usize];
        let (total, reserved) = (node.size, bin_value(wanted_bin));
        node.size = reserved;
        node.used = true;
        let (end, behind) = (node.offset + reserved, node.behind);
        if total > reserved {
            let rest = self.file(total - reserved, end);
            self.link(index, rest);
            self.link(rest, behind);
        }
        Some(index)
    }

    /// Frees a region, merged with free neighbours; the merged size.
    fn give_back(&mut self, index: u32) -> u32 {
        let Node {
            mut offset,
            mut size,
            mut before,
            mut behind,
            ..
        } = self.nodes[index as usize];
        if before != NONE && !self.nodes[before as usize].used {
            let node = self.nodes[before as usize];
            self.unfile(before);
            self.spare_nodes.push(before);
            (offset, size, before) = (node.offset, size + node.size, node.before);
        }
        if behind != NONE && !self.nodes[behind as usize].used {
            let node = self.nodes[behind as usize];
            self.unfile(behind);
            self.spare_nodes.push(behind);
            (size, behind) = (size + node.size, node.behind);
        }
        self.spare_nodes.push(index);
        let merged = self.file(size, offset);
        self.link(before, merged);
        self.link(merged, behind);
        size
    }

    /// Makes two regions neighbours.
    fn link(&mut self, first: u32, second: u32) {
        if first != NONE {
            self.nodes[first as usize].behind = second;
        }
        if second != NONE {
            self.nodes[second as usize].before = first;
        }
    }

    /// Files a free region on top of its bin; the index of its node.
    fn file(&mut self, size: u32, offset: u32) -> u32 {
        let bin = bin_down(size);
        let top = self.bins[bin as usize];
        let node = Node {
            offset,
            size,
            used: false,
            bin_previous: NONE,
            bin_next: top,
            before: NONE,
            behind: NONE,
        };
        let index = match self.spare_nodes.pop() {
            Some(index) => {
                self.nodes[index as usize] = node;
                index
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        if top != NONE {
            self.nodes[top as usize].bin_previous = index;
        }
        self.bins[bin as usize] = index;
        self.filled[bin as usize / 64] |= 1 << (bin % 64);
        index
    }

    /// Takes a free region out of its bin.
    fn unfile(&mut self, index: u32) {
        let Node {
            size,
            bin_previous,
            bin_next,
            ..
        } = self.nodes[index as usize];
        if bin_next != NONE {
            self.nodes[bin_next as usize].bin_previous = bin_previous;
        }
        if bin_previous != NONE {
            self.nodes[bin_previous as usize].bin_next = bin_next;
            return;
        }
        let bin = bin_down(size);
        self.bins[bin as usize] = bin_next;
        if bin_next == NONE {
            self.filled[bin as usize / 64] &= !(1 << (bin % 64));
        }
    }
}

#[cfg(test)]
mod tests;
