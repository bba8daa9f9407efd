//! First in, first out.

use super::queue::Queue;
use super::{Block, Policy, Use};

/// The block that came in first goes; uses make no difference.
pub struct Fifo {
    queue: Queue,
}

impl Policy for Fifo {
    const NAME: &'static str = "fifo";

    fn new(_capacity: usize, blocks: usize) -> Fifo {
        Fifo {
            queue: Queue::new(blocks),
        }
    }

    fn hit(&mut self, _block: Block, _used: &Use) {}

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
