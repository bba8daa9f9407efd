//! The staging memory of each client. An operation without a buffer of its caller takes blocks of it and gives them back
//! when its result is reported; the next operation of that client gets the same bytes. Mirrors `real_client.cpp`, whose
//! calls copy through the client buffer allocator.

use crate::memory::BufferKey;
use crate::ports::Ports;
use crate::state::Stage;
use crate::underway::Transfer;
use moonquake_client::{StagingBlock, StagingMemory};
use moonquake_evidence::{Block, Kind, Observer, Op, staging_of};
use moonquake_witness::Region;
use std::collections::{BTreeMap, BTreeSet};

/// The memory of one client: which bytes are taken, and what all of them are.
#[derive(Debug)]
struct Memory {
    blocks: StagingMemory,
    bytes: Region,
}

/// What an operation has, or had: a transfer that outlives its operation still knows the place.
#[derive(Clone, Debug)]
struct Taken {
    client: String,
    /// One behind the other they are the operation's buffer.
    blocks: Vec<StagingBlock>,
    /// Where in that buffer each begins.
    begins: Vec<u64>,
    given_back: bool,
}

impl Taken {
    /// Blocks behind those that it has.
    fn extend(&mut self, blocks: impl Iterator<Item = StagingBlock>) {
        let mut end = match (self.begins.last(), self.blocks.last()) {
            (Some(begins), Some(last)) => begins.saturating_add(last.size),
            _ => 0,
        };
        for block in blocks {
            self.begins.push(end);
            end = end.saturating_add(block.size);
            self.blocks.push(block);
        }
    }

    /// Where bytes of the operation's buffer lie in the memory of its client. None if they do not lie in one block.
    fn place(&self, from: u64, to: u64) -> Option<Block> {
        let index = self
            .begins
            .partition_point(|begins| *begins <= from)
            .checked_sub(1)?;
        let (begins, block) = (self.begins.get(index)?, self.blocks.get(index)?);
        let ends = begins.checked_add(block.size)?;
        if from >= ends || to > ends {
            return None;
        }
        let first = block.offset.checked_add(from - begins)?;
        let len = to.checked_sub(from)?;
        Some(Block {
            from: first,
            to: first.checked_add(len)?,
        })
    }
}

/// The staging memory of all clients.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    memory: BTreeMap<String, Memory>,
    taken: BTreeMap<u64, Taken>,
    /// The clients whose witness has said what it sees.
    pub(crate) witnessed: BTreeSet<String>,
}

impl Staging {
    /// Takes blocks for an operation of a client that has `bytes` of staging memory: which of them, and where they lie.
    pub(crate) fn take(
        &mut self,
        (client, bytes): (&str, u64),
        operation: u64,
        sizes: &[u64],
        all: bool,
    ) -> Vec<Option<Block>> {
        let memory = self.memory.entry(client.to_owned()).or_insert_with(|| Memory {
            blocks: StagingMemory::new(bytes),
            bytes: Region::default(),
        });
        let taken = memory.blocks.take_each(sizes, all);
        let place = |block: &StagingBlock| Block {
            from: block.offset,
            to: block.offset.saturating_add(block.size),
        };
        let places: Vec<Option<Block>> = taken.iter().map(|block| block.as_ref().map(place)).collect();
        let end = places.iter().flatten().map(|block| block.to).max();
        memory.bytes.grow(end.unwrap_or(0));
        let blocks = taken.into_iter().flatten();
        self.taken
            .entry(operation)
            .or_insert_with(|| Taken {
                client: client.to_owned(),
                blocks: Vec::new(),
                begins: Vec::new(),
                given_back: false,
            })
            .extend(blocks);
        places
    }

    /// The operation has reported its result.
    pub(crate) fn give_back(&mut self, operation: u64) {
        let Some(taken) = self.taken.get_mut(&operation).filter(|taken| !taken.given_back) else {
            return;
        };
        taken.given_back = true;
        if let Some(memory) = self.memory.get_mut(&taken.client) {
            for block in &taken.blocks {
                memory.blocks.give_back(*block);
            }
        }
    }

    /// The process of a client is gone, and its memory with it.
    pub(crate) fn forget(&mut self, client: &str) {
        self.memory.remove(client);
        self.taken.retain(|_, taken| taken.client != client);
    }

    /// Whether an operation has, or had, a block.
    pub(crate) fn has_blocks(&self, operation: u64) -> bool {
        self.taken
            .get(&operation)
            .is_some_and(|taken| !taken.blocks.is_empty())
    }

    /// Where bytes of an operation's buffer lie in the memory of its client.
    pub(crate) fn place(&self, operation: u64, from: u64, to: u64) -> Option<Block> {
        self.taken.get(&operation)?.place(from, to)
    }

    /// Whose memory a late transfer of an operation finds its bytes in, if the operation gave them back.
    pub(crate) fn given_back(&self, operation: u64) -> Option<&str> {
        let taken = self.taken.get(&operation).filter(|taken| taken.given_back)?;
        Some(&taken.client)
    }

    /// Reads bytes of an operation's buffer, counted from its first.
    pub(crate) fn read(&self, operation: u64, from: u64, len: u64) -> Option<Vec<u8>> {
        if len == 0 {
            return Some(Vec::new());
        }
        let taken = self.taken.get(&operation)?;
        let place = taken.place(from, from.checked_add(len)?)?;
        let memory = self.memory.get(&taken.client)?;
        memory.bytes.read(place.from, len).ok()
    }

