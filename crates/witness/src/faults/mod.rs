//! Witnesses by page fault (`userfaultfd`): the kernel tells of an access before it happens, and the access waits until it has
//! been noted, whoever makes it. Nothing fails by it, unlike with `mprotect`.

mod abi;
mod handler;

use crate::mapping::page_size;
use crate::{Access, AccessKind, Grain, Mapping, Sight, Way, Witness, WitnessError};
use handler::Handler;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// A descriptor for faults in the memory of this process, for another process that watches it: see [`take`].
///
/// # Errors
/// [`WitnessError::Unavailable`] where the kernel has no such faults or does not permit them; with its cure.
pub fn descriptor() -> Result<OwnedFd, WitnessError> {
    abi::open()
}

/// The descriptor with that number of another process, for [`FaultWitness::adopt`]. This process must be allowed to trace the
/// other one, as it is allowed to trace a child.
///
/// # Errors
/// When there is no such process or descriptor, or it may not be taken.
pub fn take(process: u32, number: i32) -> Result<OwnedFd, WitnessError> {
    abi::take(process, number)
}

/// Which accesses cause a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultMode {
    /// The first write to each page: memory of any kind.
    WriteProtect,
    /// The first access to each page, and the first write to it: shared memory alone.
    Minor,
}

impl FaultMode {
    fn features(self) -> u64 {
        let minor = match self {
            FaultMode::WriteProtect => 0,
            FaultMode::Minor => abi::FEATURE_MINOR_SHMEM,
        };
        abi::FEATURE_WP | abi::FEATURE_WP_SHMEM | abi::FEATURE_THREAD_ID | minor
    }

    fn registered(self) -> u64 {
        match self {
            FaultMode::WriteProtect => abi::MODE_WP,
            FaultMode::Minor => abi::MODE_WP | abi::MODE_MINOR,
        }
    }
}

/// The witness by page fault. It tells of whole pages: what shares a page with the watched bytes is told as well, so only
/// whole pages can be watched.
///
/// Pages that are swapped out come back without a word in minor mode; nothing here watches for so long or so much.
#[derive(Debug)]
pub struct FaultWitness {
    mode: FaultMode,
    fd: Arc<OwnedFd>,
    /// The addresses of the memory, in the process whose it is.
    memory: Range<u64>,
    /// The memory, if it is this process's.
    own: Option<Arc<Mapping>>,
    armed: Option<Range<u64>>,
    handler: Handler,
}

impl FaultWitness {
    /// Watches memory of this process.
    ///
    /// # Errors
    /// [`WitnessError::Unavailable`] where the kernel has no such faults or does not permit them; with its cure.
    pub fn new(memory: Arc<Mapping>, mode: FaultMode) -> Result<FaultWitness, WitnessError> {
        if mode == FaultMode::Minor && memory.file().is_none() {
            return Err(WitnessError::Nonsense(
                "minor faults are of shared memory alone".to_owned(),
            ));
        }
        let bytes = memory.address()..memory.address() + memory.len();
        let witness = FaultWitness::over(abi::open()?, bytes, mode, Some(memory))?;
        witness.try_it()?;
        Ok(witness)
    }

    /// Watches memory of another process: `fd` was made there with `userfaultfd(O_CLOEXEC | O_NONBLOCK)` and handed over
    /// before anything was asked of it, and is closed there. `bytes` are addresses of that process: whole pages of one
    /// mapping, each of which it has written once.
    ///
    /// In [`FaultMode::Minor`] that process must call `madvise(MADV_DONTNEED)` on the bytes itself whenever they have been
    /// armed: what it touches before that is not told. If this process ends, the kernel lets the other one go on.
    ///
    /// # Errors
    /// As with [`FaultWitness::new`].
    pub fn adopt(fd: OwnedFd, bytes: Range<u64>, mode: FaultMode) -> Result<FaultWitness, WitnessError> {
        FaultWitness::over(fd, bytes, mode, None)
    }

    fn over(
        fd: OwnedFd,
        memory: Range<u64>,
        mode: FaultMode,
        own: Option<Arc<Mapping>>,
    ) -> Result<FaultWitness, WitnessError> {
        abi::agree(fd.as_fd(), mode.features())?;
        let fd = Arc::new(fd);
        let handler = Handler::start(fd.clone(), memory.clone())?;
        Ok(FaultWitness {
            mode,
            fd,
            memory,
            own,
            armed: None,
            handler,
        })
    }

    /// Whether this kernel can map a page and protect it in one go; without that a write behind a read would be missed.
    fn try_it(&self) -> Result<(), WitnessError> {
        if self.mode == FaultMode::WriteProtect {
            return Ok(());
        }
        let (start, len) = (self.memory.start, page_size());
        abi::register(self.fd.as_fd(), start, len, self.mode.registered())?;
        abi::unmap_pages(start, len)?;
        let tried = abi::carry_on(self.fd.as_fd(), start, len, true);
        abi::unregister(self.fd.as_fd(), start, len)?;
        tried.map_err(|error| WitnessError::Unavailable {
            what: format!("this kernel cannot tell a write behind a read: {error}"),
            cure: "use a kernel of Linux 6.4 or later".to_owned(),
        })
    }

    fn pages(&self, bytes: &Range<u64>) -> Result<(u64, u64), WitnessError> {
        let (page, size) = (page_size(), self.memory.end.saturating_sub(self.memory.start));
        if bytes.end > size {
            return Err(WitnessError::Outside {
                from: bytes.start,
                to: bytes.end,
                size,
            });
        }
        if bytes.is_empty() || !bytes.start.is_multiple_of(page) || !bytes.end.is_multiple_of(page) {
            let what = format!("bytes {} to {} are not whole pages", bytes.start, bytes.end);
            return Err(WitnessError::Nonsense(what));
        }
        Ok((self.memory.start + bytes.start, bytes.end - bytes.start))
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
        sight(self.mode)
    }

    fn arm(&mut self, bytes: Range<u64>) -> Result<(), WitnessError> {
        let (start, len) = self.pages(&bytes)?;
        self.disarm()?;
        self.handler.take()?;
        abi::register(self.fd.as_fd(), start, len, self.mode.registered())?;
        self.armed = Some(bytes);
        match (self.mode, &self.own) {
            (FaultMode::WriteProtect, _) => {
                abi::protect(self.fd.as_fd(), start, len, true).map_err(|error| WitnessError::Refused {
                    what: "protect pages",
                    error,
                })
            }
            (FaultMode::Minor, Some(_)) => abi::unmap_pages(start, len),
            (FaultMode::Minor, None) => Ok(()),
        }
    }

    fn accesses(&mut self) -> Result<Vec<Access>, WitnessError> {
        self.handler.take()
    }

    fn disarm(&mut self) -> Result<(), WitnessError> {
        let Some(armed) = self.armed.take() else {
            return Ok(());
        };
        let (start, len) = self.pages(&armed)?;
        abi::unregister(self.fd.as_fd(), start, len)
    }
}

impl Drop for FaultWitness {
    fn drop(&mut self) {
        // A process whose memory is gone has nothing to be let go.
        let _gone = self.disarm();
    }
}

/// What page faults see. None of them sees a card that reads or writes by itself: it has no page table of a process.
pub fn sight(mode: FaultMode) -> Sight {
    let seen = [Way::Cpu, Way::Socket, Way::File, Way::Peer];
    let writes = seen.into_iter().map(AccessKind::write);
    match mode {
        FaultMode::WriteProtect => Sight::of(writes, Grain::Page),
        FaultMode::Minor => Sight::of(writes.chain(seen.into_iter().map(AccessKind::read)), Grain::Page),
    }
}
