//! Waiting for a client that moves by itself, and for the system where it tells no events.
#![allow(
    clippy::disallowed_methods,
    reason = "what another process does happens in real time"
)]

use super::Gone;
use crate::runtime::{Net, NetError};
use std::time::Duration;
use tokio::sync::watch;

/// How long a wait goes on without asking whether the client is gone.
const GONE_EVERY: Duration = Duration::from_millis(50);
/// How often the kernel is asked for what it tells no events of.
const KERNEL_EVERY: Duration = Duration::from_millis(2);

/// Counts what happens to a shared state, so that nobody who waits misses anything.
#[derive(Debug)]
pub(super) struct Changes(watch::Sender<u64>);

impl Changes {
    pub(super) fn new() -> Changes {
        Changes(watch::Sender::new(0))
    }

    /// To be called after each change of the state.
    pub(super) fn note(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Returns what `look` finds, as soon as it finds something.
    pub(super) async fn until<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        let mut changed = self.0.subscribe();
        loop {
            changed.borrow_and_update();
            if let Some(found) = look() {
                return found;
            }
            // The sender lives as long as `self`, so waiting cannot fail.
            let _ = changed.changed().await;
        }
    }

    /// The same unless the client is gone; then the words of whoever knows.
    async fn until_gone<T>(
        &self,
        gone: &mut dyn FnMut() -> Option<String>,
        mut look: impl FnMut() -> Option<T>,
    ) -> Result<T, String> {
        loop {
            match tokio::time::timeout(GONE_EVERY, self.until(&mut look)).await {
                Ok(found) => return Ok(found),
                Err(_) => {
                    if let Some(why) = gone() {
                        return Err(why);
                    }
                }
            }
        }
    }
}

/// How a wait for the client ended.
pub(super) enum Waited<T> {
    Found(T),
    Gone(String),
    Limit(Duration),
}

/// Waits for something that the client is to do.
pub(super) fn wait_unless<T>(
    net: &Net,
    changes: &Changes,
    gone: Gone<'_>,
    look: impl FnMut() -> Option<T>,
) -> Waited<T> {
    match net.step("waiting", changes.until_gone(gone, look)) {
        Ok(Ok(found)) => Waited::Found(found),
        Ok(Err(why)) => Waited::Gone(why),
        Err(_) => Waited::Limit(net.limit()),
    }
}

impl<T> Waited<T> {
    /// As a result; `instead` says what came instead.
    pub(super) fn or_error(self, what: &str, instead: impl FnOnce() -> String) -> Result<T, NetError> {
        let what = what.to_owned();
        match self {
            Waited::Found(found) => Ok(found),
            Waited::Gone(why) => Err(NetError::Gone {
                what,
                why,
                instead: instead(),
            }),
            Waited::Limit(limit) => Err(NetError::Missing {
                what,
                limit,
                instead: instead(),
            }),
        }
    }
}

/// A look at the kernel is over; the next may bring something else.
pub(super) async fn rest() {
    tokio::time::sleep(KERNEL_EVERY).await;
}

/// Asks again and again until there is an answer. For states of the kernel that no event tells.
pub(super) async fn poll_until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = ask() {
            return found;
        }
        rest().await;
    }
}
