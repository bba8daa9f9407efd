//! From the words of a step to a call of the real client's API, and from what that returns to a result.

use super::buffers::Implied;
use super::sessions::ranged;
use super::standing::Pace;
use super::{LIMIT, MasterSide, Operation, RealClients, tasks};
use crate::agent::{self, Command, Range, Replication, SoftPin, code_of};
use moonquake_client::Outcome;
use moonquake_protocol::ErrorCode;
use moonquake_scenario::{ArgValue, Do, Verb};
use moonquake_stage::{Begun, PortError, PortResult, Told};
use moonquake_witness::fill;

/// What the caller of a staged read hears when nothing came.
const NO_REASON: &str =
    "the call returned nothing and tells no reason; the code is that of the answer which it had";

/// A call, and where the values lie that it takes or brings.
pub(super) struct Call {
    pub(super) command: Command,
    pub(super) values: Vec<Range>,
}

impl From<Command> for Call {
    fn from(command: Command) -> Call {
        Call {
            command,
            values: Vec::new(),
        }
    }
}

impl<M: MasterSide> RealClients<M> {
    /// A client begins an operation. One RPC under its own name is spoken by the harness.
    pub(super) fn begin(&mut self, begun: &Begun<'_>) -> PortResult<()> {
        let mut operation = Operation {
            actor: begun.actor.to_owned(),
            verb: begun.action.verb,
            key: begun.key.clone(),
            ticket: None,
            by_itself: tasks::is_by_itself(begun.action.verb),
            reply: None,
            before: None,
            moves: false,
            pace: Pace::default(),
            buffer: None,
            values: Vec::new(),
            over: false,
        };
        self.free_values(begun.actor)?;
        self.await_calls(begun.actor)?;
        if operation.by_itself {
            self.let_poll(begun.actor, begun.action.verb)?;
        } else if !self.sessions.speaks(begun.step, begun.action.verb) || self.sessions.tells(begun) {
            let closed = self.client(begun.actor)?.closing;
            if let Some(name) = begun.buffer.as_ref().filter(|_| !closed) {
                self.register(begun.actor, name, begun.capacity)?;
                self.watch_again(begun.actor, name)?;
                operation.buffer = Some(name.clone());
            }
            let call = self.call(begun)?;
            operation.values = call.values;
            let client = self.client(begun.actor)?;
            if begun.action.verb == Verb::Close {
                // It ends when its threads do, and they sleep.
                client.closing = true;
                client.page.open_sleeps();
            }
            let takes = begun.value.is_some() && begun.action.verb != Verb::PutWrite;
            let before = self.signs(begun.actor);
            let client = self.client(begun.actor)?;
            operation.ticket = Some(client.agent.submit(&call.command).map_err(PortError::new)?);
            if takes {
                self.operations.insert(begun.id, operation);
                return self.await_taken(begun.id, before);
            }
            operation.before = before;
            self.operations.insert(begun.id, operation);
            return Ok(());
        }
        self.operations.insert(begun.id, operation);
        self.await_copied(begun.id)
    }

    /// Places of staged values whose operations are over are free again.
    fn free_values(&mut self, actor: &str) -> PortResult<()> {
        let Some(client) = self.clients.get(actor) else {
            return Ok(());
        };
        let arena = client.agent.arena();
        let mine = self.operations.values_mut();
        for operation in mine.filter(|operation| operation.over && operation.actor == actor) {
            for range in operation.values.drain(..) {
                self.buffers.give_back(actor, arena, range)?;
            }
        }
        Ok(())
    }

