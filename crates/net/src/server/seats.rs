//! All connections of the server, as others see them.

use super::lock;
use super::standing::{Over, Standing};
use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::Thread;

/// What a connection has while it may answer.
pub(super) type Turn<'a> = MutexGuard<'a, ()>;

/// One connection: its socket, and whether its thread is at work.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) stream: TcpStream,
    turn: Mutex<()>,
}

impl Seat {
    pub(super) fn new(stream: TcpStream) -> Seat {
        Seat {
            stream,
            turn: Mutex::new(()),
        }
    }

    /// A turn, when the server is not frozen. While somebody has one, nobody can be sure that the server stands still.
    pub(super) fn turn(&self, standing: &Standing) -> Result<Turn<'_>, Over> {
        loop {
            let turn = lock(&self.turn);
            if !standing.is_special() {
                return Ok(turn);
            }
            drop(turn);
            standing.wait()?;
        }
    }
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Seats(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    is_closed: bool,
    next: u64,
    seats: BTreeMap<u64, (Arc<Seat>, Thread)>,
}

impl Seats {
    /// Seats a thread, unless the server ends; its number is what it leaves with.
    pub(super) fn take(&self, seat: &Arc<Seat>, thread: Thread) -> Option<u64> {
        let mut taken = lock(&self.0);
        if taken.is_closed {
            return None;
        }
        let number = taken.next;
        taken.next += 1;
        taken.seats.insert(number, (seat.clone(), thread));
        Some(number)
    }

    pub(super) fn leave(&self, number: u64) {
        lock(&self.0).seats.remove(&number);
    }

    /// Returns when every turn that had begun is over.
    pub(super) fn wait_for_turns(&self) {
        let seats: Vec<Arc<Seat>> = lock(&self.0)
            .seats
            .values()
            .map(|(seat, _)| seat.clone())
            .collect();
        for seat in seats {
            drop(lock(&seat.turn));
        }
    }

    /// Wakes everybody, wherever they wait, to find that the server ends; nobody new gets a seat.
    pub(super) fn close(&self) {
        let mut taken = lock(&self.0);
        taken.is_closed = true;
        for (seat, thread) in taken.seats.values() {
            // Fails for a connection that has ended by itself.
            let _ = seat.stream.shutdown(Shutdown::Both);
            thread.unpark();
        }
    }
}
