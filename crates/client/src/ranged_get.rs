//! Ranges of objects in one read. Mirrors `real_client.cpp:get_into_ranges_internal`.

use crate::get::{is_late, lease_base, query};
use crate::operation::total;
use crate::staging::NO_ROOM;
use crate::{
    BufferPlace, ByteRange, Call, CallPhases, ClientConfig, Happened, Move, Moved, NearMemory, Operation,
    Outcome, RpcFailure, Want, memory_of, preferred_replica,
};
use moonquake_clock::{Clocks, DeadlineId, Span};
use moonquake_faults::Guard;
use moonquake_protocol::{BufferDescriptor, ErrorCode, GetReplicaListResponse, Request, Response};
use std::collections::BTreeMap;

/// A lease that is about to end is not asked for more often than this: upstream asks as fast as its master answers.
const SOONEST_RENEWAL: Span = Span::from_ms(1);

/// What the client knows of a lease from one instant on.
#[derive(Clone, Copy, Debug)]
struct Knowledge {
    /// When the question that led to it was sent; what ends between that and the answer is looked at after it.
    asked_at: Clocks,
    /// What the lease counts from and its length, or why it could not be renewed.
    lease: Result<(Clocks, Span), ErrorCode>,
}

/// One of the objects.
#[derive(Clone, Debug)]
struct Object {
    key: String,
    replica: Option<(u64, BufferDescriptor)>,
    known: Vec<Knowledge>,
}

impl Object {
    /// Its lease, if it can still be renewed.
    fn lease(&self) -> Option<(Clocks, Span)> {
        self.known.last()?.lease.ok()
    }

    /// What the client knew of its lease when it saw that something ended at `at`: a renewal that was under way then is
    /// waited for.
    fn known_at(&self, at: Clocks) -> Option<&Knowledge> {
        let asked = |known: &&Knowledge| known.asked_at.monotonic <= at.monotonic;
        self.known.iter().rev().find(asked).or(self.known.first())
    }
}

/// One of the ranges.
#[derive(Clone, Debug)]
struct Part {
    /// Which of the objects it is of.
    object: usize,
    range: ByteRange,
    /// Where its bytes lie in the operation's buffer: behind those of the ranges before it, whatever becomes of these. The
    /// caller gives each range its place before it knows which of them can be read.
    at: u64,
    /// Its result, if that is known before anything moves.
    settled: Option<Outcome>,
}

/// Reads ranges of objects: a GetReplicaList for each object, a renewal of all leases, the ranges one after the other, and
/// another renewal whenever half of the shortest lease is over. Each range has its own result; an object that cannot be read
/// fails its own ranges alone. A replica is chosen once: a renewal says only how long it may be read. There is no limit of
/// time.
///
/// Upstream's call has several buffers too; here they are places of one.
#[derive(Clone, Debug)]
pub struct RangedGet {
    config: ClientConfig,
    objects: Vec<Object>,
    parts: Vec<Part>,
    /// The parts of each object that has not been asked for yet.
    parts_of: Vec<Vec<usize>>,
    memory: NearMemory,
    /// The object whose query is under way, or the next one.
    asking: usize,
    /// The objects of the renewal under way.
    renewing: Vec<usize>,
    asked_at: Clocks,
    /// When everything that needs no transfer had its result.
    submitted_at: Clocks,
    moving: bool,
}

impl RangedGet {
    /// A read of `ranges` of `key`.
    pub fn new(config: ClientConfig, key: String, ranges: Vec<ByteRange>) -> RangedGet {
        RangedGet::of_each(config, vec![key], &ranges)
    }

    /// A read of the same `ranges` of each of `keys`. The results are those of the first key, then those of the second, and so
    /// on; a key that is named twice is asked for once.
    pub fn of_each(config: ClientConfig, keys: Vec<String>, ranges: &[ByteRange]) -> RangedGet {
        let (mut objects, mut parts): (Vec<Object>, Vec<Part>) = (Vec::new(), Vec::new());
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        let mut parts_of: Vec<Vec<usize>> = Vec::new();
        let mut end: u64 = 0;
        for key in keys {
            let object = *known.entry(key).or_insert_with_key(|key| {
                objects.push(Object {
                    key: key.clone(),
                    replica: None,
                    known: Vec::new(),
                });
                parts_of.push(Vec::new());
                objects.len() - 1
            });
            parts_of[object].extend(parts.len()..parts.len() + ranges.len());
            parts.extend(ranges.iter().map(|range| {
                let at = end;
                end = end.saturating_add(range.size);
                Part {
                    object,
                    range: *range,
                    at,
                    settled: None,
                }
            }));
        }
        RangedGet {
            config,
            objects,
            parts,
            parts_of,
            memory: NearMemory::CALLER,
            asking: 0,
            renewing: Vec::new(),
            asked_at: Clocks::default(),
            submitted_at: Clocks::default(),
            moving: false,
        }
    }