    /// A caller's buffer is registered when it is used, if it is not, and with the length that it has by then.
    fn register(&mut self, actor: &str, name: &str, bytes: Option<u64>) -> PortResult<()> {
        let client = self.client(actor)?;
        let arena = client.agent.arena().clone();
        self.buffers.named(actor, &arena, name)?;
        let Some(Implied { buffer, again }) = self.buffers.imply_registration(name, bytes) else {
            return Ok(());
        };
        let take_back = Command::UnregisterBuffer {
            offset: buffer.offset,
        };
        let commands = again
            .then_some(take_back)
            .into_iter()
            .chain([Command::RegisterBuffer { buffer }]);
        for command in commands {
            let reply = self.client(actor)?.agent.call(&command).map_err(PortError::new)?;
            if reply.outcome.number() != Some(0) {
                return Err(PortError(format!(
                    "{actor} could not register {name}: {:?}",
                    reply.outcome
                )));
            }
        }
        Ok(())
    }

    /// The caller registers its buffer or takes it back.
    fn registration(&mut self, begun: &Begun<'_>) -> PortResult<Call> {
        let action = begun.action;
        let name = Do::repeated(action.into.as_deref().unwrap_or_default(), begun.repetition);
        self.buffer(begun.actor, &name)?;
        let command = match action.verb {
            Verb::RegisterBuffer => {
                let buffer = self.buffers.register(&name, action.size_bytes);
                buffer.map(|buffer| Command::RegisterBuffer { buffer })
            }
            _ => {
                let buffer = self.buffers.unregister(&name);
                buffer.map(|Range { offset, .. }| Command::UnregisterBuffer { offset })
            }
        };
        let command = command.ok_or_else(|| PortError(format!("there is no buffer {name}")))?;
        Ok(command.into())
    }

    fn call(&mut self, begun: &Begun<'_>) -> PortResult<Call> {
        let action = begun.action;
        let (key, keys) = (begun.key.clone(), begun.keys.clone());
        let force = matches!(action.args.get("force"), Some(ArgValue::Bool(true)));
        Ok(match action.verb {
            Verb::Put | Verb::Upsert | Verb::BatchPut | Verb::BatchUpsert => self.write(begun)?,
            Verb::Get | Verb::BatchGet => self.read(begun)?,
            Verb::Exist => Command::IsExist { key }.into(),
            Verb::BatchExist => Command::BatchIsExist { keys }.into(),
            Verb::Size => Command::GetSize { key }.into(),
            Verb::Remove => Command::Remove { key, force }.into(),
            Verb::BatchRemove => Command::BatchRemove { keys, force }.into(),
            Verb::RemoveAll => Command::RemoveAll { force }.into(),
            Verb::RemoveByRegex => Command::RemoveByRegex {
                pattern: text(action, "regex"),
                force,
            }
            .into(),
            Verb::GetStart => Command::BatchGetSessionStart { keys: vec![key] }.into(),
            Verb::GetRead => self.read_session(begun)?,
            Verb::GetEnd => Self::end_session(begun)?,
            Verb::PutWrite => self.write_session(begun)?,
            Verb::Rpc(_) => self.put_session(begun)?,
            Verb::RegisterBuffer | Verb::UnregisterBuffer => self.registration(begun)?,
            Verb::Close => Command::Close.into(),
            other => {
                return Err(PortError(format!("{} is no call of the client", other.name())));
            }
        })
    }

    /// The place of a caller's buffer.
    pub(super) fn buffer(&mut self, actor: &str, name: &str) -> PortResult<Range> {
        let arena = self.client(actor)?.agent.arena().clone();
        self.buffers.named(actor, &arena, name)
    }

