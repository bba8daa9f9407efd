//! Reads and probes. Mirrors `master_service.cpp:ExistKey`, `GetReplicaList` and their batches.

use crate::Master;
use crate::objects::SHARDS;
use crate::pattern::{Pattern, PatternError};
use crate::tenants::Scope;
use moonquake_clock::Clocks;
use moonquake_faults::{Guard, Quirk};
use moonquake_protocol::{ErrorCode, GetReplicaListResponse, ReplicaDescriptor};
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
        let readable =
            |object: &crate::objects::Object| object.replicas.iter().any(|replica| self.is_readable(replica));
        let exists = self.objects.get(key).is_some_and(readable);
        if exists && self.config.quirks.has(Quirk::ProbeGrantsLease) {
            self.grant_lease(now, key);
        }
        exists
    }

    /// Where the key can be read; grants a lease. The lease that is told is the configured one, whatever was granted.
    pub(crate) fn get_replica_list(
        &mut self,
        now: Clocks,
        key: &str,
    ) -> Result<GetReplicaListResponse, ErrorCode> {
        let object = self.look(key).ok_or(ErrorCode::ObjectNotFound)?;
        let replicas = self.describe_readable(object);
        if replicas.is_empty() {
            return Err(ErrorCode::ReplicaIsNotReady);
        }
        let object_checksum = object.checksum;
        if self.guarded(Guard::ReadGrantsLease) {
            self.grant_lease(now, key);
        }
        Ok(GetReplicaListResponse {
            replicas,
            lease_ttl_ms: self.config.lease_ms(),
            object_checksum,
        })
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
        for key in self.objects.keys_by_shard() {
            let Some(user_key) = scope.user_key(&key).filter(|key| pattern.is_in(key)) else {
                continue;
            };
            let Some(object) = self.objects.get(&key) else {
                continue;
            };
            let replicas = self.describe_readable(object);
            if !replicas.is_empty() {
                self.grant_lease(now, &key);
                found.insert(user_key.to_owned(), replicas);
            }
        }
        Ok(found)
    }

    /// ExistKey for each key.
    pub(crate) fn batch_exist_key(&mut self, now: Clocks, keys: &[String]) -> Vec<Result<bool, ErrorCode>> {
        self.in_shard_order(keys, Ok(false), |master, key| Ok(master.exist_key(now, key)))
    }

    /// GetReplicaList for each key.
    pub(crate) fn batch_get_replica_list(
        &mut self,
        now: Clocks,
        keys: &[String],
    ) -> Vec<Result<GetReplicaListResponse, ErrorCode>> {
        let missing = Err(ErrorCode::ObjectNotFound);
        self.in_shard_order(keys, missing, |master, key| master.get_replica_list(now, key))
    }

    /// Visits keys as upstream's batch reads do: shard by shard, downwards from a random one. The draw comes from the
    /// engine that places replicas, so a batch read moves every later placement.
    fn in_shard_order<T: Clone>(
        &mut self,
        keys: &[String],
        empty: T,
        mut read: impl FnMut(&mut Master, &str) -> T,
    ) -> Vec<T> {
        let mut results = vec![empty; keys.len()];
        if keys.is_empty() {
            return results;
        }
        let start = self.dice.index_below(SHARDS);
        let mut order: Vec<(usize, usize)> = keys
            .iter()
            .enumerate()
            .map(|(index, key)| (self.objects.shard_of(key), index))
            .collect();
        order.sort_by_key(|(shard, index)| ((start + SHARDS - shard) % SHARDS, *index));
        for (_, index) in order {
            results[index] = read(self, &keys[index]);
        }
        results
    }
}
