//! The bytes behind a segment.

/// Memory that an owner serves. Offsets count from the base of the segment and have been checked.
pub trait SegmentMemory: Send {
    /// Its size in bytes.
    fn size_bytes(&self) -> u64;

    /// Copies bytes out of it.
    fn load(&self, offset: u64, out: &mut [u8]);

    /// Copies bytes into it.
    fn store(&mut self, offset: u64, bytes: &[u8]);
}

/// Plain memory, zero at first. The system gives it pages only where it is touched.
#[derive(Clone, Debug)]
pub struct PlainMemory {
    bytes: Vec<u8>,
}

impl PlainMemory {
    /// Zeroed memory of that size.
    pub fn new(size_bytes: usize) -> PlainMemory {
        PlainMemory {
            bytes: vec![0; size_bytes],
        }
    }

    fn start(offset: u64) -> usize {
        // Offsets are below the length of a vector, which fits.
        usize::try_from(offset).unwrap_or(usize::MAX)
    }
}

impl SegmentMemory for PlainMemory {
    fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn load(&self, offset: u64, out: &mut [u8]) {
        let start = Self::start(offset);
        out.copy_from_slice(&self.bytes[start..start + out.len()]);
    }

    fn store(&mut self, offset: u64, bytes: &[u8]) {
        let start = Self::start(offset);
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
    }
}