    fn write(&mut self, begun: &Begun<'_>) -> PortResult<Call> {
        let action = begun.action;
        let config = self.replication(action);
        let size = action.size_bytes.unwrap_or(0);
        let (key, keys) = (begun.key.clone(), begun.keys.clone());
        let upserts = matches!(action.verb, Verb::Upsert | Verb::BatchUpsert);
        let batch = matches!(action.verb, Verb::BatchPut | Verb::BatchUpsert);
        if let Some(name) = &begun.buffer {
            let at = self.buffer(begun.actor, name)?;
            let buffer = Range {
                offset: at.offset,
                size,
            };
            let buffers = vec![buffer; keys.len()];
            let command = match (batch, upserts) {
                (false, false) => Command::PutFrom { key, buffer, config },
                (false, true) => Command::UpsertFrom { key, buffer, config },
                (true, false) => Command::BatchPutFrom {
                    keys,
                    buffers,
                    config,
                },
                (true, true) => Command::BatchUpsertFrom {
                    keys,
                    buffers,
                    config,
                },
            };
            return Ok(command.into());
        }
        let values = self.staged(begun)?;
        let value = values.first().copied().unwrap_or(Range { offset: 0, size: 0 });
        let command = match (batch, upserts) {
            (false, false) => Command::Put { key, value, config },
            (false, true) => Command::Upsert { key, value, config },
            (true, false) => Command::PutBatch {
                keys,
                values: values.clone(),
                config,
            },
            (true, true) => Command::UpsertBatch {
                keys,
                values: values.clone(),
                config,
            },
        };
        Ok(Call {
            values,
            ..Call::from(command)
        })
    }

    /// The values of a staged write, each in a place of its own.
    pub(super) fn staged(&mut self, begun: &Begun<'_>) -> PortResult<Vec<Range>> {
        let Some((pattern, places)) = &begun.value else {
            return Ok(Vec::new());
        };
        let arena = self.client(begun.actor)?.agent.arena().clone();
        let mut values = Vec::new();
        for place in places {
            let range = self.buffers.place(begun.actor, place.range.size)?;
            let mut bytes = vec![0; usize::try_from(place.range.size).map_err(PortError::new)?];
            fill(pattern, place.range.from, &mut bytes);
            arena.write(range.offset, &bytes).map_err(PortError::new)?;
            values.push(range);
        }
        Ok(values)
    }

    fn read(&mut self, begun: &Begun<'_>) -> PortResult<Call> {
        let action = begun.action;
        let batch = action.verb == Verb::BatchGet;
        let Some(name) = begun.buffer.clone() else {
            return self.read_staged(begun);
        };
        let at = self.buffer(begun.actor, &name)?;
        if !action.ranges.is_empty() {
            let keys = if batch {
                begun.keys.clone()
            } else {
                vec![begun.key.clone()]
            };
            let mut end = 0;
            let reads = keys
                .into_iter()
                .map(|key| ranged(key, action, &mut end))
                .collect();
            return Ok(Command::GetIntoRanges {
                buffers: vec![at],
                reads: vec![reads],
            }
            .into());
        }
        if !batch {
            let size = begun.capacity.unwrap_or(at.size);
            let buffer = Range {
                offset: at.offset,
                size,
            };
            return Ok(Command::GetInto {
                key: begun.key.clone(),
                buffer,
            }
            .into());
        }
        let mut offset = at.offset;
        let mut buffers = Vec::new();
        for key in &begun.keys {
            let size = self.size_of(key, begun.step);
            // What its buffer has left for it.
            let left = begun
                .capacity
                .map(|bytes| bytes.saturating_sub(offset - at.offset));
            buffers.push(Range {
                offset,
                size: left.map_or(size, |left| left.min(size)),
            });
            offset += size;
        }
        let keys = begun.keys.clone();
        let same_node = matches!(
            action.args.get("prefer_alloc_in_same_node"),
            Some(ArgValue::Bool(true))
        );
        Ok(if same_node {
            Command::BatchGetIntoMultiBuffers {
                keys,
                buffers: buffers.into_iter().map(|one| vec![one]).collect(),
                prefer_alloc_in_same_node: true,
            }
            .into()
        } else {
            Command::BatchGetInto { keys, buffers }.into()
        })
    }

    fn read_staged(&mut self, begun: &Begun<'_>) -> PortResult<Call> {
        let whole = 1 << 30;
        if begun.action.verb == Verb::Get {
            let into = self.buffers.place(begun.actor, whole)?;
            return Ok(Call {
                command: Command::Get {
                    key: begun.key.clone(),
                    into,
                },
                values: vec![into],
            });
        }
        // The stage looks for them one behind the other.
        let into = self.buffers.place(begun.actor, whole)?;
        Ok(Call {
            command: Command::GetBatch {
                keys: begun.keys.clone(),
                into,
            },
            values: vec![into],
        })
    }

