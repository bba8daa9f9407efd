//! One life of a process: what is needed to steer it, and its end.

use super::error::ProcessError;
use super::layout::Page;
use super::page::SharedPage;
use super::spawn;
use super::threads::{Patience, Threads};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Real time that a round of a background thread may take.
const TICK_LIMIT: Duration = Duration::from_secs(20);
/// Real time that an orderly end may take before the process is killed.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// Bytes of the log that an error shows.
const LOG_TAIL_BYTES: usize = 4_096;

/// One life of the process.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) page: SharedPage,
    pub(crate) child: Mutex<Child>,
    pub(crate) pid: u32,
    pub(crate) threads: Threads,
    pub(crate) rpc_port: u16,
    pub(crate) admin_port: u16,
    pub(crate) log: PathBuf,
}

impl Run {
    /// The child, whatever a thread that panicked left of the lock.
    pub(crate) fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The child, if it runs. The id of one that has ended and been waited for may by now be another process's.
    pub(crate) fn living_child(&self, doing: &'static str) -> Result<MutexGuard<'_, Child>, ProcessError> {
        let mut child = self.child();
        match child
            .try_wait()
            .map_err(ProcessError::io("look after the master"))?
        {
            None => Ok(child),
            Some(status) => Err(ProcessError::Ended {
                doing,
                status,
                log_tail: self.log_tail(),
            }),
        }
    }

    /// The end of its output.
    pub(crate) fn log_tail(&self) -> String {
        log_tail(&self.log)
    }

    /// Waits for the process as long as it runs and a round may take.
    pub(crate) fn patiently<T>(&self, wait: impl FnOnce(&Page, &Patience<'_>) -> Option<T>) -> Option<T> {
        // No `try_wait` holds the lock for long, and none is made while the thread answers within a slice.
        let runs = || matches!(self.child().try_wait(), Ok(None));
        wait(
            self.page.get(),
            &Patience {
                until: Instant::now() + TICK_LIMIT,
                runs: &runs,
            },
        )
    }

    /// Why a wait for the process was in vain.
    pub(crate) fn stuck(&self, doing: &'static str, waiting_for: &str) -> ProcessError {
        let ended = self.child().try_wait().ok().flatten();
        let log_tail = self.log_tail();
        match ended {
            Some(status) => ProcessError::Ended {
                doing,
                status,
                log_tail,
            },
            None => ProcessError::TimedOut {
                waiting_for: waiting_for.to_owned(),
                limit: TICK_LIMIT,
                log_tail,
            },
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // Already reported or nobody left to report to: the process is a child, so the kernel has the last word in any case.
        let _ = end(&self.page, &mut child);
    }
}

/// Opens the gates, asks the process to end, and insists.
pub(crate) fn end(page: &SharedPage, child: &mut Child) -> Result<ExitStatus, ProcessError> {
    let waiting = || ProcessError::io("wait for the master's end");
    if let Some(status) = child.try_wait().map_err(waiting())? {
        return Ok(status);
    }
    page.open_gates();
    // A frozen process would not notice the rest.
    spawn::resume(child);
    stop(child)
}

/// Asks a process to end, and insists.
pub(crate) fn stop(child: &mut Child) -> Result<ExitStatus, ProcessError> {
    let waiting = || ProcessError::io("wait for the master's end");
    if let Some(status) = child.try_wait().map_err(waiting())? {
        return Ok(status);
    }
    spawn::terminate(child);
    if !spawn::wait_for_end(child, STOP_LIMIT) {
        child.kill().map_err(ProcessError::io("kill the master"))?;
    }
    child.wait().map_err(waiting())
}

/// The end of a log, or a remark in its place.
pub(crate) fn log_tail(path: &Path) -> String {
    let Ok(bytes) = std::fs::read(path) else {
        return "(no log)".to_owned();
    };
    let tail = &bytes[bytes.len().saturating_sub(LOG_TAIL_BYTES)..];
    let text = String::from_utf8_lossy(tail).trim().to_owned();
    if text.is_empty() {
        "(it said nothing)".to_owned()
    } else {
        text
    }
}
