//! Operations split into steps: get sessions and put sessions. Mirrors the sessions of `real_client.cpp`.

use crate::get::{finish, is_late, lease_base};
use crate::operation::total;
use crate::staging::NO_ROOM;
use crate::{
    BufferPlace, ByteRange, Call, CallPhases, ClientConfig, Happened, Move, Moved, NearMemory, Operation,
    Outcome, Want, memory_of, preferred_replica,
};
use moonquake_clock::{Clocks, DeadlineId, Span};
use moonquake_faults::Guard;
use moonquake_protocol::{BufferDescriptor, ErrorCode, ReplicaDescriptor, Request, Response};

/// Descriptors kept from a query, with the lease they came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetSession {
    /// The replica to read.
    pub replica: BufferDescriptor,
    /// Its id.
    pub replica_id: u64,
    /// The client's clocks before the query was sent.
    pub sent_at: Clocks,
    /// The lease that the answer promised.
    pub lease: Span,
}

/// Descriptors kept from a PutStart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutSession {
    /// The key.
    pub key: String,
    /// What was granted.
    pub granted: Vec<ReplicaDescriptor>,
    /// Object bytes.
    pub size_bytes: u64,
}

/// Opens a get session.
#[derive(Clone, Debug)]
pub struct GetStart {
    config: ClientConfig,
    key: String,
    sent_at: Clocks,
    opened: Option<GetSession>,
}

impl GetStart {
    /// A session on `key`.
    pub fn new(config: ClientConfig, key: String) -> GetStart {
        GetStart {
            config,
            key,
            sent_at: Clocks::default(),
            opened: None,
        }
    }
}

impl Operation for GetStart {
    fn begin(&mut self, now: Clocks) -> Want {
        self.sent_at = now;
        // A session is one of several keys upstream, and asks for all of them at once.
        let request = Request::BatchGetReplicaList {
            keys: vec![self.key.clone()],
            tenant_id: self.config.tenant_id.clone(),
        };
        Want::Call(Call {
            request,
            fences: Vec::new(),
            phases: CallPhases::QUERY,
        })
    }

    fn next(&mut self, now: Clocks, happened: Happened) -> Want {
        let outcome = match happened {
            Happened::Answered(Err(failure)) => failure.into(),
            Happened::Answered(Ok(Response::BatchGetReplicaList(answers))) => {
                let answer = match answers.into_iter().next() {
                    Some(Ok(answer)) => answer,
                    Some(Err(code)) => return Want::Done(Outcome::Error(code)),
                    None => return Want::Done(Outcome::Error(ErrorCode::RpcFail)),
                };
                let lease = Span::from_ms(answer.lease_ttl_ms);
                let sent_at = lease_base(&self.config, self.sent_at, now);
                let chosen = preferred_replica(&answer.replicas, &self.config.local_endpoints);
                match chosen.and_then(|chosen| Some((chosen.id, memory_of(chosen)?))) {
                    _ if is_late(&self.config, sent_at, lease, now) => {
                        Outcome::Error(ErrorCode::LeaseExpired)
                    }
                    Some((replica_id, replica)) => {
                        self.opened = Some(GetSession {
                            replica: replica.clone(),
                            replica_id,
                            sent_at,
                            lease,
                        });
                        Outcome::Ok
                    }
                    None => Outcome::Error(ErrorCode::InvalidReplica),
                }
            }
            Happened::Answered(Ok(_))
            | Happened::Staged(_)
            | Happened::Summed(_)
            | Happened::Moved(_)
            | Happened::MovedAll(_)
            | Happened::Waited => Outcome::Error(ErrorCode::RpcFail),
        };
        Want::Done(outcome)
    }

    fn opened(&self) -> Option<GetSession> {
        self.opened.clone()
    }
}

/// A read with a session that is not open, or not any more: after its end, and after a read that found its lease over.
#[derive(Clone, Copy, Debug)]
pub struct NoSession;

impl Operation for NoSession {
    fn begin(&mut self, _now: Clocks) -> Want {
        Want::Done(Outcome::Error(ErrorCode::InvalidParams))
    }

    fn next(&mut self, now: Clocks, _happened: Happened) -> Want {
        self.begin(now)
    }
}

/// Reads with the descriptors of a session. The lease is checked before and after, and never renewed. There is no limit of
/// time.
#[derive(Clone, Debug)]
pub struct ReadSession {
    config: ClientConfig,
    session: GetSession,
    /// None for the whole object.
    ranges: Vec<ByteRange>,
    memory: NearMemory,
}

impl ReadSession {
    /// A read of `ranges` of the object of `session`; of all of it if there are none.
    pub fn new(config: ClientConfig, session: GetSession, ranges: Vec<ByteRange>) -> ReadSession {
        ReadSession {
            config,
            session,
            ranges,
            memory: NearMemory::CALLER,
        }
    }

    /// Into a buffer of the caller, or into a block that it takes of the client's staging memory first. How long a buffer is
    /// nobody looks at: a session is told an address for each range.
    pub fn into(self, memory: NearMemory) -> ReadSession {
        ReadSession { memory, ..self }
    }

    fn ranges(&self) -> Vec<ByteRange> {
        ranges_or_all(&self.ranges, self.session.replica.size)
    }
}

