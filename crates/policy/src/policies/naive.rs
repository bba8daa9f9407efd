//! The policies once more, as slow and plain as they can be said: what the fast ones are compared with.

use super::sketch::Sketch;
use super::{Block, Policy, Use};

/// A list, oldest first, and whether a use moves a block to its end.
pub(super) struct Listed<const MOVES: bool> {
    list: Vec<Block>,
}

impl<const MOVES: bool> Policy for Listed<MOVES> {
    const NAME: &'static str = "naive list";

    fn new(_capacity: usize, _blocks: usize) -> Self {
        Self { list: Vec::new() }
    }

    fn hit(&mut self, block: Block, used: &Use) {
        if MOVES {
            self.list.retain(|other| *other != block);
            self.insert(block, used);
        }
    }

    fn insert(&mut self, block: Block, _used: &Use) {
        self.list.push(block);
    }

    fn evict(&mut self, may: impl FnMut(Block) -> bool) -> Option<Block> {
        first(&mut self.list, may)
    }

    fn release(&mut self, _block: Block) {}
}

fn first(list: &mut Vec<Block>, mut may: impl FnMut(Block) -> bool) -> Option<Block> {
    let place = list.iter().position(|block| may(*block))?;
    Some(list.remove(place))
}

/// A list, oldest first, with marks, and the place of the hand.
pub(super) struct Sieve {
    list: Vec<(Block, bool)>,
    hand: usize,
}

impl Policy for Sieve {
    const NAME: &'static str = "naive sieve";

    fn new(_capacity: usize, _blocks: usize) -> Self {
        Self {
            list: Vec::new(),
            hand: 0,
        }
    }

    fn hit(&mut self, block: Block, _used: &Use) {
        for entry in &mut self.list {
            entry.1 |= entry.0 == block;
        }
    }

    fn insert(&mut self, block: Block, _used: &Use) {
        // A hand that ran off the new end starts again at the old one, even if a block came in since.
        if self.hand >= self.list.len() {
            self.hand = 0;
        }
        self.list.push((block, false));
    }

    fn evict(&mut self, mut may: impl FnMut(Block) -> bool) -> Option<Block> {
        for _ in 0..2 * self.list.len() {
            self.hand %= self.list.len();
            let (block, marked) = self.list[self.hand];
            if !marked && may(block) {
                self.list.remove(self.hand);
                return Some(block);
            }
            self.list[self.hand].1 = false;
            self.hand += 1;
        }
        None
    }

    fn release(&mut self, _block: Block) {}
}

/// Each block with its uses, its worth and its last use.
pub(super) struct TimeSaved {
    list: Vec<(Block, u128, u64, u64)>,
    age: u64,
}

impl Policy for TimeSaved {
    const NAME: &'static str = "naive time-saved";

    fn new(_capacity: usize, _blocks: usize) -> Self {
        Self {
            list: Vec::new(),
            age: 0,
        }
    }

    fn hit(&mut self, block: Block, used: &Use) {
        let entry = self.list.iter_mut().find(|entry| entry.0 == block).unwrap();
        entry.1 += 1;
        let worth = entry.1 * u128::from(used.saved_ns) * (1 << 20) / u128::from(used.bytes);
        let worth = u64::try_from(worth).unwrap_or(u64::MAX);
        entry.2 = self.age.saturating_add(worth);
        entry.3 = used.seq;
    }

    fn insert(&mut self, block: Block, used: &Use) {
        self.list.push((block, 0, 0, 0));
        self.hit(block, used);
    }

    fn evict(&mut self, mut may: impl FnMut(Block) -> bool) -> Option<Block> {
        let allowed = self.list.iter().filter(|entry| may(entry.0));
        let &(block, _, worth, _) = allowed.min_by_key(|entry| (entry.2, entry.3))?;
        self.list.retain(|entry| entry.0 != block);
        self.age = self.age.max(worth);
        Some(block)
    }

    fn release(&mut self, _block: Block) {}
}

/// Three lists, oldest first.
pub(super) struct TinyLfu {
    window: Vec<Block>,
    probation: Vec<Block>,
    protected: Vec<Block>,
    most_in_window: usize,
    most_in_protected: usize,
    sketch: Sketch,
}

impl Policy for TinyLfu {
    const NAME: &'static str = "naive tinylfu";

    fn new(capacity: usize, blocks: usize) -> Self {
        let window = (capacity / 100).max(1);
        Self {
            window: Vec::new(),
            probation: Vec::new(),
            protected: Vec::new(),
            most_in_window: window,
            most_in_protected: (capacity - window) * 4 / 5,
            sketch: Sketch::new(capacity.min(blocks)),
        }
    }

    fn hit(&mut self, block: Block, _used: &Use) {
        self.sketch.count(block);
        if first(&mut self.window, |other| other == block).is_some() {
            self.window.push(block);
        } else {
            first(&mut self.probation, |other| other == block);
            first(&mut self.protected, |other| other == block);
            self.protected.push(block);
            if self.protected.len() > self.most_in_protected {
                self.probation.push(self.protected.remove(0));
            }
        }
    }

    fn insert(&mut self, block: Block, _used: &Use) {
        self.sketch.count(block);
        self.window.push(block);
        if self.window.len() > self.most_in_window {
            self.probation.push(self.window.remove(0));
        }
    }

    fn evict(&mut self, mut may: impl FnMut(Block) -> bool) -> Option<Block> {
        while self.window.first().is_some_and(|block| !may(*block)) {
            self.probation.push(self.window.remove(0));
        }
        while !self.probation.iter().any(|block| may(*block)) && !self.protected.is_empty() {
            self.probation.push(self.protected.remove(0));
        }
        let candidate = self.window.first().copied();
        let victim = self.probation.iter().copied().find(|block| may(*block));
        match (candidate, victim) {
            (Some(candidate), Some(victim))
                if self.sketch.estimate(candidate) > self.sketch.estimate(victim) =>
            {
                self.probation.push(self.window.remove(0));
                first(&mut self.probation, |block| block == victim)
            }
            (Some(_), _) => Some(self.window.remove(0)),
            (None, _) => first(&mut self.probation, may),
        }
    }

    fn release(&mut self, _block: Block) {}
}
