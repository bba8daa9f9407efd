//! Put and upsert. Mirrors `client_service.cpp:Client::Put` and `Client::Upsert`.

use crate::staging::NO_ROOM;
use crate::{
    BufferPart, Call, CallPhases, ClientConfig, Happened, Move, MoveFailure, Moved, NearMemory, Operation,
    Outcome, Want,
};
use moonquake_clock::Clocks;
use moonquake_faults::{Guard, Quirk};
use moonquake_protocol::{
    ErrorCode, ObjectMeta, ReplicaDescriptor, ReplicaType, ReplicateConfig, Request, Response,
};

/// Which of the two writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutKind {
    /// Mirrors `Client::Put`: an existing key counts as success and nothing is written.
    Put,
    /// Mirrors `Client::Upsert`.
    Upsert,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting,
    Writing,
    Ending,
    Revoking,
}

/// Writes one object: PutStart, each replica after the other, PutEnd; PutRevoke if a transfer failed.
#[derive(Clone, Debug)]
pub struct Put {
    config: ClientConfig,
    kind: PutKind,
    key: String,
    size_bytes: u64,
    replicate: ReplicateConfig,
    memory: NearMemory,
    state: State,
    /// The checksum of its value, if it takes one.
    checksum: Option<u64>,
    granted: Vec<ReplicaDescriptor>,
    written: usize,
    failed: bool,
    unfenced: bool,
}

impl Put {
    /// A put of `size_bytes` under `key`.
    pub fn new(
        config: ClientConfig,
        kind: PutKind,
        key: String,
        size_bytes: u64,
        replicate: ReplicateConfig,
    ) -> Put {
        Put {
            config,
            kind,
            key,
            size_bytes,
            replicate,
            memory: NearMemory::CALLER,
            state: State::Starting,
            checksum: None,
            granted: Vec::new(),
            written: 0,
            failed: false,
            unfenced: false,
        }
    }

    /// Out of the caller's own buffer (`put_from`), or staged (`put`): without room there it fails before the master hears of
    /// it.
    pub fn out_of(self, memory: NearMemory) -> Put {
        Put { memory, ..self }
    }

    /// The result of a put of no bytes, which the master never hears of. Mirrors `real_client.cpp:put_from_internal` and
    /// `put_internal`, whose staging has no block of no bytes.
    fn empty(&self) -> Outcome {
        let staged = self.memory == NearMemory::Staging;
        if !staged && self.config.quirks.has(Quirk::EmptyPutIsSuccess) {
            Outcome::Ok
        } else {
            Outcome::Error(ErrorCode::InvalidParams)
        }
    }

    /// Takes the checksum of the value before anything is asked for, if there shall be one.
    fn sum_or_start(&self) -> Want {
        if self.config.checksums {
            let whole = BufferPart {
                at: 0,
                size: self.size_bytes,
            };
            return Want::Sum(vec![whole]);
        }
        self.start()
    }

    fn start(&self) -> Want {
        let (client_id, key, slice_length) = (self.config.client_id, self.key.clone(), self.size_bytes);
        let (config, tenant_id) = (self.replicate.clone(), self.config.tenant_id.clone());
        let request = match self.kind {
            PutKind::Put => Request::PutStart {
                client_id,
                key,
                slice_length,
                config,
                tenant_id,
            },
            PutKind::Upsert => Request::UpsertStart {
                client_id,
                key,
                slice_length,
                config,
                tenant_id,
            },
        };
        Want::Call(Call {
            request,
            fences: Vec::new(),
            phases: CallPhases::START,
        })
    }

    fn fences(&self) -> Vec<Option<u64>> {
        vec![self.granted.first().map(|replica| replica.id)]
    }

    fn end(&mut self) -> Want {
        self.state = State::Ending;
        let client_id = self.config.client_id;
        let object_meta = ObjectMeta {
            key: self.key.clone(),
            object_checksum: self.checksum,
        };
        let (replica_type, tenant_id) = (ReplicaType::All, self.config.tenant_id.clone());
        let request = match self.kind {
            PutKind::Put => Request::PutEnd {
                client_id,
                object_meta,
                replica_type,
                tenant_id,
            },
            PutKind::Upsert => Request::UpsertEnd {
                client_id,
                object_meta,
                replica_type,
                tenant_id,
            },
        };
        Want::Call(Call {
            request,
            fences: self.fences(),
            phases: CallPhases::END,
        })
    }

