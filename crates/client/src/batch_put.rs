//! Many puts or upserts in one operation. Mirrors `client_service.cpp:BatchPut`, `BatchPutWhenPreferSameNode` and
//! `BatchUpsert`.

use crate::staging::NO_ROOM;
use crate::{
    BufferPart, Call, CallPhases, ClientConfig, Happened, Move, MoveFailure, Moved, NearMemory, Operation,
    Outcome, PutKind, Want,
};
use moonquake_clock::Clocks;
use moonquake_protocol::{
    ErrorCode, ObjectMeta, ReplicaDescriptor, ReplicaType, ReplicateConfig, Request, Response,
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting,
    Writing,
    Ending,
    Revoking,
}

/// What is known of one key.
#[derive(Clone, Debug, Default)]
struct Entry {
    granted: Vec<ReplicaDescriptor>,
    /// The checksum of its value, if it takes one.
    checksum: Option<u64>,
    /// Its result; none while it goes well.
    result: Option<Outcome>,
}

impl Entry {
    /// Whether memory was handed out for it that must be given back.
    fn is_to_revoke(&self) -> bool {
        !self.granted.is_empty() && self.result.is_some()
    }

    fn is_to_end(&self) -> bool {
        !self.granted.is_empty() && self.result.is_none()
    }
}

/// Writes many objects of one size: one BatchPutStart, all transfers beside each other, one BatchPutEnd for the keys
/// that went well, one BatchPutRevoke for the others. The result of each key is told; nothing is rolled back.
#[derive(Clone, Debug)]
pub struct BatchPut {
    config: ClientConfig,
    kind: PutKind,
    keys: Vec<String>,
    size_bytes: u64,
    replicate: ReplicateConfig,
    memory: NearMemory,
    state: State,
    entries: Vec<Entry>,
    /// The entry of each transfer, with the endpoint that it goes to.
    moves: Vec<(usize, String)>,
    /// The entries of the call under way.
    called: Vec<usize>,
    unfenced: bool,
}

impl BatchPut {
    /// A put of `size_bytes` under each of `keys`.
    pub fn new(
        config: ClientConfig,
        kind: PutKind,
        keys: Vec<String>,
        size_bytes: u64,
        replicate: ReplicateConfig,
    ) -> BatchPut {
        BatchPut {
            entries: vec![Entry::default(); keys.len()],
            config,
            kind,
            keys,
            size_bytes,
            replicate,
            memory: NearMemory::CALLER,
            state: State::Starting,
            moves: Vec::new(),
            called: Vec::new(),
            unfenced: false,
        }
    }

    /// Out of one buffer of the caller for all keys (`batch_put_from`), or staged, each key in a block of its own (`put_batch`):
    /// without room for all of them the batch fails before the master hears of it.
    pub fn out_of(self, memory: NearMemory) -> BatchPut {
        BatchPut { memory, ..self }
    }

    /// Where the value of each entry begins in the operation's buffer: a key that is named twice has the first value of both.
    fn value_places(&self) -> Vec<u64> {
        if self.memory != NearMemory::Staging {
            return vec![0; self.keys.len()];
        }
        let mut firsts = BTreeMap::new();
        let first = |(index, key)| *firsts.entry(key).or_insert(index) as u64;
        let firsts = self.keys.iter().enumerate().map(first);
        firsts
            .map(|first| self.size_bytes.saturating_mul(first))
            .collect()
    }

    /// Takes the checksums of all values before anything is asked for, if there shall be some.
    fn sum_or_start(&self) -> Want {
        if self.config.checksums {
            let part = |at| BufferPart {
                at,
                size: self.size_bytes,
            };
            return Want::Sum(self.value_places().into_iter().map(part).collect());
        }
        self.start()
    }

