//! The eviction thread: rounds under pressure, and the idle sweep. Mirrors `master_service.cpp:EvictionThreadFunc` and
//! `BatchEvict`.

use crate::Master;
use crate::objects::{Id, Object, Replica, SHARDS, split_off};
use crate::select::nth_element;
use moonquake_clock::{Clocks, DeadlineId};
use moonquake_faults::{Guard, Guards, Quirk};
use std::ops::RangeInclusive;

/// A target share from which a round materialises all candidates at once. Below it, only so many beyond the target
/// are known to the second pass as [`reserve_beyond`] says.
const MATERIALISE_ALL_FROM: f64 = 10.0 / 44.0;

/// An object that may go.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    id: Id,
    /// When its lease ended; the order of eviction.
    rank: u64,
}

/// What a look at all objects found.
#[derive(Debug, Default)]
struct Census {
    /// Objects with a replica that could go, leased or not.
    base: u64,
    /// For each object by its number when its lease ended, if it may go; [`STAYS`] for all others.
    ranks: Vec<u64>,
    /// How many of them may go.
    plain: usize,
    /// When the leases of those ended that may go after all others.
    soft_pinned: Vec<u64>,
    /// Objects with a soft pin and nothing that could go, whose leases are over.
    held: Vec<Id>,
}

/// The rank of an object that is no candidate. No lease that is over ends so late.
const STAYS: u64 = u64::MAX;

