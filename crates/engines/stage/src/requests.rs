//! From the words of a step to the machine or request of the client.

use crate::actors::Actor;
use crate::clients::SessionMeant;
use crate::memory::BufferKey;
use crate::operations::Running;
use crate::ports::Ports;
use crate::rpcs::{Cast, Words, replicate, tenant};
use crate::state::Stage;
use moonquake_client::{
    BatchGet, BatchPut, BufferPlace, ByteRange, ClientConfig, Get, GetStart, Known, NearMemory, NoSession,
    Operation, Outcome, Put, PutKind, PutWrite, QueuedTask, RangedGet, ReadSession, RunTasks, Single,
    TASK_WORKERS,
};
use moonquake_protocol::Rpc;
use moonquake_scenario::{ArgValue, Do, Verb};
use std::collections::BTreeMap;

/// An operation that is ready to begin.
pub(crate) struct Prepared {
    pub(crate) machine: Box<dyn Operation>,
    pub(crate) buffer: Option<BufferKey>,
    pub(crate) size: u64,
    /// The session that is meant.
    pub(crate) session: Option<SessionMeant>,
    /// Whether the caller's buffer is thereby known to have so many bytes.
    pub(crate) sizes_buffer: bool,
    /// The buffer is filled with this pattern first, there.
    pub(crate) fill: Option<(String, Vec<BufferPlace>)>,
}

impl Prepared {
    /// Without a buffer of its own.
    fn plain(machine: impl Operation + 'static, size: u64) -> Prepared {
        Prepared {
            machine: Box::new(machine),
            buffer: None,
            size,
            session: None,
            sizes_buffer: false,
            fill: None,
        }
    }

    /// Into the buffer that the step names.
    fn read(action: &Do, repetition: u32, machine: impl Operation + 'static) -> Prepared {
        Prepared {
            buffer: named(action.into.as_ref(), repetition),
            ..Prepared::plain(machine, 0)
        }
    }

    /// Out of the buffer that the step names, which holds the bytes of an object of that size, or ranges of it. Staged, each
    /// key of a batch has a value of its own.
    fn write(action: &Do, repetition: u32, machine: Box<dyn Operation>, size: u64) -> Prepared {
        let mut ranges = ranges(action);
        if ranges.is_empty() {
            let values = if action.from.is_none() {
                action.keys.len()
            } else {
                1
            };
            ranges.resize(values.max(1), ByteRange { from: 0, size });
        }
        let mut at = 0;
        let mut places = Vec::new();
        for range in ranges {
            places.push(BufferPlace { at, range });
            at += range.size;
        }
        Prepared {
            machine,
            buffer: named(action.from.as_ref(), repetition),
            size: at,
            session: None,
            sizes_buffer: true,
            fill: action
                .written_pattern()
                .map(|pattern| (pattern.to_owned(), places)),
        }
    }
}

fn named(name: Option<&String>, repetition: u32) -> Option<BufferKey> {
    name.map(|name| BufferKey::Named(Do::repeated(name, repetition)))
}

fn ranges(action: &Do) -> Vec<ByteRange> {
    let range = |range: &moonquake_scenario::ByteRange| ByteRange {
        from: range.from,
        size: range.size_bytes,
    };
    action.ranges.iter().map(range).collect()
}

