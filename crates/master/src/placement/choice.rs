//! Which segments take the replicas of an object: upstream's `random` strategy and the host order in front of it.
//! Mirrors `allocation_strategy.h:RandomAllocationStrategy` and `CxlAllocationStrategy`.

use super::{Dice, Strategy};
use crate::allocator::Allocation;
use crate::objects::hash::hash_of;
use crate::segments::{MountId, Segments};
use moonquake_clock::{Clocks, Rules};
use moonquake_protocol::ErrorCode;
use smallvec::SmallVec;
use std::sync::Arc;

/// At most so many names are tried.
const MAX_TRIES: usize = 100;

/// What a write asks for.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// Bytes of each replica.
    pub(crate) size_bytes: u64,
    /// How many replicas.
    pub(crate) replicas: u64,
    /// Names to try first, in order.
    pub(crate) preferred: Vec<String>,
}

/// A range in a mount.
pub(crate) type Placed = (MountId, Allocation);

/// Ranges of one write; nearly all are one.
pub(crate) type Places = SmallVec<[Placed; 2]>;

/// Names of segments.
pub(crate) type Names = SmallVec<[Arc<str>; 2]>;

/// One placement in progress.
pub(crate) struct Placement<'a> {
    /// The segments to place in.
    pub(crate) segments: &'a mut Segments,
    /// The random engine of the thread that places.
    pub(crate) dice: &'a mut Dice,
    /// How deadlines are compared; closed segments are left out.
    pub(crate) rules: &'a Rules,
    /// The present instant.
    pub(crate) now: Clocks,
    /// How segments are chosen.
    pub(crate) strategy: Strategy,
}

impl Placement<'_> {
    /// The names that may be used. While the quirks are on no segment is ever closed, and this is every name.
    pub(crate) fn open_names(&self) -> Names {
        let open = |name: &&Arc<str>| {
            self.segments
                .mounts_of_name(name)
                .iter()
                .any(|mount| self.is_open(*mount))
        };
        self.segments.names().iter().filter(open).cloned().collect()
    }

    fn is_open(&self, mount: MountId) -> bool {
        let reached =
            |mount: &crate::segments::Mount| mount.closed.iter().all(|due| due.reached(self.rules, self.now));
        self.segments.get(mount).is_some_and(reached)
    }

    /// Places as many of the wanted replicas as fit, at most one of the open names each; none is a failure.
    ///
    /// # Errors
    /// INVALID_PARAMS where the strategy knows no other segment than the first preferred one and there is none.
    pub(crate) fn place(&mut self, wish: &Wish, names: &[Arc<str>]) -> Result<Places, ErrorCode> {
        if self.strategy == Strategy::Cxl {
            let only = wish.preferred.first().ok_or(ErrorCode::InvalidParams)?;
            return Ok(self.allocate_first(only, wish.size_bytes).into_iter().collect());
        }
        if names.is_empty() {
            return Ok(Places::new());
        }
        Ok(match self.strategy {
            Strategy::FreeRatioFirst => {
                self.place_ranked(wish, names, |placement, name| placement.free_share(name))
            }
            Strategy::SsdFreeRatioFirst => self.place_ranked(wish, names, |_, _| 1.0),
            _ => self.place_random(wish, names),
        })
    }

    fn place_random(&mut self, wish: &Wish, names: &[Arc<str>]) -> Places {
        if let [only] = names {
            return self.allocate_from(only, wish.size_bytes).into_iter().collect();
        }
        let wanted = usize::try_from(wish.replicas).unwrap_or(usize::MAX);
        let mut used: Vec<&str> = Vec::new();
        let mut placed = self.place_preferred(wish, wanted, &mut used);
        if placed.len() < wanted {
            self.place_by_lot(wish, names, (wanted, &used), &mut placed);
        }
        placed
    }

    /// One replica on each preferred name that has room, until there are enough; the names that took one are added to `used`.
    pub(super) fn place_preferred<'w>(
        &mut self,
        wish: &'w Wish,
        wanted: usize,
        used: &mut Vec<&'w str>,
    ) -> Places {
        let mut placed = Places::new();
        for name in &wish.preferred {
            if used.contains(&name.as_str()) {
                continue;
            }
            if let Some(place) = self.allocate_from(name, wish.size_bytes) {
                placed.push(place);
                used.push(name);
                if placed.len() == wanted {
                    break;
                }
            }
        }
        placed
    }

    /// From a name drawn by lot on, each in turn that is not used, until there are enough.
    pub(super) fn place_by_lot(
        &mut self,
        wish: &Wish,
        names: &[Arc<str>],
        (wanted, used): (usize, &[&str]),
        placed: &mut Places,
    ) {
        let start = self.dice.index_below(names.len());
        for step in 0..names.len().min(MAX_TRIES) {
            if placed.len() >= wanted {
                break;
            }
            let name = &names[(start + step) % names.len()];
            if !used.contains(&&**name) {
                placed.extend(self.allocate_from(name, wish.size_bytes));
            }
        }
    }

    /// One range in the first segment of that name.
    fn allocate_first(&mut self, name: &str, size_bytes: u64) -> Option<Placed> {
        let mount = self.segments.mounts_of_name(name).first().copied()?;
        if !self.is_open(mount) {
            return None;
        }
        let allocation = self.segments.get_mut(mount)?.allocator.allocate(size_bytes)?;
        Some((mount, allocation))
    }

    /// One range in any segment of that name: a random one first, then the others in turn.
    pub(crate) fn allocate_from(&mut self, name: &str, size_bytes: u64) -> Option<Placed> {
        let named = self.segments.mounts_of_name(name).iter().copied();
        let mounts: SmallVec<[MountId; 4]> = named.filter(|mount| self.is_open(*mount)).collect();
        let start = if mounts.len() > 1 {
            self.dice.index_below(mounts.len())
        } else {
            0
        };
        (0..mounts.len()).find_map(|step| {
            let mount = mounts[(start + step) % mounts.len()];
            let allocation = self.segments.get_mut(mount)?.allocator.allocate(size_bytes)?;
            Some((mount, allocation))
        })
    }
}

/// The names of all hosts, the writer's host first, then the others in order; within a host a rotation that the key
/// decides. Mirrors `segment.cpp:BuildHostOrderedSegments`.
pub(crate) fn host_order(segments: &Segments, host: &str, key: &str) -> Vec<String> {
    let hosts: Vec<_> = segments.by_host().iter().collect();
    if host.is_empty() || hosts.is_empty() {
        return Vec::new();
    }
    let first = hosts
        .iter()
        .position(|(name, _)| name.as_str() >= host)
        .unwrap_or(0);
    let mut ordered = Vec::new();
    for step in 0..hosts.len() {
        let names: Vec<&String> = hosts[(first + step) % hosts.len()].1.keys().collect();
        let start = (hash_of(key.as_bytes()) % names.len() as u64) as usize;
        ordered.extend((0..names.len()).map(|index| names[(start + index) % names.len()].clone()));
    }
    ordered
}
