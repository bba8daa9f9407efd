//! Expected time saved per byte (GreedyDual-Size-Frequency, Cherkasova 1998, with time as the cost).

use super::{Block, Policy, Use};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Fractions of a nanosecond per byte: 2^20 parts.
const PARTS: u32 = 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Out,
    In,
    /// In, refused, and not released since.
    Parked,
}

#[derive(Clone, Copy)]
struct Node {
    worth: u64,
    /// The number of its last use, the lower half of it: only ties among uses 2^32 apart are decided otherwise.
    seq: u32,
    /// The number in its one good entry of the heap.
    offered: u32,
    uses: u32,
    state: State,
}

impl Node {
    fn entry(&self, block: Block) -> Entry {
        Entry(u128::from(self.worth) << 64 | u128::from(self.seq) << 32 | u128::from(block.0))
    }
}

/// Worth, number of the use and block in one number, so that entries compare at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    const fn worth(self) -> u64 {
        (self.0 >> 64) as u64
    }

    const fn block(self) -> Block {
        Block(self.0 as u32)
    }

    /// Whether it is the one that counts for its block.
    fn is_good(self, nodes: &[Node]) -> bool {
        let node = &nodes[self.block().index()];
        node.state == State::In && node.offered == (self.0 >> 32) as u32
    }
}

/// The block with the least worth goes, among equals the one whose last use is longest ago. Worth is
/// `age + uses * saved_ns / bytes`, in whole 2^-20 ns per byte: `uses` counts from when the block came in, `age` is what the
/// last block that went was worth, as it was at this block's last use. So a block that nobody uses is overtaken in the end.
pub struct TimeSaved {
    nodes: Vec<Node>,
    /// Least first. An entry that is less than its block's worth is brought up to date when it comes up. That of a block which
    /// went stays on top, for the one that comes to take its place.
    heap: BinaryHeap<Reverse<Entry>>,
    age: u64,
    len: usize,
}

/// `uses * saved_ns / bytes` in 2^-20 ns per byte, at most what 64 bits hold.
fn worth(uses: u32, used: &Use) -> u64 {
    let bytes = used.bytes.max(1);
    let small = used
        .saved_ns
        .checked_mul(u64::from(uses))
        .filter(|saved| saved.leading_zeros() >= PARTS);
    if let Some(saved) = small {
        return (saved << PARTS) / bytes;
    }
    // At most 2^(64 + 32 + 20): it fits.
    let saved = (u128::from(used.saved_ns) * u128::from(uses)) << PARTS;
    u64::try_from(saved / u128::from(bytes)).unwrap_or(u64::MAX)
}

impl TimeSaved {
    fn use_it(&mut self, block: Block, used: &Use) {
        let age = self.age;
        let node = &mut self.nodes[block.index()];
        let was = (node.worth, node.seq);
        node.uses = node.uses.saturating_add(1);
        node.worth = age.saturating_add(worth(node.uses, used));
        node.seq = used.seq as u32;
        let fell = (node.worth, node.seq) < was;
        if fell || node.state != State::In {
            node.state = State::In;
            self.offer(block);
        }
    }

    fn offer(&mut self, block: Block) {
        let node = &mut self.nodes[block.index()];
        node.offered = node.seq;
        let entry = node.entry(block);
        if let Some(mut least) = self.heap.peek_mut()
            && !least.0.is_good(&self.nodes)
        {
            *least = Reverse(entry);
            return;
        }
        if self.heap.len() > 64 + 4 * self.len {
            let nodes = &self.nodes;
            self.heap.retain(|Reverse(entry)| entry.is_good(nodes));
        }
        self.heap.push(Reverse(entry));
    }
}

impl Policy for TimeSaved {
    const NAME: &'static str = "time-saved";

    fn new(_capacity: usize, blocks: usize) -> TimeSaved {
        TimeSaved {
            nodes: vec![
                Node {
                    worth: 0,
                    seq: 0,
                    offered: 0,
                    uses: 0,
                    state: State::Out
                };
                blocks
            ],
            heap: BinaryHeap::new(),
            age: 0,
            len: 0,
        }
    }

    fn hit(&mut self, block: Block, used: &Use) {
        self.use_it(block, used);
    }

    fn insert(&mut self, block: Block, used: &Use) {
        self.len += 1;
        self.use_it(block, used);
    }

    fn evict(&mut self, mut may: impl FnMut(Block) -> bool) -> Option<Block> {
        loop {
            let mut least = self.heap.peek_mut()?;
            let Reverse(entry) = *least;
            let block = entry.block();
            if !entry.is_good(&self.nodes) {
                PeekMut::pop(least);
                continue;
            }
            let node = &mut self.nodes[block.index()];
            if node.entry(block) > entry {
                // It was used since; put in its place it sinks to where it belongs.
                node.offered = node.seq;
                *least = Reverse(node.entry(block));
                continue;
            }
            if may(block) {
                node.state = State::Out;
                node.uses = 0;
                self.age = self.age.max(entry.worth());
                self.len -= 1;
                return Some(block);
            }
            node.state = State::Parked;
            PeekMut::pop(least);
        }
    }

    fn release(&mut self, block: Block) {
        if self
            .nodes
            .get(block.index())
            .is_some_and(|node| node.state == State::Parked)
        {
            self.nodes[block.index()].state = State::In;
            self.offer(block);
        }
    }
}
