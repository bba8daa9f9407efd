//! Pauses: announced when they begin, bounded, and waited for without a blocked thread.

use crate::phase::PhaseId;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Somebody is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PausedAt {
    /// Where.
    pub phase: PhaseId,
    /// At which passing of the phase, from 1.
    pub hit: u64,
    /// How long at most.
    pub bound: Duration,
}

type Announce = Box<dyn Fn(PausedAt) + Send + Sync>;

/// The pauses of one plan.
#[derive(Default)]
pub(super) struct Pauses {
    table: Mutex<Table>,
    changed: Condvar,
    announce: Mutex<Option<Arc<Announce>>>,
}

#[derive(Default)]
struct Table {
    next: u64,
    /// Whoever is paused and not released, by number.
    paused: BTreeMap<u64, (PausedAt, Option<Waker>)>,
}

impl Pauses {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(self: &Arc<Self>, at: PausedAt) -> Pause {
        tracing::warn!(phase = %at.phase, hit = at.hit, bound = ?at.bound, "paused at {} until it is released", at.phase);
        let number = {
            let mut table = self.table();
            table.next += 1;
            let number = table.next;
            table.paused.insert(number, (at, None));
            number
        };
        self.changed.notify_all();
        let announce = self
            .announce
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(announce) = announce {
            announce(at);
        }
        Pause {
            pauses: self.clone(),
            number,
            at,
        }
    }

    pub(super) fn list(&self) -> Vec<PausedAt> {
        self.table().paused.values().map(|(at, _)| *at).collect()
    }

    pub(super) fn wait(&self, phase: PhaseId, limit: Duration) -> Option<PausedAt> {
        let find = |table: &Table| {
            table
                .paused
                .values()
                .map(|(at, _)| *at)
                .find(|at| at.phase == phase)
        };
        let (table, _) = self
            .changed
            .wait_timeout_while(self.table(), limit, |table| find(table).is_none())
            .unwrap_or_else(PoisonError::into_inner);
        find(&table)
    }

    pub(super) fn announce_to(&self, announce: Announce) {
        *self.announce.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(announce));
    }

    /// Ends the pauses at one phase, or all.
    pub(super) fn release(&self, phase: Option<PhaseId>) -> usize {
        let released: Vec<(PausedAt, Option<Waker>)> = {
            let mut table = self.table();
            let is_meant = |at: &PausedAt| phase.is_none_or(|phase| phase == at.phase);
            let numbers: Vec<u64> = table
                .paused
                .iter()
                .filter(|(_, (at, _))| is_meant(at))
                .map(|(&number, _)| number)
                .collect();
            numbers
                .iter()
                .filter_map(|number| table.paused.remove(number))
                .collect()
        };
        self.changed.notify_all();
        let count = released.len();
        released
            .into_iter()
            .filter_map(|(_, waker)| waker)
            .for_each(Waker::wake);
        count
    }
}

/// One pause. As a future it is done when it is released; whoever awaits it must stop at [`Pause::bound`], since only
/// they have a timer. Dropping it ends it.
#[must_use = "a pause that is dropped is over"]
pub struct Pause {
    pauses: Arc<Pauses>,
    number: u64,
    at: PausedAt,
}

impl std::fmt::Debug for Pause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pause").field(&self.at).finish()
    }
}

impl Pause {
    /// Where and at which hit.
    pub fn at(&self) -> PausedAt {
        self.at
    }

    /// How long at most.
    pub fn bound(&self) -> Duration {
        self.at.bound
    }

    /// For callers without an executor: blocks this thread until it is released or its bound is reached. Returns
    /// whether it was released.
    pub fn wait(self) -> bool {
        let still = |table: &mut Table| table.paused.contains_key(&self.number);
        let (table, _) = self
            .pauses
            .changed
            .wait_timeout_while(self.pauses.table(), self.at.bound, still)
            .unwrap_or_else(PoisonError::into_inner);
        !table.paused.contains_key(&self.number)
    }
}

impl Future for Pause {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match self.pauses.table().paused.get_mut(&self.number) {
            Some((_, waker)) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        let was_held = self.pauses.table().paused.remove(&self.number).is_some();
        let at = self.at;
        if was_held {
            tracing::warn!(phase = %at.phase, hit = at.hit, "the pause at {} ended without a release", at.phase);
        } else {
            tracing::info!(phase = %at.phase, hit = at.hit, "the pause at {} was released", at.phase);
        }
    }
}
