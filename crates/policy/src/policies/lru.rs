//! Least recently used.

use super::queue::Queue;
use super::{Block, Policy, Use};

/// The block whose last use is longest ago goes.
pub struct Lru {
    queue: Queue,
}

impl Policy for Lru {
    const NAME: &'static str = "lru";

    fn new(_capacity: usize, blocks: usize) -> Lru {
        Lru {
            queue: Queue::new(blocks),
        }
    }

    fn hit(&mut self, block: Block, _used: &Use) {
        self.queue.renew(block);
    }

    fn insert(&mut self, block: Block, _used: &Use) {
        self.queue.push(block);
    }

    fn evict(&mut self, may: impl FnMut(Block) -> bool) -> Option<Block> {
        self.queue.take_oldest(may)
    }

    fn release(&mut self, block: Block) {
        self.queue.free(block);
    }
}
