//! One trait for all who watch memory.

use crate::Sight;
use std::ops::Range;

/// How an access was noticed, and what is known of who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It went through the guard of a region.
    Guard,
    /// A page fault, caused by that thread (of whatever process: its kernel id).
    Fault {
        /// The kernel's number of the thread that read or wrote, or in whose name the kernel copied.
        thread: u32,
    },
    /// A line in the log of a process's socket calls.
    Socket {
        /// The port at the other end.
        peer_port: u16,
        /// What the monotonic clock of that process showed, in ns.
        clock_ns: u64,
    },
    /// The bytes are others than those of the epoch's start.
    Changed,
}

/// One access that a witness saw, in bytes of the memory that it watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether bytes were written or read.
    pub write: bool,
    /// The first byte.
    pub from: u64,
    /// One past the last byte. With [`crate::Grain::Page`] the whole page.
    pub to: u64,
    /// How it was noticed.
    pub how: How,
}

/// Why a witness cannot watch.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// It cannot be had here; the cure is for the user.
    #[error("{what}; to mend this: {cure}")]
    Unavailable {
        /// What is missing.
        what: String,
        /// What to do about it.
        cure: String,
    },
    /// The kernel refused something that it should do.
    #[error("the kernel refused to {what}: {error}")]
    Refused {
        /// What was asked of it.
        what: &'static str,
        /// Its answer.
        error: std::io::Error,
    },
    /// A range that is not in the memory watched.
    #[error("bytes {from} to {to} are not in memory of {size} bytes")]
    Outside {
        /// The first byte asked for.
        from: u64,
        /// One past the last byte asked for.
        to: u64,
        /// The size of the memory.
        size: u64,
    },
    /// What it was told makes no sense, such as a log whose lines are no accesses.
    #[error("{0}")]
    Nonsense(String),
}

/// Somebody who sees accesses to a piece of memory.
///
/// No witness here uses `mprotect`: it turns copies of the kernel into EFAULT, which changes what the store does.
pub trait Witness {
    /// One or two words for tables and evidence.
    fn name(&self) -> &'static str;

    /// What it sees. Where it claims sight it misses nothing; the self-test holds it to that.
    fn sight(&self) -> Sight;

    /// Begins an epoch on these bytes of its memory: accesses from now on are told, older ones are forgotten.
    ///
    /// # Errors
    /// When the bytes are outside, or the kernel refuses.
    fn arm(&mut self, bytes: Range<u64>) -> Result<(), WitnessError>;

    /// What was seen since it was armed or since the last call, in order. Each access that returned before this call is
    /// among it.
    ///
    /// # Errors
    /// When the kernel refuses, or the witness has broken down: then nothing may be concluded from its silence.
    fn accesses(&mut self) -> Result<Vec<Access>, WitnessError>;

    /// Ends the epoch. What was seen and not told stays to be told.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn disarm(&mut self) -> Result<(), WitnessError>;
}
