//! Many gets in one operation. Mirrors `client_service.cpp:BatchQuery`, `BatchGet` and `BatchGetWhenPreferSameNode`.

use crate::get::is_late;
use crate::staging::NO_ROOM;
use crate::{
    BufferPart, BufferPlace, ByteRange, Call, CallPhases, ClientConfig, Happened, Move, MoveFailure, Moved,
    NearMemory, Operation, Outcome, Want, memory_of, preferred_replica,
};
use moonquake_clock::{Clocks, Span};
use moonquake_faults::Quirk;
use moonquake_protocol::{BufferDescriptor, ErrorCode, GetReplicaListResponse, Request, Response};
use std::collections::BTreeSet;

/// What is known of one key.
#[derive(Clone, Debug)]
enum Entry {
    /// It has a replica to read.
    Chosen {
        replica_id: u64,
        replica: BufferDescriptor,
        lease: Span,
        checksum: Option<u64>,
    },
    /// Its bytes were asked for.
    Reading {
        place: BufferPlace,
        endpoint: String,
        lease: Span,
        /// What its bytes are compared with.
        checksum: Option<u64>,
    },
    /// It has its result, and brought no bytes.
    Over(Outcome),
}

/// Reads many objects: one BatchGetReplicaList, all transfers beside each other, the lease check of each.
///
/// The bytes lie one behind the other in the operation's buffer, in the order of the keys.
#[derive(Clone, Debug)]
pub struct BatchGet {
    config: ClientConfig,
    keys: Vec<String>,
    /// Whether the transfers are grouped by the node that they come from.
    same_node: bool,
    memory: NearMemory,
    sent_at: Clocks,
    entries: Vec<Entry>,
    /// How the transfers of the entries that were read ended, until their checksums are known.
    ended: Vec<Moved>,
}

