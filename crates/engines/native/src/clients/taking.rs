//! One call of a client after the other.
//!
//! Two calls that begin at one instant are begun by two threads of the client, and which of them comes first would be their business; on
//! the stage it is the order of the timeline. So a call is seen to have begun before the next one of its client is made.
//!
//! A staged write takes its block of staging memory when it is called, a staged read when it has the answer to its query. Which of two
//! calls comes first would be the business of the client's threads; on the stage it is the order of the timeline. So a call that takes
//! memory is seen to have taken it before another one can: it asks the master then, begins its transfer, or is over.

use super::calls::is_aside;
use super::standing::POLLING_READS;
use super::{LIMIT, MasterSide, Operation, RealClients};
use crate::agent::AgentError;
use moonquake_client::LANES;
use moonquake_clock::MonotonicNs;
use moonquake_net::foreign::{ForeignMessage, RelayTransfer};
use moonquake_protocol::Request;
use moonquake_scenario::Verb;
use moonquake_stage::{PortError, PortResult};
use std::collections::BTreeMap;
use std::time::Instant;

/// What a client was seen to do by then.
#[derive(Clone, Debug)]
pub(super) struct Signs {
    /// The last of its requests that wait to be taken.
    request: Option<ForeignMessage>,
    /// The last of its headers of transfers that wait to be taken, at each owner.
    headers: BTreeMap<String, RelayTransfer>,
    /// How often it has looked at a clock.
    reads: u64,
    /// When its next timer fires.
    timer: Option<MonotonicNs>,
}

impl Signs {
    /// Whether a request or a header has come since.
    fn is_later_than(&self, before: &Signs) -> bool {
        let mut headers = self.headers.iter();
        self.request > before.request || headers.any(|(owner, last)| before.headers.get(owner) < Some(last))
    }
}

impl<M: MasterSide> RealClients<M> {
    /// What a client does, before something that makes one of its calls take memory.
    pub(super) fn signs(&self, actor: &str) -> Option<Signs> {
        let client = self.clients.get(actor).filter(|client| !client.frozen)?;
        let asks = |request: &Request| !is_aside(request) && !matches!(request, Request::Ping { .. });
        let pending = client.link.pending();
        let requests = pending.iter().filter(|(_, request)| asks(request));
        let relays = &self.transfers.relays;
        let headers = relays
            .iter()
            .filter(|((other, _), _)| other == actor)
            .filter_map(|((_, owner), relay)| Some((owner.clone(), relay.pending().last()?.0)));
        let served = client.page.clocks_served();
        Some(Signs {
            request: requests.map(|(message, _)| *message).max(),
            headers: headers.collect(),
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

    /// Waits until every call of a client that has begun is seen to have, or to be over.
    pub(super) fn await_calls(&mut self, actor: &str) -> PortResult<()> {
        let mine = self
            .operations
            .iter_mut()
            .filter(|(_, operation)| operation.actor == actor);
        let unseen = mine.filter_map(|(id, operation)| Some((*id, operation.before.take()?)));
        for (id, before) in unseen.collect::<Vec<_>>() {
            self.await_taken(id, Some(before))?;
        }
        Ok(())
    }

    /// Waits until a call is seen to have taken its memory, or to be over. If it gets no connection no header comes: it looks at the
    /// clock again and again then, unless another call that waits for its bytes hides that. What was never seen is no error here: a call
    /// that has taken other memory than was predicted is found out by its transfer.
    pub(super) fn await_taken(&mut self, id: u64, before: Option<Signs>) -> PortResult<()> {
        let Some((before, operation)) = before.zip(self.operations.get(&id)) else {
            return Ok(());
        };
        if operation.over {
            return Ok(());
        }
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
            if now.is_later_than(&before) || polls || set {
                return Ok(());
            }
            let (Some(client), Some(operation)) = (self.clients.get(&actor), self.operations.get_mut(&id))
            else {
                return Ok(());
            };
            let Some(ticket) = operation.ticket.as_ref().filter(|_| operation.reply.is_none()) else {
                return Ok(());
            };
            match client.agent.try_wait(ticket) {
                Ok(reply) => operation.reply = reply,
                // Whoever waits for it is told.
                Err(AgentError::Gone { .. }) => return Ok(()),
                Err(problem) => return Err(PortError::new(problem)),
            }
            if Instant::now() >= until {
                return Ok(());
            }
            std::thread::yield_now();
        }
    }
}
