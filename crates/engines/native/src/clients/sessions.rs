//! Sessions of real clients: a put or a get in several calls.
//!
//! `put_start`, `put_end` and `put_revoke` are RPCs under their own names, which the harness speaks. A `put_start` that a later
//! `put_write` of the client means is a session of the client's API instead ([`Plan`] tells which): the client keeps what it was
//! granted, and writes by it as long as the session is open. Its `put_end` or `put_revoke` is that of the session if no write
//! comes after it, since the API ends a session for good, and if no write may be under way, since the API would wait for that.
//! Any other end is spoken, and the client does not hear of it. The starts of copies, moves and upserts have no such call, and what they
//! hand out is written by the harness (`spoken.rs`).

use super::verbs::Call;
use super::{MasterSide, RealClients};
use crate::agent::{Command, Range, RangedRead};
use moonquake_client::Outcome;
use moonquake_protocol::{Request, Response, Rpc};
use moonquake_scenario::{ArgValue, AwaitFor, Do, Plan, Step, Verb, What};
use moonquake_stage::{Begun, PortError, PortResult};
use std::collections::{BTreeMap, BTreeSet};

/// A put session of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PutSteps {
    start: usize,
    last_write: usize,
    end: Option<usize>,
}

/// The put sessions that a plan tells clients of.
fn put_sessions(plan: &Plan) -> Vec<PutSteps> {
    let mut last_writes: BTreeMap<usize, usize> = BTreeMap::new();
    for (step, start) in writes(plan).filter(|(_, start)| is_put(plan, *start)) {
        last_writes.insert(start, step);
    }
    let sessions = last_writes.into_iter().map(|(start, last_write)| PutSteps {
        start,
        last_write,
        end: end_of(plan, start, last_write),
    });
    sessions.collect()
}

/// Each step that writes to what an earlier one was handed out, with that one.
fn writes(plan: &Plan) -> impl Iterator<Item = (usize, usize)> + '_ {
    operations(plan).filter_map(|(step, action)| {
        let writes = action.verb == Verb::PutWrite;
        writes.then(|| Some((step, start_of(plan, step, action)?)))?
    })
}

/// Whether the session API has a call for a start.
fn is_put(plan: &Plan, start: usize) -> bool {
    let action = plan.steps.get(start).and_then(Step::operation);
    action.is_some_and(|action| action.verb == Verb::Rpc(Rpc::PutStart))
}

fn operations(plan: &Plan) -> impl DoubleEndedIterator<Item = (usize, &Do)> {
    let steps = plan.steps.iter();
    steps.filter_map(|step| Some((step.index, step.operation()?)))
}

/// The step that hands out what a `put_write` writes to.
fn start_of(plan: &Plan, write: usize, action: &Do) -> Option<usize> {
    let grants = |rpc: Rpc| {
        matches!(
            rpc,
            Rpc::PutStart
                | Rpc::UpsertStart
                | Rpc::BatchPutStart
                | Rpc::BatchUpsertStart
                | Rpc::CopyStart
                | Rpc::MoveStart
        )
    };
    let earlier = || operations(plan).filter(|(step, _)| *step < write);
    let is_start =
        |other: &Do| other.who == action.who && matches!(other.verb, Verb::Rpc(rpc) if grants(rpc));
    action.use_step.or_else(|| {
        earlier()
            .rfind(|(_, other)| is_start(other))
            .map(|(step, _)| step)
    })
}

