//! Ctrl-C and termination: the first asks, and is looked at between runs; the second ends the program at once.

use crate::error::CliError;
use crate::exit::Exit;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
        for (number, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
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
        match i32::try_from(signal).unwrap_or_default() {
            SIGINT => Some(Exit::Interrupted),
            SIGTERM => Some(Exit::Terminated),
            _ => None,
        }
    }
}