impl ReadSession {
    fn read(&mut self, now: Clocks) -> Want {
        let GetSession {
            replica,
            replica_id,
            sent_at,
            lease,
        } = &self.session;
        let over = self
            .config
            .rules
            .reached(DeadlineId::ClientLease, *sent_at, *lease, now);
        if over && self.config.guarded(Guard::SessionChecksLease) {
            return Want::Done(Outcome::Error(ErrorCode::LeaseExpired));
        }
        let whole = Move::from(&self.config, *replica_id, replica, 0);
        match pieces(&whole, &self.ranges()) {
            Ok(moves) if moves.is_empty() => self.next(now, Happened::MovedAll(Vec::new())),
            Ok(moves) => Want::Sequence {
                moves,
                look_after: None,
            },
            Err(code) => Want::Done(Outcome::Error(code)),
        }
    }
}

impl Operation for ReadSession {
    fn begin(&mut self, now: Clocks) -> Want {
        stage_for(self.memory, &self.ranges()).unwrap_or_else(|| self.read(now))
    }

    fn next(&mut self, now: Clocks, happened: Happened) -> Want {
        match happened {
            Happened::Staged(taken) if taken == [true] => self.read(now),
            Happened::Staged(_) => Want::Done(NO_ROOM),
            Happened::MovedAll(moved) => match Moved::together(&moved) {
                Err(failure) => Want::Done(Outcome::Error(failure.of_a_range())),
                Ok(()) => {
                    let GetSession { sent_at, lease, .. } = self.session;
                    finish(&self.config, now, Ok(()), sent_at, lease)
                }
            },
            Happened::Answered(_) | Happened::Summed(_) | Happened::Moved(_) | Happened::Waited => {
                Want::Done(Outcome::Error(ErrorCode::RpcFail))
            }
        }
    }

    fn places(&self) -> Vec<Option<BufferPlace>> {
        let mut at = 0;
        let place = |range: ByteRange| {
            let place = BufferPlace { at, range };
            at += range.size;
            Some(place)
        };
        self.ranges().into_iter().map(place).collect()
    }
}

/// The block for these ranges, if they need one.
fn stage_for(memory: NearMemory, ranges: &[ByteRange]) -> Option<Want> {
    let bytes = total(ranges).filter(|bytes| *bytes > 0)?;
    memory.all(vec![bytes])
}

fn ranges_or_all(ranges: &[ByteRange], size: u64) -> Vec<ByteRange> {
    if ranges.is_empty() {
        vec![ByteRange { from: 0, size }]
    } else {
        ranges.to_vec()
    }
}

/// The parts of a transfer that are these ranges, one behind the other in the buffer. One range beyond the object fails
/// all of them before anything moves.
fn pieces(whole: &Move, ranges: &[ByteRange]) -> Result<Vec<Move>, ErrorCode> {
    let (mut at, mut moves) = (0, Vec::new());
    for range in ranges {
        if !range.lies_in(whole.size) {
            return Err(ErrorCode::InvalidParams);
        }
        if range.size > 0 {
            moves.push(whole.clone().within(*range, at));
        }
        at += range.size;
    }
    Ok(moves)
}

/// Writes the payload of a put session to each of its replicas, or ranges of it: which bytes are there in the end is the
/// caller's affair. There is no limit of time. Mirrors `real_client.cpp:batch_put_from_multi_buffer_ranges`.
#[derive(Clone, Debug)]
pub struct PutWrite {
    config: ClientConfig,
    session: PutSession,
    /// None for the whole object.
    ranges: Vec<ByteRange>,
    memory: NearMemory,
}

impl PutWrite {
    /// A write of `ranges` of the object of `session`; of all of it if there are none.
    pub fn new(config: ClientConfig, session: PutSession, ranges: Vec<ByteRange>) -> PutWrite {
        PutWrite {
            config,
            session,
            ranges,
            memory: NearMemory::CALLER,
        }
    }

    /// Out of a buffer of the caller, or out of a block that it takes of the client's staging memory first.
    pub fn out_of(self, memory: NearMemory) -> PutWrite {
        PutWrite { memory, ..self }
    }

    fn ranges(&self) -> Vec<ByteRange> {
        ranges_or_all(&self.ranges, self.session.size_bytes)
    }

    fn write(&mut self, now: Clocks) -> Want {
        let ranges = self.ranges();
        let mut moves = Vec::new();
        for replica in &self.session.granted {
            let Some(whole) = Move::to(&self.config, replica) else {
                continue;
            };
            match pieces(&whole, &ranges) {
                Ok(pieces) => moves.extend(pieces),
                Err(code) => return Want::Done(Outcome::Error(code)),
            }
        }
        if moves.is_empty() {
            return self.next(now, Happened::MovedAll(Vec::new()));
        }
        Want::Sequence {
            moves,
            look_after: None,
        }
    }
}

impl Operation for PutWrite {
    fn begin(&mut self, now: Clocks) -> Want {
        stage_for(self.memory, &self.ranges()).unwrap_or_else(|| self.write(now))
    }

    fn next(&mut self, now: Clocks, happened: Happened) -> Want {
        Want::Done(match happened {
            Happened::Staged(taken) if taken == [true] => return self.write(now),
            Happened::Staged(_) => NO_ROOM,
            Happened::MovedAll(moved) => match Moved::together(&moved) {
                Ok(()) => Outcome::Ok,
                Err(failure) => Outcome::Error(failure.of_a_range()),
            },
            _ => Outcome::Error(ErrorCode::TransferFail),
        })
    }
}
