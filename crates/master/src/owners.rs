//! What the owners of segments and a master tell each other where the contract holds. Upstream's never speak: an owner checks
//! only that an address lies in a registered buffer (`tcp_transport_session_impl.h`), and PutEnd believes its sender
//! (`master_service.cpp:PutEnd`). Quirks `descriptor-outlives-range` and `end-needs-no-write`.

use crate::Master;
use crate::objects::{Id, Replica};
use crate::segments::MountId;
use moonquake_clock::Clocks;
use moonquake_faults::Quirk;
use moonquake_protocol::ReplicaType;
use std::collections::BTreeSet;

impl Master {
    /// From now on the owners of all segments report with [`Master::write_landed`]. Without that, as over a network, no
    /// PutEnd is refused for what the master was never told.
    ///
    /// `instance` is the number of this master since the start, from 0: replica ids of two masters must not be mistaken for
    /// each other by an owner that outlives both.
    pub fn hear_owners(&mut self, instance: u32) {
        self.hears_owners = true;
        self.last_replica = u64::from(instance) << 32;
    }

    /// An owner tells that the range of replica `id` was written to the last byte.
    pub fn write_landed(&mut self, id: u64) {
        if self.hears_owners {
            self.landed.insert(id);
        }
    }

    /// Whether a PutEnd of this object would publish bytes that never landed. What counts is the attempt that the writer
    /// means: a stale one speaks for its own bytes. Replicas of another kind than `meant` stay unfinished, so theirs do not count.
    pub(crate) fn lacks_bytes(&self, id: Id, meant: ReplicaType, fence: Option<u64>) -> bool {
        let Some(object) = self.objects.at(id).filter(|_| self.hears_owners) else {
            return false;
        };
        let unwritten = |replica: &Replica| {
            let published = replica.is_processing() && replica.is_meant_by(meant);
            published && !self.landed.contains(&replica.id)
        };
        let lacks = match fence.filter(|fence| *fence != object.attempt) {
            Some(stale) => !self.landed.contains(&stale),
            None => object.replicas.iter().any(unwritten),
        };
        lacks && !self.config.quirks.has(Quirk::EndNeedsNoWrite)
    }

    /// The descriptors that are good until the next request or round.
    pub fn held(&self) -> Held {
        let in_objects = self.objects.iter().flat_map(|(_, object)| object.replicas.iter());
        let kept = self.quarantined.iter().flat_map(|kept| kept.replicas.iter());
        let all = in_objects.chain(kept).map(|replica| (replica.id, replica.mount));
        Held(all.collect())
    }

    /// Whether an owner may let a transfer with the descriptor of replica `id` reach `address`: its range has not been
    /// given back, or its segment is not in use at all. `held` is what is good now; to ask for it each time would be a look
    /// at every object.
    pub fn may_reach(&self, now: Clocks, held: &Held, id: u64, address: u64) -> bool {
        self.is_held(now, held, id, address) || self.config.quirks.has(Quirk::DescriptorOutlivesRange)
    }

    fn is_held(&self, now: Clocks, held: &Held, id: u64, address: u64) -> bool {
        let inside = |base: u64, size: u64| address.checked_sub(base).is_some_and(|offset| offset < size);
        let mount = self
            .segments
            .iter()
            .find(|(_, mount)| inside(mount.segment.base, mount.segment.size));
        let Some((mount, present)) = mount else {
            return true;
        };
        // A segment that is closed after its return is closed for the sake of those who still reach into it.
        let closed = &present.closed;
        closed.iter().any(|due| !due.reached(&self.config.rules, now)) || held.0.contains(&(id, mount))
    }
}

/// Which replicas have a range, each on which mount of its segment.
#[derive(Clone, Debug)]
pub struct Held(BTreeSet<(u64, MountId)>);
