//! One object and its replicas.

use crate::allocator::Allocation;
use crate::segments::MountId;
use moonquake_clock::Clocks;
use moonquake_protocol::{ReplicaStatus, SoftPinAction, Uuid};
use smallvec::SmallVec;

/// One copy of an object in the memory of a segment. Mirrors `replica.h:Replica` (memory replicas).
#[derive(Clone, Debug)]
pub(crate) struct Replica {
    /// Unique while the master lives.
    pub(crate) id: u64,
    /// PROCESSING or COMPLETE.
    pub(crate) status: ReplicaStatus,
    /// Copies that read from it.
    pub(crate) readers: u32,
    /// The mount whose memory it is; the bytes are out of reach once that mount is gone.
    pub(crate) mount: MountId,
    /// Where in the segment.
    pub(crate) allocation: Allocation,
    /// Absolute address of the first byte.
    pub(crate) address: u64,
    /// Requested length in bytes.
    pub(crate) size_bytes: u64,
}

impl Replica {
    /// Whether a write has finished it.
    pub(crate) fn is_complete(&self) -> bool {
        self.status == ReplicaStatus::Complete
    }

    /// Whether a write is under way.
    pub(crate) fn is_processing(&self) -> bool {
        self.status == ReplicaStatus::Processing
    }
}

/// A change of the soft pin that waits for the first replica of its write. Mirrors
/// `master_service.h:PendingSoftPinAction`.
#[derive(Clone, Debug)]
pub(crate) struct PendingPin {
    /// What to do.
    pub(crate) action: SoftPinAction,
    /// How long, for [`SoftPinAction::Enable`].
    pub(crate) ttl_ms: u64,
    /// The replicas of the write.
    pub(crate) replicas: Vec<u64>,
}

/// What an object was before an upsert began that writes beside the old value. Mirrors nothing upstream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    /// Writer of the old value.
    pub(crate) client: Uuid,
    /// Attempt of the old value.
    pub(crate) attempt: u64,
    /// When that attempt began.
    pub(crate) put_start: Clocks,
    /// Length in bytes of the new value.
    pub(crate) new_size_bytes: u64,
    /// Whether the new value is to be hard-pinned.
    pub(crate) new_hard_pinned: bool,
}

/// The copies of an object in the order of their creation; nearly all have one, which is kept in place.
pub(crate) type Replicas = SmallVec<[Replica; 1]>;

/// The metadata of one key. Its lease is kept beside the key; see [`super::Objects::lease_end`].
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// Writer of the present content.
    pub(crate) client: Uuid,
    /// Id of the first replica that the writer was given: what tells two attempts apart.
    pub(crate) attempt: u64,
    /// When its PutStart or UpsertStart was handled.
    pub(crate) put_start: Clocks,
    /// Length in bytes.
    pub(crate) size_bytes: u64,
    /// What PutEnd said.
    pub(crate) checksum: Option<u64>,
    /// Never evicted.
    pub(crate) hard_pinned: bool,
    /// Whether a put or upsert is unfinished. Mirrors membership in `processing_keys`.
    pub(crate) writing: bool,
    /// The copies.
    pub(crate) replicas: Replicas,
    /// What few objects have.
    extra: Option<Box<Extra>>,
}

/// What few objects have.
#[derive(Clone, Debug)]
pub(crate) struct Extra {
    /// When the last PutStart of the key was handled, where that is not the start of its write: it was refused, or an
    /// upsert writes beside what it put.
    pub(crate) other_start: Option<Clocks>,
    /// The group; empty for none.
    pub(crate) group: String,
    /// When the soft pin ends.
    pub(crate) soft_pin_end: Option<Clocks>,
    /// When the lease ends that the last reader was told and that lengthened none, as happens in a group.
    pub(crate) told_end: Option<Clocks>,
    /// What becomes of the soft pin when the write under way is done.
    pub(crate) pending_pin: Option<PendingPin>,
    /// Set while an upsert writes beside the old value; its replicas are the unfinished ones.
    pub(crate) before: Option<Before>,
}

