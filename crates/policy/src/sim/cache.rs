//! The cache: which blocks are in it, and which of them may go.
//!
//! A block comes in only behind its parent and goes only when nothing leans on it, so what is cached of a chain is always a
//! prefix of it and there are no orphans. A pin keeps a block, and with it all blocks before it.

use crate::{Block, Policy, Use};

const NOTHING: u32 = u32::MAX;

/// See the top of this file.
#[derive(Debug)]
pub(super) struct Cache<P> {
    policy: P,
    capacity: usize,
    len: usize,
    cached: Vec<bool>,
    /// The block that each cached one leans on.
    parent: Vec<u32>,
    /// How many cached blocks lean on each.
    children: Vec<u32>,
    pins: Vec<u32>,
}

impl<P: Policy> Cache<P> {
    pub(super) fn new(capacity: usize, blocks: usize) -> Cache<P> {
        Cache {
            policy: P::new(capacity, blocks),
            capacity,
            len: 0,
            cached: vec![false; blocks],
            parent: vec![NOTHING; blocks],
            children: vec![0; blocks],
            pins: vec![0; blocks],
        }
    }

    /// How many blocks of this chain are cached, from its beginning.
    pub(super) fn prefix(&self, chain: &[Block]) -> usize {
        chain
            .iter()
            .take_while(|block| self.cached[block.index()])
            .count()
    }

    /// Tells the policy that a block was used.
    pub(super) fn hit(&mut self, block: Block, used: &Use) {
        self.policy.hit(block, used);
    }

    pub(super) fn pin(&mut self, block: Block) {
        self.pins[block.index()] += 1;
    }

    pub(super) fn unpin(&mut self, block: Block) {
        self.pins[block.index()] -= 1;
        self.let_go(block);
    }

    /// Tells the policy if nothing keeps this block any more.
    fn let_go(&mut self, block: Block) {
        let at = block.index();
        if self.cached[at] && self.children[at] == 0 && self.pins[at] == 0 {
            self.policy.release(block);
        }
    }

    /// Makes room for so many blocks, and returns for how many there is: fewer if too few may go.
    pub(super) fn make_room(&mut self, wanted: usize) -> usize {
        let mut room = self.capacity - self.len;
        while room < wanted {
            let (children, pins) = (&self.children, &self.pins);
            let free = |block: Block| {
                let at = block.index();
                children[at] == 0 && pins[at] == 0
            };
            let Some(gone) = self.policy.evict(free) else {
                break;
            };
            let at = gone.index();
            self.cached[at] = false;
            let parent = std::mem::replace(&mut self.parent[at], NOTHING);
            if parent != NOTHING {
                self.children[parent as usize] -= 1;
                self.let_go(Block(parent));
            }
            self.len -= 1;
            room += 1;
        }
        room.min(wanted)
    }

    /// Puts a block in that is not there, behind its parent, where there is room.
    pub(super) fn insert(&mut self, block: Block, parent: Option<Block>, used: &Use) {
        let at = block.index();
        debug_assert!(!self.cached[at] && self.len < self.capacity);
        self.cached[at] = true;
        if let Some(parent) = parent {
            self.parent[at] = parent.0;
            self.children[parent.index()] += 1;
        }
        self.len += 1;
        self.policy.insert(block, used);
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first thing that is wrong, counted anew from nothing but which blocks are cached.
    pub(super) fn audit(&self) -> Option<String> {
        let count = self.cached.iter().filter(|cached| **cached).count();
        if count != self.len || count > self.capacity {
            return Some(format!(
                "{count} blocks are cached, {} are counted and {} fit",
                self.len, self.capacity
            ));
        }
        let mut children = vec![0; self.children.len()];
        for (at, cached) in self.cached.iter().enumerate() {
            let parent = self.parent[at];
            if *cached && parent != NOTHING {
                children[parent as usize] += 1;
                if !self.cached[parent as usize] {
                    return Some(format!("block {at} is cached without its parent {parent}"));
                }
            }
            if self.pins[at] > 0 && !cached {
                return Some(format!("block {at} went while it was in use"));
            }
        }
        (children != self.children).then(|| "children are counted wrongly".to_owned())
    }
}
