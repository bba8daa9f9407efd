//! One object and its replicas.

use crate::allocator::Allocation;
use crate::segments::MountId;
use moonquake_clock::Clocks;
use moonquake_protocol::{ReplicaStatus, SoftPinAction, Uuid};

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

/// The metadata of one key.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// Writer of the present content.
    pub(crate) client: Uuid,
    /// Id of the first replica that the writer was given: what tells two attempts apart.
    pub(crate) attempt: u64,
    /// When its PutStart or UpsertStart was handled.
    pub(crate) put_start: Clocks,
    /// When the last PutStart or UpsertStart of the key was handled, refused ones too.
    pub(crate) last_start: Clocks,
    /// Length in bytes.
    pub(crate) size_bytes: u64,
    /// What PutEnd said.
    pub(crate) checksum: Option<u64>,
    /// The group; empty for none.
    pub(crate) group: String,
    /// When the last read lease ends, on both clocks. The epoch if none was ever granted.
    pub(crate) lease_end: Clocks,
    /// When the soft pin ends.
    pub(crate) soft_pin_end: Option<Clocks>,
    /// What becomes of the soft pin when the write under way is done.
    pub(crate) pending_pin: Option<PendingPin>,
    /// Never evicted.
    pub(crate) hard_pinned: bool,
    /// Whether a put or upsert is unfinished. Mirrors membership in `processing_keys`.
    pub(crate) writing: bool,
    /// Set while an upsert writes beside the old value; its replicas are the unfinished ones.
    pub(crate) before: Option<Before>,
    /// The copies, in the order of their creation.
    pub(crate) replicas: Vec<Replica>,
}

impl Object {
    /// Whether any replica is complete, within reach or not.
    pub(crate) fn has_complete(&self) -> bool {
        self.replicas.iter().any(Replica::is_complete)
    }

    /// Whether a replica belongs to the write under way, and not to the value that it is to replace.
    pub(crate) fn is_of_write(&self, replica: &Replica) -> bool {
        // Ids only grow.
        self.before.is_none() || replica.id >= self.attempt
    }

    /// Whether no replica is unfinished.
    pub(crate) fn all_complete(&self) -> bool {
        self.replicas.iter().all(Replica::is_complete)
    }
}

/// Takes the replicas out for which `chosen` holds. Which of the others move where follows `std::partition`, because
/// the order of replicas is what readers see. Mirrors `master_service.h:PopReplicas`.
pub(crate) fn split_off(replicas: &mut Vec<Replica>, chosen: impl Fn(&Replica) -> bool) -> Vec<Replica> {
    let (mut first, mut last) = (0, replicas.len());
    loop {
        while first < last && !chosen(&replicas[first]) {
            first += 1;
        }
        while first < last && chosen(&replicas[last - 1]) {
            last -= 1;
        }
        if first >= last {
            return replicas.split_off(first);
        }
        replicas.swap(first, last - 1);
        first += 1;
        last -= 1;
    }
}
