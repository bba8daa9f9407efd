//! The connections of clients to the master: which call has one, which is lost with one that broke, which tries to make one.
//!
//! A step that is one RPC under its own name is no call of a client: it is spoken over a connection of its own.

use crate::clients::{Lost, LostCall};
use crate::operations::Running;
use crate::ports::Ports;
use crate::state::{Stage, Staged};
use crate::timers::Due;
use moonquake_client::{CONNECT_ATTEMPTS, Call, Happened, RpcFailure, Wire};
use moonquake_clock::{MonotonicNs, Span};
use moonquake_scenario::{EngineError, Verb};

/// A call without a connection, after an attempt to make one was refused.
#[derive(Clone, Debug)]
pub(crate) struct Connecting {
    call: Call,
    /// Attempts that were refused.
    refused: u32,
    /// When the next attempt is due, or the call fails.
    again_at: Span,
}

impl<P: Ports> Stage<'_, P> {
    /// A call is about to be sent: it needs a connection.
    pub(crate) fn find_connection(&mut self, id: u64, call: Call) -> Staged<()> {
        let Some(running) = self.running.get(&id) else {
            return Ok(());
        };
        if self.is_spoken(running) {
            return if self.master_up {
                self.send(id, call)
            } else {
                self.tell(id, Happened::Answered(Err(RpcFailure::Failed)))
            };
        }
        let actor = self.actors.get_mut(&running.actor);
        match actor.and_then(|actor| actor.pool.take()) {
            Some(Wire::Whole) => self.send_over(id, call),
            Some(Wire::Broken) => {
                self.lose_call(id, &call, Lost::Broken)?;
                self.tell(id, Happened::Answered(Err(RpcFailure::Failed)))
            }
            None => self.connect(id, call, 0),
        }
    }

    /// Whether an operation is one RPC that no client sends from its pool.
    fn is_spoken(&self, running: &Running) -> bool {
        let step = running.op.and_then(|op| self.plan.steps.get(op.step as usize));
        let action = step.and_then(|step| step.operation());
        action.is_some_and(|action| matches!(action.verb, Verb::Rpc(_)))
    }

    fn send_over(&mut self, id: u64, call: Call) -> Staged<()> {
        if let Some(running) = self.running.get_mut(&id) {
            running.lent = Some(Wire::Whole);
        }
        self.send(id, call)
    }

    /// A call makes a connection, or is refused and waits.
    fn connect(&mut self, id: u64, call: Call, refused: u32) -> Staged<()> {
        if self.master_up {
            return self.send_over(id, call);
        }
        let Some(running) = self.running.get_mut(&id) else {
            return Ok(());
        };
        let Some(actor) = self.actors.get_mut(&running.actor) else {
            return Ok(());
        };
        running.connecting = Some(Connecting {
            call: call.clone(),
            refused: refused + 1,
            again_at: self.now + actor.pool.wait(),
        });
        let name = running.actor.clone();
        let mine = self.running.values().filter(|other| other.actor == name);
        let first = mine
            .filter_map(|other| other.connecting.as_ref())
            .map(|it| it.again_at);
        let wait = first.min().map_or(Span::ZERO, |at| at - self.now);
        let until = MonotonicNs(self.clocks(&name).monotonic.0.saturating_add(wait.ns));
        let actor = self.actors.get(&name);
        let round = actor.and_then(|actor| actor.pool.round_at());
        let how = Lost::Refused {
            begins: refused == 0,
            until,
            round: round.filter(|round| *round < until),
        };
        self.lose_call(id, &call, how)
    }

    /// The wait after an attempt is over.
    pub(crate) fn connect_again(&mut self, id: u64) -> Staged<()> {
        let running = self.running.get_mut(&id);
        let Some(connecting) = running.and_then(|running| running.connecting.take()) else {
            return Ok(());
        };
        if connecting.refused < CONNECT_ATTEMPTS {
            return self.connect(id, connecting.call, connecting.refused);
        }
        self.tell(id, Happened::Answered(Err(RpcFailure::Failed)))
    }

    /// When calls try again to connect.
    pub(crate) fn connect_due(&self) -> impl Iterator<Item = (Span, Due)> + '_ {
        let trying = self.running.iter().filter(|(_, one)| self.acts(&one.actor));
        trying.filter_map(|(id, one)| Some((one.connecting.as_ref()?.again_at, Due::Connect(*id))))
    }

    fn lose_call(&mut self, id: u64, call: &Call, how: Lost) -> Staged<()> {
        let Some(running) = self.running.get(&id) else {
            return Ok(());
        };
        let lost = LostCall {
            actor: &running.actor,
            operation: id,
            request: &call.request,
            how,
        };
        Ok(self.ports.lose_call(&lost)?)
    }

    /// A call is over; its connection is idle again if it was answered.
    pub(crate) fn return_connection(&mut self, id: u64, answered: bool) {
        let Some(running) = self.running.get_mut(&id) else {
            return;
        };
        let Some(wire) = running.lent.take().filter(|_| answered) else {
            return;
        };
        let name = running.actor.clone();
        self.idle_connection(&name, wire);
    }

    fn idle_connection(&mut self, name: &str, wire: Wire) {
        let now = self.clocks(name).monotonic;
        if let Some(actor) = self.actors.get_mut(name) {
            actor.pool.give_back(wire, now);
        }
    }

    /// A client that starts has greeted the master by the time that it does anything else.
    pub(crate) fn greet(&mut self, name: &str) {
        if let Some(actor) = self.actors.get_mut(name) {
            actor.pool = moonquake_client::MasterPool::default();
        }
        self.idle_connection(name, Wire::Whole);
    }

    /// A node that has mounted something asks for tasks for the first time while its first ping has the other connection.
    pub(crate) fn connect_poll(&mut self, name: &str) {
        self.idle_connection(name, Wire::Whole);
    }

    /// Time has moved: clients close what they have not used for long.
    pub(crate) fn close_idle_connections(&mut self) {
        let due = |name: &String| {
            let actor = self.actors.get(name)?;
            let now = self.clocks(name).monotonic;
            (self.acts(name) && actor.pool.is_round_due(now)).then(|| (name.clone(), now))
        };
        let due: Vec<(String, MonotonicNs)> = self.actors.keys().filter_map(due).collect();
        for (name, now) in due {
            if let Some(actor) = self.actors.get_mut(&name) {
                actor.pool.close_idle(now);
            }
        }
    }

    /// The master is gone: every idle connection has broken, and so has one whose answer has come and that is not back yet.
    pub(crate) fn break_connections(&mut self) {
        for actor in self.actors.values_mut() {
            actor.pool.master_gone();
        }
        for running in self.running.values_mut() {
            running.lent = running.lent.map(|_| Wire::Broken);
        }
    }

    /// A real client has as many connections as its model.
    ///
    /// # Errors
    /// If it does not: what it loses with them could not be predicted.
    pub(crate) fn check_connections(&mut self) -> Staged<()> {
        let names: Vec<String> = self
            .actors
            .keys()
            .filter(|name| self.acts(name))
            .cloned()
            .collect();
        for name in names {
            let lent = self
                .running
                .values()
                .filter(|one| one.actor == name && one.lent.is_some());
            let lent = lent.count();
            let idle = self.actors.get(&name).map_or(0, |actor| actor.pool.idle());
            match self.ports.connections(&name)? {
                Some(real) if real != lent + idle => {
                    return Err(EngineError::Harness(format!(
                        "the unmodified client {name} parts from its model, which has {lent} busy and {idle} idle connections to the \
                         master: it has {real}"
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
