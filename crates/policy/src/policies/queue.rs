//! Blocks in the order in which they came in, with those aside that were refused.

use super::Block;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NONE: u32 = u32::MAX;

/// Where a block of the table is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Not in the queue.
    Out,
    /// In the list of those to be asked about.
    Listed,
    /// Refused, and not released since.
    Parked,
    /// Released, in the heap.
    Released,
}

#[derive(Clone, Copy)]
struct Node {
    older: u32,
    newer: u32,
    /// When it came in; the lower two bits say where it is.
    came: u64,
}

impl Node {
    const OUT: Node = Node {
        older: NONE,
        newer: NONE,
        came: 0,
    };

    fn place(self) -> Place {
        match self.came & 3 {
            0 => Place::Out,
            1 => Place::Listed,
            2 => Place::Parked,
            _ => Place::Released,
        }
    }

    fn put(&mut self, place: Place) {
        self.came = self.came & !3 | place as u64;
    }
}

/// The ends of a list through the nodes.
#[derive(Clone, Copy)]
struct Ends {
    oldest: u32,
    newest: u32,
}

impl Ends {
    const EMPTY: Ends = Ends {
        oldest: NONE,
        newest: NONE,
    };

    fn push(&mut self, nodes: &mut [Node], at: u32) {
        nodes[at as usize].older = self.newest;
        nodes[at as usize].newer = NONE;
        match self.newest {
            NONE => self.oldest = at,
            newest => nodes[newest as usize].newer = at,
        }
        self.newest = at;
    }

    fn unlink(&mut self, nodes: &mut [Node], at: u32) {
        let Node { older, newer, .. } = nodes[at as usize];
        match older {
            NONE => self.oldest = newer,
            older => nodes[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => nodes[newer as usize].older = older,
        }
    }
}

/// A queue of blocks, oldest first.
///
/// A refused block leaves the list and is parked; released, it waits in a heap by its age, and whichever of list and heap has
/// the older block is asked about first. So the order stays that of age, and a refusal costs a step or a heap operation once.
pub(super) struct Queue {
    nodes: Vec<Node>,
    listed: Ends,
    released: BinaryHeap<Reverse<(u64, u32)>>,
    live: usize,
    time: u64,
}

impl Queue {
    /// For blocks below `blocks`.
    pub(super) fn new(blocks: usize) -> Queue {
        Queue {
            nodes: vec![Node::OUT; blocks],
            listed: Ends::EMPTY,
            released: BinaryHeap::new(),
            live: 0,
            time: 0,
        }
    }

    /// Puts a block that is not in it at the new end.
    pub(super) fn push(&mut self, block: Block) {
        self.time += 4;
        self.nodes[block.index()].came = self.time | Place::Listed as u64;
        self.listed.push(&mut self.nodes, block.0);
    }

    /// Moves a block that is in it to the new end.
    pub(super) fn renew(&mut self, block: Block) {
        if self.listed.newest == block.0 {
            return;
        }
        self.take(block);
        self.push(block);
    }

    /// Takes a block out; false if it was not in.
    pub(super) fn take(&mut self, block: Block) -> bool {
        match self.nodes[block.index()].place() {
            Place::Out => return false,
            Place::Listed => self.listed.unlink(&mut self.nodes, block.0),
            Place::Parked => {}
            Place::Released => self.live -= 1,
        }
        self.nodes[block.index()].put(Place::Out);
        true
    }

    /// The oldest block that `may` be taken; it stays in. One that is refused is not asked about again until it is freed.
    pub(super) fn oldest(&mut self, mut may: impl FnMut(Block) -> bool) -> Option<Block> {
        loop {
            let block = self.next_offer()?;
            if may(block) {
                return Some(block);
            }
            self.take(block);
            self.nodes[block.index()].put(Place::Parked);
        }
    }

    /// As [`Queue::oldest`], taken out.
    pub(super) fn take_oldest(&mut self, may: impl FnMut(Block) -> bool) -> Option<Block> {
        let block = self.oldest(may)?;
        self.take(block);
        Some(block)
    }

    /// The older one of the list's oldest and the heap's.
    fn next_offer(&mut self) -> Option<Block> {
        let listed = (self.listed.oldest != NONE).then_some(Block(self.listed.oldest));
        while let Some(&Reverse((came, at))) = self.released.peek() {
            let block = Block(at);
            if self.nodes[block.index()].came != came {
                // It was used, taken or parked since.
                self.released.pop();
                continue;
            }
            if listed.is_some_and(|other| self.nodes[other.index()].came < came) {
                break;
            }
            return Some(block);
        }
        listed
    }

    /// Lets a parked block be asked about again.
    pub(super) fn free(&mut self, block: Block) {
        let Some(node) = self.nodes.get_mut(block.index()) else {
            return;
        };
        if node.place() != Place::Parked {
            return;
        }
        node.put(Place::Released);
        let came = node.came;
        self.live += 1;
        if self.released.len() > 64 + 2 * self.live {
            let nodes = &self.nodes;
            self.released
                .retain(|Reverse((came, at))| nodes[*at as usize].came == *came);
        }
        self.released.push(Reverse((came, block.0)));
    }
}
