//! What a client keeps between the calls of a session.

use crate::clients::SessionMeant;
use crate::operations::Running;
use crate::ports::Ports;
use crate::state::Stage;
use moonquake_client::{GetSession, Outcome, PutSession, memory_of};
use moonquake_protocol::ErrorCode;
use moonquake_scenario::{Do, Verb};
use std::collections::BTreeMap;

/// The get sessions of a client. It has one of each key: a second `get_start` of a key takes the place of the first, or ends it when
/// it fails. Mirrors `real_client.cpp:get_sessions_`.
#[derive(Clone, Debug, Default)]
pub(crate) struct GetSessions {
    /// The key that each `get_start` has named last.
    keys: BTreeMap<usize, String>,
    open: BTreeMap<String, GetSession>,
}

impl GetSessions {
    /// A `get_start` of that step begins.
    pub(crate) fn start(&mut self, step: usize, key: String) {
        self.keys.insert(step, key);
    }

    /// What a step means: the session of the key of that `get_start`, or of the client's latest.
    pub(crate) fn meant(&self, step: Option<usize>) -> Option<SessionMeant> {
        let key = match step {
            Some(step) => self.keys.get(&step),
            None => self.keys.values().next_back(),
        }?;
        Some(SessionMeant {
            key: key.clone(),
            size_bytes: self.open.get(key).map(|session| session.replica.size),
        })
    }

    /// The session of a key.
    pub(crate) fn open(&self, key: &str) -> Option<GetSession> {
        self.open.get(key).cloned()
    }

    /// The client is gone, and what it kept.
    pub(crate) fn forget(&mut self) {
        self.open.clear();
    }
}

impl<P: Ports> Stage<'_, P> {
    /// Keeps what an operation was given, for later steps of the same client.
    pub(crate) fn keep_session(&mut self, id: u64) {
        let Some(running) = self.running.get(&id) else {
            return;
        };
        let Some(op) = running.op else { return };
        let step = op.step as usize;
        let Some(action) = self.plan.steps.get(step).and_then(|step| step.operation()) else {
            return;
        };
        let opened = running.machine.opened();
        let granted = running.machine.granted().to_vec();
        let attempts = running.machine.attempts();
        let mounted = running.machine.mounted();
        if let Some(task) = running.machine.task() {
            self.tasks.insert(step, task);
        }
        let size_bytes = granted
            .first()
            .and_then(memory_of)
            .map_or(running.size, |buffer| buffer.size);
        let actor = running.actor.clone();
        let key = action
            .key
            .as_deref()
            .map(|key| Do::repeated(key, op.repetition))
            .unwrap_or_default();
        let Some(actor) = self.actors.get_mut(&actor) else {
            return;
        };
        match mounted {
            Some((segment, true)) => {
                actor.mounted.insert(segment);
            }
            Some((segment, false)) => {
                actor.mounted.remove(&segment);
            }
            None => {}
        }
        if let Some(session) = opened {
            actor.get_sessions.open.insert(key.clone(), session);
        }
        for (key, granted) in attempts {
            if let Some(first) = granted.first() {
                actor.attempts.insert(key, (step, first.id));
            }
        }
        if !granted.is_empty() {
            let session = PutSession {
                key,
                granted,
                size_bytes,
            };
            actor.put_sessions.insert(step, session);
        }
    }

    /// What an operation that is over leaves of the get session that it means: nothing if it ends it, if it fails to open it, or if
    /// it finds its lease over. Mirrors `real_client.cpp`, which erases it.
    pub(crate) fn end_session(&mut self, running: &Running, outcome: &Outcome) {
        let action = running
            .op
            .and_then(|op| Some((op, self.plan.steps.get(op.step as usize)?.operation()?)));
        let Some((op, action)) = action else { return };
        let meant = running.session.as_ref().map(|meant| meant.key.clone());
        let key = match action.verb {
            Verb::GetStart if *outcome != Outcome::Ok => {
                action.key.as_deref().map(|key| Do::repeated(key, op.repetition))
            }
            Verb::GetRead if *outcome == Outcome::Error(ErrorCode::LeaseExpired) => meant,
            Verb::GetEnd => meant,
            _ => return,
        };
        if let (Some(key), Some(actor)) = (key, self.actors.get_mut(&running.actor)) {
            actor.get_sessions.open.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::GetSessions;
    use moonquake_client::GetSession;
    use moonquake_clock::{Clocks, Span};
    use moonquake_protocol::BufferDescriptor;

    fn session(replica_id: u64, size: u64) -> GetSession {
        GetSession {
            replica: BufferDescriptor {
                size,
                ..BufferDescriptor::default()
            },
            replica_id,
            sent_at: Clocks::default(),
            lease: Span::from_secs(10),
        }
    }

    #[test]
    fn a_client_has_one_session_of_a_key() {
        let mut sessions = GetSessions::default();
        assert_eq!(sessions.meant(None), None);
        sessions.start(3, "k".to_owned());
        sessions.open.insert("k".to_owned(), session(1, 10));
        sessions.start(5, "k".to_owned());
        sessions.open.insert("k".to_owned(), session(2, 20));
        // The first `get_start` means what the second was told.
        for step in [Some(3), Some(5), None] {
            let meant = sessions.meant(step).expect("a session");
            assert_eq!((meant.key.as_str(), meant.size_bytes), ("k", Some(20)));
            assert_eq!(sessions.open(&meant.key), Some(session(2, 20)));
        }
        sessions.forget();
        let meant = sessions.meant(Some(3)).expect("its name is known");
        assert_eq!((sessions.open("k"), meant.size_bytes), (None, None));
        assert_eq!(sessions.meant(Some(4)), None);
    }
}
