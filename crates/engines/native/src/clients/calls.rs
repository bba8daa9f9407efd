//! The requests of real clients: each must be the one that the machine predicts.

use super::ended;
use super::sessions::Sessions;
use super::{MasterSide, Operation, RealClients};
use moonquake_client::RpcFailure;
use moonquake_net::foreign::{Substitution, Taken};
use moonquake_net::{Answer, NetError};
use moonquake_protocol::Request;
use moonquake_stage::{Delivery, PortError, PortResult, Seen, Sending};

/// What a client says by itself and no step means: its greeting and its polls.
pub(super) fn is_aside(request: &Request) -> bool {
    matches!(
        request,
        Request::ServiceReady {} | Request::GetFsdir { .. } | Request::FetchTasks { .. }
    )
}

/// Whether a request is the call that was predicted: the same function for the same object or task.
fn is_same_call(real: &Request, predicted: &Request) -> bool {
    use Request::MarkTaskToComplete;
    if let (MarkTaskToComplete { request: real, .. }, MarkTaskToComplete { request, .. }) = (real, predicted)
        && real.id != request.id
    {
        return false;
    }
    real.rpc() == predicted.rpc() && moonquake_stage::key_of(real) == moonquake_stage::key_of(predicted)
}

impl<M: MasterSide> RealClients<M> {
    /// Waits for a request of a client. What it says aside meanwhile is answered.
    pub(super) fn take(
        &mut self,
        actor: &str,
        what: &str,
        operation: Option<u64>,
        wanted: impl Fn(&Request) -> bool,
    ) -> PortResult<Taken> {
        self.look()?;
        self.all_live()?;
        loop {
            let client = self.client(actor)?;
            let early = client.early.iter().position(|taken| wanted(&taken.request));
            if let Some(taken) = early.and_then(|index| client.early.remove(index)) {
                return Ok(taken);
            }
            let taken = self.take_next(actor, what, operation, &wanted)?;
            if wanted(&taken.request) {
                return Ok(taken);
            }
            self.pass(actor, &taken)?;
        }
    }

    fn take_next(
        &mut self,
        actor: &str,
        what: &str,
        operation: Option<u64>,
        wanted: &impl Fn(&Request) -> bool,
    ) -> PortResult<Taken> {
        let ticket = operation
            .and_then(|id| self.operations.get(&id))
            .and_then(|operation| operation.ticket.clone());
        let (mut client, mut others) = (None, Vec::new());
        for (name, one) in &mut self.clients {
            if name == actor {
                client = Some(one);
            } else {
                others.push((name.as_str(), &*one));
            }
        }
        let client = client.ok_or_else(|| PortError(format!("{actor} has no process")))?;
        let ticket = ticket.or_else(|| client.setup.clone());
        let (agent, closing, master) = (&client.agent, client.closing, &self.master);
        let aside =
            |request: &Request| is_aside(request) || (closing && matches!(request, Request::Ping { .. }));
        let mut gone = || {
            if let Ok(Some(status)) = agent.exit_status() {
                return Some(ended::ended_by_itself(actor, status));
            }
            if let Some(ended) = ended::of_clients(others.iter().copied()).or_else(|| master.ended()) {
                return Some(ended);
            }
            let ticket = ticket.as_ref()?;
            let reply = agent.try_wait(ticket).ok().flatten()?;
            Some(format!("it reported {:?} instead", reply.outcome))
        };
        let taken = client
            .link
            .take_unless(what, |request| wanted(request) || aside(request), &mut gone);
        taken.map_err(|error| self.parted(actor, what, &error))
    }

    /// The client did something else than its model.
    fn parted(&self, actor: &str, what: &str, error: &NetError) -> PortError {
        let words = self
            .clients
            .get(actor)
            .map(|client| client.agent.stderr_tail())
            .unwrap_or_default();
        PortError(format!(
            "the unmodified client {actor} parts from its model, which wants {what} next: {error}\n{words}"
        ))
    }

    /// Lets the master answer what belongs to no step.
    pub(super) fn pass(&mut self, actor: &str, taken: &Taken) -> PortResult<()> {
        let answer = self.master.pass(&taken.request)?;
        let client = self.client(actor)?;
        match answer {
            Ok(response) => client.link.answer(taken.message, &Ok(response), &[]).map(drop),
            Err(_) => client.link.cut(taken.message).map(drop),
        }
        .map_err(PortError::new)
    }

