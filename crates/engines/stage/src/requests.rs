//! From the words of a step to the machine or request of the client.

use crate::memory::BufferKey;
use crate::ports::Ports;
use crate::rpcs::{Cast, Words, replicate, tenant};
use crate::state::Stage;
use moonquake_client::{
    BatchGet, BatchPut, ClientConfig, Get, GetStart, Operation, Put, PutKind, PutWrite, ReadSession,
    RunTasks, Single,
};
use moonquake_protocol::Rpc;
use moonquake_scenario::{ArgValue, Do, Verb};
use std::collections::BTreeMap;

/// An operation that is ready to begin.
pub(crate) struct Prepared {
    pub(crate) machine: Box<dyn Operation>,
    pub(crate) buffer: Option<BufferKey>,
    pub(crate) size: u64,
    /// The buffer is filled with this pattern first.
    pub(crate) fill: Option<String>,
}

impl<P: Ports> Stage<'_, P> {
    /// Makes the machine of a step, or says why it cannot begin.
    pub(crate) fn prepare(&mut self, action: &Do, who: &str, repetition: u32) -> Result<Prepared, String> {
        let key = action
            .key
            .as_deref()
            .map(|key| Do::repeated(key, repetition))
            .unwrap_or_default();
        let keys = action.keys.iter();
        let keys: Vec<String> = keys.map(|key| Do::repeated(key, repetition)).collect();
        let actor = self
            .actors
            .get(who)
            .ok_or_else(|| format!("{who} is not on the stage"))?;
        let mut config = actor.config.clone();
        config.tenant_id = tenant(action).unwrap_or(config.tenant_id);
        let cast = Cast {
            plan: self.plan,
            actors: &self.actors,
            tasks: &self.tasks,
        };
        let named = |name: &Option<String>| {
            name.as_deref()
                .map(|name| BufferKey::Named(Do::repeated(name, repetition)))
        };
        let write = |machine: Box<dyn Operation>, size| Prepared {
            machine,
            buffer: named(&action.from),
            size,
            fill: action.written_pattern().map(str::to_owned),
        };
        let read = |machine: Box<dyn Operation>| Prepared {
            machine,
            buffer: named(&action.into),
            size: 0,
            fill: None,
        };
        let plain = |machine: Box<dyn Operation>, size| Prepared {
            machine,
            buffer: None,
            size,
            fill: None,
        };
        let size = action.size_bytes.unwrap_or(0);
        Ok(match action.verb {
            Verb::Put | Verb::Upsert | Verb::BatchPut | Verb::BatchUpsert => {
                write(whole_write(action, config, &cast, (key, keys)), size)
            }
            Verb::Get => read(Box::new(Get::new(config, key))),
            Verb::BatchGet => {
                let wish = action.args.get("prefer_alloc_in_same_node");
                let same_node = wish == Some(&ArgValue::Bool(true));
                read(Box::new(BatchGet::new(config, keys, same_node)))
            }
            Verb::GetStart => plain(Box::new(GetStart::new(config, key)), 0),
            Verb::GetRead => {
                let session = kept(&actor.get_sessions, action.use_step);
                let session = session.ok_or("the session was never opened")?;
                read(Box::new(ReadSession::new(config, session)))
            }
            Verb::PutWrite => {
                let session = kept(&actor.put_sessions, action.use_step);
                let session = session.ok_or("nothing was handed out that could be written")?;
                let size = session.size_bytes;
                write(Box::new(PutWrite::new(config, session)), size)
            }
            Verb::RunTasks => plain(Box::new(RunTasks::new(config)), 0),
            Verb::Close => plain(Box::new(self.close_machine(who)), 0),
            _ => {
                let fences = self.fences_of(action, who, (&key, &keys));
                let request = Words::of(action, actor, cast, (key, keys)).request()?;
                plain(Box::new(Single::new(request, fences)), size)
            }
        })
    }

    /// The attempts that a PutEnd or PutRevoke of this client means: its latest of each key.
    fn fences_of(&self, action: &Do, who: &str, (key, keys): (&str, &[String])) -> Vec<Option<u64>> {
        let ends = matches!(
            action.verb,
            Verb::Rpc(
                Rpc::PutEnd
                    | Rpc::PutRevoke
                    | Rpc::UpsertEnd
                    | Rpc::UpsertRevoke
                    | Rpc::BatchPutEnd
                    | Rpc::BatchPutRevoke
                    | Rpc::BatchUpsertEnd
                    | Rpc::BatchUpsertRevoke
            )
        );
        let Some(actor) = self.actors.get(who).filter(|_| ends) else {
            return Vec::new();
        };
        let attempt = |key: &str| actor.attempts.get(key).map(|(_, replica)| *replica);
        if keys.is_empty() {
            vec![attempt(key)]
        } else {
            keys.iter().map(|key| attempt(key)).collect()
        }
    }
}

/// What a step has kept, or the client's latest.
fn kept<T: Clone>(sessions: &BTreeMap<usize, T>, step: Option<usize>) -> Option<T> {
    match step {
        Some(step) => sessions.get(&step).cloned(),
        None => sessions.values().next_back().cloned(),
    }
}

/// The machine of a put or upsert, of one key or many.
fn whole_write(
    action: &Do,
    config: ClientConfig,
    cast: &Cast<'_>,
    (key, keys): (String, Vec<String>),
) -> Box<dyn Operation> {
    let size = action.size_bytes.unwrap_or(0);
    let kind = match action.verb {
        Verb::Put | Verb::BatchPut => PutKind::Put,
        _ => PutKind::Upsert,
    };
    let replicate = replicate(action, cast);
    match action.verb {
        Verb::Put | Verb::Upsert => Box::new(Put::new(config, kind, key, size, replicate)),
        _ => Box::new(BatchPut::new(config, kind, keys, size, replicate)),
    }
}