/// What a first pass did.
#[derive(Debug, Default)]
struct FirstPass {
    /// How many objects went.
    evicted: usize,
    /// The ranks of candidates that were passed over.
    spared: Vec<u64>,
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
        let (mut evicted, spared) = self.first_pass(now, &census, ideal, target_ratio);
        let released = self.release_quarantine(now);
        let missing = share_of(census.base, lower_ratio) as i64 - evicted as i64 - released as i64;
        let missing = missing.min((spared.len() + census.soft_pinned.len()) as i64);
        if let Ok(missing @ 1..) = usize::try_from(missing) {
            evicted += self.second_pass(now, start_shard, missing, spared, census.soft_pinned);
        }
        self.objects.shrink_evicted_shards();
        if evicted > 0 || released > 0 {
            self.need_eviction = false;
        }
    }

    /// Sweeps every shard and counts what could go. Upstream does both shard by shard; here memory is read in the order in
    /// which it lies, and only what was found is looked at in the order of the shards.
    fn take_census(&mut self, now: Clocks) -> Census {
        self.sweep(now);
        let mut census = Census::default();
        census.ranks.reserve(self.objects.len());
        for index in 0.. {
            let id = Id::from_index(index);
            let Some(place) = self.objects.place(id) else {
                return census;
            };
            let soft = place.filter(|object| !self.is_hard_pinned(object));
            if !soft.is_some_and(|object| self.has_evictable(object)) {
                census.ranks.push(STAYS);
                let pinned = soft.is_some_and(|object| object.extra().soft_pin_end.is_some());
                if pinned && !self.is_leased(id, now) {
                    census.held.push(id);
                }
                continue;
            }
            census.base += 1;
            let (leased, rank) = (self.is_leased(id, now), self.lease_rank(id));
            let spared = !leased && self.is_spared(id, now);
            if spared && self.config.allow_evict_soft_pinned_objects {
                census.soft_pinned.push(rank);
            }
            let candidate = !leased && !spared;
            census.plain += usize::from(candidate);
            census
                .ranks
                .push(if candidate { rank.min(STAYS - 1) } else { STAYS });
        }
        census
    }

    /// The plain candidates with a rank in a range, in the order of the shards.
    fn candidates(&self, census: &Census, ranks: RangeInclusive<u64>) -> Vec<Candidate> {
        let candidate = |id: Id| {
            let rank = *census.ranks.get(id.index())?;
            (rank != STAYS && ranks.contains(&rank)).then_some(Candidate { id, rank })
        };
        self.objects
            .by_shard()
            .into_iter()
            .filter_map(candidate)
            .collect()
    }

    /// Evicts the oldest plain candidates, all ties at the cutoff included, and for each that turns out to be blocked
    /// the one that is visited next, which need not be the next oldest. Returns how many objects went, and the ranks of candidates that were passed over.
    fn first_pass(
        &mut self,
        now: Clocks,
        census: &Census,
        ideal: usize,
        target_ratio: f64,
    ) -> (usize, Vec<u64>) {
        let wanted = ideal.min(census.plain);
        if wanted == 0 {
            return (0, Vec::new());
        }
        if target_ratio < MATERIALISE_ALL_FROM {
            // Upstream looks at all objects once more for those that it wants, and asks for their pins first.
            for id in &census.held {
                self.is_soft_pinned(*id, now);
            }
        }
        let kept = (wanted + reserve_beyond(wanted)).min(census.plain);
        let selective =
            target_ratio < MATERIALISE_ALL_FROM && kept <= (64 * 1024).max(census.plain.div_ceil(4));
        let frontier = if selective {
            let mut ranks: Vec<u64> = census
                .ranks
                .iter()
                .copied()
                .filter(|rank| *rank != STAYS)
                .collect();
            *ranks.select_nth_unstable(kept - 1).1
        } else {
            STAYS
        };
        let mut near = self.candidates(census, 0..=frontier);
        nth_element(&mut near, wanted - 1, |candidate| candidate.rank);
        let cutoff = near[wanted - 1].rank;
        let mut pass = FirstPass::default();
        for candidate in near {
            self.visit(now, candidate, (wanted, cutoff), &mut pass);
        }
        // Those that upstream keeps in mind only roughly come into play when too many of the others were blocked.
        if pass.evicted < wanted && frontier < STAYS {
            for candidate in self.candidates(census, frontier + 1..=STAYS) {
                self.visit(now, candidate, (wanted, cutoff), &mut pass);
            }
        }
        (pass.evicted, pass.spared)
    }

    /// Evicts a candidate of the first pass if its turn has come.
    fn visit(
        &mut self,
        now: Clocks,
        candidate: Candidate,
        (wanted, cutoff): (usize, u64),
        pass: &mut FirstPass,
    ) {
        if pass.evicted >= wanted && candidate.rank > cutoff {
            pass.spared.push(candidate.rank);
        } else if self.objects.at(candidate.id).is_none() {
            // It went with its group.
        } else if self.is_plain_candidate(now, candidate.id) {
            pass.evicted += self.evict_with_group(now, candidate.id, false);
        } else {
            pass.spared.push(candidate.rank);
        }
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
            let ids: Vec<Id> = self.objects.of_shard((start_shard + step) % SHARDS).collect();
            for id in ids {
                if evicted >= missing {
                    return evicted;
                }
                let Some(object) = self.objects.at(id) else {
                    continue;
                };
                let free = !self.is_hard_pinned(object) && !self.is_leased(id, now);
                let could = free && self.has_evictable(object);
                let old = self.lease_rank(id) <= cutoff;
                // Asking ends a pin that is over, so it matters of which objects upstream asks.
                let asked = if plain_only { free && old } else { could };
                let pinned = asked && self.is_spared(id, now);
                let chosen = if plain_only {
                    old && !pinned
                } else {
                    old || !pinned
                };
                if could && chosen {
                    evicted += self.evict_with_group(now, id, !plain_only);
                }
            }
        }
        evicted
    }

    fn is_plain_candidate(&mut self, now: Clocks, id: Id) -> bool {
        let Some(object) = self.objects.at(id) else {
            return false;
        };
        !self.is_leased(id, now) && self.has_evictable(object) && !self.is_spared(id, now)
    }

    /// Evicts an object, or its whole group unless a member is leased; how many objects lost replicas.
    fn evict_with_group(&mut self, now: Clocks, id: Id, soft_pinned_too: bool) -> usize {
        let Some(object) = self.objects.at(id) else {
            return 0;
        };
        if object.group().is_empty() {
            return usize::from(self.evict_object(id));
        }
        let members = self.objects.members(object.group());
        let leased = |id: &Id| self.is_leased(*id, now);
        if members.iter().any(leased) {
            return 0;
        }
        let mut evicted = 0;
        for member in members {
            let Some(object) = self.objects.at(member) else {
                continue;
            };
            if self.is_hard_pinned(object) {
                continue;
            }
            let could = self.has_evictable(object);
            let spared = !soft_pinned_too && self.is_spared(member, now);
            if could && !spared {
                evicted += usize::from(self.evict_object(member));
            }
        }
        evicted
    }

    /// Takes every replica that may go from an object; whether there was one.
    fn evict_object(&mut self, id: Id) -> bool {
        let (segments, guards) = (&self.segments, &self.config.guards);
        let Some(object) = self.objects.at_mut(id) else {
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
        if !evicted.is_empty() {
            self.objects.note_eviction(id);
        }
        if !self.objects.at(id).is_some_and(|object| self.is_valid(object)) {
            self.erase_at(id);
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
    fn is_leased(&self, id: Id, now: Clocks) -> bool {
        !self.lease_is_over(id, now) && self.guarded(Guard::EvictionWaitsForLease)
    }

    fn is_hard_pinned(&self, object: &Object) -> bool {
        object.hard_pinned && self.guarded(Guard::EvictionSparesHardPin)
    }

    /// Whether the object goes only after all that are not soft-pinned.
    fn is_spared(&mut self, id: Id, now: Clocks) -> bool {
        self.is_soft_pinned(id, now) && self.guarded(Guard::EvictionSparesSoftPin)
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
