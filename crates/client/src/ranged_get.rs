//! Several ranges of one object in one read. Mirrors `real_client.cpp:get_into_ranges_internal`.

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

/// A lease that is about to end is not asked for more often than this: upstream asks as fast as its master answers.
const SOONEST_RENEWAL: Span = Span::from_ms(1);

/// What the client knows of its lease from one instant on.
#[derive(Clone, Copy, Debug)]
struct Knowledge {
    /// When the question that led to it was sent; what ends between that and the answer is looked at after it.
    asked_at: Clocks,
    /// What the lease counts from and its length, or why it could not be renewed.
    lease: Result<(Clocks, Span), ErrorCode>,
}

/// Reads ranges of one object: GetReplicaList, a renewal of the lease, the ranges one after the other, and another
/// renewal whenever half of the lease is over. Each range has its own result. The replica is chosen once: a renewal says
/// only how long it may be read. There is no limit of time.
#[derive(Clone, Debug)]
pub struct RangedGet {
    config: ClientConfig,
    key: String,
    ranges: Vec<ByteRange>,
    memory: NearMemory,
    /// The result of each range that is known before anything moves.
    settled: Vec<Option<Outcome>>,
    replica: Option<(u64, BufferDescriptor)>,
    asked_at: Clocks,
    known: Vec<Knowledge>,
    moving: bool,
}

impl RangedGet {
    /// A read of `ranges` of `key`.
    pub fn new(config: ClientConfig, key: String, ranges: Vec<ByteRange>) -> RangedGet {
        RangedGet {
            settled: vec![None; ranges.len()],
            config,
            key,
            ranges,
            memory: NearMemory::CALLER,
            replica: None,
            asked_at: Clocks::default(),
            known: Vec::new(),
            moving: false,
        }
    }

    /// Into a buffer of the caller, or into a block that it takes of the client's staging memory before it asks for anything.
    pub fn into(self, memory: NearMemory) -> RangedGet {
        RangedGet { memory, ..self }
    }

    fn ask(&mut self, now: Clocks) -> Want {
        self.asked_at = now;
        query(&self.config, &self.key)
    }

    fn all(&self, outcome: &Outcome) -> Want {
        Want::Done(Outcome::Batch(vec![outcome.clone(); self.ranges.len()]))
    }

    fn queried(&mut self, now: Clocks, answer: &GetReplicaListResponse) -> Want {
        let chosen = preferred_replica(&answer.replicas, &self.config.local_endpoints);
        let chosen = chosen.and_then(|chosen| Some((chosen.id, memory_of(chosen)?.clone())));
        let Some((id, replica)) = chosen else {
            return self.all(&Outcome::Error(ErrorCode::InvalidReplica));
        };
        let mut at: u64 = 0;
        for (range, settled) in self.ranges.iter().zip(&mut self.settled) {
            if range.lies_in(replica.size) && self.memory.holds(at, range.size) {
                at += range.size;
            } else {
                *settled = Some(Outcome::Error(ErrorCode::InvalidParams));
            }
        }
        self.replica = Some((id, replica));
        let sent_at = lease_base(&self.config, self.asked_at, now);
        self.learn(Ok((sent_at, Span::from_ms(answer.lease_ttl_ms))));
        if self.config.guarded(Guard::RangedGetRenewsLease) {
            self.renew(now)
        } else {
            self.submit(now)
        }
    }

    fn learn(&mut self, lease: Result<(Clocks, Span), ErrorCode>) {
        self.known.push(Knowledge {
            asked_at: self.asked_at,
            lease,
        });
    }

    fn renew(&mut self, now: Clocks) -> Want {
        self.asked_at = now;
        Want::Call(Call {
            request: Request::BatchGetReplicaList {
                keys: vec![self.key.clone()],
                tenant_id: self.config.tenant_id.clone(),
            },
            fences: Vec::new(),
            phases: CallPhases::QUERY,
        })
    }

    /// The answer to a renewal. After one that failed no other is made, and the bytes go on landing.
    fn renewed(&mut self, now: Clocks, lease: Result<Span, ErrorCode>) -> Want {
        let sent_at = lease_base(&self.config, self.asked_at, now);
        self.learn(lease.map(|lease| (sent_at, lease)));
        if self.moving {
            Want::Await(self.look_after(now))
        } else {
            self.submit(now)
        }
    }

    /// When half of what is left of the lease is over; never if it cannot be renewed.
    fn look_after(&self, now: Clocks) -> Option<Span> {
        if !self.config.guarded(Guard::RangedGetRenewsLease) {
            return None;
        }
        let (sent_at, lease) = self.known.last()?.lease.ok()?;
        let left = self
            .config
            .rules
            .until(DeadlineId::ClientLease, sent_at, lease, now);
        Some(Span::from_ns(left.ns / 2).max(SOONEST_RENEWAL))
    }

