//! The transfers under way. A batch has as many of them as it has keys, so each is found without a look at all the others.

use crate::lanes::{Lane, Pair};
use crate::memory::BufferKey;
use moonquake_clock::{Clocks, Span};
use moonquake_evidence::{Block, Op};
use moonquake_faults::PhaseId;
use std::collections::{BTreeMap, BTreeSet};

/// A transfer.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) id: u64,
    pub(crate) actor: String,
    pub(crate) op: Option<Op>,
    /// The operation that waits for it; none once it was given up.
    pub(crate) waiter: Option<u64>,
    pub(crate) owner: String,
    pub(crate) write: bool,
    pub(crate) replica_id: u64,
    pub(crate) address: u64,
    /// The first byte of the replica that moves, and how many bytes the replica has.
    pub(crate) within: (u64, u64),
    /// Offset of the range in the owner's segment.
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) buffer: BufferKey,
    /// Where in its client's staging memory its bytes lie, if they lie there.
    pub(crate) block: Option<Block>,
    /// The byte of the buffer that goes with the first byte of the range.
    pub(crate) buffer_at: u64,
    /// Whether it is a copy within one process, which passes no network and keeps no limit.
    pub(crate) local: bool,
    /// Whether its client gives it up after the limit.
    pub(crate) limited: bool,
    pub(crate) part: PhaseId,
    pub(crate) done: PhaseId,
    pub(crate) opened: bool,
    pub(crate) moved: u64,
    pub(crate) held: bool,
    pub(crate) rate: Option<u64>,
    pub(crate) next_at: Span,
    /// The client's clocks when it was submitted, and when a byte last moved.
    pub(crate) submitted_at: Clocks,
    pub(crate) progress_at: Clocks,
    /// Its connection to the owner, and its place among what can happen. [`Underway`] finds it by them.
    pub(crate) stand: Stand,
}

/// What [`Underway`] finds a transfer by, and therefore changes itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stand {
    lane: Lane,
    order: u64,
}

impl Stand {
    pub(crate) fn new(lane: Lane, order: u64) -> Stand {
        Stand { lane, order }
    }
}

impl Transfer {
    /// The caller's buffer, if the scenario names it.
    pub(crate) fn buffer_name(&self) -> Option<String> {
        match &self.buffer {
            BufferKey::Named(name) => Some(name.clone()),
            BufferKey::Staging(_) | BufferKey::Own(_) => None,
        }
    }

    pub(crate) fn next_part(&self, chunk: u64) -> u64 {
        chunk.min(self.size - self.moved)
    }

    /// Its connection to the owner.
    pub(crate) fn lane(&self) -> Lane {
        self.stand.lane
    }

    /// Its place among what can happen.
    pub(crate) fn order(&self) -> u64 {
        self.stand.order
    }

    fn pair(&self) -> Pair {
        (self.actor.clone(), self.owner.clone())
    }

    /// Whether another one that waits gives its client up at the same instant, for the same operation.
    fn waits_like(&self, other: &Transfer) -> bool {
        (self.waiter, self.limited) == (other.waiter, other.limited)
            && (self.submitted_at, self.progress_at) == (other.submitted_at, other.progress_at)
            && self.actor == other.actor
    }
}

/// Where transfers stand: each in one of the two.
#[derive(Debug, Default)]
struct Places {
    /// Those that wait for a connection, in the order in which they were submitted.
    waiting: BTreeMap<Pair, BTreeSet<u64>>,
    /// The others, in the order in which they can move.
    queue: BTreeMap<u64, u64>,
}

impl Places {
    fn enter(&mut self, transfer: &Transfer) {
        if transfer.lane().is_ready() {
            self.queue.insert(transfer.order(), transfer.id);
        } else {
            let waiting = self.waiting.entry(transfer.pair()).or_default();
            waiting.insert(transfer.id);
        }
    }

