//! W-TinyLFU (Einziger, Friedman, Manes, TOS 2017): frequency admission behind a small window.

use super::queue::Queue;
use super::sketch::Sketch;
use super::{Block, Policy, Use};

/// Blocks of the cache for one of the window; at least one is the window's.
const WINDOW_PART: usize = 100;
/// Blocks of the main part for one that only probation may have.
const PROBATION_PART: usize = 5;

/// Where a block is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Out,
    Window,
    Probation,
    Protected,
}

/// Three LRU queues and a sketch of how often each block was asked for.
///
/// - The **window**, 1 % of the capacity and at least one block: blocks come in here.
/// - The main part is segmented: **probation**, and **protected** with up to 80 % of it. A use on probation moves a block to
///   protected; what that pushes out goes back to probation.
/// - The sketch counts every use and every block that comes in: 4 rows of 4-bit counters, halved all together after ten times
///   as many counts as the cache has blocks (see `sketch.rs`).
///
/// When a block must go, the oldest of the window (the candidate) meets the oldest on probation (the victim). The one with the
/// higher estimate stays, the candidate on probation; a tie goes to the victim. There is no random admission.
///
/// Where not every block may go: a block of the window that may not is admitted without a contest, and the next is the
/// candidate; a victim that may not waits until it is released; when nobody on probation may go, protected blocks are put back
/// to probation, oldest first, until one may.
pub struct TinyLfu {
    parts: Vec<Part>,
    window: Queue,
    probation: Queue,
    protected: Queue,
    in_window: usize,
    in_protected: usize,
    most_in_window: usize,
    most_in_protected: usize,
    sketch: Sketch,
}

impl TinyLfu {
    /// From the window to probation.
    fn admit(&mut self, block: Block) {
        self.window.take(block);
        self.in_window -= 1;
        self.parts[block.index()] = Part::Probation;
        self.probation.push(block);
    }

    fn demote_oldest(&mut self) -> bool {
        let Some(block) = self.protected.take_oldest(|_| true) else {
            return false;
        };
        self.in_protected -= 1;
        self.parts[block.index()] = Part::Probation;
        self.probation.push(block);
        true
    }

    /// The oldest of the window that may go.
    fn candidate(&mut self, may: &mut impl FnMut(Block) -> bool) -> Option<Block> {
        loop {
            let block = self.window.oldest(|_| true)?;
            if may(block) {
                return Some(block);
            }
            self.admit(block);
        }
    }

    /// The oldest of the main part that may go; it is on probation.
    fn victim(&mut self, may: &mut impl FnMut(Block) -> bool) -> Option<Block> {
        loop {
            if let Some(block) = self.probation.oldest(&mut *may) {
                return Some(block);
            }
            if !self.demote_oldest() {
                return None;
            }
        }
    }
}

impl Policy for TinyLfu {
    const NAME: &'static str = "tinylfu";

    fn new(capacity: usize, blocks: usize) -> TinyLfu {
        let window = (capacity / WINDOW_PART).max(1);
        let main = capacity.saturating_sub(window);
        TinyLfu {
            parts: vec![Part::Out; blocks],
            window: Queue::new(blocks),
            probation: Queue::new(blocks),
            protected: Queue::new(blocks),
            in_window: 0,
            in_protected: 0,
            most_in_window: window,
            most_in_protected: main - main.div_ceil(PROBATION_PART),
            sketch: Sketch::new(capacity.min(blocks)),
        }
    }

    fn hit(&mut self, block: Block, _used: &Use) {
        self.sketch.count(block);
        match self.parts[block.index()] {
            Part::Window => self.window.renew(block),
            Part::Protected => self.protected.renew(block),
            Part::Probation => {
                self.probation.take(block);
                self.protected.push(block);
                self.parts[block.index()] = Part::Protected;
                self.in_protected += 1;
                if self.in_protected > self.most_in_protected {
                    self.demote_oldest();
                }
            }
            Part::Out => {}
        }
    }

    fn insert(&mut self, block: Block, _used: &Use) {
        self.sketch.count(block);
        self.parts[block.index()] = Part::Window;
        self.window.push(block);
        self.in_window += 1;
        // While the cache is filled, the main part has room for whom the window has none.
        if self.in_window > self.most_in_window
            && let Some(oldest) = self.window.oldest(|_| true)
        {
            self.admit(oldest);
        }
    }

    fn evict(&mut self, mut may: impl FnMut(Block) -> bool) -> Option<Block> {
        let candidate = self.candidate(&mut may);
        let victim = self.victim(&mut may);
        let gone = match (candidate, victim) {
            (Some(candidate), Some(victim))
                if self.sketch.estimate(candidate) > self.sketch.estimate(victim) =>
            {
                self.admit(candidate);
                victim
            }
            (candidate, victim) => candidate.or(victim)?,
        };
        match self.parts[gone.index()] {
            Part::Window => {
                self.window.take(gone);
                self.in_window -= 1;
            }
            _ => {
                self.probation.take(gone);
            }
        }
        self.parts[gone.index()] = Part::Out;
        Some(gone)
    }

    fn release(&mut self, block: Block) {
        self.probation.free(block);
    }
}
