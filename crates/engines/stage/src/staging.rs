//! The staging memory of each client. An operation without a buffer of its caller takes a block of it and gives the
//! block back when its result is reported; the next operation of that client gets the same bytes. Mirrors
//! `real_client.cpp`, whose calls copy through the client buffer allocator. Here the memory has no end.

use crate::memory::BufferKey;
use crate::ports::Ports;
use crate::state::Stage;
use crate::transfers::Transfer;
use moonquake_evidence::{Block, Kind, Observer, Op, staging_of};
use moonquake_witness::Region;
use std::collections::{BTreeMap, BTreeSet};

/// What an operation has, or had: a transfer that outlives its operation still knows the place.
#[derive(Clone, Debug)]
struct Taken {
    client: String,
    block: Block,
    given_back: bool,
}

/// The staging memory of all clients.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    memory: BTreeMap<String, Region>,
    taken: BTreeMap<u64, Taken>,
    /// The clients whose witness has said what it sees.
    pub(crate) witnessed: BTreeSet<String>,
}

impl Staging {
    /// Gives an operation at least `size` bytes: the lowest hole that fits. What it has already is kept if it is enough.
    pub(crate) fn take(&mut self, client: &str, operation: u64, size: u64) -> Block {
        if let Some(own) = self.taken.get(&operation)
            && own.block.to - own.block.from >= size
        {
            return own.block;
        }
        let mut others: Vec<Block> = self
            .taken
            .iter()
            .filter(|(id, taken)| **id != operation && taken.client == client && !taken.given_back)
            .map(|(_, taken)| taken.block)
            .collect();
        others.sort_unstable();
        let mut from = 0;
        for other in others {
            if other.from.saturating_sub(from) >= size {
                break;
            }
            from = from.max(other.to);
        }
        let block = Block {
            from,
            to: from.saturating_add(size),
        };
        self.memory.entry(client.to_owned()).or_default().grow(block.to);
        self.taken.insert(
            operation,
            Taken {
                client: client.to_owned(),
                block,
                given_back: false,
            },
        );
        block
    }

    /// The operation has reported its result.
    pub(crate) fn give_back(&mut self, operation: u64) {
        if let Some(taken) = self.taken.get_mut(&operation) {
            taken.given_back = true;
        }
    }

    /// The process of a client is gone, and its memory with it.
    pub(crate) fn forget(&mut self, client: &str) {
        self.memory.remove(client);
        self.taken.retain(|_, taken| taken.client != client);
    }

    /// What an operation has, or had.
    pub(crate) fn block(&self, operation: u64) -> Option<Block> {
        self.taken.get(&operation).map(|taken| taken.block)
    }

    /// Where a late transfer of an operation finds its bytes: the client and the block, if it was given back.
    pub(crate) fn given_back(&self, operation: u64) -> Option<(&str, Block)> {
        let taken = self.taken.get(&operation).filter(|taken| taken.given_back)?;
        Some((&taken.client, taken.block))
    }

    /// Reads bytes of an operation's block, counted from its first.
    pub(crate) fn read(&self, operation: u64, from: u64, len: u64) -> Option<Vec<u8>> {
        let taken = self.taken.get(&operation)?;
        let memory = self.memory.get(&taken.client)?;
        memory.read(taken.block.from.checked_add(from)?, len).ok()
    }

    /// Writes bytes into an operation's block, counted from its first. False if it has no memory there.
    pub(crate) fn write(&mut self, operation: u64, from: u64, bytes: &[u8]) -> bool {
        let Some(taken) = self.taken.get(&operation) else {
            return false;
        };
        let Some(at) = taken.block.from.checked_add(from) else {
            return false;
        };
        let memory = self.memory.get_mut(&taken.client);
        memory.is_some_and(|memory| memory.write(at, bytes).is_ok())
    }
}

