//! Memory that witnesses of pages can watch: whole pages, which stay where they are as long as anybody watches them.

use crate::WitnessError;
use std::os::fd::OwnedFd;

/// Whole pages of memory, all zero at first.
#[derive(Debug)]
pub struct Mapping {
    address: u64,
    len: u64,
    file: Option<OwnedFd>,
}

impl Mapping {
    /// Memory of this process alone.
    ///
    /// # Errors
    /// When the kernel has none.
    pub fn anonymous(_len: u64) -> Result<Mapping, WitnessError> {
        todo!()
    }

    /// Memory that other processes can map as well, through the file of [`Mapping::file`]. The file has no name, so nothing
    /// is left behind.
    ///
    /// # Errors
    /// When the kernel has none.
    pub fn shared(_len: u64) -> Result<Mapping, WitnessError> {
        todo!()
    }

    /// The address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The number of bytes: whole pages.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The file behind it, if it is shared.
    pub fn file(&self) -> Option<&OwnedFd> {
        self.file.as_ref()
    }
}
