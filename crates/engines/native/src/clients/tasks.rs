//! Tasks, which a client fetches and executes by itself: a thread polls once a second, and workers execute what it brings.
//!
//! A step that polls lets that thread go on once. What the workers want then is held like everything else: each request waits at the
//! link until the model wants it, each transfer at its relay. So tasks that a step is to execute later have begun by then, but nobody
//! has heard of it. A worker that rests before it tries again sleeps until the model's wait is over.

use super::life::is_periodic;
use super::{LIMIT, MasterSide, RealClients};
use crate::process::{SleepKind, Sleeper};
use moonquake_scenario::Verb;
use moonquake_stage::{PortError, PortResult};

/// Whether a step is no call of the client's API but something that it does by itself.
pub(super) fn is_by_itself(verb: Verb) -> bool {
    matches!(verb, Verb::RunTasks | Verb::PollTasks | Verb::RunTask)
}

/// Whether a worker rests there.
fn is_worker(sleeper: &Sleeper) -> bool {
    sleeper.kind == SleepKind::Sleep && !is_periodic(sleeper)
}

impl<M: MasterSide> RealClients<M> {
    /// Lets the thread that asks for tasks go on, once, if the step polls.
    pub(super) fn let_poll(&mut self, actor: &str, verb: Verb) -> PortResult<()> {
        if verb == Verb::RunTask {
            return Ok(());
        }
        let client = self.client(actor)?;
        let Some(poll_slot) = client.poll_slot else {
            return Err(PortError(format!("{actor} asks for no tasks: it has no segment")));
        };
        let rests = |one: &Sleeper| is_periodic(one) && one.slot == poll_slot;
        let found = client.page.await_sleepers(|all| all.iter().any(rests), LIMIT);
        found.map_err(PortError::new)?;
        client.page.grant(poll_slot);
        Ok(())
    }

    /// The rest of a worker is over.
    pub(super) fn let_worker(&mut self, operation: u64) -> PortResult<()> {
        let operation = self.operations.get(&operation).filter(|it| it.by_itself);
        let Some(client) = operation.and_then(|it| self.clients.get(&it.actor)) else {
            return Ok(());
        };
        let sleepers = client
            .page
            .await_sleepers(|all| all.iter().any(is_worker), LIMIT)
            .map_err(PortError::new)?;
        // The first to rest is the first to go on.
        let first = sleepers
            .iter()
            .filter(|one| is_worker(one))
            .min_by_key(|one| one.deadline);
        if let Some(first) = first {
            client.page.grant(first.slot);
        }
        Ok(())
    }
}
