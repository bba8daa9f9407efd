//! The checks that keep the contract and that upstream makes too. Each is asked at exactly one place of `master` or
//! `client`, so that a test can lift one at a time and demand a scenario that notices. They belong to no profile.

use moonquake_clock::Marks;
use serde::Serialize;

/// Who makes a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GuardedBy {
    /// The master.
    Master,
    /// The client.
    Client,
}

/// A row of the table of guards.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GuardRow {
    /// Which guard.
    pub id: Guard,
    /// Its name in tables and tests.
    pub name: &'static str,
    /// Who makes the check.
    pub by: GuardedBy,
    /// What it keeps.
    pub keeps: &'static str,
    /// What happens while a test has lifted it.
    pub lifted: &'static str,
    /// The place upstream that it mirrors.
    pub mirrors: &'static str,
}

macro_rules! guards {
    ($($id:ident $name:literal $by:ident $keeps:literal, lifted $lifted:literal, mirrors $mirrors:literal;)*) => {
        /// A check of the store that a test can lift.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Guard {
            $(#[doc = concat!($keeps, ". Mirrors `", $mirrors, "`.")] $id,)*
        }

        /// All guards, in the order of an object's life.
        pub const GUARDS: &[GuardRow] = &[$(GuardRow {
            id: Guard::$id, name: $name, by: GuardedBy::$by, keeps: $keeps, lifted: $lifted, mirrors: $mirrors,
        },)*];
    };
}

