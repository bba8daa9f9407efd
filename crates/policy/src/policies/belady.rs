//! Belady's MIN: the bound.

use super::{Block, NEVER, Policy, Use};
use std::collections::BinaryHeap;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Out,
    In,
    /// In, refused, and not released since.
    Parked,
}

/// The block whose next use is farthest away goes, one that is never used again before all others. Among those the last one
/// to be used or released goes first.
///
/// Every block is let in, so that it can be compared with policies that cannot turn one away.
pub struct Belady {
    next: Vec<u64>,
    state: Vec<State>,
    /// By next use, farthest first. An entry whose number is no longer its block's is stale.
    later: BinaryHeap<(u64, u32)>,
    /// Those that are never used again, the last used at the end.
    never: Vec<u32>,
    len: usize,
}

impl Belady {
    fn offer(&mut self, block: Block) {
        let next = self.next[block.index()];
        if next == NEVER {
            self.never.push(block.0);
            return;
        }
        // Each hit leaves a stale entry behind, nearer than all live ones: only this clears them.
        if self.later.len() > 64 + 2 * self.len {
            let (known, state) = (&self.next, &self.state);
            self.later
                .retain(|&(next, at)| known[at as usize] == next && state[at as usize] == State::In);
        }
        self.later.push((next, block.0));
    }
}

impl Policy for Belady {
    const NAME: &'static str = "belady";

    const LOOKS_AHEAD: bool = true;

    fn new(_capacity: usize, blocks: usize) -> Belady {
        Belady {
            next: vec![NEVER; blocks],
            state: vec![State::Out; blocks],
            later: BinaryHeap::new(),
            never: Vec::new(),
            len: 0,
        }
    }

    fn hit(&mut self, block: Block, used: &Use) {
        let known = std::mem::replace(&mut self.next[block.index()], used.next);
        if known == used.next && self.state[block.index()] == State::In {
            return;
        }
        self.state[block.index()] = State::In;
        self.offer(block);
    }

    fn insert(&mut self, block: Block, used: &Use) {
        self.len += 1;
        self.hit(block, used);
    }

    fn evict(&mut self, mut may: impl FnMut(Block) -> bool) -> Option<Block> {
        loop {
            let (next, at) = match self.never.pop() {
                Some(at) => (NEVER, at),
                None => self.later.pop()?,
            };
            let block = Block(at);
            if self.state[block.index()] != State::In || self.next[block.index()] != next {
                continue;
            }
            if may(block) {
                self.state[block.index()] = State::Out;
                self.len -= 1;
                return Some(block);
            }
            self.state[block.index()] = State::Parked;
        }
    }

    fn release(&mut self, block: Block) {
        if self.state.get(block.index()) == Some(&State::Parked) {
            self.state[block.index()] = State::In;
            self.offer(block);
        }
    }
}
