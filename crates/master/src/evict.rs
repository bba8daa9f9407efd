//! The eviction thread: rounds under pressure, and the idle sweep. Mirrors `master_service.cpp:EvictionThreadFunc` and
//! `BatchEvict`.

use crate::Master;
use crate::objects::{Object, Replica, SHARDS, split_off};
use crate::select::nth_element;
use moonquake_clock::{Clocks, DeadlineId};
use moonquake_faults::{Guard, Guards, Quirk};
use std::sync::Arc;

/// A target share from which a round materialises all candidates at once. Below it, only so many beyond the target
/// are known to the second pass as [`reserve_beyond`] says.
const MATERIALISE_ALL_FROM: f64 = 10.0 / 44.0;

/// An object that may go.
#[derive(Clone, Debug)]
struct Candidate {
    key: Arc<str>,
    /// When its lease ended; the order of eviction.
    rank: u64,
}

/// What a look at all objects found.
#[derive(Debug, Default)]
struct Census {
    /// Objects with a replica that could go, leased or not.
    base: u64,
    plain: Vec<Candidate>,
    soft_pinned: Vec<u64>,
}

/// How many candidates beyond the target a selective round keeps at hand.
fn reserve_beyond(target: usize) -> usize {
    target.div_ceil(10).max(1024)
}

impl Master {
    /// One round of the eviction thread.
    pub(crate) fn eviction_round(&mut self, now: Clocks) {
        let capacity = self.segments.capacity_bytes();
        let used = if capacity == 0 {
            0.0
        } else {
            self.segments.allocated_bytes() as f64 / capacity as f64
        };
        let (ratio, watermark) = (
            self.config.eviction_ratio,
            self.config.eviction_high_watermark_ratio,
        );
        if used > watermark || (self.need_eviction && ratio > 0.0) {
            let target = ratio.max(used - watermark + ratio);
            let lower = (target * 0.5).max(used - watermark).min(target);
            self.evict_batch(now, target, lower);
            self.last_sweep = now;
        } else if self
            .config
            .rules
            .reached(DeadlineId::IdleSweep, self.last_sweep, self.config.release, now)
        {
            self.sweep(now);
            self.release_quarantine(now);
            self.last_sweep = now;
        }
        self.last_sweep = self
            .config
            .rules
            .base(DeadlineId::IdleSweep, self.last_sweep, now);
    }

    /// One round under pressure that aims at a share of the objects and does not stop below another.
    pub(crate) fn evict_batch(&mut self, now: Clocks, target_ratio: f64, lower_ratio: f64) {
        let start_shard = self.eviction_dice.index_below(SHARDS);
        let census = self.take_census(now);
        if census.base == 0 {
            self.need_eviction = false;
            if !self.config.quirks.has(Quirk::EmptyRoundKeepsQuarantine) {
                self.release_quarantine(now);
            }
            return;
        }
        let ideal = share_of(census.base, target_ratio);
        let (mut evicted, spared) = self.first_pass(now, census.plain, ideal, target_ratio);
        let released = self.release_quarantine(now);
        let missing = share_of(census.base, lower_ratio) as i64 - evicted as i64 - released as i64;
        let missing = missing.min((spared.len() + census.soft_pinned.len()) as i64);
        if let Ok(missing @ 1..) = usize::try_from(missing) {
            evicted += self.second_pass(now, start_shard, missing, spared, census.soft_pinned);
        }
        if evicted > 0 || released > 0 {
            self.need_eviction = false;
        }
    }

    /// Sweeps every shard and counts what could go.
    fn take_census(&mut self, now: Clocks) -> Census {
        let mut census = Census::default();
        for shard in 0..SHARDS {
            self.sweep_shard(now, shard);
            for key in self.objects.keys_of_shard(shard) {
                let Some(object) = self.objects.get(&key) else {
                    continue;
                };
                if self.is_hard_pinned(object) || !self.has_evictable(object) {
                    continue;
                }
                census.base += 1;
                if self.is_leased(object, now) {
                    continue;
                }
                let rank = self.lease_rank(object);
                if !self.is_spared(&key, now) {
                    census.plain.push(Candidate { key, rank });
                } else if self.config.allow_evict_soft_pinned_objects {
                    census.soft_pinned.push(rank);
                }
            }
        }
        census
    }

    /// Evicts the oldest plain candidates, all ties at the cutoff included, and for each that turns out to be blocked
    /// the one that is visited next, which need not be the next oldest. Returns how many objects went, and the ranks of candidates that were passed over.
    fn first_pass(
        &mut self,
        now: Clocks,
        plain: Vec<Candidate>,
        ideal: usize,
        target_ratio: f64,
    ) -> (usize, Vec<u64>) {
        let wanted = ideal.min(plain.len());
        let (mut evicted, mut spared) = (0, Vec::new());
        if wanted == 0 {
            return (0, spared);
        }
        let kept = (wanted + reserve_beyond(wanted)).min(plain.len());
        let selective =
            target_ratio < MATERIALISE_ALL_FROM && kept <= (64 * 1024).max(plain.len().div_ceil(4));
        let mut ranks: Vec<u64> = plain.iter().map(|candidate| candidate.rank).collect();
        ranks.sort_unstable();
        let frontier = if selective { ranks[kept - 1] } else { u64::MAX };
        let (mut near, far): (Vec<_>, Vec<_>) = plain
            .into_iter()
            .partition(|candidate| candidate.rank <= frontier);
        nth_element(&mut near, wanted - 1, |candidate| candidate.rank);
        let cutoff = near[wanted - 1].rank;
        for (index, candidate) in near.iter().chain(&far).enumerate() {
            if index >= near.len() && (index == near.len() && evicted >= wanted) {
                break;
            }
            if evicted >= wanted && candidate.rank > cutoff {
                spared.push(candidate.rank);
                continue;
            }
            if self.objects.get(&candidate.key).is_none() {
                continue;
            }
            if self.is_plain_candidate(now, &candidate.key) {
                evicted += self.evict_with_group(now, &candidate.key, false);
            } else {
                spared.push(candidate.rank);
            }
        }
        (evicted, spared)
    }