/// The first end behind the last write, if that write is over by then.
fn end_of(plan: &Plan, start: usize, last_write: usize) -> Option<usize> {
    let opened = plan.steps.get(start)?.operation()?;
    let is_end = |action: &Do| {
        let kind = action.args.get("replica_type");
        let of_all = match action.verb {
            Verb::Rpc(Rpc::PutEnd) => "MEMORY",
            Verb::Rpc(Rpc::PutRevoke) => "ALL",
            _ => return false,
        };
        let whole = kind.is_none_or(|kind| *kind == ArgValue::Text(of_all.to_owned()));
        whole && action.who == opened.who && action.key == opened.key
    };
    let (end, _) = operations(plan).find(|(step, action)| *step > last_write && is_end(action))?;
    let writes = plan.steps.iter().take(end).filter(|step| {
        let action = step.operation().filter(|action| action.verb == Verb::PutWrite);
        step.is_async && action.is_some_and(|action| start_of(plan, step.index, action) == Some(start))
    });
    let is_over = |write: &Step| {
        let between = &plan.steps[write.index..end];
        between.iter().any(|step| match &step.what {
            What::Await { until, .. } => *until == AwaitFor::Step(write.index) || *until == AwaitFor::Quiet,
            _ => false,
        })
    };
    writes.into_iter().all(is_over).then_some(end)
}

/// Whether a plan has steps that are RPCs under their own names and calls of the session API all the same.
pub(super) fn tells_any(plan: &Plan) -> bool {
    !put_sessions(plan).is_empty()
}

/// Why real clients cannot play the sessions of a plan, if so.
pub(super) fn unsupported(plan: &Plan) -> Option<String> {
    let mut open: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for session in put_sessions(plan) {
        let action = plan.steps.get(session.start)?.operation()?;
        let of = (action.who.as_deref()?, action.key.as_deref()?);
        let end = session.end.unwrap_or(usize::MAX);
        if open.insert(of, end).is_some_and(|before| before > session.start) {
            return Some("the real client has one put session of a key".to_owned());
        }
    }
    None
}

/// How the answer that a real client gets reads for its model, which has asked in other words.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reading {
    /// That of a batch of one, as a single one.
    One,
    /// The answers for the same keys in another order: where each is that the model wants next.
    Order(Vec<usize>),
}

impl Reading {
    fn between(predicted: &Request, real: &Request) -> Option<Reading> {
        use Request as R;
        let one = match (predicted, real) {
            (R::PutStart { key, .. }, R::BatchPutStart { keys, .. })
            | (R::PutRevoke { key, .. }, R::BatchPutRevoke { keys, .. }) => {
                keys.len() == 1 && keys.contains(key)
            }
            (R::PutEnd { object_meta, .. }, R::BatchPutEnd { object_metas, .. }) => {
                object_metas.len() == 1 && object_metas[0].key == object_meta.key
            }
            (R::BatchGetReplicaList { keys, .. }, R::BatchGetReplicaList { keys: asked, .. }) => {
                return order(keys, asked).map(Reading::Order);
            }
            _ => false,
        };
        one.then_some(Reading::One)
    }

    fn read(&self, answer: Response) -> Response {
        match (self, answer) {
            (Reading::One, Response::BatchPutStart(mut all)) if all.len() == 1 => {
                Response::PutStart(all.remove(0))
            }
            (Reading::One, Response::BatchPutEnd(mut all)) if all.len() == 1 => {
                Response::PutEnd(all.remove(0))
            }
            (Reading::One, Response::BatchPutRevoke(mut all)) if all.len() == 1 => {
                Response::PutRevoke(all.remove(0))
            }
            (Reading::Order(places), Response::BatchGetReplicaList(all)) if all.len() == places.len() => {
                let ordered = places.iter().map(|place| all[*place].clone());
                Response::BatchGetReplicaList(ordered.collect())
            }
            (_, answer) => answer,
        }
    }
}

/// Where each of `keys` is among `asked`, if those are the same in another order.
fn order(keys: &[String], asked: &[String]) -> Option<Vec<usize>> {
    if keys == asked || keys.len() != asked.len() {
        return None;
    }
    let mut left: Vec<Option<&String>> = asked.iter().map(Some).collect();
    let place = |key: &String| {
        let place = left.iter().position(|other| *other == Some(key))?;
        left[place] = None;
        Some(place)
    };
    keys.iter().map(place).collect()
}