guards! {
    ArgumentsChecked "arguments-checked" Master "A write without a key, a byte or a replica is refused",
        lifted "it is taken as far as memory allows", mirrors "master_service.cpp:PutStart";
    ExistingKeyRefused "existing-key-refused" Master "PutStart of a key that has a finished replica is refused",
        lifted "it throws the finished object away", mirrors "master_service.cpp:PutStart";
    OpenWriteRefused "open-write-refused" Master "PutStart waits for an unfinished write until the discard timeout",
        lifted "it preempts at once", mirrors "master_service.cpp:PutStart";
    PreemptedRangeKept "preempted-range-kept" Master "The range of a preempted put is quarantined",
        lifted "it is free at once", mirrors "master_service.cpp:PutStart";
    FewerReplicasAccepted "fewer-replicas-accepted" Master "A write gets as many of its replicas as fit",
        lifted "it fails unless all fit", mirrors "allocation_strategy.h:RandomAllocationStrategy::Allocate";
    InvisibleBeforeEnd "invisible-before-end" Master "Only a finished replica is shown to readers",
        lifted "an unfinished one is shown too", mirrors "master_service.cpp:GetReplicaList";
    EndByOwner "end-by-owner" Master "PutEnd of another client than the writer is refused",
        lifted "anybody ends a put", mirrors "master_service.cpp:PutEnd";
    EndOnce "end-once" Master "A PutEnd after the first finishes nothing more",
        lifted "it finishes whatever is unfinished on the object", mirrors "master_service.cpp:PutEnd";
    RevokeByOwner "revoke-by-owner" Master "PutRevoke of another client than the writer is refused",
        lifted "anybody revokes a put", mirrors "master_service.cpp:PutRevoke";
    RevokeOnlyOpen "revoke-only-open" Master "PutRevoke of a finished write is refused",
        lifted "it is answered ok and does nothing", mirrors "master_service.cpp:PutRevoke";
    GivenUpRangeKept "given-up-range-kept" Master "The range of a write that a sweep gives up is quarantined",
        lifted "it is free at once", mirrors "master_service.cpp:DiscardExpiredProcessingReplicas";
    OvertakenRangeKept "overtaken-range-kept" Master "The range of a write that an upsert preempts is quarantined",
        lifted "it is free at once", mirrors "master_service.cpp:UpsertStart";
    ReplacedRangeKept "replaced-range-kept" Master "The range of an object that an upsert of another size replaces is quarantined",
        lifted "it is free at once", mirrors "master_service.cpp:UpsertStart";
    UpsertWaitsForCopy "upsert-waits-for-copy" Master "An upsert of an object that is being copied is refused",
        lifted "it reopens or replaces what the copy reads", mirrors "master_service.cpp:UpsertStart";
    ReadGrantsLease "read-grants-lease" Master "A query that names replicas grants a lease",
        lifted "it grants none and still promises one", mirrors "master_service.cpp:GetReplicaList";
    OneLiveReplicaSuffices "one-live-replica-suffices" Master "An object lives as long as one replica is within reach",
        lifted "one replica out of reach takes the object along", mirrors "master_service.h:ObjectMetadata::IsValid";
    RemovalWaitsForLease "removal-waits-for-lease" Master "Remove of a leased object is refused",
        lifted "it goes through", mirrors "master_service.cpp:Remove";
    RemovalSparesOpenWrite "removal-spares-open-write" Master "Remove of an unfinished object is refused, forced or not",
        lifted "it goes through", mirrors "master_service.cpp:Remove";
    RemovalSparesCopy "removal-spares-copy" Master "Remove of an object that is being copied is refused, forced or not",
        lifted "it goes through", mirrors "master_service.cpp:Remove";
    BulkRemovalWaitsForLease "bulk-removal-waits-for-lease" Master "Removal by pattern or of all passes over leased objects",
        lifted "it takes them", mirrors "master_service.cpp:RemoveAll";
    BulkRemovalSparesOpenWrite "bulk-removal-spares-open-write" Master "Removal by pattern or of all passes over unfinished objects, forced or not",
        lifted "it takes them", mirrors "master_service.cpp:RemoveAll";
    RemovalCountsWhatWent "removal-counts-what-went" Master "Removal by pattern or of all counts the objects that went",
        lifted "it counts every object that it looked at", mirrors "master_service.cpp:RemoveAll";
    EvictionWaitsForLease "eviction-waits-for-lease" Master "Eviction passes over leased objects",
        lifted "it takes them", mirrors "master_service.cpp:BatchEvict";
    EvictionSparesHardPin "eviction-spares-hard-pin" Master "Eviction never takes a hard-pinned object",
        lifted "it takes it like any other", mirrors "master_service.cpp:BatchEvict";
    EvictionSparesSoftPin "eviction-spares-soft-pin" Master "Eviction takes a soft-pinned object only after all others",
        lifted "it takes it like any other", mirrors "master_service.cpp:BatchEvict";
    EvictionSparesCopySource "eviction-spares-copy-source" Master "Eviction never takes a replica that is being copied",
        lifted "it takes it", mirrors "master_service.cpp:BatchEvict";
    EvictionOnlyWhereItHelps "eviction-only-where-it-helps" Master "A write that wants more replicas than there are segments asks for no eviction",
        lifted "it does", mirrors "master_service.cpp:AllocateAndInsertMetadata";
    LostTargetUnpinsSource "lost-target-unpins-source" Master "A copy or move that ends without its target lets go of its source",
        lifted "the source stays busy for ever", mirrors "master_service.cpp:MoveEnd";
    MovedSourceKept "moved-source-kept" Master "The range that a move leaves is quarantined",
        lifted "it is free at once", mirrors "master_service.cpp:MoveEnd";
    SilentClientExpires "silent-client-expires" Master "The segments of a client that does not ping vanish",
        lifted "they stay", mirrors "master_service.cpp:ClientMonitorFunc";
    PingAsksForRemount "ping-asks-for-remount" Master "A ping of a client that is not mounted is answered NEED_REMOUNT",
        lifted "it is answered OK", mirrors "master_service.cpp:Ping";
    RemountByOwner "remount-by-owner" Master "ReMountSegment of a segment that another client mounted is refused",
        lifted "it counts as mounted", mirrors "segment.cpp:ValidateRemountSegment";
    NoMountWhileUnmounting "no-mount-while-unmounting" Master "A segment that is being unmounted is not mounted again before it is gone",
        lifted "the mount is answered ok", mirrors "segment.cpp:ScopedSegmentAccess::MountSegment";
    GracefulUnmountCloses "graceful-unmount-closes" Master "Nothing is placed on a segment that is being unmounted",
        lifted "it takes new objects to the end", mirrors "segment.cpp:PrepareGracefulUnmountSegment";
    ClientChecksLease "client-checks-lease" Client "A read that ended after its lease is told as LEASE_EXPIRED",
        lifted "it is told as success", mirrors "client_service.cpp:Client::Get";
    ChecksumCompared "checksum-compared" Client "A read of an object with a checksum whose bytes have another one is told as CHECKSUM_MISMATCH",
        lifted "it is told as success", mirrors "client_service.cpp:Client::VerifyObjectChecksum";
    SessionChecksLease "session-checks-lease" Client "A session whose lease is over does not begin to read",
        lifted "it reads first and checks afterwards", mirrors "real_client.cpp (get sessions)";
    ShortBufferRefused "short-buffer-refused" Client "A read into a buffer of its caller that is too short is refused",
        lifted "it goes on behind the end of the buffer", mirrors "real_client.cpp:get_into_range_internal";
    RangedGetRenewsLease "ranged-get-renews-lease" Client "A read of ranges asks for its lease again whenever half of it is over",
        lifted "it lives by the lease of its first query", mirrors "real_client.cpp:get_into_ranges_internal";
    FailedPutIsRevoked "failed-put-is-revoked" Client "A put whose transfer failed revokes what it was given",
        lifted "it leaves it to the release timeout", mirrors "client_service.cpp:Client::Put";
    FailedCopyIsRevoked "failed-copy-is-revoked" Client "A copy or move that failed gives its target back",
        lifted "it leaves it to the release timeout", mirrors "client_service.cpp:Client::Copy";
    CopyWaitsForRoom "copy-waits-for-room" Client "A task whose target has no room is tried again",
        lifted "it is reported as failed at once", mirrors "client_service.cpp:Client::ExecuteTask";
    CopyWithinHasNoLimit "copy-within-has-no-limit" Client "A transfer within one process knows no limit of time",
        lifted "it is given up like any other", mirrors "transfer_task.cpp:TransferSubmitter::selectStrategy";
    FailedPutIsNotEnded "failed-put-is-not-ended" Client "A put whose transfer failed is not published",
        lifted "it is ended like any other", mirrors "client_service.cpp:Client::Put";
}