    fn submit(&mut self, now: Clocks) -> Want {
        let Some((id, replica)) = &self.replica else {
            return self.all(&Outcome::Error(ErrorCode::InvalidReplica));
        };
        let (mut at, mut moves) = (0, Vec::new());
        for (range, settled) in self.ranges.iter().zip(&self.settled) {
            if settled.is_none() && range.size > 0 {
                moves.push(Move::from(&self.config, *id, replica, 0).within(*range, at));
            }
            if settled.is_none() {
                at += range.size;
            }
        }
        if moves.is_empty() {
            return self.done(now, &[]);
        }
        self.moving = true;
        Want::Sequence {
            moves,
            look_after: self.look_after(now),
        }
    }

    /// What the client knew of its lease when it saw that something ended at `at`: a renewal that was under way then is
    /// waited for.
    fn known_at(&self, at: Clocks) -> Option<&Knowledge> {
        let asked = |known: &&Knowledge| known.asked_at.monotonic <= at.monotonic;
        self.known.iter().rev().find(asked).or(self.known.first())
    }

    /// The result of a range that ended so at `at`: a lease that could not be renewed is told before anything else.
    fn noticed(&self, ended: Outcome, at: Clocks) -> Outcome {
        match (ended, self.known_at(at).map(|known| known.lease)) {
            (_, Some(Err(code))) => Outcome::Error(code),
            (Outcome::Ok, Some(Ok((sent_at, lease)))) if is_late(&self.config, sent_at, lease, at) => {
                Outcome::Error(ErrorCode::LeaseExpired)
            }
            (ended, _) => ended,
        }
    }

    fn done(&self, now: Clocks, moved: &[Moved]) -> Want {
        let mut ends = moved.iter();
        let result = |(range, settled): (&ByteRange, &Option<Outcome>)| {
            let (ended, at) = match settled {
                Some(own) => (own.clone(), now),
                None if range.size == 0 => (Outcome::Ok, now),
                None => match ends.next() {
                    Some(Moved { result: Ok(()), at }) => (Outcome::Ok, *at),
                    Some(Moved { at, .. }) => (Outcome::Error(ErrorCode::TransferFail), *at),
                    None => (Outcome::Error(ErrorCode::TransferFail), now),
                },
            };
            self.noticed(ended, at)
        };
        Want::Done(Outcome::Batch(
            self.ranges.iter().zip(&self.settled).map(result).collect(),
        ))
    }
}

impl Operation for RangedGet {
    fn begin(&mut self, now: Clocks) -> Want {
        let block = total(&self.ranges).filter(|bytes| *bytes > 0);
        let staged = block.and_then(|bytes| self.memory.all(vec![bytes]));
        staged.unwrap_or_else(|| self.ask(now))
    }

    fn next(&mut self, now: Clocks, happened: Happened) -> Want {
        match happened {
            Happened::Answered(Ok(Response::GetReplicaList(Ok(answer)))) => self.queried(now, &answer),
            Happened::Answered(Ok(Response::GetReplicaList(Err(code)))) => self.all(&Outcome::Error(code)),
            Happened::Answered(Ok(Response::BatchGetReplicaList(answers))) => {
                let lease = match answers.as_slice() {
                    [Ok(answer)] => Ok(Span::from_ms(answer.lease_ttl_ms)),
                    [Err(code)] => Err(*code),
                    _ => Err(ErrorCode::RpcFail),
                };
                self.renewed(now, lease)
            }
            Happened::Answered(answer) if self.replica.is_some() => {
                let code = answer.err().map_or(ErrorCode::RpcFail, RpcFailure::code);
                self.renewed(now, Err(code))
            }
            Happened::Answered(Err(failure)) => self.all(&failure.into()),
            Happened::Staged(taken) if taken == [true] => self.ask(now),
            Happened::Staged(_) => self.all(&NO_ROOM),
            Happened::Waited => self.renew(now),
            Happened::MovedAll(moved) => self.done(now, &moved),
            Happened::Answered(Ok(_)) | Happened::Moved(_) => self.all(&Outcome::Error(ErrorCode::RpcFail)),
        }
    }

    fn places(&self) -> Vec<Option<BufferPlace>> {
        let mut at = 0;
        let place = |(range, settled): (&ByteRange, &Option<Outcome>)| {
            settled.is_none().then(|| {
                let place = BufferPlace { at, range: *range };
                at += range.size;
                place
            })
        };
        self.ranges.iter().zip(&self.settled).map(place).collect()
    }
}