    /// Evicts until `missing` objects are gone: plain ones of the first pass that were spared if there are enough,
    /// otherwise every plain one and the oldest soft-pinned ones. Walks the shards from a random one.
    fn second_pass(
        &mut self,
        now: Clocks,
        start_shard: usize,
        missing: usize,
        mut spared: Vec<u64>,
        mut soft_pinned: Vec<u64>,
    ) -> usize {
        spared.sort_unstable();
        soft_pinned.sort_unstable();
        let plain_only = missing <= spared.len();
        if !plain_only && soft_pinned.is_empty() {
            return 0;
        }
        let cutoff = if plain_only {
            spared[missing - 1]
        } else {
            soft_pinned[missing - spared.len() - 1]
        };
        let mut evicted = 0;
        for step in 0..SHARDS {
            for key in self.objects.keys_of_shard((start_shard + step) % SHARDS) {
                if evicted >= missing {
                    return evicted;
                }
                let Some(object) = self.objects.get(&key) else {
                    continue;
                };
                let could = !self.is_hard_pinned(object)
                    && !self.is_leased(object, now)
                    && self.has_evictable(object);
                let old = self.lease_rank(object) <= cutoff;
                let pinned = could && self.is_spared(&key, now);
                let chosen = if plain_only {
                    old && !pinned
                } else {
                    old || !pinned
                };
                if could && chosen {
                    evicted += self.evict_with_group(now, &key, !plain_only);
                }
            }
        }
        evicted
    }

    fn is_plain_candidate(&mut self, now: Clocks, key: &str) -> bool {
        let Some(object) = self.objects.get(key) else {
            return false;
        };
        !self.is_leased(object, now) && self.has_evictable(object) && !self.is_spared(key, now)
    }

    /// Evicts an object, or its whole group unless a member is leased; how many objects lost replicas.
    fn evict_with_group(&mut self, now: Clocks, key: &str, soft_pinned_too: bool) -> usize {
        let Some(object) = self.objects.get(key) else {
            return 0;
        };
        if object.group.is_empty() {
            return usize::from(self.evict_object(key));
        }
        let members = self.objects.members(&object.group);
        let leased = |key: &Arc<str>| {
            self.objects
                .get(key)
                .is_some_and(|object| self.is_leased(object, now))
        };
        if members.iter().any(leased) {
            return 0;
        }
        let mut evicted = 0;
        for member in members {
            let Some(object) = self.objects.get(&member) else {
                continue;
            };
            let blocked = self.is_hard_pinned(object) || !self.has_evictable(object);
            if !blocked && (soft_pinned_too || !self.is_spared(&member, now)) {
                evicted += usize::from(self.evict_object(&member));
            }
        }
        evicted
    }

    /// Takes every replica that may go from an object; whether there was one.
    fn evict_object(&mut self, key: &str) -> bool {
        let (segments, guards) = (&self.segments, &self.config.guards);
        let Some(object) = self.objects.get_mut(key) else {
            return false;
        };
        let evictable = |replica: &Replica| {
            replica.is_complete()
                && !is_copied(replica, guards)
                && segments.is_live(replica)
                && !replica.is_on_disk()
        };
        let evicted = split_off(&mut object.replicas, evictable);
        self.free_all(&evicted);
        if self.look(key).is_none() {
            self.erase(key);
        }
        !evicted.is_empty()
    }

    /// Whether a replica of the object may go: readable, and nobody copies from it.
    fn has_evictable(&self, object: &Object) -> bool {
        object.replicas.iter().any(|replica| {
            let idle = !is_copied(replica, &self.config.guards);
            self.is_readable(replica) && idle && !replica.is_on_disk()
        })
    }

    /// Whether a reader may still trust the object.
    fn is_leased(&self, object: &Object, now: Clocks) -> bool {
        !self.lease_is_over(object, now) && self.guarded(Guard::EvictionWaitsForLease)
    }

    fn is_hard_pinned(&self, object: &Object) -> bool {
        object.hard_pinned && self.guarded(Guard::EvictionSparesHardPin)
    }

    /// Whether the object goes only after all that are not soft-pinned.
    fn is_spared(&mut self, key: &str, now: Clocks) -> bool {
        self.is_soft_pinned(key, now) && self.guarded(Guard::EvictionSparesSoftPin)
    }
}

/// Whether a copy reads from the replica.
fn is_copied(replica: &Replica, guards: &Guards) -> bool {
    replica.readers > 0 && guards.stand(Guard::EvictionSparesCopySource)
}

/// A share of the objects, rounded up.
fn share_of(base: u64, ratio: f64) -> usize {
    (base as f64 * ratio).ceil() as usize
}