/// What is known of the sessions of a run.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// The steps that are calls of the session API.
    told: BTreeSet<usize>,
    /// The writes that no call of the session API makes.
    spoken: BTreeSet<usize>,
    /// The put sessions that clients have open, by client and key.
    open: BTreeSet<(String, String)>,
    /// How the answers of messages under way are to be read, and the operations that wait for them.
    readings: BTreeMap<u64, (u64, Option<Reading>)>,
}

impl Sessions {
    pub(super) fn of(plan: &Plan) -> Sessions {
        let mut told = BTreeSet::new();
        for session in put_sessions(plan) {
            told.insert(session.start);
            told.extend(session.end);
        }
        let spoken = writes(plan).filter(|(_, start)| !is_put(plan, *start));
        Sessions {
            told,
            spoken: spoken.map(|(write, _)| write).collect(),
            ..Sessions::default()
        }
    }

    /// Whether a step is no call of the client's API by its own words.
    pub(super) fn speaks(&self, step: usize, verb: Verb) -> bool {
        matches!(verb, Verb::Rpc(_)) || self.spoken.contains(&step)
    }

    /// Whether the client itself is told of a step that is one RPC.
    pub(super) fn tells(&self, begun: &Begun<'_>) -> bool {
        let open = || self.open.contains(&(begun.actor.to_owned(), begun.key.clone()));
        self.told.contains(&begun.step) && (begun.action.verb == Verb::Rpc(Rpc::PutStart) || open())
    }

    /// A call of the session API is over.
    pub(super) fn over(&mut self, actor: &str, key: &str, verb: Verb, outcome: &Outcome) {
        let session = (actor.to_owned(), key.to_owned());
        match (verb, outcome) {
            (Verb::Rpc(Rpc::PutStart), Outcome::Ok) => {
                self.open.insert(session);
            }
            (Verb::Rpc(Rpc::PutEnd | Rpc::PutRevoke), Outcome::Ok) => {
                self.open.remove(&session);
            }
            _ => {}
        }
    }

    /// The process of a client is gone, and its sessions.
    pub(super) fn forget(&mut self, actor: &str) {
        self.open.retain(|(other, _)| other != actor);
    }

    /// Whether a request says what the model predicts in other words.
    pub(super) fn says_the_same(predicted: &Request, real: &Request) -> bool {
        Reading::between(predicted, real).is_some()
    }

    /// A message of an operation is under way, with the request that the model predicts and the one that the client has sent.
    pub(super) fn sent(&mut self, message: u64, operation: u64, (predicted, real): (&Request, &Request)) {
        let reading = Reading::between(predicted, real);
        self.readings.insert(message, (operation, reading));
    }

    /// The operation that waits for the answer to a message.
    pub(super) fn asked_by(&self, message: u64) -> Option<u64> {
        self.readings.get(&message).map(|(operation, _)| *operation)
    }

    /// An answer, as the model reads it.
    pub(super) fn read(&mut self, message: u64, answer: Response) -> Response {
        match self.readings.remove(&message) {
            Some((_, Some(reading))) => reading.read(answer),
            _ => answer,
        }
    }
}

impl<M: MasterSide> RealClients<M> {
    /// A step that is one RPC, as a call of the session API.
    pub(super) fn put_session(&self, begun: &Begun<'_>) -> PortResult<Call> {
        let keys = vec![begun.key.clone()];
        Ok(match begun.action.verb {
            Verb::Rpc(Rpc::PutStart) => Command::BatchPutSessionStart {
                keys,
                sizes: vec![begun.action.size_bytes.unwrap_or(0)],
                config: self.replication(begun.action),
            },
            Verb::Rpc(Rpc::PutEnd) => Command::BatchPutSessionEnd { keys },
            Verb::Rpc(Rpc::PutRevoke) => Command::BatchPutSessionRevoke { keys },
            other => return Err(PortError(format!("{} is no call of a session", other.name()))),
        }
        .into())
    }

