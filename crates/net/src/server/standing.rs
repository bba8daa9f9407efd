//! Whether the server goes on, stands still, or ends.

use super::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// A switch that everybody looks at before each turn.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// Whether `State` has anything to say; the way of every request looks here only.
    is_special: AtomicBool,
    state: Mutex<State>,
    /// Told when the state changes.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_frozen: bool,
    is_over: bool,
}

/// The server ends.
#[derive(Debug)]
pub(super) struct Over;

impl Standing {
    pub(super) fn freeze(&self) {
        self.change(|state| state.is_frozen = true);
    }

    pub(super) fn unfreeze(&self) {
        self.change(|state| state.is_frozen = false);
    }

    /// From now on the server ends, frozen or not.
    pub(super) fn end(&self) {
        self.change(|state| state.is_over = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.state);
        change(&mut state);
        self.is_special
            .store(state.is_frozen || state.is_over, Ordering::SeqCst);
        self.changed.notify_all();
    }

    /// Whether nothing is to be done now.
    pub(super) fn is_special(&self) -> bool {
        self.is_special.load(Ordering::SeqCst)
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_special() && lock(&self.state).is_over
    }

    /// Returns when the server is not frozen.
    pub(super) fn wait(&self) -> Result<(), Over> {
        if !self.is_special() {
            return Ok(());
        }
        let stands = |state: &mut State| state.is_frozen && !state.is_over;
        let state = self
            .changed
            .wait_while(lock(&self.state), stands)
            .unwrap_or_else(PoisonError::into_inner);
        if state.is_over { Err(Over) } else { Ok(()) }
    }
}
