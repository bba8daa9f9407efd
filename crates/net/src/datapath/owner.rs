//! What all tasks of one owner share.

use super::gate::OwnConnections;
use super::log::OwnerLog;
use super::memory::SegmentMemory;
use crate::freeze::Life;
use moonquake_protocol::datapath::DataHeader;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) struct Owner {
    pub(super) name: String,
    /// Absolute address of the first byte, as in `Segment.base`.
    pub(super) base: u64,
    pub(super) size_bytes: u64,
    pub(super) life: Life,
    pub(super) own: Arc<OwnConnections>,
    pub(super) log: OwnerLog,
    memory: Mutex<Box<dyn SegmentMemory>>,
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner")
            .field("name", &self.name)
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl Owner {
    pub(super) fn new(
        name: &str,
        base: u64,
        memory: Box<dyn SegmentMemory>,
        own: Arc<OwnConnections>,
    ) -> Owner {
        let size_bytes = memory.size_bytes();
        Owner {
            name: name.to_owned(),
            base,
            size_bytes,
            life: Life::default(),
            own,
            log: OwnerLog::default(),
            memory: Mutex::new(memory),
        }
    }

    /// Where the range begins in the memory; `None` if it is empty, beyond the address space, or not inside the buffer.
    pub(super) fn offset_of(&self, header: &DataHeader) -> Option<u64> {
        let end = header.end_address()?;
        let inside = header.address >= self.base && end <= self.base.saturating_add(self.size_bytes);
        inside.then(|| header.address - self.base)
    }

    /// Whether a range of the harness lies in the memory.
    pub(super) fn holds(&self, offset: u64, length: usize) -> bool {
        offset
            .checked_add(length as u64)
            .is_some_and(|end| end <= self.size_bytes)
    }

    fn memory(&self) -> MutexGuard<'_, Box<dyn SegmentMemory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn load(&self, offset: u64, out: &mut [u8]) {
        self.memory().load(offset, out);
    }

    pub(super) fn store(&self, offset: u64, bytes: &[u8]) {
        self.memory().store(offset, bytes);
    }
}
