//! Requests that wait for a server.

use super::config::Queue;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// In the order in which servers take them.
#[derive(Debug)]
pub(super) struct Ready {
    queue: Queue,
    order: u32,
    heap: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

impl Ready {
    pub(super) fn new(queue: Queue) -> Ready {
        Ready {
            queue,
            order: 0,
            heap: BinaryHeap::new(),
        }
    }

    /// Adds a request that will compute for `compute_ns` and has its SLO at `due_ns`.
    pub(super) fn push(&mut self, request: u32, compute_ns: u64, due_ns: u64) {
        let rank = match self.queue {
            Queue::Fifo => 0,
            Queue::Shortest => compute_ns,
            Queue::Deadline => due_ns,
        };
        self.heap.push(Reverse((rank, self.order, request)));
        self.order += 1;
    }

    pub(super) fn pop(&mut self) -> Option<u32> {
        self.heap.pop().map(|Reverse((_, _, request))| request)
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }
}
