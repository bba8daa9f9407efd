//! Reads and probes. Mirrors `master_service.cpp:ExistKey`, `GetReplicaList` and their batches.

use crate::Master;
use crate::objects::{Id, SHARDS};
use crate::pattern::{Pattern, PatternError};
use crate::tenants::Scope;
use moonquake_clock::Clocks;
use moonquake_faults::{Guard, Quirk};
use moonquake_protocol::{ErrorCode, GetReplicaListResponse, ReplicaDescriptor, Request, Response};
use std::collections::BTreeMap;

/// The readable replicas of some keys.
pub(crate) type Found = BTreeMap<String, Vec<ReplicaDescriptor>>;

/// What a pattern that cannot be used is answered.
pub(crate) fn refusal(error: PatternError) -> ErrorCode {
    match error {
        PatternError::Invalid => ErrorCode::InvalidParams,
    }
}

impl Master {
    /// Whether the key can be read; a yes grants a lease.
    pub(crate) fn exist_key(&mut self, now: Clocks, key: &str) -> bool {
        let id = self.objects.find(key);
        self.exists(now, id)
    }

    fn exists(&mut self, now: Clocks, id: Option<Id>) -> bool {
        let readable = |id: &Id| {
            let plain = self.objects.plain_on(*id);
            if plain.is_some_and(|mount| self.segments.get(mount).is_some()) {
                return true;
            }
            let object = self.objects.at(*id).filter(|object| object.size_bytes > 0);
            object.is_some_and(|object| object.replicas.iter().any(|replica| self.is_readable(replica)))
        };
        let Some(id) = id.filter(readable) else {
            return false;
        };
        if self.config.quirks.has(Quirk::ProbeGrantsLease) {
            self.grant_lease(now, id);
        }
        true
    }

    /// Where the key can be read, written over an earlier answer; grants a lease. The lease that is told is the
    /// configured one, whatever was granted.
    pub(crate) fn replica_list_into(
        &mut self,
        now: Clocks,
        id: Option<Id>,
        list: &mut GetReplicaListResponse,
    ) -> Result<(), ErrorCode> {
        let found = id.and_then(|id| Some((id, self.objects.at(id)?)));
        let found = found.filter(|(_, object)| self.is_valid(object));
        let (id, object) = found.ok_or(ErrorCode::ObjectNotFound)?;
        self.describe_readable_into(object, &mut list.replicas);
        if list.replicas.is_empty() {
            return Err(ErrorCode::ReplicaIsNotReady);
        }
        list.object_checksum = object.checksum;
        list.lease_ttl_ms = self.config.lease_ms();
        if self.guarded(Guard::ReadGrantsLease) {
            self.grant_lease(now, id);
        }
        Ok(())
    }

    /// Answers a read over an earlier answer, whose memory is used again; false if the request is no such read.
    pub(crate) fn read_into(&mut self, now: Clocks, request: &Request, answer: &mut Response) -> bool {
        match request {
            Request::ExistKey { key, .. } => *answer = Response::ExistKey(Ok(self.exist_key(now, key))),
            Request::GetReplicaList { key, .. } => {
                let mut list = match std::mem::replace(answer, Response::ExistKey(Ok(false))) {
                    Response::GetReplicaList(Ok(list)) => list,
                    _ => GetReplicaListResponse::default(),
                };
                let id = self.objects.find(key);
                let told = self.replica_list_into(now, id, &mut list);
                *answer = Response::GetReplicaList(told.map(|()| list));
            }
            Request::BatchExistKey { keys, .. } => {
                let mut results = match std::mem::replace(answer, Response::ExistKey(Ok(false))) {
                    Response::BatchExistKey(results) => results,
                    _ => Vec::new(),
                };
                results.resize(keys.len(), Ok(false));
                self.in_shard_order(keys, |master, index, id| {
                    results[index] = Ok(master.exists(now, id))
                });
                *answer = Response::BatchExistKey(results);
            }
            Request::BatchGetReplicaList { keys, .. } => {
                let mut results = match std::mem::replace(answer, Response::ExistKey(Ok(false))) {
                    Response::BatchGetReplicaList(results) => results,
                    _ => Vec::new(),
                };
                results.resize(keys.len(), Err(ErrorCode::ObjectNotFound));
                self.in_shard_order(keys, |master, index, id| {
                    master.read_entry(now, id, &mut results[index])
                });
                *answer = Response::BatchGetReplicaList(results);
            }
            _ => return false,
        }
        true
    }

    fn read_entry(
        &mut self,
        now: Clocks,
        id: Option<Id>,
        entry: &mut Result<GetReplicaListResponse, ErrorCode>,
    ) {
        if entry.is_err() {
            *entry = Ok(GetReplicaListResponse::default());
        }
        if let Ok(list) = entry
            && let Err(code) = self.replica_list_into(now, id, list)
        {
            *entry = Err(code);
        }
    }

    /// Where each key can be read that a pattern is found in; grants a lease to each.
    pub(crate) fn get_replica_list_by_regex(
        &mut self,
        now: Clocks,
        scope: Scope<'_>,
        text: &str,
    ) -> Result<Found, ErrorCode> {
        let pattern = Pattern::new(text).map_err(refusal)?;
        let mut found = Found::new();
        for id in self.objects.by_shard() {
            let key = self.objects.key_of(id);
            let Some(user_key) = scope.user_key(key).filter(|key| pattern.is_in(key)) else {
                continue;
            };
            let Some(object) = self.objects.at(id) else {
                continue;
            };
            let replicas = self.describe_readable(object);
            if !replicas.is_empty() {
                found.insert(user_key.to_owned(), replicas);
                self.grant_lease(now, id);
            }
        }
        Ok(found)
    }

    /// Visits keys as upstream's batch reads do: shard by shard, downwards from a random one. The draw comes from the
    /// engine that places replicas, so a batch read moves every later placement.
    pub(crate) fn in_shard_order(
        &mut self,
        keys: &[String],
        mut read: impl FnMut(&mut Master, usize, Option<Id>),
    ) {
        if keys.is_empty() {
            return;
        }
        let start = self.dice.index_below(SHARDS);
        let mut order = std::mem::take(&mut self.read_order);
        order.clear();
        // A read adds and removes nothing, so what is found now is still there when its turn comes.
        order.extend(keys.iter().enumerate().map(|(index, key)| {
            let (shard, id) = self.objects.locate(key);
            ((start + SHARDS - shard) % SHARDS, index, id)
        }));
        order.sort_unstable_by_key(|(rank, index, _)| (*rank, *index));
        for (_, index, id) in &order {
            read(self, *index, *id);
        }
        self.read_order = order;
    }
}