impl<P: Ports> Stage<'_, P> {
    /// Makes the machine of a step, or says why it cannot begin.
    pub(crate) fn prepare(
        &self,
        action: &Do,
        who: &str,
        repetition: u32,
        task: Option<QueuedTask>,
    ) -> Result<Prepared, String> {
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
        let out_of = self
            .buffers
            .near(named(action.from.as_ref(), repetition).as_ref());
        Ok(match action.verb {
            Verb::Put | Verb::Upsert | Verb::BatchPut | Verb::BatchUpsert => {
                let size = action.size_bytes.unwrap_or(0);
                let machine = whole_write(action, config, &cast, (key, keys), out_of);
                Prepared::write(action, repetition, machine, size)
            }
            Verb::Get | Verb::BatchGet | Verb::GetStart | Verb::GetRead | Verb::GetEnd => {
                self.prepare_read(action, actor, config, (key, keys), repetition)
            }
            Verb::PutWrite => {
                let session = kept(&actor.put_sessions, action.use_step);
                let session = session.ok_or("nothing was handed out that could be written")?;
                let size = session.size_bytes;
                let meant = SessionMeant {
                    key: session.key.clone(),
                    size_bytes: Some(size),
                };
                let machine = PutWrite::new(config, session, ranges(action)).out_of(out_of);
                Prepared {
                    session: Some(meant),
                    ..Prepared::write(action, repetition, Box::new(machine), size)
                }
            }
            Verb::RunTasks => Prepared::plain(RunTasks::new(config), 0),
            Verb::PollTasks => Prepared::plain(RunTasks::poll(config), 0),
            Verb::RunTask => Prepared::plain(RunTasks::one(config, task), 0),
            Verb::Close => Prepared::plain(self.close_machine(who), 0),
            _ => {
                let fences = self.fences_of(action, who, (&key, &keys));
                let request = Words::of(action, actor, cast, (key, keys)).request()?;
                Prepared::plain(Single::new(request, fences), action.size_bytes.unwrap_or(0))
            }
        })
    }

    /// The machine of a read: of an object or several, whole or in ranges, or of a session.
    fn prepare_read(
        &self,
        action: &Do,
        actor: &Actor,
        config: ClientConfig,
        (key, keys): (String, Vec<String>),
        repetition: u32,
    ) -> Prepared {
        let into = self
            .buffers
            .near(named(action.into.as_ref(), repetition).as_ref());
        match action.verb {
            Verb::GetStart => Prepared::plain(GetStart::new(config, key), 0),
            Verb::GetRead => {
                let meant = actor.get_sessions.meant(action.use_step);
                let session = meant
                    .as_ref()
                    .and_then(|meant| actor.get_sessions.open(&meant.key));
                let prepared = match session {
                    Some(session) => {
                        let machine = ReadSession::new(config, session, ranges(action)).into(into);
                        Prepared::read(action, repetition, machine)
                    }
                    None => Prepared::plain(NoSession, 0),
                };
                Prepared {
                    session: meant,
                    ..prepared
                }
            }
            // Nobody is asked, and all is well whether there was one or not. Mirrors `real_client.cpp:batch_get_session_end`.
            Verb::GetEnd => Prepared {
                session: actor.get_sessions.meant(action.use_step),
                ..Prepared::plain(Known(Outcome::Ok), 0)
            },
            Verb::BatchGet if action.ranges.is_empty() => {
                let wish = action.args.get("prefer_alloc_in_same_node");
                let same_node = wish == Some(&ArgValue::Bool(true));
                let machine = BatchGet::new(config, keys, same_node).into(into);
                Prepared::read(action, repetition, machine)
            }
            Verb::BatchGet => {
                let machine = RangedGet::of_each(config, keys, &ranges(action)).into(into);
                Prepared::read(action, repetition, machine)
            }
            _ if action.ranges.is_empty() => {
                Prepared::read(action, repetition, Get::new(config, key).into(into))
            }
            _ => {
                let machine = RangedGet::new(config, key, ranges(action)).into(into);
                Prepared::read(action, repetition, machine)
            }
        }
    }

    /// The task that a worker of a client takes now: none if none waits, or if all workers are busy.
    pub(crate) fn take_task(&mut self, who: &str) -> Option<QueuedTask> {
        let works = |running: &&Running| {
            let step = running.op.and_then(|op| self.plan.steps.get(op.step as usize));
            let verb = step.and_then(|step| step.operation()).map(|action| action.verb);
            running.actor == who && verb == Some(Verb::RunTask)
        };
        let is_free = self.running.values().filter(works).count() < TASK_WORKERS;
        let actor = self.actors.get_mut(who).filter(|_| is_free)?;
        actor.tasks.pop_front()
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
    memory: NearMemory,
) -> Box<dyn Operation> {
    let size = action.size_bytes.unwrap_or(0);
    let kind = match action.verb {
        Verb::Put | Verb::BatchPut => PutKind::Put,
        _ => PutKind::Upsert,
    };
    let replicate = replicate(action, cast);
    match action.verb {
        Verb::Put | Verb::Upsert => {
            let put = Put::new(config, kind, key, size, replicate);
            Box::new(put.out_of(memory))
        }
        _ => Box::new(BatchPut::new(config, kind, keys, size, replicate).out_of(memory)),
    }
}
