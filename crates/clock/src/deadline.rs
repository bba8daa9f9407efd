//! The table of every deadline that the store compares.

use crate::Domain;
use serde::Serialize;

/// A deadline of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeadlineId {
    /// A read lease at the master. Mirrors `master_service.h:ObjectMetadata::IsLeaseExpired`.
    Lease,
    /// Until then an unfinished put keeps other writers out. Mirrors `master_service.cpp:PutStart`.
    Discard,
    /// An unfinished put is given up by a sweep. Mirrors `master_service.cpp:DiscardExpiredProcessingReplicas`.
    Release,
    /// Discarded memory leaves quarantine. Mirrors `master_service.cpp:ReleaseExpiredDiscardedReplicas`.
    Quarantine,
    /// A sweep without memory pressure is due. Mirrors `master_service.cpp:EvictionThreadFunc`.
    IdleSweep,
    /// An unfinished copy or move is given up by a sweep. Mirrors `master_service.cpp:DiscardExpiredProcessingReplicas`
    /// (`replication_tasks`).
    CopyTimeout,
    /// So much of a lease is over that a read lengthens those of its whole group. Mirrors
    /// `master_service.cpp:GrantLeaseForGroup`.
    GroupRefresh,
    /// A segment that leaves gracefully is unmounted. Mirrors `master_service.cpp:GracefulUnmountSegment`.
    Grace,
    /// A client that does not ping is dead. Mirrors `master_service.cpp:ClientMonitorFunc`.
    ClientTtl,
    /// A soft pin ends. Mirrors `master_service.h:ObjectMetadata::IsSoftPinned`.
    SoftPin,
    /// A task that nobody has fetched has failed. Mirrors `task_manager.cpp:prune_expired_tasks`.
    TaskPending,
    /// A fetched task that nobody has reported on has failed. Mirrors `task_manager.cpp:prune_expired_tasks`.
    TaskProcessing,
    /// The client's own view of the lease it was told. Mirrors `client_service.h:QueryResult::IsLeaseExpired`.
    ClientLease,
    /// The client gives up on a transfer. Mirrors `transfer_task.cpp:wait_for_completion`.
    Transfer,
    /// The transport closes a connection without progress. Mirrors the release's `MC_TCP_PROGRESS_TIMEOUT_SEC`.
    Progress,
    /// The client gives up on an answer. Mirrors `master_client.cpp` (`MC_RPC_TIMEOUT_MS`).
    Rpc,
    /// Broken connections to the owner of a segment are tried again. Mirrors
    /// `tcp_transport_lane_impl.h:kReconnectRoundCooldown`.
    Reconnect,
    /// The next ping of a client that mounted something. Mirrors `client_service.cpp:StorageHeartbeatThreadMain`.
    Ping,
}