    /// The request that was predicted, as the client sends it.
    pub(super) fn send_real(&mut self, sending: &Sending<'_>) -> PortResult<Vec<Seen>> {
        let is_chore = !self.operations.contains_key(&sending.operation);
        let spoken = self
            .operations
            .get(&sending.operation)
            .is_some_and(Operation::is_spoken);
        if spoken || (is_chore && !self.clients.contains_key(sending.actor)) {
            return self.master.send(sending);
        }
        if is_chore && matches!(sending.request, Request::Ping { .. }) {
            self.let_ping(sending.actor, sending.operation)?;
        }
        let what = sending.request.rpc().name();
        let operation = Some(sending.operation).filter(|_| !is_chore);
        let taken = self.take(sending.actor, what, operation, |request| {
            is_same_call(request, sending.request) || Sessions::says_the_same(sending.request, request)
        })?;
        if !taken.lossless {
            return Err(PortError(format!(
                "the codec does not keep every byte of {what} as {} sent it",
                sending.actor
            )));
        }
        self.messages
            .insert(sending.message, (sending.actor.to_owned(), taken.message));
        self.asks(sending.operation);
        self.sessions.sent(
            sending.message,
            sending.operation,
            (sending.request, &taken.request),
        );
        self.master.send(&Sending {
            request: &taken.request,
            ..sending.clone()
        })
    }

    /// The answer reaches the client.
    pub(super) fn deliver_real(&mut self, message: u64) -> PortResult<Delivery> {
        let mut delivery = self.master.deliver(message)?;
        let Some((actor, request)) = self.messages.remove(&message) else {
            return Ok(delivery);
        };
        let substitutions = self.substitutions(&actor)?;
        let takes = self.takes_at_answer(message);
        let before = takes.and_then(|_| self.signs(&actor));
        let Some(client) = self.clients.get_mut(&actor) else {
            return Ok(delivery);
        };
        let delivered = match &delivery.answer {
            Some(Ok(response)) => {
                let answer: Answer = Ok(response.clone());
                client.link.answer(request, &answer, &substitutions)
            }
            Some(Err(RpcFailure::Failed | RpcFailure::Timeout)) => client.link.cut(request),
            None => client.link.discard(request).map(|()| true),
        };
        if !delivered.map_err(PortError::new)? {
            delivery.answer = None;
        }
        if delivery.answer.is_some() {
            self.heard(message);
            if let Some(id) = takes {
                self.await_taken(id, before)?;
            }
        }
        if let Some(Ok(response)) = delivery.answer {
            delivery.answer = Some(Ok(self.sessions.read(message, response)));
        }
        Ok(delivery)
    }

    /// The endpoints of owners, each with that of the relay which stands before it for this client. Its own stay as they are, so
    /// that it knows them.
    fn substitutions(&mut self, actor: &str) -> PortResult<Vec<Substitution>> {
        let owners = self.names.all().iter().filter(|mounted| mounted.actor != actor);
        let owners: Vec<_> = owners.cloned().collect();
        let mut all = Vec::new();
        for owner in owners {
            let Some(relay) = self.transfers.relay(actor, &owner)? else {
                continue;
            };
            if let Some(port) = self.transfers.data_port(actor, &owner.home) {
                self.meter_client(actor, port)?;
            }
            let substitution = Substitution::new(owner.segment.te_endpoint, relay.to_string());
            all.push(substitution.map_err(PortError::new)?);
        }
        Ok(all)
    }

    /// The message is lost where it is.
    pub(super) fn lose_real(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        if let Some((actor, request)) = self.messages.remove(&message)
            && let Some(client) = self.clients.get_mut(&actor)
        {
            client.link.discard(request).map_err(PortError::new)?;
        }
        self.master.lose(message)
    }

    /// The connection of the message closes.
    pub(super) fn cut_real(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        if let Some((actor, request)) = self.messages.remove(&message)
            && let Some(client) = self.clients.get_mut(&actor)
        {
            client.link.cut(request).map_err(PortError::new)?;
            self.heard(message);
        }
        self.master.cut(message)
    }

    /// The master is dead: whoever connects is refused, and all connections to it close.
    pub(super) fn master_gone(&mut self) -> PortResult<()> {
        self.messages.clear();
        for client in self.clients.values_mut() {
            client.link.close_all().map_err(PortError::new)?;
            // What had been sent and was not looked at yet is lost as well.
            client.early.clear();
            for (message, _) in client.link.pending() {
                client.link.discard(message).map_err(PortError::new)?;
            }
            client.link.set_reachable(false).map_err(PortError::new)?;
        }
        Ok(())
    }
}