    /// The bytes of the object that the latest write before a step gave that key.
    fn size_of(&self, key: &str, step: usize) -> u64 {
        let before = self.plan.steps.iter().take(step).rev();
        let mut sizes = before.filter_map(|step| {
            let action = step.operation()?;
            let is_it = |written: &String| {
                let mut all = (1..=step.times).map(|repetition| Do::repeated(written, repetition));
                all.any(|written| written == key)
            };
            let written = action.key.iter().chain(&action.keys).any(is_it);
            action
                .size_bytes
                .filter(|_| written && action.verb.writes_payload())
        });
        sizes.next().unwrap_or(0)
    }

    pub(super) fn replication(&self, action: &Do) -> Replication {
        let number = |name: &str| match action.args.get(name) {
            Some(ArgValue::Int(number)) => Some(*number),
            _ => None,
        };
        let flag = |name: &str| match action.args.get(name) {
            Some(ArgValue::Bool(flag)) => Some(*flag),
            _ => None,
        };
        let list = |name: &str| match action.args.get(name) {
            Some(ArgValue::List(items)) => Some(items.clone()),
            Some(ArgValue::Text(item)) => Some(vec![item.clone()]),
            _ => None,
        };
        let word = |name: &str| Some(text(action, name)).filter(|word| !word.is_empty());
        Replication {
            replica_num: number("replica_num"),
            nof_replica_num: number("nof_replica_num"),
            dfs_replica_num: number("dfs_replica_num"),
            soft_pin_action: match text(action, "soft_pin_action").as_str() {
                "ENABLE" => Some(SoftPin::Enable),
                "DISABLE" => Some(SoftPin::Disable),
                _ => None,
            },
            soft_pin_ttl_ms: number("soft_pin_ttl_ms"),
            with_hard_pin: flag("with_hard_pin"),
            preferred_segments: list("preferred_segments")
                .map(|names| names.iter().map(|name| self.names.real(name)).collect()),
            preferred_segment: word("preferred_segment").map(|name| self.names.real(&name)),
            prefer_alloc_in_same_node: flag("prefer_alloc_in_same_node"),
            group_ids: list("group_ids"),
            data_type: word("data_type"),
        }
    }

    /// What the client says of an operation that is over, as its model says.
    pub(super) fn end(&mut self, id: u64, predicted: &Outcome) -> PortResult<Option<Told>> {
        let Some(operation) = self.operations.get_mut(&id) else {
            return Ok(None);
        };
        operation.over = true;
        let (Some(ticket), Some(client)) = (&operation.ticket, self.clients.get(&operation.actor)) else {
            return Ok(None);
        };
        let early = operation.reply.take().map(Ok);
        let reply = early.unwrap_or_else(|| client.agent.wait(ticket, LIMIT));
        let (actor, key, verb) = (operation.actor.clone(), operation.key.clone(), operation.verb);
        let reply = reply.map_err(|error| {
            PortError(format!(
                "the unmodified client {actor} parts from its model, for which {} is over now ({predicted}): {error}",
                verb.name()
            ))
        })?;
        let told = told(verb, &reply.outcome, predicted)?;
        self.sessions.over(&actor, &key, verb, &told.outcome);
        Ok(Some(told))
    }
}

