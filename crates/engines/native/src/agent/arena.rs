//! Memory that the agent and this process share: every buffer of a caller lies in it.

use crate::process::ProcessError;
use serde::Serialize;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;

/// Bytes of the arena: a caller's buffer, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Range {
    /// Distance from the arena's begin, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
}

/// A sparse anonymous file. It takes memory for pages that were written alone, and is gone with its last user.
///
/// This process reads and writes it as a file; the agent has it mapped. Both see the same pages at once.
#[derive(Debug)]
pub struct Arena {
    file: File,
    size: u64,
}

impl Arena {
    /// A new arena of `size` bytes, all zero.
    ///
    /// # Errors
    /// [`ProcessError::Io`] when the system refuses the file.
    pub fn create(size: u64) -> Result<Arena, ProcessError> {
        let file = rustix::fs::memfd_create("moonquake-arena", rustix::fs::MemfdFlags::CLOEXEC)
            .map_err(|errno| ProcessError::io("create the arena of a client")(errno.into()))?;
        let file = File::from(file);
        file.set_len(size)
            .map_err(ProcessError::io("size the arena of a client"))?;
        Ok(Arena { file, size })
    }

    /// Its length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Descriptor, to be inherited or mapped by a witness.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Reads from `offset` until `into` is full.
    ///
    /// # Errors
    /// When the bytes do not lie in the arena.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// When they would not lie in the arena.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.size) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "{} bytes at {offset} do not lie in an arena of {}",
                    bytes.len(),
                    self.size
                ),
            ));
        }
        self.file.write_all_at(bytes, offset)
    }

    /// Gives the memory of whole pages in the range back to the system; the bytes read zero then.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn clear(&self, range: Range) -> io::Result<()> {
        use rustix::fs::FallocateFlags;
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&self.file, hole, range.offset, range.size).map_err(io::Error::from)
    }
}