/// The guards of one run. By default all stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// One bit for each that a test has lifted: a master asks with every request.
    lifted: u64,
    asked: Marks,
}

// A guard beyond the width of the set would be mistaken for another.
const _: () = assert!(GUARDS.len() <= 64);

impl Guard {
    fn bit(self) -> u64 {
        1 << self as u32
    }

    /// The row of the table.
    pub fn row(self) -> &'static GuardRow {
        GUARDS.iter().find(|row| row.id == self).unwrap_or(&GUARDS[0])
    }
}

impl Guards {
    /// All guards but one. For tests.
    pub fn without(guard: Guard) -> Guards {
        Guards {
            lifted: guard.bit(),
            asked: Marks::default(),
        }
    }

    /// Whether the check is made.
    pub fn stand(&self, guard: Guard) -> bool {
        self.asked.set(guard as usize);
        self.lifted & guard.bit() == 0
    }

    /// Whether these guards, or clones of them, were ever asked for this one. Where they were not, lifting it changes
    /// nothing.
    pub fn asked(&self, guard: Guard) -> bool {
        self.asked.has(guard as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_id_and_named_like_it() {
        for row in GUARDS {
            assert_eq!(row.id.row().name, row.name);
            let id = serde_json::to_value(row.id).unwrap();
            assert_eq!(id, row.name, "the name of a row is its id in kebab case");
        }
    }

    #[test]
    fn one_guard_is_lifted_at_a_time() {
        for row in GUARDS {
            let guards = Guards::without(row.id);
            assert!(!guards.stand(row.id) && Guards::default().stand(row.id));
            assert_eq!(GUARDS.iter().filter(|other| !guards.stand(other.id)).count(), 1);
        }
    }
}
