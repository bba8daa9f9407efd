//! Requests and responses on their way between a client and the master.

use crate::ports::Ports;
use crate::state::{Stage, Staged};
use moonquake_client::{CallPhases, Happened, RpcFailure};
use moonquake_clock::Span;
use moonquake_evidence::Op;
use moonquake_faults::PhaseId;

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The request is on its way to the master.
    Underway,
    /// The master has handled it; the response is on its way back.
    Handled,
}

/// A message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) actor: String,
    pub(crate) op: Option<Op>,
    /// The operation that waits for it; none once the client has given up.
    pub(crate) waiter: Option<u64>,
    pub(crate) phases: CallPhases,
    pub(crate) place: Place,
    pub(crate) held: bool,
    pub(crate) not_before: Span,
    pub(crate) duplicate: bool,
    pub(crate) response_phase_done: bool,
    pub(crate) order: u64,
}

impl<P: Ports> Stage<'_, P> {
    /// Whether a message can make its next step now.
    pub(crate) fn message_ready(&self, message: &Message) -> bool {
        let free = !message.held && message.not_before <= self.now;
        free && match message.place {
            Place::Underway => self.master_up && !self.master_frozen,
            // A response to nobody is ready too: it is found to be undeliverable.
            Place::Handled => self
                .actors
                .get(&message.actor)
                .is_none_or(|actor| !actor.alive || !actor.frozen),
        }
    }

    /// The next step of a message.
    pub(crate) fn move_message(&mut self, id: u64) -> Staged<()> {
        let Some(message) = self.messages.get(&id) else {
            return Ok(());
        };
        match message.place {
            Place::Underway => self.handle_message(id),
            Place::Handled => self.deliver_message(id),
        }
    }

    fn handle_message(&mut self, id: u64) -> Staged<()> {
        let seen = self.ports.handle(id)?;
        self.log_frames(seen)?;
        let order = self.enqueue();
        let Some(message) = self.messages.get_mut(&id) else {
            return Ok(());
        };
        message.place = Place::Handled;
        message.order = order;
        if std::mem::take(&mut message.duplicate) {
            let seen = self.ports.repeat(id)?;
            self.log_frames(seen)?;
        }
        Ok(())
    }

    fn deliver_message(&mut self, id: u64) -> Staged<()> {
        if self.arriving(id)? {
            return Ok(());
        }
        let delivery = self.ports.deliver(id)?;
        self.log_frames(delivery.seen)?;
        let Some(answer) = delivery.answer else {
            return self.fail_message(id, RpcFailure::Failed);
        };
        // It has left the network before anything strikes at this phase.
        let Some(message) = self.messages.remove(&id) else {
            return Ok(());
        };
        if let Some(phase) = message.phases.response {
            self.actor_phase(phase, &message.actor, message.op, Some(id), None)?;
        }
        match message.waiter {
            Some(running) => self.tell(running, Happened::Answered(answer)),
            None => Ok(()),
        }
    }

    /// The phase of an arriving response, as the network sees it. Says whether the response goes no further now.
    fn arriving(&mut self, id: u64) -> Staged<bool> {
        let Some(message) = self.messages.get_mut(&id) else {
            return Ok(true);
        };
        let Some(phase) = message.phases.response else {
            return Ok(false);
        };
        if std::mem::replace(&mut message.response_phase_done, true) {
            return Ok(false);
        }
        let (actor, op) = (message.actor.clone(), message.op);
        self.network_phase(phase, &actor, op, Some(id), None)
    }

    /// Hands an answer to whoever waits for it.
    pub(crate) fn answer(
        &mut self,
        id: u64,
        answer: Result<moonquake_protocol::Response, RpcFailure>,
    ) -> Staged<()> {
        let Some(message) = self.messages.remove(&id) else {
            return Ok(());
        };
        match message.waiter {
            Some(running) => self.tell(running, Happened::Answered(answer)),
            None => Ok(()),
        }
    }

    /// The message is gone; whoever waits for it is told, if it lives.
    pub(crate) fn fail_message(&mut self, id: u64, failure: RpcFailure) -> Staged<()> {
        self.answer(id, Err(failure))
    }

    /// The client gives up on an answer: RPC_TIMEOUT. The message stays in the network without a waiter.
    pub(crate) fn time_out_call(&mut self, running: u64, id: u64) -> Staged<()> {
        if let Some(message) = self.messages.get_mut(&id) {
            message.waiter = None;
            self.ports.abandon(id)?;
        }
        self.tell(running, Happened::Answered(Err(RpcFailure::Timeout)))
    }

    /// A request left its client: the phase `*_sent`.
    pub(crate) fn sent_phase(&mut self, phase: PhaseId, id: u64) -> Staged<()> {
        let Some(message) = self.messages.get(&id) else {
            return Ok(());
        };
        let (actor, op) = (message.actor.clone(), message.op);
        self.network_phase(phase, &actor, op, Some(id), None)?;
        self.actor_phase(phase, &actor, op, Some(id), None)
    }

    /// The master is gone: every message on its way fails.
    pub(crate) fn fail_all_messages(&mut self) -> Staged<()> {
        let ids: Vec<u64> = self.messages.keys().copied().collect();
        for id in ids {
            let seen = self.ports.cut(id)?;
            self.log_frames(seen)?;
            self.fail_message(id, RpcFailure::Failed)?;
        }
        Ok(())
    }
}