const NOTHING: Extra = Extra {
    other_start: None,
    group: String::new(),
    soft_pin_end: None,
    told_end: None,
    pending_pin: None,
    before: None,
};
static NONE: Extra = NOTHING;

impl Object {
    /// A new object of one write, unfinished.
    pub(crate) fn new(client: Uuid, put_start: Clocks, size_bytes: u64, replicas: Replicas) -> Object {
        Object {
            client,
            attempt: replicas.first().map(|replica| replica.id).unwrap_or_default(),
            put_start,
            size_bytes,
            checksum: None,
            hard_pinned: false,
            writing: true,
            replicas,
            extra: None,
        }
    }

    /// What few objects have, to read.
    pub(crate) fn extra(&self) -> &Extra {
        self.extra.as_deref().unwrap_or(&NONE)
    }

    /// What few objects have, to change; makes room for it.
    pub(crate) fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_with(|| Box::new(NOTHING))
    }

    /// What few objects have, to change, if the object has any of it.
    pub(crate) fn present_extra(&mut self) -> Option<&mut Extra> {
        self.extra.as_deref_mut()
    }

    /// The group; empty for none.
    pub(crate) fn group(&self) -> &str {
        &self.extra().group
    }

    /// When the last PutStart of the key was handled, refused ones too, or the UpsertStart that gave the old value up.
    pub(crate) fn last_start(&self) -> Clocks {
        self.extra().other_start.unwrap_or(self.put_start)
    }

    /// Sets what becomes of the soft pin when the write under way is done.
    pub(crate) fn set_pending_pin(&mut self, pending: Option<PendingPin>) {
        if pending.is_some() || self.extra.is_some() {
            self.extra_mut().pending_pin = pending;
        }
    }

    /// Sets when the soft pin ends.
    pub(crate) fn set_soft_pin_end(&mut self, end: Option<Clocks>) {
        if end.is_some() || self.extra.is_some() {
            self.extra_mut().soft_pin_end = end;
        }
    }

    /// The mount of the first replica, if that is complete and in memory and the object has a length, no group and no pin.
    pub(crate) fn plain_on(&self) -> Option<MountId> {
        let first = self
            .replicas
            .first()
            .filter(|first| first.is_complete() && !first.is_on_disk())?;
        (self.size_bytes > 0 && self.extra.is_none()).then_some(first.mount)
    }

    /// Whether any replica is complete, within reach or not.
    pub(crate) fn has_complete(&self) -> bool {
        self.replicas.iter().any(Replica::is_complete)
    }

    /// Whether a replica belongs to the write under way, and not to the value that it is to replace.
    pub(crate) fn is_of_write(&self, replica: &Replica) -> bool {
        // Ids only grow.
        self.extra().before.is_none() || replica.id >= self.attempt
    }

    /// Whether no replica is unfinished.
    pub(crate) fn all_complete(&self) -> bool {
        self.replicas.iter().all(Replica::is_complete)
    }
}

/// Takes the replicas out for which `chosen` holds. Which of the others move where follows `std::partition`, because
/// the order of replicas is what readers see. Mirrors `master_service.h:PopReplicas`.
pub(crate) fn split_off(replicas: &mut Replicas, chosen: impl Fn(&Replica) -> bool) -> Replicas {
    let (mut first, mut last) = (0, replicas.len());
    loop {
        while first < last && !chosen(&replicas[first]) {
            first += 1;
        }
        while first < last && chosen(&replicas[last - 1]) {
            last -= 1;
        }
        if first >= last {
            return replicas.drain(first..).collect();
        }
        replicas.swap(first, last - 1);
        first += 1;
        last -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a million objects cost follows from these.
    #[test]
    fn an_object_is_small() {
        assert_eq!((size_of::<Replica>(), size_of::<Object>()), (56, 144));
    }
}
