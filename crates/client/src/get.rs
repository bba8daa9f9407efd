//! Get. Mirrors `client_service.cpp:Client::Query` and `Client::Get`.

use crate::staging::NO_ROOM;
use crate::{
    BufferPart, Call, CallPhases, ClientConfig, Happened, Move, MoveFailure, NearMemory, Operation, Outcome,
    Want, memory_of, preferred_replica,
};
use moonquake_clock::{Clocks, DeadlineId, Span};
use moonquake_faults::Guard;
use moonquake_protocol::{BufferDescriptor, ErrorCode, Request, Response};

/// The query of every read.
pub(crate) fn query(config: &ClientConfig, key: &str) -> Want {
    let request = Request::GetReplicaList {
        key: key.to_owned(),
        tenant_id: config.tenant_id.clone(),
    };
    Want::Call(Call {
        request,
        fences: Vec::new(),
        phases: CallPhases::QUERY,
    })
}

/// What the lease of a read counts from: the instant before its query was sent.
pub(crate) fn lease_base(config: &ClientConfig, sent_at: Clocks, answered_at: Clocks) -> Clocks {
    config.rules.base(DeadlineId::ClientLease, sent_at, answered_at)
}

/// The transfer of every read.
pub(crate) fn read(config: &ClientConfig, replica_id: u64, replica: &BufferDescriptor) -> Want {
    Want::Move(Move::from(config, replica_id, replica, 0))
}

/// The end of every read: a transfer that failed, or the lease check on the client's own clock.
pub(crate) fn finish(
    config: &ClientConfig,
    now: Clocks,
    result: Result<(), MoveFailure>,
    sent_at: Clocks,
    lease: Span,
) -> Want {
    match result {
        Err(failure) => {
            let done = Want::Done(Outcome::Error(ErrorCode::TransferFail));
            let fence = failure == MoveFailure::Limit && config.fences();
            if fence {
                Want::FenceThen(Box::new(done))
            } else {
                done
            }
        }
        Ok(()) => Want::Done(if is_late(config, sent_at, lease, now) {
            Outcome::Error(ErrorCode::LeaseExpired)
        } else {
            Outcome::Ok
        }),
    }
}

/// The client's own look at a lease after a read.
pub(crate) fn is_late(config: &ClientConfig, sent_at: Clocks, lease: Span, now: Clocks) -> bool {
    let over = config.rules.reached(DeadlineId::ClientLease, sent_at, lease, now);
    over && config.guarded(Guard::ClientChecksLease)
}

/// Reads one object: GetReplicaList, transfer, lease check. One replica is tried, nothing is asked twice.
#[derive(Clone, Debug)]
pub struct Get {
    config: ClientConfig,
    key: String,
    memory: NearMemory,
    /// The replica that waits for staging memory.
    chosen: Option<(u64, BufferDescriptor)>,
    /// The bytes of the object, and its checksum if it has one and that shall be compared.
    size_bytes: u64,
    checksum: Option<u64>,
    sent_at: Clocks,
    lease: Span,
}

impl Get {
    /// A get of `key`.
    pub fn new(config: ClientConfig, key: String) -> Get {
        Get {
            config,
            key,
            memory: NearMemory::CALLER,
            chosen: None,
            size_bytes: 0,
            checksum: None,
            sent_at: Clocks::default(),
            lease: Span::ZERO,
        }
    }

    /// Into the caller's own buffer (`get_into`), or staged (`get_buffer`). Either is looked at once the size of the object is
    /// known: the lease is granted also to a read that has no room.
    pub fn into(self, memory: NearMemory) -> Get {
        Get { memory, ..self }
    }

    fn read_or_stage(&mut self, id: u64, replica: &BufferDescriptor) -> Want {
        self.size_bytes = replica.size;
        if !self.config.has_room(self.memory, 0, replica.size) {
            return Want::Done(NO_ROOM);
        }
        match self.memory.all(vec![replica.size]) {
            None => read(&self.config, id, replica),
            Some(staged) => {
                self.chosen = Some((id, replica.clone()));
                staged
            }
        }
    }

    fn staged(&self, taken: &[bool]) -> Want {
        match &self.chosen {
            Some((id, replica)) if taken == [true] => read(&self.config, *id, replica),
            _ => Want::Done(NO_ROOM),
        }
    }
}

impl Operation for Get {
    fn begin(&mut self, now: Clocks) -> Want {
        self.sent_at = now;
        query(&self.config, &self.key)
    }

    fn next(&mut self, now: Clocks, happened: Happened) -> Want {
        match happened {
            Happened::Answered(Err(failure)) => Want::Done(failure.into()),
            Happened::Answered(Ok(Response::GetReplicaList(Err(code)))) => Want::Done(Outcome::Error(code)),
            Happened::Answered(Ok(Response::GetReplicaList(Ok(answer)))) => {
                self.lease = Span::from_ms(answer.lease_ttl_ms);
                self.checksum = self.config.to_compare(answer.object_checksum);
                self.sent_at = lease_base(&self.config, self.sent_at, now);
                let chosen = preferred_replica(&answer.replicas, &self.config.local_endpoints);
                match chosen.and_then(|chosen| Some((chosen.id, memory_of(chosen)?))) {
                    Some((id, replica)) => self.read_or_stage(id, replica),
                    None => Want::Done(Outcome::Error(ErrorCode::InvalidReplica)),
                }
            }
            Happened::Answered(Ok(_)) | Happened::MovedAll(_) | Happened::Waited => {
                Want::Done(Outcome::Error(ErrorCode::RpcFail))
            }
            Happened::Staged(taken) => self.staged(&taken),
            Happened::Moved(Ok(())) if self.checksum.is_some() => Want::Sum(vec![BufferPart {
                at: 0,
                size: self.size_bytes,
            }]),
            Happened::Summed(sums) if sums.first() != self.checksum.as_ref() => {
                Want::Done(Outcome::Error(ErrorCode::ChecksumMismatch))
            }
            Happened::Summed(_) => finish(&self.config, now, Ok(()), self.sent_at, self.lease),
            Happened::Moved(result) => finish(&self.config, now, result, self.sent_at, self.lease),
        }
    }
}
