//! One call of a client after the other takes memory.
//!
//! A staged write takes its block of staging memory when it is called, a staged read when it has the answer to its query. Which of two
//! calls comes first would be the business of the client's threads; on the stage it is the order of the timeline. So a call that takes
//! memory is seen to have taken it before another one can: it asks the master then, begins its transfer, or is over.

use super::calls::is_aside;
use super::standing::POLLING_READS;
use super::{LIMIT, MasterSide, Operation, RealClients};
use moonquake_client::LANES;
use moonquake_clock::MonotonicNs;
use moonquake_protocol::Request;
use moonquake_scenario::Verb;
use moonquake_stage::{PortError, PortResult};
use std::time::Instant;

/// What a client was seen to do by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signs {
    /// Its requests and headers of transfers that wait to be taken.
    waiting: usize,
    /// How often it has looked at a clock.
    reads: u64,
    /// When its next timer fires.
    timer: Option<MonotonicNs>,
}

impl<M: MasterSide> RealClients<M> {
    /// What a client does, before something that makes one of its calls take memory.
    pub(super) fn signs(&self, actor: &str) -> Option<Signs> {
        let client = self.clients.get(actor).filter(|client| !client.frozen)?;
        let asks = |request: &Request| !is_aside(request) && !matches!(request, Request::Ping { .. });
        let requests = client
            .link
            .pending()
            .iter()
            .filter(|(_, request)| asks(request))
            .count();
        let relays = self
            .transfers
            .relays
            .iter()
            .filter(|((other, _), _)| other == actor);
        let headers: usize = relays.map(|(_, relay)| relay.pending().len()).sum();
        let served = client.page.clocks_served();
        Some(Signs {
            waiting: requests + headers,
            reads: served.realtime.reads + served.monotonic.reads,
            timer: client.page.timers().first().copied(),
        })
    }

    /// The operation that an answer makes take memory: a read that is staged.
    pub(super) fn takes_at_answer(&self, message: u64) -> Option<u64> {
        let id = self.sessions.asked_by(message)?;
        let operation = self.operations.get(&id)?;
        let staged = operation.ticket.is_some() && operation.buffer.is_none();
        (staged && matches!(operation.verb, Verb::Get | Verb::BatchGet)).then_some(id)
    }

    /// Waits until a call is seen to have taken its memory, or to be over. If it gets no connection no header comes: it looks at the
    /// clock again and again then, unless another call that waits for its bytes hides that. What was never seen is no error here: a call
    /// that has taken other memory than was predicted is found out by its transfer.
    pub(super) fn await_taken(&mut self, id: u64, before: Option<Signs>) -> PortResult<()> {
        let Some((before, operation)) = before.zip(self.operations.get(&id)) else {
            return Ok(());
        };
        let actor = operation.actor.clone();
        let waits = |operation: &Operation| operation.moves && !operation.over && operation.actor == actor;
        let alone = !self.operations.values().any(waits) || self.transfers.of(&actor).len() >= LANES;
        // Nobody answers for an owner that stands still.
        if self.clients.values().any(|client| client.frozen) {
            return Ok(());
        }
        let until = Instant::now() + LIMIT;
        loop {
            let Some(now) = self.signs(&actor) else {
                return Ok(());
            };
            let polls = alone && now.reads >= before.reads + POLLING_READS;
            // A call that finds no master waits on a timer before it tries again.
            let set = now
                .timer
                .is_some_and(|at| before.timer.is_none_or(|before| at < before));
            if now.waiting > before.waiting || polls || set {
                return Ok(());
            }
            let (Some(client), Some(operation)) = (self.clients.get(&actor), self.operations.get_mut(&id))
            else {
                return Ok(());
            };
            let Some(ticket) = operation.ticket.as_ref().filter(|_| operation.reply.is_none()) else {
                return Ok(());
            };
            operation.reply = client.agent.try_wait(ticket).map_err(PortError::new)?;
            if Instant::now() >= until {
                return Ok(());
            }
            std::thread::yield_now();
        }
    }
}