impl BatchGet {
    /// A get of all `keys`. `same_node` is upstream's `prefer_alloc_in_same_node`.
    pub fn new(config: ClientConfig, keys: Vec<String>, same_node: bool) -> BatchGet {
        BatchGet {
            config,
            keys,
            same_node,
            memory: NearMemory::CALLER,
            sent_at: Clocks::default(),
            entries: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Into a buffer of the caller (`batch_get_into`), or staged, each key in a block of its own (`batch_get_buffer`). A key
    /// that finds no room fails by itself.
    pub fn into(self, memory: NearMemory) -> BatchGet {
        BatchGet { memory, ..self }
    }

    fn all(&self, outcome: &Outcome) -> Want {
        Want::Done(Outcome::Batch(vec![outcome.clone(); self.keys.len()]))
    }

    fn queried(&mut self, answers: Vec<Result<GetReplicaListResponse, ErrorCode>>) -> Want {
        if answers.len() != self.keys.len() {
            return self.all(&Outcome::Error(ErrorCode::RpcFail));
        }
        for answer in answers {
            let answer = match answer {
                Ok(answer) => answer,
                Err(code) => {
                    self.entries.push(Entry::Over(Outcome::Error(code)));
                    continue;
                }
            };
            let chosen = preferred_replica(&answer.replicas, &self.config.local_endpoints);
            let chosen = chosen.and_then(|chosen| Some((chosen.id, memory_of(chosen)?)));
            let Some((replica_id, replica)) = chosen else {
                self.entries
                    .push(Entry::Over(Outcome::Error(ErrorCode::InvalidReplica)));
                continue;
            };
            self.entries.push(Entry::Chosen {
                replica_id,
                replica: replica.clone(),
                lease: Span::from_ms(answer.lease_ttl_ms),
                checksum: self.config.to_compare(answer.object_checksum),
            });
        }
        let sizes = self.entries.iter().filter_map(|entry| match entry {
            Entry::Chosen { replica, .. } => Some(replica.size),
            _ => None,
        });
        let blocks: Vec<u64> = sizes.collect();
        if self.memory == NearMemory::Staging && !blocks.is_empty() {
            return Want::Stage { blocks, all: false };
        }
        self.read(&vec![true; blocks.len()])
    }

    /// Reads the entries that have room. In a buffer of the caller each has its place behind those before it, whatever becomes of
    /// these; blocks of staging memory are there only for those that have one.
    fn read(&mut self, room: &[bool]) -> Want {
        let (mut at, mut moves, mut room) = (0, Vec::new(), room.iter());
        for entry in &mut self.entries {
            let Entry::Chosen {
                replica_id,
                replica,
                lease,
                checksum,
            } = entry
            else {
                continue;
            };
            let size = replica.size;
            if room.next() != Some(&true) || !self.config.has_room(self.memory, at, size) {
                if self.memory != NearMemory::Staging {
                    at = at.saturating_add(size);
                }
                *entry = Entry::Over(NO_ROOM);
                continue;
            }
            moves.push(Move::from(&self.config, *replica_id, replica, at));
            let range = ByteRange { from: 0, size };
            *entry = Entry::Reading {
                place: BufferPlace { at, range },
                endpoint: replica.transport_endpoint.clone(),
                lease: *lease,
                checksum: *checksum,
            };
            at = at.saturating_add(size);
        }
        if moves.is_empty() {
            return Want::Done(self.outcome(Clocks::default(), &[], &[]));
        }
        Want::Moves(moves)
    }

    /// When the lease of an entry is compared; never on the grouped path of upstream.
    fn checked_at(&self, now: Clocks, own_end: Clocks) -> Option<Clocks> {
        let quirks = &self.config.quirks;
        if self.same_node && quirks.has(Quirk::GroupedGetSkipsLeaseCheck) {
            return None;
        }
        if !self.same_node && quirks.has(Quirk::BatchLeaseCheckedOnce) {
            return Some(now);
        }
        Some(own_end)
    }

    /// The parts whose checksum is to be compared: those of the entries that came and have one.
    fn to_sum(&self, moved: &[Moved]) -> Vec<BufferPart> {
        let read = self.entries.iter().filter_map(|entry| match entry {
            Entry::Reading { place, checksum, .. } => Some((place, checksum)),
            Entry::Chosen { .. } | Entry::Over(_) => None,
        });
        let came = read.zip(moved).filter(|(_, moved)| moved.result.is_ok());
        let parts = came.filter_map(|((place, checksum), _)| {
            checksum.map(|_| BufferPart {
                at: place.at,
                size: place.range.size,
            })
        });
        parts.collect()
    }

    /// All transfers are over: the result, or first the checksums.
    fn moved(&mut self, now: Clocks, moved: Vec<Moved>) -> Want {
        let parts = self.to_sum(&moved);
        if parts.is_empty() {
            return self.finish(now, &moved, &[]);
        }
        self.ended = moved;
        Want::Sum(parts)
    }

    fn finish(&self, now: Clocks, moved: &[Moved], sums: &[u64]) -> Want {
        let done = Want::Done(self.outcome(now, moved, sums));
        let given_up = |moved: &Moved| moved.result == Err(MoveFailure::Limit);
        if self.config.fences() && moved.iter().any(given_up) {
            Want::FenceThen(Box::new(done))
        } else {
            done
        }
    }

    fn outcome(&self, now: Clocks, moved: &[Moved], sums: &[u64]) -> Outcome {
        let mut sums = sums.iter();
        let mut ends = moved.iter();
        let mut of_entry = |entry: &Entry| match entry {
            Entry::Chosen { .. } | Entry::Over(_) => None,
            Entry::Reading { .. } => ends.next().copied(),
        };
        let ended: Vec<Option<Moved>> = self.entries.iter().map(&mut of_entry).collect();
        let failed_groups: BTreeSet<&str> = (self.entries.iter().zip(&ended))
            .filter_map(|(entry, moved)| match (entry, moved) {
                (Entry::Reading { endpoint, .. }, Some(moved)) if moved.result.is_err() => {
                    Some(endpoint.as_str())
                }
                _ => None,
            })
            .collect();
        let mut result = |(entry, moved): (&Entry, &Option<Moved>)| match (entry, moved) {
            (Entry::Over(outcome), _) => outcome.clone(),
            (
                Entry::Reading {
                    endpoint,
                    lease,
                    checksum,
                    ..
                },
                Some(moved),
            ) => {
                let grouped = self.same_node && failed_groups.contains(endpoint.as_str());
                let sum = checksum
                    .filter(|_| moved.result.is_ok())
                    .and_then(|_| sums.next());
                if moved.result.is_err() || grouped {
                    return Outcome::Error(ErrorCode::TransferFail);
                }
                if sum.is_some() && sum != checksum.as_ref() {
                    return Outcome::Error(ErrorCode::ChecksumMismatch);
                }
                let expired = self
                    .checked_at(now, moved.at)
                    .is_some_and(|at| is_late(&self.config, self.sent_at, *lease, at));
                if expired {
                    Outcome::Error(ErrorCode::LeaseExpired)
                } else {
                    Outcome::Ok
                }
            }
            (Entry::Chosen { .. } | Entry::Reading { .. }, _) => Outcome::Error(ErrorCode::TransferFail),
        };
        Outcome::Batch(self.entries.iter().zip(&ended).map(&mut result).collect())
    }
}

impl Operation for BatchGet {
    fn begin(&mut self, now: Clocks) -> Want {
        self.sent_at = now;
        Want::Call(Call {
            request: Request::BatchGetReplicaList {
                keys: self.keys.clone(),
                tenant_id: self.config.tenant_id.clone(),
            },
            fences: Vec::new(),
            phases: CallPhases::QUERY,
        })
    }

    fn next(&mut self, now: Clocks, happened: Happened) -> Want {
        match happened {
            Happened::Answered(Err(failure)) => self.all(&failure.into()),
            Happened::Answered(Ok(Response::BatchGetReplicaList(answers))) => self.queried(answers),
            Happened::MovedAll(moved) => self.moved(now, moved),
            Happened::Summed(sums) => {
                let ended = std::mem::take(&mut self.ended);
                self.finish(now, &ended, &sums)
            }
            Happened::Staged(taken) => self.read(&taken),
            Happened::Answered(Ok(_)) | Happened::Moved(_) | Happened::Waited => {
                self.all(&Outcome::Error(ErrorCode::RpcFail))
            }
        }
    }

    fn places(&self) -> Vec<Option<BufferPlace>> {
        let place = |entry: &Entry| match entry {
            Entry::Reading { place, .. } => Some(*place),
            Entry::Chosen { .. } | Entry::Over(_) => None,
        };
        self.entries.iter().map(place).collect()
    }
}
