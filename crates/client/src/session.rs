//! Operations split into steps: get sessions and put sessions. Mirrors the sessions of `real_client.cpp`.

use crate::get::{finish, lease_base, query, read};
use crate::{
    ClientConfig, Happened, Move, MoveFailure, Operation, Outcome, Want, memory_of, preferred_replica,
};
use moonquake_clock::{Clocks, DeadlineId, Span};
use moonquake_faults::Guard;
use moonquake_protocol::{BufferDescriptor, ErrorCode, ReplicaDescriptor, Response};

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
        query(&self.config, &self.key)
    }

    fn next(&mut self, now: Clocks, happened: Happened) -> Want {
        let outcome = match happened {
            Happened::Answered(Err(failure)) => failure.into(),
            Happened::Answered(Ok(Response::GetReplicaList(Err(code)))) => Outcome::Error(code),
            Happened::Answered(Ok(Response::GetReplicaList(Ok(answer)))) => {
                let lease = Span::from_ms(answer.lease_ttl_ms);
                let chosen = preferred_replica(&answer.replicas, &self.config.local_endpoints);
                match chosen.and_then(|chosen| Some((chosen.id, memory_of(chosen)?))) {
                    Some((replica_id, replica)) => {
                        self.opened = Some(GetSession {
                            replica: replica.clone(),
                            replica_id,
                            sent_at: lease_base(&self.config, self.sent_at, now),
                            lease,
                        });
                        Outcome::Ok
                    }
                    None => Outcome::Error(ErrorCode::InvalidReplica),
                }
            }
            Happened::Answered(Ok(_)) | Happened::Moved(_) | Happened::MovedAll(_) | Happened::Waited => {
                Outcome::Error(ErrorCode::RpcFail)
            }
        };
        Want::Done(outcome)
    }

    fn opened(&self) -> Option<GetSession> {
        self.opened.clone()
    }
}

/// Reads with the descriptors of a session. The lease is checked before and after, and never renewed.
#[derive(Clone, Debug)]
pub struct ReadSession {
    config: ClientConfig,
    session: GetSession,
}

impl ReadSession {
    /// A read of the whole object of `session`.
    pub fn new(config: ClientConfig, session: GetSession) -> ReadSession {
        ReadSession { config, session }
    }
}

impl Operation for ReadSession {
    fn begin(&mut self, now: Clocks) -> Want {
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
        read(&self.config, *replica_id, replica)
    }

    fn next(&mut self, now: Clocks, happened: Happened) -> Want {
        match happened {
            Happened::Moved(result) => finish(
                &self.config,
                now,
                result,
                self.session.sent_at,
                self.session.lease,
            ),
            Happened::Answered(_) | Happened::MovedAll(_) | Happened::Waited => {
                Want::Done(Outcome::Error(ErrorCode::RpcFail))
            }
        }
    }
}

/// Writes the payload of a put session to each of its replicas.
#[derive(Clone, Debug)]
pub struct PutWrite {
    config: ClientConfig,
    session: PutSession,
    written: usize,
    failed: bool,
    unfenced: bool,
}

impl PutWrite {
    /// A write of the whole object of `session`.
    pub fn new(config: ClientConfig, session: PutSession) -> PutWrite {
        PutWrite {
            config,
            session,
            written: 0,
            failed: false,
            unfenced: false,
        }
    }

    fn write_on(&mut self) -> Want {
        while let Some(replica) = self.session.granted.get(self.written) {
            self.written += 1;
            if let Some(wanted) = Move::to(&self.config, replica) {
                return Want::Move(wanted);
            }
        }
        let outcome = if self.failed {
            Outcome::Error(ErrorCode::TransferFail)
        } else {
            Outcome::Ok
        };
        if self.unfenced {
            Want::FenceThen(Box::new(Want::Done(outcome)))
        } else {
            Want::Done(outcome)
        }
    }
}

impl Operation for PutWrite {
    fn begin(&mut self, _now: Clocks) -> Want {
        self.write_on()
    }

    fn next(&mut self, _now: Clocks, happened: Happened) -> Want {
        if let Happened::Moved(Err(failure)) = happened {
            self.failed = true;
            self.unfenced |= failure == MoveFailure::Limit && self.config.fences();
        }
        self.write_on()
    }
}