impl<P: Ports> Stage<'_, P> {
    /// An operation takes a block; the evidence says so if a transfer of another one can still reach it.
    pub(crate) fn take_staging(&mut self, running: u64, size: u64) {
        let Some((client, op)) = self
            .running
            .get(&running)
            .map(|running| (running.actor.clone(), running.op))
        else {
            return;
        };
        let had = self.buffers.staging.block(running);
        let block = self.buffers.staging.take(&client, running, size);
        if had == Some(block) {
            return;
        }
        self.note_reuse(&client, op, &staging_of(&client), (block.from, block.to));
    }

    /// The evidence says so if memory is given to an operation that a transfer of another one can still reach.
    pub(crate) fn note_reuse(&mut self, client: &str, op: Option<Op>, place: &str, (from, to): (u64, u64)) {
        let reaches = |transfer: &&Transfer| {
            transfer.actor == client
                && transfer.op != op
                && match (&transfer.buffer, transfer.block) {
                    (BufferKey::Named(name), _) => name == place,
                    (BufferKey::Staging(_), Some(other)) => {
                        place == staging_of(client) && other.from < to && from < other.to
                    }
                    (BufferKey::Staging(_), None) | (BufferKey::Own(_), _) => false,
                }
        };
        let live = self.transfers.values().filter(reaches);
        let mut reachable_by: Vec<Op> = live.filter_map(|transfer| transfer.op).collect();
        reachable_by.sort_unstable();
        reachable_by.dedup();
        if !reachable_by.is_empty() {
            let kind = Kind::Reused {
                place: place.to_owned(),
                from,
                to,
                reachable_by,
            };
            self.note(client, Observer::Witness, op, kind);
        }
    }

    /// Whoever reads of a failure must know who would have seen a late access to the staging memory.
    pub(crate) fn witness_staging(&mut self, client: &str) {
        if !self.buffers.staging.witnessed.insert(client.to_owned()) {
            return;
        }
        let sight = self.ports.sight();
        let kind = Kind::Sight {
            buffer: staging_of(client),
            witness: sight.witness,
            sees: sight.sees,
            blind: sight.blind,
        };
        self.note(client, Observer::Witness, None, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::Staging;
    use moonquake_evidence::Block;

    #[test]
    fn the_lowest_hole_that_fits_is_taken() {
        let mut staging = Staging::default();
        let take = |staging: &mut Staging, operation, size| staging.take("w1", operation, size).from;
        assert_eq!(take(&mut staging, 1, 4), 0);
        assert_eq!(take(&mut staging, 2, 4), 4);
        assert_eq!(take(&mut staging, 3, 4), 8);
        staging.give_back(1);
        assert_eq!(
            take(&mut staging, 4, 5),
            12,
            "five bytes do not fit into a hole of four"
        );
        assert_eq!(take(&mut staging, 5, 4), 0);
        staging.give_back(2);
        staging.give_back(5);
        assert_eq!(take(&mut staging, 6, 8), 0, "two holes side by side are one");
    }

    #[test]
    fn each_client_has_memory_of_its_own() {
        let mut staging = Staging::default();
        staging.take("w1", 1, 4);
        assert_eq!(staging.take("w2", 2, 4), Block { from: 0, to: 4 });
        assert!(staging.write(1, 0, b"w1w1") && staging.write(2, 0, b"w2w2"));
        assert_eq!(staging.read(1, 0, 4).unwrap(), b"w1w1");
        staging.forget("w1");
        assert!(staging.read(1, 0, 4).is_none() && !staging.write(1, 0, b"late"));
    }

    #[test]
    fn a_late_write_lands_in_what_is_somebody_elses_now() {
        let mut staging = Staging::default();
        staging.take("w1", 1, 4);
        staging.give_back(1);
        staging.take("w1", 2, 4);
        assert!(staging.write(2, 0, b"mine") && staging.write(1, 2, b"xx"));
        assert_eq!(staging.read(2, 0, 4).unwrap(), b"mixx");
        assert!(!staging.write(1, 3, b"out"));
    }
}
