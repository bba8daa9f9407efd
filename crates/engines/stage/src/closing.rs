//! The end of a client as its caller asks for it, and what a caller is told who goes on. Mirrors `real_client.cpp:tearDownAll_internal`
//! and `store_py.cpp`, whose `close` drops the client.

use crate::memory::BufferKey;
use crate::operations::{Pending, Running};
use crate::ports::{Ending, Ports};
use crate::state::{Stage, Staged};
use moonquake_client::{Close, Happened, Known, MoveFailure, Outcome};
use moonquake_evidence::Op;
use moonquake_faults::Quirk;
use moonquake_protocol::{ErrorCode, Response, Uuid};
use moonquake_scenario::{Do, Verb};

/// Whether the release looks for its client before it does this. What does not follows a null pointer. Measured call by call; mirrors
/// the bindings of `store_py.cpp`, of which some ask `is_client_initialized`.
fn looks_for_its_client(action: &Do) -> bool {
    match action.verb {
        Verb::Upsert | Verb::BatchUpsert => true,
        Verb::Put => action.from.is_some(),
        Verb::Get | Verb::BatchGet => action.into.is_none() && action.ranges.is_empty(),
        Verb::GetStart | Verb::GetRead | Verb::GetEnd | Verb::PutWrite => true,
        _ => false,
    }
}

/// Whether a step is a call of the client's API that needs the client. What is one RPC under its own name is said under its id; filling
/// a buffer is the caller's own.
fn needs_its_client(action: &Do) -> bool {
    !matches!(action.verb, Verb::Fill | Verb::Resume | Verb::Rpc(_))
}

/// What becomes of a call whose client is gone. Measured on the release phase by phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stray {
    /// It ends the process of its caller.
    Crashes,
    /// It never comes back.
    Hangs,
}

impl<P: Ports> Stage<'_, P> {
    /// The machine of a close. The threads for pings and tasks are ended before the segments are unmounted.
    pub(crate) fn close_machine(&self, name: &str) -> Close {
        let actor = self.actors.get(name);
        let segments = actor.map(|actor| {
            let mounted = actor.mounted_segments();
            mounted.iter().map(|segment| segment.id).collect()
        });
        Close::new(
            actor.map_or_else(Uuid::default, |actor| actor.config.client_id),
            segments.unwrap_or_default(),
        )
    }

    /// A client begins to close. What it has begun to move is under way by then.
    pub(crate) fn begin_close(&mut self, name: &str) -> Staged<()> {
        if let Some(actor) = self.actors.get_mut(name) {
            actor.heartbeat = None;
            actor.tasks.clear();
        }
        for id in self.transfers.of(name) {
            self.begin_early(id)?;
        }
        Ok(())
    }

    /// What a call does that was open when its client was closed, and has heard of something since. `None`: it goes on like any other.
    pub(crate) fn goes_on_without_its_client(&self, id: u64) -> Option<Stray> {
        let running = self.running.get(&id)?;
        let closed = self.actors.get(&running.actor).is_some_and(|actor| actor.closed);
        if !closed || !self.needs_its_client(running) || !self.crashes_without_its_client() {
            return None;
        }
        match &running.pending {
            Some(Pending::Hear(Happened::Answered(Ok(
                Response::PutStart(_)
                | Response::BatchPutStart(_)
                | Response::UpsertStart(_)
                | Response::BatchUpsertStart(_),
            )))) => Some(Stray::Hangs),
            Some(Pending::Hear(_) | Pending::Send(_)) => Some(Stray::Crashes),
            None | Some(Pending::Begin | Pending::Want(_)) => None,
        }
    }

    /// Whether an operation is the close of a client of which another call waits for its bytes: that looks at once at what is gone.
    pub(crate) fn closes_under_a_transfer(&self, id: u64) -> bool {
        let Some(running) = self.running.get(&id).filter(|running| self.closes(running)) else {
            return false;
        };
        let waits = |transfer: &u64| {
            let transfer = self.transfers.get(*transfer);
            let waiter = transfer.and_then(|transfer| self.running.get(&transfer.waiter?));
            waiter.is_some_and(|waiter| self.needs_its_client(waiter))
        };
        self.crashes_without_its_client() && self.transfers.of(&running.actor).iter().any(waits)
    }

    fn crashes_without_its_client(&self) -> bool {
        self.options.quirks.has(Quirk::CloseUnderACallEndsProcess)
    }

    fn needs_its_client(&self, running: &Running) -> bool {
        let action = self.action_of(running);
        action.is_some_and(|action| needs_its_client(action) && action.verb != Verb::Close)
    }

    /// The process of a client ends by itself.
    pub(crate) fn ends_with_its_client(&mut self, name: &str) -> Staged<()> {
        self.ports.await_exit(name)?;
        self.kill_actor(name)
    }

    /// A client has closed: every connection of its transport is, and no transfer of it goes on, whether anybody waits for it or not.
    /// Its segment is served to nobody any more.
    pub(crate) fn end_close(&mut self, name: &str) -> Staged<()> {
        let Some(actor) = self.actors.get_mut(name).filter(|actor| !actor.closed) else {
            return Ok(());
        };
        actor.closed = true;
        actor.put_sessions.clear();
        actor.get_sessions.forget();
        actor.attempts.clear();
        let home = actor.memory.map(|_| actor.home.clone());
        for id in self.transfers.of(name) {
            self.end_transfer(id, Ending::ClientClosed, Err(MoveFailure::Closed))?;
        }
        self.forget_lanes(name);
        self.buffers.staging.forget(name);
        self.buffers.registered.retain(|(client, _)| client != name);
        match home {
            Some(home) => Ok(self.ports.kill_owner(&home)?),
            None => Ok(()),
        }
    }

    /// A caller calls a client that it has closed. None if that is nothing to the client, and the step is played like any other.
    pub(crate) fn play_after_close(&mut self, action: &Do, who: &str, op: Op) -> Staged<Option<Option<u64>>> {
        let closed = self.actors.get(who).is_some_and(|actor| actor.closed);
        if !closed || !needs_its_client(action) {
            return Ok(None);
        }
        let refused = Outcome::Error(ErrorCode::InvalidParams);
        let outcome = match action.verb {
            // Whatever is closed is closed.
            Verb::Close => Outcome::Ok,
            verb if verb.answers_each() => {
                let each = action.keys.len() * action.ranges.len().max(1);
                Outcome::Batch(vec![refused; each])
            }
            _ => refused,
        };
        let looks = action.verb == Verb::Close || looks_for_its_client(action);
        let buffer = action.from.as_ref().or(action.into.as_ref());
        let buffer = buffer.map(|name| BufferKey::Named(Do::repeated(name, op.repetition)));
        let id = self.begin(who, Some(op), Box::new(Known(outcome)), buffer, 0)?;
        if looks || !self.options.quirks.has(Quirk::CallAfterCloseEndsProcess) {
            return Ok(Some(Some(id)));
        }
        self.tell_client(id)?;
        self.ends_with_its_client(who)?;
        Ok(Some(None))
    }
}
