//! Calls of real clients that no master hears of: over a connection that broke, or without one.
//!
//! A call that is refused waits on a timer of its client, for a time that the client draws from an engine which nobody seeds. With one
//! thread for its connections that is the time which the model draws, and the timer on the client's page must say so. It does not where a round
//! comes first that closes idle connections: one timer stands for all of a thread, and shows the first.

use super::life::is_periodic;
use super::{LIMIT, MasterSide, RealClients};
use crate::process::Sleeper;
use moonquake_protocol::Request;
use moonquake_stage::{Lost, LostCall, PortError, PortResult};

impl<M: MasterSide> RealClients<M> {
    /// A call is lost, as the model has it.
    pub(super) fn lose_real_call(&mut self, lost: &LostCall<'_>) -> PortResult<()> {
        let (actor, operation) = (lost.actor, lost.operation);
        if !self.clients.contains_key(actor) {
            return Ok(());
        }
        let begins = !matches!(lost.how, Lost::Refused { begins: false, .. });
        let is_chore = !self.operations.contains_key(&operation);
        if begins && is_chore && matches!(lost.request, Request::Ping { .. }) {
            self.let_ping(actor, operation)?;
        }
        self.asks(operation);
        let Lost::Refused { until, round, .. } = lost.how else {
            return Ok(());
        };
        let client = self.client(actor)?;
        let armed = client.page.await_timer_set(
            |timers| timers.contains(&until) || round.is_some_and(|round| timers.contains(&round)),
            LIMIT,
        );
        armed.map(drop).map_err(|_| {
            let what = lost.request.rpc().name();
            let timers = client.page.timers();
            PortError(format!(
                "the unmodified client {actor} parts from its model, which is refused with its {what} and tries again at {} ns on its \
                 own clock: its timers are {timers:?}",
                until.0
            ))
        })
    }

    /// A round of a heartbeat has failed: its thread sleeps again.
    pub(super) fn await_heartbeat(&mut self, actor: &str) -> PortResult<()> {
        let Some(client) = self.clients.get(actor).filter(|client| !client.frozen) else {
            return Ok(());
        };
        let Some(poll_slot) = client.poll_slot else {
            return Ok(());
        };
        let rests = |one: &Sleeper| is_periodic(one) && one.slot != poll_slot;
        let found = client.page.await_sleepers(|all| all.iter().any(rests), LIMIT);
        found.map(drop).map_err(PortError::new)
    }

    /// Waits until the first ping of a client has come. It stays unanswered.
    pub(super) fn await_ping(&mut self, actor: &str) -> PortResult<()> {
        let link = &self.client(actor)?.link;
        let come = link.await_pending("its first ping", |request| {
            matches!(request, Request::Ping { .. })
        });
        come.map_err(PortError::new)
    }

    /// The connections of a client to its master.
    pub(super) fn count_connections(&mut self, actor: &str) -> PortResult<Option<usize>> {
        let Some(client) = self.clients.get_mut(actor) else {
            return Ok(None);
        };
        client
            .link
            .settled_connections()
            .map(Some)
            .map_err(PortError::new)
    }
}
