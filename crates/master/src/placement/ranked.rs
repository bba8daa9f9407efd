//! Placement on the best of a few segments. Mirrors `allocation_strategy.h:RankedAllocationStrategy`.

use super::choice::{Placement, Places, Wish};
use crate::select::sort_by_rank;
use std::sync::Arc;

/// So many names are looked at for each replica that is wanted.
const NAMES_PER_REPLICA: usize = 6;

impl Placement<'_> {
    /// Places the wanted replicas: on preferred names, then on the best of a sample, then by lot.
    pub(super) fn place_ranked(
        &mut self,
        wish: &Wish,
        names: &[Arc<str>],
        score: impl Fn(&Self, &str) -> f64,
    ) -> Places {
        let wanted = usize::try_from(wish.replicas).unwrap_or(usize::MAX);
        let mut used: Vec<&str> = Vec::new();
        let mut placed = self.place_preferred(wish, wanted, &mut used);
        if placed.len() == wanted {
            return placed;
        }
        let sampled = NAMES_PER_REPLICA
            .wrapping_mul(wanted - placed.len())
            .min(names.len());
        let start = self.dice.index_below(names.len());
        let mut candidates: Vec<(&str, f64)> = (0..sampled)
            .map(|step| &*names[(start + step) % names.len()])
            .filter(|name| !used.contains(name))
            .map(|name| (name, score(self, name)))
            .collect();
        // The best first. No score is negative, so their bits are in their order.
        sort_by_rank(&mut candidates, |(_, score)| !score.to_bits());
        for (name, _) in candidates {
            if placed.len() >= wanted {
                break;
            }
            if let Some(place) = self.allocate_from(name, wish.size_bytes) {
                placed.push(place);
                used.push(name);
            }
        }
        if placed.len() < wanted {
            self.place_by_lot(wish, names, (wanted, &used), &mut placed);
        }
        placed
    }

    /// The free share of a name, of all its segments together. Mirrors `GetSegmentFreeRatio`.
    pub(super) fn free_share(&self, name: &str) -> f64 {
        let (mut free, mut capacity) = (0_u64, 0_u64);
        let mounts = self.segments.mounts_of_name(name).iter();
        for mount in mounts.filter_map(|id| self.segments.get(*id)) {
            capacity = capacity.wrapping_add(mount.segment.size);
            free = free.wrapping_add(mount.segment.size - mount.allocator.requested_bytes());
        }
        if capacity == 0 {
            0.0
        } else {
            free as f64 / capacity as f64
        }
    }
}