    /// A write of a session.
    pub(super) fn write_session(&mut self, begun: &Begun<'_>) -> PortResult<Call> {
        let (key, size) = meant(begun)?;
        let ranges = ranges(begun.action, size);
        let (parts, values) = match &begun.buffer {
            Some(name) => (behind(self.buffer(begun.actor, name)?, &ranges), Vec::new()),
            None => {
                let values = self.staged(begun)?;
                (values.clone(), values)
            }
        };
        Ok(Call {
            command: Command::BatchPutFromMultiBufferRanges {
                keys: vec![key],
                buffers: vec![parts],
                dst_offsets: vec![ranges.iter().map(|(from, _)| *from).collect()],
            },
            values,
        })
    }

    /// A read of a session.
    pub(super) fn read_session(&mut self, begun: &Begun<'_>) -> PortResult<Call> {
        let (key, size) = meant(begun)?;
        let ranges = ranges(begun.action, size);
        let (at, values) = match &begun.buffer {
            Some(name) => (self.buffer(begun.actor, name)?, Vec::new()),
            None => {
                let place = self.buffers.place(begun.actor, 1 << 30)?;
                (place, vec![place])
            }
        };
        Ok(Call {
            command: Command::BatchGetIntoMultiBufferRanges {
                keys: vec![key],
                buffers: vec![behind(at, &ranges)],
                src_offsets: vec![ranges.iter().map(|(from, _)| *from).collect()],
            },
            values,
        })
    }

    /// The end of a get session.
    pub(super) fn end_session(begun: &Begun<'_>) -> PortResult<Call> {
        let (key, _) = meant(begun)?;
        Ok(Command::BatchGetSessionEnd { keys: vec![key] }.into())
    }
}

/// The key and the size of the session that a step means.
fn meant(begun: &Begun<'_>) -> PortResult<(String, u64)> {
    let meant = begun
        .session
        .as_ref()
        .ok_or_else(|| PortError(format!("{} has no session", begun.actor)))?;
    // Without a session nothing moves, whatever is asked for.
    Ok((meant.key.clone(), meant.size_bytes.unwrap_or(1)))
}

/// Begin and size of the ranges of a step; of the whole object if it names none.
fn ranges(action: &Do, size: u64) -> Vec<(u64, u64)> {
    if action.ranges.is_empty() {
        return vec![(0, size)];
    }
    let ranges = action.ranges.iter();
    ranges.map(|range| (range.from, range.size_bytes)).collect()
}

/// Ranges one behind the other from a place on.
fn behind(at: Range, ranges: &[(u64, u64)]) -> Vec<Range> {
    let mut offset = at.offset;
    let place = |(_, size): &(u64, u64)| {
        let place = Range { offset, size: *size };
        offset += size;
        place
    };
    ranges.iter().map(place).collect()
}

/// The ranges of a step, of one object, behind what lies in the buffer already.
pub(super) fn ranged(key: String, action: &Do, end: &mut u64) -> RangedRead {
    let mut read = RangedRead {
        key,
        dst_offsets: Vec::new(),
        src_offsets: Vec::new(),
        sizes: Vec::new(),
    };
    for range in &action.ranges {
        read.dst_offsets.push(*end);
        read.src_offsets.push(range.from);
        read.sizes.push(range.size_bytes);
        *end += range.size_bytes;
    }
    read
}

#[cfg(test)]
mod tests {
    use super::{PutSteps, Reading, order, put_sessions, unsupported};
    use moonquake_protocol::{ErrorCode, ReplicaType, Request, Response, Uuid};
    use moonquake_scenario::Plan;

    fn plan(steps: &str) -> Plan {
        let text = format!(
            r#"
schema = 1
id     = "misuse/sessions"
title  = "Sessions"
why    = "A test."

[world]
segments = {{ n1 = "16MiB" }}
clients  = ["w1", "w2"]

[fault]
dimension = "misuse"
target    = "w1"
step      = "x"

[timeline]
steps = [
{steps}
]

[report]
expected = "Nothing."
repair   = "None."

[[verdict]]
is = "holds"
"#
        );
        moonquake_scenario::parse::from_str("sessions.scenario.toml", text.as_bytes())
            .unwrap_or_else(|errors| panic!("{}", errors.plain()))
    }