    /// Into a buffer of the caller, or into a block that it takes of the client's staging memory before it asks for anything.
    pub fn into(self, memory: NearMemory) -> RangedGet {
        RangedGet { memory, ..self }
    }

    fn all(&self, outcome: &Outcome) -> Want {
        Want::Done(Outcome::Batch(vec![outcome.clone(); self.parts.len()]))
    }

    /// Asks where the next object is, or goes on once all of them are known.
    fn ask(&mut self, now: Clocks) -> Want {
        self.asked_at = now;
        match self.objects.get(self.asking) {
            Some(object) => query(&self.config, &object.key),
            None => self.planned(now),
        }
    }

    /// An object is known, or cannot be read.
    fn queried(&mut self, now: Clocks, answer: Result<GetReplicaListResponse, ErrorCode>) -> Want {
        let chosen = answer.and_then(|answer| {
            let chosen = preferred_replica(&answer.replicas, &self.config.local_endpoints);
            let chosen = chosen.and_then(|chosen| Some((chosen.id, memory_of(chosen)?.clone())));
            chosen
                .map(|chosen| (chosen, answer.lease_ttl_ms))
                .ok_or(ErrorCode::InvalidReplica)
        });
        let object = self.asking;
        let size = match &chosen {
            Ok(((_, replica), _)) => Ok(replica.size),
            Err(code) => Err(*code),
        };
        for index in std::mem::take(&mut self.parts_of[object]) {
            let part = &mut self.parts[index];
            let has_room = |range: ByteRange| self.config.has_room(self.memory, part.at, range.size);
            let refused = match size {
                Ok(size) if part.range.lies_in(size) && has_room(part.range) => None,
                Ok(_) => Some(ErrorCode::InvalidParams),
                Err(code) => Some(code),
            };
            part.settled = refused.map(Outcome::Error);
        }
        if let Ok((replica, lease_ttl_ms)) = chosen {
            self.objects[object].replica = Some(replica);
            let sent_at = lease_base(&self.config, self.asked_at, now);
            self.learn(object, Ok((sent_at, Span::from_ms(lease_ttl_ms))));
        }
        self.asking += 1;
        self.ask(now)
    }

    fn planned(&mut self, now: Clocks) -> Want {
        if self.objects.iter().all(|object| object.replica.is_none()) {
            return self.done(now, &[]);
        }
        if self.config.guarded(Guard::RangedGetRenewsLease) {
            self.renew(now)
        } else {
            self.submit(now)
        }
    }

    fn learn(&mut self, object: usize, lease: Result<(Clocks, Span), ErrorCode>) {
        self.objects[object].known.push(Knowledge {
            asked_at: self.asked_at,
            lease,
        });
    }

    fn renew(&mut self, now: Clocks) -> Want {
        self.asked_at = now;
        let renewable = |index: &usize| self.objects[*index].lease().is_some();
        self.renewing = (0..self.objects.len()).filter(renewable).collect();
        let keys = self.renewing.iter().map(|index| self.objects[*index].key.clone());
        Want::Call(Call {
            request: Request::BatchGetReplicaList {
                keys: keys.collect(),
                tenant_id: self.config.tenant_id.clone(),
            },
            fences: Vec::new(),
            phases: CallPhases::QUERY,
        })
    }

    /// The answer to a renewal. An object whose renewal failed is not asked for again, and its bytes go on landing.
    fn renewed(
        &mut self,
        now: Clocks,
        answers: Result<Vec<Result<GetReplicaListResponse, ErrorCode>>, ErrorCode>,
    ) -> Want {
        let sent_at = lease_base(&self.config, self.asked_at, now);
        let renewing = std::mem::take(&mut self.renewing);
        let answers = answers.and_then(|answers| {
            let fits = answers.len() == renewing.len();
            fits.then_some(answers).ok_or(ErrorCode::RpcFail)
        });
        for (place, object) in renewing.into_iter().enumerate() {
            let lease = match &answers {
                Ok(answers) => answers[place].as_ref().map(|answer| answer.lease_ttl_ms),
                Err(code) => Err(code),
            };
            let lease = lease.map(|lease_ttl_ms| (sent_at, Span::from_ms(lease_ttl_ms)));
            self.learn(object, lease.map_err(|code| *code));
        }
        if self.moving {
            Want::Await(self.look_after(now))
        } else {
            self.submit(now)
        }
    }