fn text(action: &Do, name: &str) -> String {
    match action.args.get(name) {
        Some(ArgValue::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

/// A number that stands for success, or a code.
fn plain(number: i64) -> Outcome {
    code_of(number).map_or_else(Outcome::Error, |_| Outcome::Ok)
}

fn truth(number: i64) -> Outcome {
    code_of(number).map_or_else(Outcome::Error, |value| Outcome::Bool(value != 0))
}

fn told(verb: Verb, real: &agent::Outcome, predicted: &Outcome) -> PortResult<Told> {
    use agent::Outcome as Real;
    let sure = |outcome: Outcome| Told {
        note: differs(&outcome, predicted),
        outcome,
    };
    Ok(match (verb, real) {
        (Verb::Exist, Real::Number(number)) => sure(truth(*number)),
        (Verb::RemoveAll | Verb::RemoveByRegex, Real::Number(number)) => sure(match code_of(*number) {
            Ok(count) => Outcome::Count(i64::try_from(count).unwrap_or(i64::MAX)),
            Err(code) => Outcome::Error(code),
        }),
        (Verb::BatchExist, Real::Numbers(all)) => {
            sure(Outcome::Batch(all.iter().map(|one| truth(*one)).collect()))
        }
        // A client that is closed answers for none of the keys.
        (Verb::GetStart | Verb::GetRead | Verb::PutWrite, Real::Numbers(all)) if all.is_empty() => {
            of_length(0, predicted)
        }
        (Verb::GetStart | Verb::GetRead | Verb::PutWrite | Verb::Rpc(_), Real::Numbers(all)) => sure(
            all.first()
                .map_or(Outcome::Error(ErrorCode::InternalError), |one| plain(*one)),
        ),
        // A staged batch has one number for all of its keys.
        (Verb::BatchPut | Verb::BatchUpsert, Real::Number(number)) => one_for_all(*number, predicted),
        (_, Real::Number(number)) => sure(plain(*number)),
        (_, Real::Numbers(all)) => sure(Outcome::Batch(all.iter().map(|one| plain(*one)).collect())),
        (_, Real::Nested(all)) => {
            let each = all.iter().flatten().flatten();
            sure(Outcome::Batch(each.map(|one| plain(*one)).collect()))
        }
        (_, Real::Length(length)) => of_length(*length, predicted),
        (_, Real::Lengths(lengths)) => of_lengths(lengths, predicted),
        (verb, other) => {
            return Err(PortError(format!("{} answered {other:?}", verb.name())));
        }
    })
}

/// What is said where the client and its model have different results.
fn differs(real: &Outcome, predicted: &Outcome) -> Option<String> {
    (real != predicted).then(|| match predicted {
        Outcome::Batch(all) => {
            let all: Vec<String> = all.iter().map(Outcome::to_string).collect();
            format!("the model of the client has {}", all.join(", "))
        }
        one => format!("the model of the client has {one}"),
    })
}

fn one_for_all(number: i64, predicted: &Outcome) -> Told {
    match (plain(number), predicted) {
        (Outcome::Ok, Outcome::Batch(all)) => {
            let outcome = Outcome::Batch(vec![Outcome::Ok; all.len()]);
            Told {
                note: differs(&outcome, predicted),
                outcome,
            }
        }
        (one, _) => Told {
            outcome: predicted.clone(),
            note: Some(format!(
                "the call returned {one} for all its keys; those of each are of the model"
            )),
        },
    }
}

fn of_length(length: u64, predicted: &Outcome) -> Told {
    match (length, predicted) {
        (0, Outcome::Error(_)) => Told {
            outcome: predicted.clone(),
            note: Some(NO_REASON.to_owned()),
        },
        (0, _) => Told {
            outcome: Outcome::Error(ErrorCode::InternalError),
            note: Some(format!(
                "the call returned nothing and tells no reason; the model of the client has {predicted}"
            )),
        },
        _ => Told {
            note: differs(&Outcome::Ok, predicted),
            outcome: Outcome::Ok,
        },
    }
}

fn of_lengths(lengths: &[u64], predicted: &Outcome) -> Told {
    let Outcome::Batch(all) = predicted else {
        return of_length(lengths.iter().sum(), predicted);
    };
    let each: Vec<Told> = lengths
        .iter()
        .zip(all)
        .map(|(length, predicted)| of_length(*length, predicted))
        .collect();
    Told {
        note: each.iter().find_map(|told| told.note.clone()),
        outcome: Outcome::Batch(each.into_iter().map(|told| told.outcome).collect()),
    }
}