    /// Writes bytes into an operation's buffer, counted from its first. False if it has no memory there.
    pub(crate) fn write(&mut self, operation: u64, from: u64, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let Some(taken) = self.taken.get(&operation) else {
            return false;
        };
        let to = from.saturating_add(bytes.len() as u64);
        let Some(place) = taken.place(from, to) else {
            return false;
        };
        let memory = self.memory.get_mut(&taken.client);
        memory.is_some_and(|memory| memory.bytes.write(place.from, bytes).is_ok())
    }
}

impl<P: Ports> Stage<'_, P> {
    /// An operation takes blocks; the evidence says so if a transfer of another one can still reach them. Says which it got.
    pub(crate) fn take_staging(&mut self, running: u64, sizes: &[u64], all: bool) -> Vec<bool> {
        let Some((client, op)) = self
            .running
            .get(&running)
            .map(|running| (running.actor.clone(), running.op))
        else {
            return vec![false; sizes.len()];
        };
        let bytes = self
            .actors
            .get(&client)
            .map_or(0, |actor| actor.config.staging_bytes);
        let places = self.buffers.staging.take((&client, bytes), running, sizes, all);
        for block in places.iter().flatten() {
            self.note_reuse(&client, op, &staging_of(&client), (block.from, block.to));
        }
        self.fill_staging(running);
        places.iter().map(Option::is_some).collect()
    }

    /// A write copies the value of its caller into the blocks that it has just taken.
    fn fill_staging(&mut self, running: u64) {
        let fill = self
            .running
            .get_mut(&running)
            .and_then(|running| running.fill.take());
        let Some((pattern, places)) = fill.filter(|_| self.buffers.staging.has_blocks(running)) else {
            return;
        };
        for place in places {
            self.buffers
                .fill_at(&BufferKey::Staging(running), place, &pattern);
        }
    }

    /// The evidence says so if memory is given to an operation that a transfer of another one can still reach.
    pub(crate) fn note_reuse(&mut self, client: &str, op: Option<Op>, place: &str, (from, to): (u64, u64)) {
        let reaches = |transfer: &&Transfer| match (&transfer.buffer, transfer.block) {
            (BufferKey::Named(name), _) => name == place,
            (BufferKey::Staging(_), Some(other)) => {
                place == staging_of(client) && other.from < to && from < other.to
            }
            (BufferKey::Staging(_), None) | (BufferKey::Own(_), _) => false,
        };
        let live = self.transfers.of_others(client, op).filter(reaches);
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

    const MEMORY: u64 = 16;

    fn take(staging: &mut Staging, client: &str, operation: u64, sizes: &[u64]) -> Vec<Option<u64>> {
        let places = staging.take((client, MEMORY), operation, sizes, false);
        places
            .iter()
            .map(|place| place.as_ref().map(|block| block.from))
            .collect()
    }

    #[test]
    fn what_was_given_back_is_taken_again_and_twice_is_once() {
        let mut staging = Staging::default();
        assert_eq!(take(&mut staging, "w1", 1, &[8]), [Some(0)]);
        assert_eq!(take(&mut staging, "w1", 2, &[8]), [Some(8)]);
        assert_eq!(take(&mut staging, "w1", 3, &[8]), [None], "there is no more");
        staging.give_back(1);
        staging.give_back(1);
        assert_eq!(take(&mut staging, "w1", 4, &[8, 8]), [Some(0), None]);
        staging.give_back(2);
        staging.give_back(4);
        assert_eq!(
            take(&mut staging, "w1", 5, &[16]),
            [Some(0)],
            "two holes side by side are one"
        );
    }

    #[test]
    fn each_client_has_memory_of_its_own() {
        let mut staging = Staging::default();
        take(&mut staging, "w1", 1, &[4]);
        assert_eq!(take(&mut staging, "w2", 2, &[4]), [Some(0)]);
        assert!(staging.write(1, 0, b"w1w1") && staging.write(2, 0, b"w2w2"));
        assert_eq!(staging.read(1, 0, 4).unwrap(), b"w1w1");
        staging.forget("w1");
        assert!(staging.read(1, 0, 4).is_none() && !staging.write(1, 0, b"late"));
        assert_eq!(
            take(&mut staging, "w1", 3, &[16]),
            [Some(0)],
            "the next process of that client begins with all of it"
        );
    }

    #[test]
    fn blocks_are_one_buffer_and_no_piece_lies_in_two() {
        let mut staging = Staging::default();
        assert_eq!(take(&mut staging, "w1", 1, &[4, 32, 4]), [Some(0), None, Some(4)]);
        assert_eq!(staging.place(1, 5, 8), Some(Block { from: 5, to: 8 }));
        assert_eq!(staging.place(1, 2, 6), None);
        assert!(staging.write(1, 4, b"next") && !staging.write(1, 8, b"out"));
        assert_eq!(staging.read(1, 4, 4).unwrap(), b"next");
    }

    #[test]
    fn a_late_write_lands_in_what_is_somebody_elses_now() {
        let mut staging = Staging::default();
        take(&mut staging, "w1", 1, &[4]);
        staging.give_back(1);
        take(&mut staging, "w1", 2, &[4]);
        assert!(staging.write(2, 0, b"mine") && staging.write(1, 2, b"xx"));
        assert_eq!(staging.read(2, 0, 4).unwrap(), b"mixx");
        assert!(!staging.write(1, 3, b"out"));
    }
}
