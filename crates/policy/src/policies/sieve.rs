//! SIEVE (Zhang et al., NSDI 2024).

use super::{Block, Policy, Use};

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    older: u32,
    newer: u32,
    visited: bool,
}

/// Blocks stay in the order in which they came in. A hand walks from the oldest to the newest and round again: a block that
/// was used since the hand last came by is spared and its mark taken away, the first other one goes.
///
/// A block that may not go is passed like a spared one. The hand never turns back, so a block is asked about once a round and
/// nothing is parked; a chain that came in deepest block first is taken apart by a hand that only goes forward.
pub struct Sieve {
    nodes: Vec<Node>,
    oldest: u32,
    newest: u32,
    hand: u32,
    len: usize,
}

impl Sieve {
    fn unlink(&mut self, at: u32) {
        let Node { older, newer, .. } = self.nodes[at as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.nodes[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.nodes[newer as usize].older = older,
        }
        self.hand = newer;
        self.len -= 1;
    }
}

impl Policy for Sieve {
    const NAME: &'static str = "sieve";

    fn new(_capacity: usize, blocks: usize) -> Sieve {
        let node = Node {
            older: NONE,
            newer: NONE,
            visited: false,
        };
        Sieve {
            nodes: vec![node; blocks],
            oldest: NONE,
            newest: NONE,
            hand: NONE,
            len: 0,
        }
    }

    fn hit(&mut self, block: Block, _used: &Use) {
        self.nodes[block.index()].visited = true;
    }

    fn insert(&mut self, block: Block, _used: &Use) {
        self.nodes[block.index()] = Node {
            older: self.newest,
            newer: NONE,
            visited: false,
        };
        match self.newest {
            NONE => self.oldest = block.0,
            newest => self.nodes[newest as usize].newer = block.0,
        }
        self.newest = block.0;
        self.len += 1;
    }

    fn evict(&mut self, mut may: impl FnMut(Block) -> bool) -> Option<Block> {
        // In the first round every mark is taken away; who is not let go in the second may not go.
        for _ in 0..2 * self.len {
            if self.hand == NONE {
                self.hand = self.oldest;
            }
            let at = self.hand;
            let node = &mut self.nodes[at as usize];
            if node.visited {
                node.visited = false;
            } else if may(Block(at)) {
                self.unlink(at);
                return Some(Block(at));
            }
            self.hand = self.nodes[at as usize].newer;
        }
        None
    }

    fn release(&mut self, _block: Block) {}
}