    fn start(&self) -> Want {
        let (client_id, keys) = (self.config.client_id, self.keys.clone());
        let slice_lengths = vec![self.size_bytes; keys.len()];
        let (config, tenant_id) = (self.replicate.clone(), self.config.tenant_id.clone());
        let request = match self.kind {
            PutKind::Put => Request::BatchPutStart {
                client_id,
                keys,
                slice_lengths,
                config,
                tenant_id,
            },
            PutKind::Upsert => Request::BatchUpsertStart {
                client_id,
                keys,
                slice_lengths,
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

    /// The result of every key whose fate is open.
    fn fail_open(&mut self, outcome: &Outcome) {
        for entry in self.entries.iter_mut().filter(|entry| entry.result.is_none()) {
            entry.result = Some(outcome.clone());
        }
    }

    fn done(&self) -> Want {
        let results = self.entries.iter().map(|entry| entry.result.clone());
        Want::Done(Outcome::Batch(
            results.map(|result| result.unwrap_or(Outcome::Ok)).collect(),
        ))
    }

    fn started(&mut self, answers: Vec<Result<Vec<ReplicaDescriptor>, ErrorCode>>) -> Want {
        if answers.len() != self.keys.len() {
            self.fail_open(&Outcome::Error(ErrorCode::RpcFail));
            return self.done();
        }
        let places = self.value_places();
        let mut moves = Vec::new();
        for (index, (entry, answer)) in self.entries.iter_mut().zip(answers).enumerate() {
            match answer {
                Err(ErrorCode::ObjectAlreadyExists) if self.kind == PutKind::Put => {
                    entry.result = Some(self.config.put_of_existing());
                }
                Err(code) => entry.result = Some(Outcome::Error(code)),
                Ok(granted) => {
                    for replica in &granted {
                        let Some(mut wanted) = Move::to(&self.config, replica) else {
                            entry.result = Some(Outcome::Error(ErrorCode::TransferFail));
                            continue;
                        };
                        wanted.at = places[index];
                        for slice in wanted.sliced(self.config.slice_bytes) {
                            self.moves.push((index, slice.replica.transport_endpoint.clone()));
                            moves.push(slice);
                        }
                    }
                    entry.granted = granted;
                }
            }
        }
        self.state = State::Writing;
        if moves.is_empty() {
            self.end()
        } else {
            Want::Moves(moves)
        }
    }

    /// Each key fails with its own transfers; where they are grouped by node, with any of the group.
    fn written(&mut self, moved: &[Moved]) -> Want {
        let failed = (self.moves.iter().zip(moved)).filter(|(_, moved)| moved.result.is_err());
        let failed = failed.map(|((index, endpoint), _)| (*index, endpoint.as_str()));
        let (indices, groups): (BTreeSet<usize>, BTreeSet<&str>) = failed.unzip();
        let grouped = self.kind == PutKind::Put && self.replicate.prefer_alloc_in_same_node;
        for (index, endpoint) in &self.moves {
            let is_hit = if grouped {
                groups.contains(endpoint.as_str())
            } else {
                indices.contains(index)
            };
            if is_hit {
                let result = &mut self.entries[*index].result;
                result.get_or_insert(Outcome::Error(ErrorCode::TransferFail));
            }
        }
        let given_up = |moved: &Moved| moved.result == Err(MoveFailure::Limit);
        self.unfenced = self.config.fences() && moved.iter().any(given_up);
        self.end()
    }

    fn entries_that(&self, wanted: fn(&Entry) -> bool) -> Vec<usize> {
        (0..self.entries.len())
            .filter(|index| wanted(&self.entries[*index]))
            .collect()
    }

    /// The keys and their fences of a call for some entries.
    fn call_for(&self, entries: &[usize]) -> (Vec<String>, Vec<Option<u64>>) {
        let keys = entries.iter().map(|index| self.keys[*index].clone());
        let fence = |index: &usize| self.entries[*index].granted.first().map(|replica| replica.id);
        (keys.collect(), entries.iter().map(fence).collect())
    }

    fn end(&mut self) -> Want {
        self.state = State::Ending;
        self.called = self.entries_that(Entry::is_to_end);
        if self.called.is_empty() {
            return self.revoke(&self.entries_that(Entry::is_to_revoke));
        }
        let (keys, fences) = self.call_for(&self.called);
        let client_id = self.config.client_id;
        let meta = |(key, index): (String, &usize)| ObjectMeta {
            key,
            object_checksum: self.entries[*index].checksum,
        };
        let object_metas = keys.into_iter().zip(&self.called).map(meta).collect();
        let tenant_id = self.config.tenant_id.clone();
        let request = match self.kind {
            PutKind::Put => Request::BatchPutEnd {
                client_id,
                object_metas,
                replica_type: ReplicaType::All,
                tenant_id,
            },
            PutKind::Upsert => Request::BatchUpsertEnd {
                client_id,
                object_metas,
                tenant_id,
            },
        };
        Want::Call(Call {
            request,
            fences,
            phases: CallPhases::END,
        })
    }

    /// The answers of BatchPutEnd. One that failed as a whole, or has another length than was asked for, gives its code to
    /// every key that it was for; none of them is revoked.
    fn ended(&mut self, answers: Result<Vec<Result<(), ErrorCode>>, Outcome>) -> Want {
        let revoked = self.entries_that(Entry::is_to_revoke);
        let answers = answers.and_then(|answers| {
            let fits = answers.len() == self.called.len();
            fits.then_some(answers).ok_or(Outcome::Error(ErrorCode::RpcFail))
        });
        for (place, index) in self.called.iter().enumerate() {
            self.entries[*index].result = Some(match &answers {
                Ok(answers) => answers[place].map_or_else(Outcome::Error, |()| Outcome::Ok),
                Err(outcome) => outcome.clone(),
            });
        }
        self.revoke(&revoked)
    }

    fn revoke(&mut self, revoked: &[usize]) -> Want {
        self.state = State::Revoking;
        if revoked.is_empty() {
            return self.done();
        }
        let (keys, fences) = self.call_for(revoked);
        let (client_id, tenant_id) = (self.config.client_id, self.config.tenant_id.clone());
        let request = match self.kind {
            PutKind::Put => Request::BatchPutRevoke {
                client_id,
                keys,
                replica_type: ReplicaType::All,
                tenant_id,
            },
            PutKind::Upsert => Request::BatchUpsertRevoke {
                client_id,
                keys,
                tenant_id,
            },
        };
        let call = Want::Call(Call {
            request,
            fences,
            phases: CallPhases::REVOKE,
        });
        if self.unfenced {
            Want::FenceThen(Box::new(call))
        } else {
            call
        }
    }
}

impl Operation for BatchPut {
    fn begin(&mut self, _now: Clocks) -> Want {
        let wish = &self.replicate;
        let grouped = self.kind == PutKind::Put && wish.prefer_alloc_in_same_node;
        if grouped && (wish.replica_num != 1 || wish.nof_replica_num != 0) {
            self.fail_open(&Outcome::Error(ErrorCode::InvalidParams));
            return self.done();
        }
        let staged = self.memory.all(vec![self.size_bytes; self.keys.len()]);
        staged.unwrap_or_else(|| self.sum_or_start())
    }

    fn next(&mut self, _now: Clocks, happened: Happened) -> Want {
        match (self.state, happened) {
            (State::Starting, Happened::Staged(taken)) if !taken.contains(&false) => self.sum_or_start(),
            (State::Starting, Happened::Summed(sums)) => {
                for (entry, sum) in self.entries.iter_mut().zip(sums) {
                    entry.checksum = Some(sum);
                }
                self.start()
            }
            (State::Starting, Happened::Staged(_)) => {
                self.fail_open(&NO_ROOM);
                self.done()
            }
            (State::Starting, Happened::Answered(Err(failure))) => {
                self.fail_open(&failure.into());
                self.done()
            }
            (
                State::Starting,
                Happened::Answered(Ok(
                    Response::BatchPutStart(answers) | Response::BatchUpsertStart(answers),
                )),
            ) => self.started(answers),
            (State::Writing, Happened::MovedAll(moved)) => self.written(&moved),
            (
                State::Ending,
                Happened::Answered(Ok(Response::BatchPutEnd(answers) | Response::BatchUpsertEnd(answers))),
            ) => self.ended(Ok(answers)),
            (State::Ending, Happened::Answered(Err(failure))) => self.ended(Err(failure.into())),
            (State::Ending, _) => self.ended(Err(Outcome::Error(ErrorCode::RpcFail))),
            // What a revoke answers changes no result: the transfer's error stands.
            (State::Revoking, _) => self.done(),
            _ => {
                self.fail_open(&Outcome::Error(ErrorCode::RpcFail));
                self.done()
            }
        }
    }

    fn attempts(&self) -> Vec<(String, Vec<ReplicaDescriptor>)> {
        let granted = self.entries.iter().map(|entry| entry.granted.clone());
        let all = self.keys.iter().cloned().zip(granted);
        all.filter(|(_, granted)| !granted.is_empty()).collect()
    }
}
