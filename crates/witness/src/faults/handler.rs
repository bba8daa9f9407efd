//! The thread that notes each fault and lets whoever waits for it go on.

use super::abi::{self, Fault};
use crate::mapping::page_size;
use crate::{Access, How, WitnessError};
use std::io::{self, PipeReader, PipeWriter};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// What the thread has to tell.
#[derive(Debug, Default)]
struct Noted {
    seen: Vec<Access>,
    broken: Option<String>,
}

/// The thread, and what it noted. It touches no watched memory itself, so it never waits for itself.
#[derive(Debug)]
pub(super) struct Handler {
    noted: Arc<Mutex<Noted>>,
    /// The thread ends when this is closed.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Handler {
    /// Notes faults of this descriptor, in bytes of `memory`.
    pub(super) fn start(fd: Arc<OwnedFd>, memory: Range<u64>) -> Result<Handler, WitnessError> {
        let failed = |what| move |error| WitnessError::Refused { what, error };
        let (stopped, stop) = io::pipe().map_err(failed("open a pipe"))?;
        let noted = Arc::new(Mutex::new(Noted::default()));
        let theirs = noted.clone();
        let run = move || {
            let Err(error) = serve(&fd, &stopped, &memory, &theirs) else {
                return;
            };
            note(&theirs, |noted| noted.broken = Some(error.to_string()));
            // Nobody may wait for a thread that has ended.
            let _already_gone = abi::unregister(fd.as_fd(), memory.start, memory.end - memory.start);
        };
        let thread = Builder::new().name("witness".to_owned()).spawn(run);
        Ok(Handler {
            noted,
            stop: Some(stop),
            thread: Some(thread.map_err(failed("start a thread"))?),
        })
    }

    /// What was noted since the last call, neighbouring pages of one thread as one.
    pub(super) fn take(&self) -> Result<Vec<Access>, WitnessError> {
        let (seen, broken) = note(&self.noted, |noted| {
            (std::mem::take(&mut noted.seen), noted.broken.clone())
        });
        match broken {
            Some(why) => Err(WitnessError::Nonsense(format!(
                "the witness of page faults broke down: {why}"
            ))),
            None => Ok(joined(seen)),
        }
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It cannot panic, and there is nothing to be done about it if it did.
            let _ended = thread.join();
        }
    }
}

fn note<T>(noted: &Mutex<Noted>, change: impl FnOnce(&mut Noted) -> T) -> T {
    change(&mut noted.lock().unwrap_or_else(PoisonError::into_inner))
}

fn serve(fd: &OwnedFd, stopped: &PipeReader, memory: &Range<u64>, noted: &Mutex<Noted>) -> io::Result<()> {
    loop {
        let (faults, stop) = abi::wait(fd.as_fd(), stopped.as_fd())?;
        while faults && let Some(fault) = abi::next(fd.as_fd())? {
            answer(fd, memory, noted, fault)?;
        }
        if stop {
            return Ok(());
        }
    }
}

/// First it is noted, then it may happen: whoever comes back from an access finds it told.
fn answer(fd: &OwnedFd, memory: &Range<u64>, noted: &Mutex<Noted>, fault: Fault) -> io::Result<()> {
    let page = page_size();
    let start = fault.address - fault.address % page;
    let from = start.saturating_sub(memory.start);
    note(noted, |noted| {
        noted.seen.push(Access {
            write: fault.write,
            from,
            to: from + page,
            how: How::Fault { thread: fault.thread },
        });
    });
    let done = if fault.minor {
        abi::carry_on(fd.as_fd(), start, page, !fault.write)
    } else {
        abi::protect(fd.as_fd(), start, page, false)
    };
    match done.as_ref().map_err(io::Error::raw_os_error) {
        // Two at once on one page: the other one has mapped it, and this one tries again.
        Err(Some(libc::EEXIST)) => abi::wake(fd.as_fd(), start, page),
        // The page is not watched any more, or its process is gone: nobody waits.
        Err(Some(libc::ENOENT | libc::ESRCH)) => Ok(()),
        // The mapping is changing; whoever waits comes again.
        Err(Some(libc::EAGAIN)) => abi::wake(fd.as_fd(), start, page),
        _ => done,
    }
}

fn joined(seen: Vec<Access>) -> Vec<Access> {
    let mut joined: Vec<Access> = Vec::new();
    for access in seen {
        match joined.last_mut() {
            Some(last) if last.write == access.write && last.how == access.how && last.to == access.from => {
                last.to = access.to;
            }
            _ => joined.push(access),
        }
    }
    joined
}