    fn leave(&mut self, transfer: &Transfer) {
        if transfer.lane().is_ready() {
            self.queue.remove(&transfer.order());
        } else if let Some(waiting) = self.waiting.get_mut(&transfer.pair()) {
            waiting.remove(&transfer.id);
        }
    }
}

/// All transfers under way.
#[derive(Debug, Default)]
pub(crate) struct Underway {
    all: BTreeMap<u64, Transfer>,
    places: Places,
    /// Those of each client, by their operation.
    of_client: BTreeMap<String, BTreeMap<Option<Op>, BTreeSet<u64>>>,
}

impl Underway {
    pub(crate) fn get(&self, id: u64) -> Option<&Transfer> {
        self.all.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut Transfer> {
        self.all.get_mut(&id)
    }

    pub(crate) fn insert(&mut self, transfer: Transfer) {
        let ops = self.of_client.entry(transfer.actor.clone()).or_default();
        ops.entry(transfer.op).or_default().insert(transfer.id);
        self.places.enter(&transfer);
        self.all.insert(transfer.id, transfer);
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<Transfer> {
        let transfer = self.all.remove(&id)?;
        self.places.leave(&transfer);
        if let Some(ops) = self.of_client.get_mut(&transfer.actor)
            && let Some(ids) = ops.get_mut(&transfer.op)
        {
            ids.remove(&id);
            if ids.is_empty() {
                ops.remove(&transfer.op);
            }
        }
        Some(transfer)
    }

    /// Gives a transfer another place among what can happen.
    pub(crate) fn set_order(&mut self, id: u64, order: u64) {
        self.change(id, |stand| stand.order = order);
    }

    /// Gives a transfer a connection.
    pub(crate) fn set_lane(&mut self, id: u64, lane: Lane) {
        self.change(id, |stand| stand.lane = lane);
    }

    fn change(&mut self, id: u64, change: impl FnOnce(&mut Stand)) {
        if let Some(transfer) = self.all.get_mut(&id) {
            self.places.leave(transfer);
            change(&mut transfer.stand);
            self.places.enter(transfer);
        }
    }

    /// The first that waits for a connection of a client to an owner.
    pub(crate) fn first_waiting(&self, pair: &Pair) -> Option<u64> {
        self.places.waiting.get(pair)?.first().copied()
    }

    /// Those that do not wait for a connection, in the order of their places.
    pub(crate) fn queued(&self) -> impl Iterator<Item = &Transfer> {
        self.places.queue.values().filter_map(|id| self.all.get(id))
    }

    /// Those that can fall due: all that do not wait for a connection, and of the others that wait in a row and are alike the
    /// first, which is due before the rest.
    pub(crate) fn due_first(&self) -> impl Iterator<Item = &Transfer> {
        let mut last: Option<&Transfer> = None;
        let waiting = self.places.waiting.values().flatten();
        let waiting = waiting.filter_map(|id| self.all.get(id));
        let heads = waiting.filter(move |transfer| {
            let is_like = last.is_some_and(|last| last.waits_like(transfer));
            last = Some(transfer);
            !is_like
        });
        self.queued().chain(heads)
    }

    /// Those of a client that belong to another operation than `op`.
    pub(crate) fn of_others(&self, client: &str, op: Option<Op>) -> impl Iterator<Item = &Transfer> {
        let ops = self.of_client.get(client).into_iter().flatten();
        let others = ops.filter(move |(other, _)| **other != op);
        others.flat_map(|(_, ids)| ids).filter_map(|id| self.all.get(id))
    }

    /// The numbers of all transfers of a client, in the order in which they were submitted.
    pub(crate) fn of(&self, client: &str) -> Vec<u64> {
        let ops = self.of_client.get(client);
        let ids: BTreeSet<u64> = ops
            .into_iter()
            .flat_map(BTreeMap::values)
            .flatten()
            .copied()
            .collect();
        ids.into_iter().collect()
    }
}