    fn revoke(&mut self) -> Want {
        self.state = State::Revoking;
        let (client_id, key) = (self.config.client_id, self.key.clone());
        let (replica_type, tenant_id) = (ReplicaType::All, self.config.tenant_id.clone());
        let request = match self.kind {
            PutKind::Put => Request::PutRevoke {
                client_id,
                key,
                replica_type,
                tenant_id,
            },
            PutKind::Upsert => Request::UpsertRevoke {
                client_id,
                key,
                replica_type,
                tenant_id,
            },
        };
        let call = Want::Call(Call {
            request,
            fences: self.fences(),
            phases: CallPhases::REVOKE,
        });
        if self.unfenced {
            Want::FenceThen(Box::new(call))
        } else {
            call
        }
    }

    /// The next replica, or the end.
    fn write_on(&mut self) -> Want {
        while let Some(replica) = self.granted.get(self.written) {
            self.written += 1;
            match Move::to(&self.config, replica) {
                Some(wanted) => return self.config.write(wanted),
                None => self.failed = true,
            }
        }
        let bad = self.failed || self.granted.is_empty();
        if !bad || !self.config.guarded(Guard::FailedPutIsNotEnded) {
            self.end()
        } else if self.config.guarded(Guard::FailedPutIsRevoked) {
            self.revoke()
        } else {
            Want::Done(Outcome::Error(ErrorCode::TransferFail))
        }
    }

    /// A replica was written, in one go or in slices: one slice that failed fails it, once the last one is over.
    fn moved(&mut self, result: Result<(), MoveFailure>) -> Want {
        if let Err(failure) = result {
            self.failed = true;
            self.unfenced |= failure == MoveFailure::Limit && self.config.fences();
        }
        self.write_on()
    }

    fn started(&mut self, result: Result<Vec<ReplicaDescriptor>, ErrorCode>) -> Want {
        match result {
            Err(ErrorCode::ObjectAlreadyExists) if self.kind == PutKind::Put => {
                Want::Done(self.config.put_of_existing())
            }
            Err(code) => Want::Done(Outcome::Error(code)),
            Ok(granted) => {
                self.granted = granted;
                self.state = State::Writing;
                self.write_on()
            }
        }
    }
}

impl Operation for Put {
    fn begin(&mut self, _now: Clocks) -> Want {
        if self.size_bytes == 0 {
            return Want::Done(self.empty());
        }
        let staged = self.memory.all(vec![self.size_bytes]);
        staged.unwrap_or_else(|| self.sum_or_start())
    }

    fn next(&mut self, _now: Clocks, happened: Happened) -> Want {
        match (self.state, happened) {
            (_, Happened::Answered(Err(failure))) => Want::Done(failure.into()),
            (State::Starting, Happened::Staged(taken)) if taken == [true] => self.sum_or_start(),
            (State::Starting, Happened::Summed(sums)) => {
                self.checksum = sums.first().copied();
                self.start()
            }
            (State::Starting, Happened::Staged(_)) => Want::Done(NO_ROOM),
            (
                State::Starting,
                Happened::Answered(Ok(Response::PutStart(result) | Response::UpsertStart(result))),
            ) => self.started(result),
            (State::Writing, Happened::Moved(result)) => self.moved(result),
            (State::Writing, Happened::MovedAll(slices)) => self.moved(Moved::together(&slices)),
            (
                State::Ending,
                Happened::Answered(Ok(Response::PutEnd(result) | Response::UpsertEnd(result))),
            ) => Want::Done(result.map_or_else(Outcome::Error, |()| Outcome::Ok)),
            (
                State::Revoking,
                Happened::Answered(Ok(Response::PutRevoke(result) | Response::UpsertRevoke(result))),
            ) => Want::Done(Outcome::Error(result.err().unwrap_or(ErrorCode::TransferFail))),
            // An answer of another type than was asked for: upstream fails to decode it and calls it RPC_FAIL.
            _ => Want::Done(Outcome::Error(ErrorCode::RpcFail)),
        }
    }

    fn granted(&self) -> &[ReplicaDescriptor] {
        &self.granted
    }

    fn attempts(&self) -> Vec<(String, Vec<ReplicaDescriptor>)> {
        vec![(self.key.clone(), self.granted.clone())]
    }
}
