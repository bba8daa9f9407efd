//! The link: what moves when, exactly.
//!
//! Work is counted in units of a byte times a nanosecond per second: a transfer of `b` bytes needs `b * 10^9` of them, and a
//! link of `w` bytes per second does `w` in each nanosecond. So nothing is rounded but the instant at which an end can be
//! told, the first whole nanosecond by which the work is done; what the link did beyond that goes to the next transfer.

use super::config::{Discipline, SECOND_NS};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A transfer on the link.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Whose it is.
    key: u32,
    live: bool,
    /// All its work.
    units: u128,
    /// The level at which it is done.
    target: u128,
}

/// A transfer, for its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u32);

/// See the top of this file.
#[derive(Debug)]
pub(super) struct Link {
    discipline: Discipline,
    bandwidth: u128,
    now_ns: u64,
    /// Shared: the work that a transfer got which was there from the beginning. FIFO: all work, with what was given up.
    level: u128,
    /// Work done that nobody got yet: less than one unit for each transfer, or more than one just finished needed.
    credit: u128,
    /// FIFO: the target of the last one.
    tail: u128,
    live: u128,
    /// All work of the live ones.
    live_units: u128,
    order: u64,
    slots: Vec<Slot>,
    free: Vec<u32>,
    heap: BinaryHeap<Reverse<(u128, u64, u32)>>,
    busy_ns: u64,
    moved: u128,
}

impl Link {
    pub(super) fn new(discipline: Discipline, bandwidth_bytes_per_s: u64) -> Link {
        Link {
            discipline,
            bandwidth: u128::from(bandwidth_bytes_per_s),
            now_ns: 0,
            level: 0,
            credit: 0,
            tail: 0,
            live: 0,
            live_units: 0,
            order: 0,
            slots: Vec::new(),
            free: Vec::new(),
            heap: BinaryHeap::new(),
            busy_ns: 0,
            moved: 0,
        }
    }

    /// The instant until which it worked.
    #[cfg(test)]
    pub(super) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Time during which something moved.
    pub(super) fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// Work of the transfers that ended, and of those given up what was done.
    pub(super) fn moved_units(&self) -> u128 {
        self.moved
    }

    /// Transfers that are on the link.
    pub(super) fn len(&self) -> u128 {
        self.live
    }

    /// How many are served at once.
    fn served(&self) -> u128 {
        match self.discipline {
            Discipline::Fifo => self.live.min(1),
            Discipline::Shared => self.live,
        }
    }

    /// Lets the link work until `now_ns`. Call [`Link::finished`] at [`Link::next_ns`] at the latest.
    pub(super) fn advance(&mut self, now_ns: u64) {
        let passed = now_ns - self.now_ns;
        self.now_ns = now_ns;
        if self.live > 0 && passed > 0 {
            self.busy_ns += passed;
            self.credit += u128::from(passed) * self.bandwidth;
            self.share();
        }
    }

    fn share(&mut self) {
        let served = self.served();
        if let Some(each) = self.credit.checked_div(served) {
            self.level += each;
            self.credit -= each * served;
        }
    }

    /// Puts a transfer on the link.
    pub(super) fn submit(&mut self, key: u32, bytes: u64) -> Ticket {
        let units = u128::from(bytes) * u128::from(SECOND_NS);
        let target = match self.discipline {
            Discipline::Shared => self.level + units,
            Discipline::Fifo if self.live == 0 => self.level + units,
            Discipline::Fifo => self.tail + units,
        };
        self.tail = target;
        self.live += 1;
        self.live_units += units;
        self.order += 1;
        let slot = Slot {
            key,
            live: true,
            units,
            target,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        self.heap.push(Reverse((target, self.order, at)));
        Ticket(at)
    }

    /// When the next transfer ends, if nothing else happens until then.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let Reverse((target, _, _)) = self.heap.peek()?;
        let needs = (target.saturating_sub(self.level) * self.served()).saturating_sub(self.credit);
        Some(self.now_ns + needs.div_ceil(self.bandwidth) as u64)
    }

    /// A transfer that is done by now: whose it is.
    pub(super) fn finished(&mut self) -> Option<u32> {
        loop {
            let &Reverse((target, _, at)) = self.heap.peek()?;
            if target <= self.level {
                let slot = self.slots[at as usize];
                self.heap.pop();
                self.slots[at as usize].live = false;
                self.free.push(at);
                self.leave(slot.units, slot.units);
                if self.discipline == Discipline::Shared {
                    self.credit += self.level - target;
                }
                self.settle();
                return Some(slot.key);
            }
            if self.credit < self.served() {
                return None;
            }
            self.share();
        }
    }

    /// Gives a transfer up that is not done: how many whole bytes of it had moved.
    pub(super) fn abandon(&mut self, ticket: Ticket) -> u64 {
        let slot = self.slots[ticket.0 as usize];
        let done = (self.level + slot.units).saturating_sub(slot.target);
        self.slots[ticket.0 as usize].live = false;
        let first = matches!(self.heap.peek(), Some(Reverse((_, _, at))) if *at == ticket.0);
        if self.discipline == Discipline::Fifo && first {
            // As if it had been done: those behind it have their targets from there. `settle` adds all its work again.
            self.level -= done;
        }
        self.leave(slot.units, done);
        self.settle();
        (done / u128::from(SECOND_NS)) as u64
    }

    fn leave(&mut self, units: u128, done: u128) {
        self.live -= 1;
        self.live_units -= units;
        self.moved += done;
    }

    /// Takes away what was given up and has come to the front, so that the front is always live.
    fn settle(&mut self) {
        while let Some(&Reverse((_, _, at))) = self.heap.peek() {
            let slot = self.slots[at as usize];
            if slot.live {
                break;
            }
            self.heap.pop();
            self.free.push(at);
            if self.discipline == Discipline::Fifo {
                self.level += slot.units;
            }
        }
        if self.live == 0 {
            // An idle link saves nothing up.
            self.credit = 0;
            self.level = self.level.max(self.tail);
        }
    }

    /// In how many nanoseconds `bytes` would have moved if they were asked for now and nothing came after them.
    pub(super) fn expected_ns(&self, bytes: u64) -> u128 {
        let units = u128::from(bytes) * u128::from(SECOND_NS);
        let before = match self.discipline {
            Discipline::Fifo => self.live_units - self.front_done(),
            Discipline::Shared => self
                .slots
                .iter()
                .filter(|slot| slot.live && slot.target > self.level)
                .map(|slot| (slot.target - self.level).min(units))
                .sum(),
        };
        (before + units)
            .saturating_sub(self.credit)
            .div_ceil(self.bandwidth)
    }

    /// FIFO: what was done of the transfer in front.
    fn front_done(&self) -> u128 {
        self.heap.peek().map_or(0, |Reverse((_, _, at))| {
            let slot = &self.slots[*at as usize];
            (self.level + slot.units).saturating_sub(slot.target)
        })
    }
}
