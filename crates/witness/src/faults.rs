//! Witnesses by page fault (`userfaultfd`): the kernel tells of an access before it happens and the access waits until it has
//! been noted, whoever makes it. Nothing fails by it, unlike with `mprotect`.

use crate::{Access, Mapping, Sight, Witness, WitnessError};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Which accesses cause a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultMode {
    /// The first write to each page: any memory.
    WriteProtect,
    /// The first access to each page, and the first write to it: shared memory alone.
    Minor,
}

/// The witness by page fault.
#[derive(Debug)]
pub struct FaultWitness {
    mode: FaultMode,
    memory: Option<Arc<Mapping>>,
}

impl FaultWitness {
    /// Watches memory of this process.
    ///
    /// # Errors
    /// [`WitnessError::Unavailable`] where the kernel has no such faults or does not permit them; with its cure.
    pub fn new(_memory: Arc<Mapping>, _mode: FaultMode) -> Result<FaultWitness, WitnessError> {
        todo!()
    }

    /// Watches memory of another process: `fd` was made there with `userfaultfd(O_CLOEXEC | O_NONBLOCK)` and handed over,
    /// before anything was asked of it; `bytes` are addresses of that process, whole pages, all of them in one mapping.
    /// Every access there waits for this process, so it must not end before it is disarmed.
    ///
    /// # Errors
    /// As with [`FaultWitness::new`].
    pub fn adopt(_fd: OwnedFd, _bytes: Range<u64>, _mode: FaultMode) -> Result<FaultWitness, WitnessError> {
        todo!()
    }
}

impl Witness for FaultWitness {
    fn name(&self) -> &'static str {
        match self.mode {
            FaultMode::WriteProtect => "userfaultfd write-protect",
            FaultMode::Minor => "userfaultfd minor",
        }
    }

    fn sight(&self) -> Sight {
        todo!()
    }

    fn arm(&mut self, _bytes: Range<u64>) -> Result<(), WitnessError> {
        todo!()
    }

    fn accesses(&mut self) -> Result<Vec<Access>, WitnessError> {
        let _ = &self.memory;
        todo!()
    }

    fn disarm(&mut self) -> Result<(), WitnessError> {
        todo!()
    }
}