    fn sessions(steps: &str) -> Vec<PutSteps> {
        put_sessions(&plan(steps))
    }

    const START: &str = r#"{ id = "x", who = "w1", do = "put_start", key = "k", size = "1MiB" },"#;
    const WRITE: &str = r#"{ who = "w1", do = "put_write", use = "x" },"#;
    const END: &str = r#"{ who = "w1", do = "put_end", key = "k" },"#;

    #[test]
    fn a_start_that_nobody_writes_is_spoken() {
        assert_eq!(sessions(&[START, END].concat()), []);
    }

    #[test]
    fn the_end_behind_the_last_write_is_that_of_the_session() {
        let one = |last_write, end| {
            vec![PutSteps {
                start: 0,
                last_write,
                end,
            }]
        };
        assert_eq!(sessions(&[START, WRITE, END, END].concat()), one(1, Some(2)));
        // What is written after its end needs an open session.
        assert_eq!(sessions(&[START, END, WRITE].concat()), one(2, None));
        assert_eq!(sessions(&[START, END, WRITE, END].concat()), one(2, Some(3)));
        // Somebody else's, of another key, or of another kind.
        let other = r#"{ who = "w2", do = "put_end", key = "k" },
                       { who = "w1", do = "put_end", key = "j" },
                       { who = "w1", do = "put_end", key = "k", replica_type = "DISK" },"#;
        assert_eq!(sessions(&[START, WRITE, other].concat()), one(1, None));
    }

    #[test]
    fn an_end_beside_a_write_is_spoken() {
        let beside = r#"{ id = "w", who = "w1", do = "put_write", use = "x", async = true },"#;
        let awaited = r#"{ await = "w", within = "1s" },"#;
        let end = |steps: &[&str]| sessions(&steps.concat())[0].end;
        assert_eq!(end(&[START, beside, END]), None);
        assert_eq!(end(&[START, beside, END, awaited, END]), None);
        assert_eq!(end(&[START, beside, awaited, END]), Some(3));
    }

    #[test]
    fn a_key_has_one_session() {
        let again = r#"{ id = "y", who = "w1", do = "put_start", key = "k", size = "1MiB" },
                       { who = "w1", do = "put_write", use = "y" },"#;
        assert!(unsupported(&plan(&[START, WRITE, again].concat())).is_some());
        assert_eq!(unsupported(&plan(&[START, WRITE, END, again].concat())), None);
    }

    #[test]
    fn a_batch_of_one_reads_as_a_single_call() {
        let client_id = Uuid::default();
        let predicted = Request::PutRevoke {
            client_id,
            key: "k".to_owned(),
            replica_type: ReplicaType::All,
            tenant_id: String::new(),
        };
        let real = |keys: &[&str]| Request::BatchPutRevoke {
            client_id,
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            replica_type: ReplicaType::All,
            tenant_id: String::new(),
        };
        assert_eq!(Reading::between(&predicted, &real(&["j"])), None);
        assert_eq!(Reading::between(&predicted, &real(&["k", "j"])), None);
        let reading = Reading::between(&predicted, &real(&["k"])).expect("the same call");
        let refused = Err(ErrorCode::ObjectNotFound);
        assert_eq!(
            reading.read(Response::BatchPutRevoke(vec![refused])),
            Response::PutRevoke(refused)
        );
    }

    #[test]
    fn the_same_keys_in_another_order_are_found() {
        let keys = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        assert_eq!(order(&keys("ab"), &keys("ab")), None);
        assert_eq!(order(&keys("abc"), &keys("cab")), Some(vec![1, 2, 0]));
        assert_eq!(order(&keys("aab"), &keys("aba")), Some(vec![0, 2, 1]));
        assert_eq!(order(&keys("aab"), &keys("abb")), None);
    }
}
