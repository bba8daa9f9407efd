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
    /// What it is worth; then the number of its last use.
    worth: (u64, u64),
    /// The number in its one good entry of the heap.
    offered: u64,
    uses: u32,
    state: State,
}

/// The block with the least worth goes, among equals the one whose last use is longest ago. Worth is
/// `age + uses * saved_ns / bytes`, in whole 2^-20 ns per byte: `uses` counts from when the block came in, `age` is what the
/// last block that went was worth, as it was at this block's last use. So a block that nobody uses is overtaken in the end.
pub struct TimeSaved {
    nodes: Vec<Node>,
    /// Least first. An entry that is less than its block's worth is brought up to date when it comes up.
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
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
        let was = node.worth;
        node.uses = node.uses.saturating_add(1);
        node.worth = (age.saturating_add(worth(node.uses, used)), used.seq);
        let fell = node.worth < was;
        let parked = node.state == State::Parked;
        let came = node.state == State::Out;
        node.state = State::In;
        if came || parked || fell {
            self.offer(block);
        }
    }

    fn offer(&mut self, block: Block) {
        let (worth, seq) = self.nodes[block.index()].worth;
        self.nodes[block.index()].offered = seq;
        if self.heap.len() > 64 + 4 * self.len {
            let nodes = &self.nodes;
            self.heap.retain(|Reverse((_, seq, at))| {
                let node = nodes[*at as usize];
                node.state == State::In && node.offered == *seq
            });
        }
        self.heap.push(Reverse((worth, seq, block.0)));
    }
}

impl Policy for TimeSaved {
    const NAME: &'static str = "time-saved";

    fn new(_capacity: usize, blocks: usize) -> TimeSaved {
        TimeSaved {
            nodes: vec![
                Node {
                    worth: (0, 0),
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
            let Reverse((worth, seq, at)) = *least;
            let node = &mut self.nodes[at as usize];
            let good = node.state == State::In && node.offered == seq;
            if good && node.worth > (worth, seq) {
                // It was used since; put in its place it sinks to where it belongs.
                node.offered = node.worth.1;
                *least = Reverse((node.worth.0, node.worth.1, at));
                continue;
            }
            PeekMut::pop(least);
            if !good {
                continue;
            }
            if may(Block(at)) {
                node.state = State::Out;
                node.uses = 0;
                self.age = self.age.max(worth);
                self.len -= 1;
                return Some(Block(at));
            }
            node.state = State::Parked;
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