    /// When half of what is left of the shortest lease is over; never if none can be renewed.
    fn look_after(&self, now: Clocks) -> Option<Span> {
        if !self.config.guarded(Guard::RangedGetRenewsLease) {
            return None;
        }
        let rules = &self.config.rules;
        let left = |(sent_at, lease)| rules.until(DeadlineId::ClientLease, sent_at, lease, now);
        let shortest = self.objects.iter().filter_map(Object::lease).map(left).min()?;
        Some(Span::from_ns(shortest.ns / 2).max(SOONEST_RENEWAL))
    }

    fn submit(&mut self, now: Clocks) -> Want {
        self.submitted_at = now;
        let moves: Vec<Move> = self.parts.iter().filter_map(|part| self.wanted(part)).collect();
        if moves.is_empty() {
            return self.done(now, &[]);
        }
        self.moving = true;
        Want::Sequence {
            moves,
            look_after: self.look_after(now),
        }
    }

    /// The transfer of a range; none if its result is known without one.
    fn wanted(&self, part: &Part) -> Option<Move> {
        let (id, replica) = self.objects[part.object].replica.as_ref()?;
        let moves = part.settled.is_none() && part.range.size > 0;
        moves.then(|| Move::from(&self.config, *id, replica, 0).within(part.range, part.at))
    }

    /// The result of a range that ended so at `at`: a lease that could not be renewed is told before anything else.
    fn noticed(&self, part: &Part, ended: Outcome, at: Clocks) -> Outcome {
        let known = self.objects[part.object].known_at(at);
        match (ended, known.map(|known| known.lease)) {
            (_, Some(Err(code))) => Outcome::Error(code),
            (Outcome::Ok, Some(Ok((sent_at, lease)))) if is_late(&self.config, sent_at, lease, at) => {
                Outcome::Error(ErrorCode::LeaseExpired)
            }
            (ended, _) => ended,
        }
    }

    fn done(&self, now: Clocks, moved: &[Moved]) -> Want {
        let mut ends = moved.iter();
        let result = |part: &Part| {
            let (ended, at) = match &part.settled {
                Some(own) => (own.clone(), self.submitted_at),
                None if part.range.size == 0 => (Outcome::Ok, self.submitted_at),
                None => match ends.next() {
                    Some(Moved { result: Ok(()), at }) => (Outcome::Ok, *at),
                    Some(Moved {
                        result: Err(failure),
                        at,
                    }) => (Outcome::Error(failure.of_a_range()), *at),
                    None => (Outcome::Error(ErrorCode::TransferFail), now),
                },
            };
            self.noticed(part, ended, at)
        };
        Want::Done(Outcome::Batch(self.parts.iter().map(result).collect()))
    }

    /// Whether all objects are known, so that an answer is one to a renewal.
    fn is_planned(&self) -> bool {
        self.asking >= self.objects.len()
    }
}

impl Operation for RangedGet {
    fn begin(&mut self, now: Clocks) -> Want {
        let ranges: Vec<ByteRange> = self.parts.iter().map(|part| part.range).collect();
        let staged = total(&ranges)
            .filter(|bytes| *bytes > 0)
            .and_then(|bytes| self.memory.all(vec![bytes]));
        staged.unwrap_or_else(|| self.ask(now))
    }

    fn next(&mut self, now: Clocks, happened: Happened) -> Want {
        match happened {
            Happened::Staged(taken) if taken == [true] => self.ask(now),
            Happened::Staged(_) => self.all(&NO_ROOM),
            Happened::Answered(answer) if self.is_planned() => {
                let answers = answer.map_err(RpcFailure::code);
                self.renewed(
                    now,
                    answers.and_then(|answer| match answer {
                        Response::BatchGetReplicaList(answers) => Ok(answers),
                        _ => Err(ErrorCode::RpcFail),
                    }),
                )
            }
            Happened::Answered(answer) => {
                let answer = answer.map_err(RpcFailure::code);
                self.queried(
                    now,
                    answer.and_then(|answer| match answer {
                        Response::GetReplicaList(answer) => answer,
                        _ => Err(ErrorCode::RpcFail),
                    }),
                )
            }
            Happened::Waited => self.renew(now),
            Happened::MovedAll(moved) => self.done(now, &moved),
            Happened::Moved(_) | Happened::Summed(_) => self.all(&Outcome::Error(ErrorCode::RpcFail)),
        }
    }

    fn places(&self) -> Vec<Option<BufferPlace>> {
        let place = |part: &Part| {
            let (at, range) = (part.at, part.range);
            part.settled.is_none().then_some(BufferPlace { at, range })
        };
        self.parts.iter().map(place).collect()
    }
}