/// Whose length a deadline has: a key of a scenario's `timeouts`, a constant of upstream, or what a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// The key of that name in `[world] timeouts`.
    Timeout(&'static str),
    /// Half of the key of that name, in whole milliseconds.
    Half(&'static str),
    /// The argument of that name of the request that sets the deadline.
    Asked(&'static str),
    /// A fixed number of nanoseconds.
    FixedNs(u64),
}

/// When a deadline counts as reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compare {
    /// Reached at the instant itself: `now >= base + length`.
    Inclusive,
    /// Reached only after it: `now > base + length`.
    Strict,
    /// Reached only after it in whole milliseconds, each reading rounded down: `now / 1 ms > base / 1 ms + length / 1 ms`.
    StrictMs,
}

/// Who looks at the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    /// The master.
    Master,
    /// A client.
    Client,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Deadline {
    /// Which deadline.
    pub id: DeadlineId,
    /// Its name in tables and docs.
    pub name: &'static str,
    /// The clock it is compared on.
    pub domain: Domain,
    /// What it counts from.
    pub base: &'static str,
    /// What it could be mistaken to count from. A test makes that mistake and expects a scenario to notice. None where there is
    /// but one instant at hand: a request, a ping or a task is sent or made once, and nothing happens to it before it is over.
    pub mistaken: Option<&'static str>,
    /// How long it is.
    pub length: Length,
    /// Whether it is reached at the instant itself or only after it.
    pub compare: Compare,
    /// Who acts on it.
    pub actor: Actor,
    /// What happens when it is reached.
    pub effect: &'static str,
    /// The upstream expression it mirrors.
    pub mirrors: &'static str,
}

macro_rules! deadlines {
    ($($id:ident $name:literal $domain:ident $compare:ident $actor:ident $length:expr, from $base:literal,
       $(not $mistaken:literal,)? then $effect:literal, mirrors $mirrors:literal;)*) => {
        /// Every deadline of the store, in the order of an object's life.
        pub const DEADLINES: &[Deadline] = &[$(Deadline {
            id: DeadlineId::$id, name: $name, domain: Domain::$domain, base: $base,
            mistaken: [$($mistaken)?].first().copied(), length: $length,
            compare: Compare::$compare, actor: Actor::$actor, effect: $effect, mirrors: $mirrors,
        },)*];
    };
}

deadlines! {
    Discard "discard" Realtime Strict Master Length::Timeout("discard"), from "PutStart handled",
        not "the last PutStart of the key, refused ones too",
        then "another PutStart of the key preempts", mirrors "PutStart refused while put_start_time + discard >= now";
    Release "release" Realtime Strict Master Length::Timeout("release"), from "PutStart handled",
        not "the last PutStart of the key, refused ones too",
        then "a sweep gives the unfinished put up", mirrors "put_start_time + release < now";
    Quarantine "quarantine" Realtime Inclusive Master Length::Timeout("release"), from "PutStart handled (preempted put)",
        not "the instant at which the range is discarded",
        then "a sweep frees the discarded range", mirrors "free_at <= now";
    IdleSweep "idle_sweep" Realtime Strict Master Length::Timeout("release"), from "the last sweep",
        not "the last eviction round, whether it swept or not",
        then "an eviction round sweeps without pressure", mirrors "now - last_discard > release";
    CopyTimeout "copy_timeout" Realtime Inclusive Master Length::Timeout("release"), from "CopyStart or MoveStart handled",
        not "PutStart of the copied object handled",
        then "a sweep gives the unfinished copy or move up", mirrors "start_time + release <= now";
    Lease "lease" Realtime Inclusive Master Length::Timeout("lease"), from "the last read that granted",
        not "the first read that granted",
        then "remove and eviction may take the object", mirrors "now >= lease";
    GroupRefresh "group_refresh" Realtime Inclusive Master Length::Half("lease"), from "the last read that lengthened the lease",
        not "the last read of the object, which may have lengthened none",
        then "a read lengthens the leases of the whole group", mirrors "lease <= now + ttl / 2";
    SoftPin "soft_pin" Realtime Inclusive Master Length::Timeout("soft_pin"), from "the first PutEnd",
        not "the last read of the object",
        then "eviction no longer spares the object", mirrors "now >= soft_pin_timeout";
    ClientTtl "client_ttl" Monotonic Strict Master Length::Timeout("client_ttl"), from "the monitor round that read the last ping",
        not "the arrival of the last ping",
        then "the client's segments vanish with all keys on them", mirrors "ttl < now";
    Grace "grace" Monotonic Inclusive Master Length::Asked("grace_period_ms"), from "GracefulUnmountSegment handled",
        not "the last GracefulUnmountSegment of the segment",
        then "the segment vanishes with all keys on it", mirrors "a timer of the monotonic clock at now + grace_period_ms";
    TaskPending "task_pending" Realtime Strict Master Length::FixedNs(300_000_000_000), from "the task is created",
        then "a clean-up round fails the task", mirrors "now - created_at > pending_task_timeout_sec";
    TaskProcessing "task_processing" Realtime Strict Master Length::FixedNs(300_000_000_000), from "the task is fetched",
        not "the task is created",
        then "a clean-up round fails the task", mirrors "now - last_updated_at > processing_task_timeout_sec";
    ClientLease "client_lease" Monotonic Inclusive Client Length::Timeout("lease"), from "just before the query is sent",
        not "the arrival of the answer",
        then "the read fails with LEASE_EXPIRED", mirrors "now >= before_rpc + lease_ttl";
    Transfer "transfer" Realtime StrictMs Client Length::Timeout("transfer"), from "the transfer is submitted",
        not "the last byte that moved",
        then "the operation fails with TRANSFER_FAIL", mirrors "now_ms - submit_ms > 60000";
    Progress "progress" Monotonic Inclusive Client Length::Timeout("progress"), from "the last byte that moved",
        not "the transfer is submitted",
        then "the transport closes the connection", mirrors "MC_TCP_PROGRESS_TIMEOUT_SEC";
    Rpc "rpc" Monotonic Inclusive Client Length::Timeout("rpc"), from "the request is sent",
        then "the call fails with RPC_TIMEOUT", mirrors "MC_RPC_TIMEOUT_MS";
    Reconnect "reconnect" Monotonic Inclusive Client Length::FixedNs(1_000_000_000),
        from "a connection broke beside another one, or none could be made",
        not "the submission of the transfer that waits for it",
        then "broken connections to the owner are tried again", mirrors "kReconnectRoundCooldown, 1 s";
    Ping "ping" Monotonic Inclusive Client Length::FixedNs(1_000_000_000), from "the last ping",
        then "the client pings again", mirrors "StorageHeartbeatThreadMain, 1 s";
}

// Rules are kept in an array by id.
const _: () = {
    let mut index = 0;
    while index < DEADLINES.len() {
        assert!((DEADLINES[index].id as usize) < DEADLINES.len());
        index += 1;
    }
};

impl DeadlineId {
    /// The row of the table.
    pub fn row(self) -> &'static Deadline {
        DEADLINES
            .iter()
            .find(|row| row.id == self)
            .unwrap_or(&DEADLINES[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_its_own_row() {
        for row in DEADLINES {
            assert_eq!(row.id.row().name, row.name);
        }
        assert_eq!(DEADLINES.len(), 18);
    }
}
