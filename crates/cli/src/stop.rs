//! Ctrl-C, termination, and the end of the terminal: the first asks, and is looked at between runs; the second ends the program at once.

use crate::error::CliError;
use crate::exit::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The signals that ask, and how the program ends because of them.
const SIGNALS: [(i32, Exit); 4] = [
    (SIGINT, Exit::Interrupted),
    (SIGTERM, Exit::Terminated),
    (SIGHUP, Exit::HungUp),
    (SIGQUIT, Exit::Quit),
];

/// Whether somebody asked the program to end.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Stop, CliError> {
        let asked = Arc::new(AtomicBool::new(false));
        let signal = Arc::new(AtomicUsize::new(0));
        for (number, exit) in SIGNALS.into_iter().filter(|(number, _)| !is_waived(*number)) {
            // In this order: the first signal finds the flag unset and sets it, the second finds it set and ends the
            // program. The kernel ends the processes that were started, as they ask for that when they start.
            flag::register_conditional_shutdown(number, i32::from(exit.code()), asked.clone())
                .and_then(|_| flag::register(number, asked.clone()))
                .and_then(|_| {
                    let value = usize::try_from(number).unwrap_or_default();
                    flag::register_usize(number, signal.clone(), value)
                })
                .map_err(|source| CliError::Signals { source })?;
        }
        Ok(Stop { signal })
    }

    /// The exit that was asked for, if one was.
    pub(crate) fn asked(&self) -> Option<Exit> {
        let signal = self.signal.load(Ordering::Relaxed);
        let signal = i32::try_from(signal).unwrap_or_default();
        let known = SIGNALS.iter().find(|(number, _)| *number == signal);
        known.map(|(_, exit)| *exit)
    }
}

/// Whether this program was started with a signal ignored that whoever starts it may ignore for it, as `nohup` does with SIGHUP.
fn is_waived(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    matches!(number, SIGHUP | SIGQUIT) && ignored.is_some_and(|mask| mask & (1 << (number - 1)) != 0)
}
