//! Transfers that an operation waits for together: all beside each other, or one after the other.

use crate::operations::Running;
use crate::ports::Ports;
use crate::state::{Stage, Staged};
use moonquake_client::{Happened, Move, MoveFailure, Moved};
use moonquake_clock::{Clocks, Span};
use std::collections::BTreeMap;

/// The transfers that an operation waits for, in the order in which it wanted them.
#[derive(Debug, Default)]
pub(crate) struct Wave {
    /// How each ended.
    ended: Vec<Option<Moved>>,
    /// The place of each that was submitted.
    places: BTreeMap<u64, usize>,
    /// How many have not ended.
    open: usize,
    /// The client's clocks when it was submitted as a whole; none if each is submitted by itself.
    began_at: Option<Clocks>,
}

impl Wave {
    /// One more: under way under that number, or over already.
    fn add(&mut self, transfer: Option<u64>, ended: Option<Moved>) {
        if let Some(id) = transfer {
            self.places.insert(id, self.ended.len());
        }
        self.open += usize::from(ended.is_none());
        self.ended.push(ended);
    }

    /// One ended. False if it is none of them.
    fn end(&mut self, transfer: u64, moved: Moved) -> bool {
        let Some(place) = self.places.get(&transfer) else {
            return false;
        };
        if self.ended[*place].replace(moved).is_none() {
            self.open -= 1;
        }
        true
    }

    /// How all ended, which is told once; none while one has not.
    fn take(&mut self) -> Option<Vec<Moved>> {
        let is_over = self.open == 0;
        is_over.then(|| std::mem::take(self).ended.into_iter().flatten().collect())
    }
}

impl<P: Ports> Stage<'_, P> {
    /// Notes where in the buffer of an operation lies what a wave brings.
    fn make_ready(&mut self, id: u64, wanted: &[Move]) {
        if let Some(buffer) = self.running.get(&id).map(|running| running.buffer.clone()) {
            self.buffers.lay_out(&buffer, wanted);
        }
    }

    /// Submits the transfers of a batch before any of them moves.
    pub(crate) fn submit_all(&mut self, id: u64, wanted: &[Move]) -> Staged<()> {
        self.make_ready(id, wanted);
        for wanted in wanted {
            self.go_on()?;
            self.submit_one(id, wanted)?;
        }
        self.wave_over(id)
    }

    /// Submits one of several transfers. One that goes nowhere is over at once.
    fn submit_one(&mut self, id: u64, wanted: &Move) -> Staged<bool> {
        let transfer = self.submit(id, wanted)?;
        let Some(actor) = self.running.get(&id).map(|running| running.actor.clone()) else {
            return Ok(false);
        };
        let now = self.clocks(&actor);
        if let Some(running) = self.running.get_mut(&id) {
            let ended = transfer.err().map(|failure| Moved {
                result: Err(failure),
                at: match failure {
                    // That was known before the first of them moved.
                    MoveFailure::Unopened => running.wave.began_at.unwrap_or(now),
                    MoveFailure::Limit | MoveFailure::Closed => now,
                },
            });
            running.wave.add(transfer.ok(), ended);
        }
        Ok(transfer.is_ok())
    }

    /// Begins transfers of which each is submitted when the one before it is over. Their owners are met before the first of them
    /// moves.
    pub(crate) fn begin_sequence(
        &mut self,
        id: u64,
        moves: Vec<Move>,
        look_after: Option<Span>,
    ) -> Staged<()> {
        self.make_ready(id, &moves);
        let Some(actor) = self.running.get(&id).map(|running| running.actor.clone()) else {
            return Ok(());
        };
        let now = self.clocks(&actor);
        for wanted in moves.iter().filter(|wanted| !wanted.local) {
            if let Some(range) = self.range_of(&wanted.replica) {
                self.meet(&(actor.clone(), range.segment));
            }
        }
        if let Some(running) = self.running.get_mut(&id) {
            running.queue = moves.into();
            running.wave.began_at = Some(now);
        }
        self.look_after(id, look_after);
        self.go_on_with(id)
    }

    /// The next transfer of a sequence, or the end of the wave.
    fn go_on_with(&mut self, id: u64) -> Staged<()> {
        let next = |stage: &mut Self| stage.running.get_mut(&id)?.queue.pop_front();
        while let Some(wanted) = next(self) {
            if self.submit_one(id, &wanted)? {
                return Ok(());
            }
        }
        self.wave_over(id)
    }

    /// When an operation wants to be told that it still waits.
    pub(crate) fn look_after(&mut self, id: u64, length: Option<Span>) {
        let until = length.map(|length| self.now + length);
        if let Some(running) = self.running.get_mut(&id) {
            running.wakes_at = until;
        }
    }

    /// A transfer of an operation ended or was given up.
    pub(crate) fn moved(&mut self, id: u64, transfer: u64, result: Result<(), MoveFailure>) -> Staged<()> {
        let Some(actor) = self.running.get(&id).map(|running| running.actor.clone()) else {
            return Ok(());
        };
        let at = self.clocks(&actor);
        let Some(running) = self.running.get_mut(&id) else {
            return Ok(());
        };
        if running.wave.end(transfer, Moved { result, at }) {
            self.go_on_with(id)
        } else {
            self.tell(id, Happened::Moved(result))
        }
    }

    /// Tells an operation of its transfers once the last one is over. One that is busy with a call hears of it when it waits
    /// for them again.
    pub(crate) fn wave_over(&mut self, id: u64) -> Staged<()> {
        let Some(running) = self.running.get_mut(&id) else {
            return Ok(());
        };
        if is_busy(running) || !running.queue.is_empty() {
            return Ok(());
        }
        match running.wave.take() {
            Some(all) => {
                running.wakes_at = None;
                self.tell(id, Happened::MovedAll(all))
            }
            None => Ok(()),
        }
    }
}

/// Whether an operation does something else than to wait for its transfers.
fn is_busy(running: &Running) -> bool {
    running.pending.is_some() || running.call.is_some()
}
