//! A client stands before its clocks are set.
//!
//! A thread that waits for a transfer counts from when it begins to wait, and that is a moment after its transfer is seen at the
//! relay. If the clocks went on in between, it would count from the new time, and by chance. So the clocks wait until it is seen to
//! wait: it reads the clock again and again then.
//!
//! And a staged write has copied its value once it asks for a place, so it is waited for before anything else moves: bytes that land in
//! its block at the same instant land behind the copy.

use super::calls::is_aside;
use super::{LIMIT, MasterSide, Operation, RealClient, RealClients};
use moonquake_protocol::Request;
use moonquake_scenario::Verb;
use moonquake_stage::{PortError, PortResult};
use std::time::Instant;

/// So many reads are those of a thread that polls: an operation has no other use for them.
pub(super) const POLLING_READS: u64 = 200;

/// What an operation with a transfer is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pace {
    /// It has moved nothing yet, or it asks the master.
    #[default]
    Asks,
    /// Something has happened to its transfers since it was seen to wait.
    Turns,
    /// It was seen to wait.
    Waits,
}

impl<M: MasterSide> RealClients<M> {
    /// Something has happened to a transfer of an operation.
    pub(super) fn turns(&mut self, operation: Option<u64>) {
        if let Some(operation) = operation.and_then(|id| self.operations.get_mut(&id))
            && operation.pace == Pace::Waits
        {
            operation.pace = Pace::Turns;
        }
    }

    /// A transfer of an operation has begun.
    pub(super) fn moves(&mut self, operation: Option<u64>) {
        if let Some(operation) = operation.and_then(|id| self.operations.get_mut(&id)) {
            operation.moves = true;
            operation.before = None;
            operation.pace = Pace::Turns;
        }
    }

    /// An operation asks the master.
    pub(super) fn asks(&mut self, operation: u64) {
        if let Some(operation) = self.operations.get_mut(&operation) {
            operation.pace = Pace::Asks;
            operation.before = None;
        }
    }

    /// An operation has an answer; if it moves, it goes on waiting for its bytes.
    pub(super) fn heard(&mut self, message: u64) {
        let operation = self.sessions.asked_by(message);
        if let Some(operation) = operation.and_then(|id| self.operations.get_mut(&id))
            && operation.moves
        {
            operation.pace = Pace::Turns;
        }
    }

    /// Waits until each operation of a client that moves bytes is seen to wait for them.
    pub(super) fn await_standing(&mut self, actor: &str) -> PortResult<()> {
        let Some(client) = self.clients.get(actor).filter(|client| !client.frozen) else {
            return Ok(());
        };
        let turning = |operation: &&mut Operation| {
            // A read or write of a session waits without looking at the clock.
            let polls = !matches!(operation.verb, Verb::GetRead | Verb::PutWrite);
            operation.actor == actor && !operation.over && operation.pace == Pace::Turns && polls
        };
        for operation in self.operations.values_mut().filter(turning) {
            await_polling(client, operation)?;
            operation.pace = Pace::Waits;
        }
        Ok(())
    }
}

impl<M: MasterSide> RealClients<M> {
    /// Waits until a staged write that has begun has copied its value: it asks the master then, or is over.
    pub(super) fn await_copied(&mut self, id: u64) -> PortResult<()> {
        let Some(operation) = self.operations.get_mut(&id) else {
            return Ok(());
        };
        let staged = matches!(operation.verb, Verb::Put | Verb::Upsert) && operation.buffer.is_none();
        let client = self.clients.get(&operation.actor);
        let (Some(client), Some(ticket)) = (client.filter(|client| !client.frozen), &operation.ticket) else {
            return Ok(());
        };
        let asks = |request: &Request| {
            let starts = matches!(request, Request::PutStart { .. } | Request::UpsertStart { .. });
            starts && moonquake_stage::key_of(request).as_deref() == Some(&operation.key)
        };
        let until = Instant::now() + LIMIT;
        while staged && !client.link.pending().iter().any(|(_, request)| asks(request)) {
            operation.reply = client.agent.try_wait(ticket).map_err(PortError::new)?;
            if operation.reply.is_some() {
                break;
            }
            if Instant::now() >= until {
                let (actor, verb) = (&operation.actor, operation.verb.name());
                return Err(PortError(format!("{actor} does not begin its {verb}")));
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}

fn await_polling(client: &RealClient, operation: &mut Operation) -> PortResult<()> {
    if operation.is_spoken() {
        return Ok(());
    }
    let reads = || {
        let served = client.page.clocks_served();
        served.realtime.reads + served.monotonic.reads
    };
    let asks = |request: &Request| !is_aside(request) && !matches!(request, Request::Ping { .. });
    let enough = reads() + POLLING_READS;
    let until = Instant::now() + LIMIT;
    while reads() < enough {
        // It may also have gone on: to its result, or to its next request.
        if let Some(ticket) = &operation.ticket {
            operation.reply = client.agent.try_wait(ticket).map_err(PortError::new)?;
        }
        let goes_on = client.link.pending().iter().any(|(_, request)| asks(request));
        if operation.reply.is_some() || goes_on {
            return Ok(());
        }
        if Instant::now() >= until {
            let (actor, verb) = (&operation.actor, operation.verb.name());
            return Err(PortError(format!(
                "{actor} does not wait for the bytes of its {verb}"
            )));
        }
        std::thread::yield_now();
    }
    Ok(())
}
