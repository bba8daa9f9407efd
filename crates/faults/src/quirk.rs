//! Named, switchable behaviours of upstream that break the contract, and the two profiles made of them.

use moonquake_clock::{DeadlineId, Flip, Marks, Rules};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A behaviour of upstream that breaks the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quirk {
    /// PutEnd and PutRevoke are matched by client id alone. Mirrors `master_service.cpp:PutEnd`.
    StalePutEnd,
    /// Leases are wall-clock instants at the master. Mirrors `master_service.h:GrantReadLease`.
    WallClockLeases,
    /// A new master takes remounted segments for free. Mirrors `segment.cpp:ReMountSegment`.
    RestartForgetsLeases,
    /// A segment that expires or unmounts forgets its leases and its quarantine. Mirrors `segment.cpp:PrepareUnmountSegment`.
    RemountForgetsLeases,
    /// PutRevoke frees the range at once. Mirrors `master_service.cpp:PutRevoke`.
    RevokeFreesAtOnce,
    /// A forced remove frees a range whose lease lives. Mirrors `master_service.cpp:Remove`.
    ForceFreesLeased,
    /// A transfer goes on after its operation has failed. Mirrors `transfer_task.cpp:wait_for_completion`.
    TransferOutlivesOperation,
    /// An existence probe grants a full lease. Mirrors `master_service.cpp:ExistKey`.
    ProbeGrantsLease,
    /// A pressure round without candidates releases no quarantine. Mirrors `master_service.cpp:BatchEvict`.
    EmptyRoundKeepsQuarantine,
    /// A descriptor gives access to its range for ever. Mirrors `tcp_transport_session_impl.h`, which checks only that an
    /// address lies in a registered buffer.
    DescriptorOutlivesRange,
    /// PutEnd publishes whatever lies in the range. Mirrors `master_service.cpp:PutEnd`.
    EndNeedsNoWrite,
    /// A batch read that prefers one node checks no lease. Mirrors `client_service.cpp:BatchGetWhenPreferSameNode`.
    GroupedGetSkipsLeaseCheck,
    /// A batch read compares every lease with one instant after its last transfer. Mirrors `client_service.cpp:BatchGet`.
    BatchLeaseCheckedOnce,
    /// A copy keeps its targets when its source is gone. Mirrors `master_service.cpp:ClearInvalidHandles`.
    OrphanedCopyKeepsTargets,
    /// An upsert of the same size reopens a leased range in place. Mirrors `master_service.cpp:UpsertStart` (case B).
    UpsertOverwritesLeased,
    /// The old value is given up when the upsert begins. Mirrors `master_service.cpp:UpsertStart` (cases B and C).
    UpsertDropsOldValue,
    /// A preemption whose allocation fails has preempted all the same. Mirrors `master_service.cpp:PutStart`.
    FailedPreemptDropsPut,
    /// The timeouts of puts and copies and the end of soft pins are wall-clock instants. Mirrors `master_service.cpp:PutStart`,
    /// `DiscardExpiredProcessingReplicas` and `master_service.h:IsSoftPinned`.
    WallClockPuts,
    /// The client limits its transfers on the wall clock. Mirrors `transfer_task.cpp:wait_for_completion`.
    WallClockTransfers,
    /// A put of a key that exists reports success. Mirrors `client_service.cpp:Client::Put`.
    ExistingKeyIsSuccess,
    /// The tenant of a request is ignored. Mirrors `rpc_service.cpp:WrappedMasterService` (`enable_multi_tenants`).
    TenantIgnored,
    /// A read of a group is told a full lease and extends none. Mirrors `master_service.cpp:GrantLeaseForGroup`.
    GroupLeaseNotExtended,
    /// Any client may unmount any segment. Mirrors `master_service.cpp:UnmountSegment`.
    UnmountByAnyone,
    /// The time-outs of tasks are wall-clock instants. Mirrors `task_manager.cpp:prune_expired_tasks`.
    WallClockTasks,
    /// A task that ends before it was fetched counts as waiting for ever. Mirrors `task_manager.cpp:complete_task`.
    EndedTaskStillWaits,
    /// A zero-copy put of no bytes reports success. Mirrors `real_client.cpp:put_from_internal`.
    EmptyPutIsSuccess,
    /// A call of a client that was closed follows a null pointer. Mirrors `store_py.cpp`, most of whose calls look for no client.
    CallAfterCloseEndsProcess,
    /// A call that is open when its client is closed goes on with what is gone. Mirrors `real_client.cpp:tearDownAll_internal`, which waits
    /// for nobody.
    CloseUnderACallEndsProcess,
}

/// A row of the quirk table.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct QuirkRow {
    /// Which quirk.
    pub id: Quirk,
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// What upstream does.
    pub upstream: &'static str,
    /// What happens when it is off.
    pub strict: &'static str,
    /// The place upstream where it happens.
    pub mirrors: &'static str,
}

/// All quirks.
pub const QUIRKS: &[QuirkRow] = &[
    QuirkRow {
        id: Quirk::StalePutEnd,
        name: "stale-put-end",
        upstream: "PutEnd and PutRevoke look at the client id only, so a late one acts on a newer attempt",
        strict: "they name their attempt, and an old attempt's is refused with ILLEGAL_CLIENT",
        mirrors: "master_service.cpp:PutEnd",
    },
    QuirkRow {
        id: Quirk::WallClockLeases,
        name: "wall-clock-leases",
        upstream: "the master compares leases on the wall clock, which can be set",
        strict: "the master compares leases on the monotonic clock",
        mirrors: "master_service.h:GrantReadLease",
    },
    QuirkRow {
        id: Quirk::RestartForgetsLeases,
        name: "restart-forgets-leases",
        upstream: "a new master hands out a remounted segment at once",
        strict: "a segment that comes back to a new master stays closed for one lease",
        mirrors: "segment.cpp:ReMountSegment",
    },
    QuirkRow {
        id: Quirk::RemountForgetsLeases,
        name: "remount-forgets-leases",
        upstream: "an expired or unmounted segment forgets its leases and its quarantine",
        strict: "a segment that comes back stays closed until its last lease and quarantine are over",
        mirrors: "segment.cpp:PrepareUnmountSegment",
    },
    QuirkRow {
        id: Quirk::RevokeFreesAtOnce,
        name: "revoke-frees-at-once",
        upstream: "PutRevoke frees the range although the transfer may still be running",
        strict: "a revoked range is quarantined until the release timeout",
        mirrors: "master_service.cpp:PutRevoke",
    },
    QuirkRow {
        id: Quirk::ForceFreesLeased,
        name: "force-frees-leased",
        upstream: "a forced remove frees a range at once although a reader's lease lives",
        strict: "a forced remove hides the key and quarantines the range until the lease is over",
        mirrors: "master_service.cpp:Remove",
    },
    QuirkRow {
        id: Quirk::TransferOutlivesOperation,
        name: "transfer-outlives-operation",
        upstream: "a transfer that is given up goes on and touches the buffer later",
        strict: "a transfer is fenced before its failure is told",
        mirrors: "transfer_task.cpp:wait_for_completion",
    },
    QuirkRow {
        id: Quirk::ProbeGrantsLease,
        name: "probe-grants-lease",
        upstream: "an existence probe that hits grants a full lease",
        strict: "an existence probe grants none",
        mirrors: "master_service.cpp:ExistKey",
    },
    QuirkRow {
        id: Quirk::EmptyRoundKeepsQuarantine,
        name: "empty-round-keeps-quarantine",
        upstream: "an eviction round under pressure that finds no candidate returns before it releases quarantine",
        strict: "every round releases what is due",
        mirrors: "master_service.cpp:BatchEvict",
    },
    QuirkRow {
        id: Quirk::DescriptorOutlivesRange,
        name: "descriptor-outlives-range",
        upstream: "the owner of a segment accepts any transfer that lies inside it, however old its descriptor is",
        strict: "the owner refuses a descriptor whose range was given back or handed to somebody else",
        mirrors: "tcp_transport_session_impl.h",
    },
    QuirkRow {
        id: Quirk::EndNeedsNoWrite,
        name: "end-needs-no-write",
        upstream: "PutEnd publishes whatever lies in the range, also if nothing was ever written",
        strict: "a PutEnd whose bytes never completely landed is refused with INVALID_WRITE; the owner tells the master what landed",
        mirrors: "master_service.cpp:PutEnd",
    },
    QuirkRow {
        id: Quirk::GroupedGetSkipsLeaseCheck,
        name: "grouped-get-skips-lease-check",
        upstream: "a batch read with prefer_alloc_in_same_node returns before the check of its leases",
        strict: "it checks the lease of each key as every other read does",
        mirrors: "client_service.cpp:BatchGetWhenPreferSameNode",
    },
    QuirkRow {
        id: Quirk::BatchLeaseCheckedOnce,
        name: "batch-lease-checked-once",
        upstream: "a batch read checks all leases after its last transfer, so one slow key fails the others",
        strict: "each key is checked when its own transfer ends",
        mirrors: "client_service.cpp:BatchGet",
    },
    QuirkRow {
        id: Quirk::OrphanedCopyKeepsTargets,
        name: "orphaned-copy-keeps-targets",
        upstream: "a copy or move whose source is gone keeps its targets until the release timeout",
        strict: "the targets are given back with the source",
        mirrors: "master_service.cpp:ClearInvalidHandles",
    },
    QuirkRow {
        id: Quirk::UpsertOverwritesLeased,
        name: "upsert-overwrites-leased",
        upstream: "an upsert of the same size writes in place although a reader's lease lives",
        strict: "an upsert of a leased object goes to other bytes, and the old ones are kept until the lease is over",
        mirrors: "master_service.cpp:UpsertStart",
    },
    QuirkRow {
        id: Quirk::UpsertDropsOldValue,
        name: "upsert-drops-old-value",
        upstream: "UpsertStart gives the old value up, so an upsert that fails leaves neither",
        strict: "the old value stays readable until UpsertEnd, and after a revoke",
        mirrors: "master_service.cpp:UpsertStart",
    },
    QuirkRow {
        id: Quirk::FailedPreemptDropsPut,
        name: "failed-preempt-drops-put",
        upstream: "a start that preempts and then finds no room fails, and the preempted put is gone as well",
        strict: "room is found first; a start that fails changes nothing",
        mirrors: "master_service.cpp:PutStart",
    },
    QuirkRow {
        id: Quirk::WallClockPuts,
        name: "wall-clock-puts",
        upstream: "discard, release, quarantine, idle sweep, soft pins and the timeout of copies are compared on the wall clock, which can be set",
        strict: "they are compared on the monotonic clock",
        mirrors: "master_service.cpp:DiscardExpiredProcessingReplicas",
    },
    QuirkRow {
        id: Quirk::WallClockTransfers,
        name: "wall-clock-transfers",
        upstream: "the client's limit of a transfer is compared on the wall clock, which can be set",
        strict: "it is compared on the monotonic clock",
        mirrors: "transfer_task.cpp:wait_for_completion",
    },
    QuirkRow {
        id: Quirk::ExistingKeyIsSuccess,
        name: "existing-key-is-success",
        upstream: "a put of a key that exists, finished or not, reports success and writes nothing",
        strict: "it reports OBJECT_ALREADY_EXISTS",
        mirrors: "client_service.cpp:Client::Put",
    },
    QuirkRow {
        id: Quirk::TenantIgnored,
        name: "tenant-ignored",
        upstream: "a master without enable_multi_tenants ignores the tenant of every request",
        strict: "each tenant has keys of its own",
        mirrors: "rpc_service.cpp:WrappedMasterService",
    },
    QuirkRow {
        id: Quirk::GroupLeaseNotExtended,
        name: "group-lease-not-extended",
        upstream: "a read of a grouped object whose lease is less than half over is told a full lease and extends none",
        strict: "every read extends the lease that its reader is told",
        mirrors: "master_service.cpp:GrantLeaseForGroup",
    },
    QuirkRow {
        id: Quirk::UnmountByAnyone,
        name: "unmount-by-anyone",
        upstream: "UnmountSegment takes a segment away whoever asks",
        strict: "anybody but its owner is refused with ILLEGAL_CLIENT",
        mirrors: "master_service.cpp:UnmountSegment",
    },
    QuirkRow {
        id: Quirk::WallClockTasks,
        name: "wall-clock-tasks",
        upstream: "the time-outs of tasks are compared on the wall clock, which can be set",
        strict: "they are compared on the monotonic clock",
        mirrors: "task_manager.cpp:prune_expired_tasks",
    },
    QuirkRow {
        id: Quirk::EndedTaskStillWaits,
        name: "ended-task-still-waits",
        upstream: "a task that is reported as ended before it was fetched counts against the limit of waiting tasks for ever",
        strict: "it no longer counts",
        mirrors: "task_manager.cpp:complete_task",
    },
    QuirkRow {
        id: Quirk::EmptyPutIsSuccess,
        name: "empty-put-is-success",
        upstream: "a put or upsert of no bytes out of the caller's own buffer reports success and stores nothing",
        strict: "it is INVALID_PARAMS, as a staged one is",
        mirrors: "real_client.cpp:put_from_internal",
    },
    QuirkRow {
        id: Quirk::CallAfterCloseEndsProcess,
        name: "call-after-close-ends-process",
        upstream: "most calls of a client that was closed follow a null pointer, which ends the process of the caller",
        strict: "each is INVALID_PARAMS",
        mirrors: "store_py.cpp:MooncakeStorePyWrapper",
    },
    QuirkRow {
        id: Quirk::CloseUnderACallEndsProcess,
        name: "close-under-a-call-ends-process",
        upstream: "a call that is open when its client is closed goes on with what is gone, which ends the process of the caller",
        strict: "its transfers fail, and it ends with that",
        mirrors: "real_client.cpp:tearDownAll_internal",
    },
];

/// The deadlines that a quirk keeps on the wall clock, where the contract wants the monotonic one.
const ON_THE_WALL: &[(Quirk, &[DeadlineId])] = &[
    (
        Quirk::WallClockLeases,
        &[DeadlineId::Lease, DeadlineId::GroupRefresh],
    ),
    (
        Quirk::WallClockPuts,
        &[
            DeadlineId::Discard,
            DeadlineId::Release,
            DeadlineId::Quarantine,
            DeadlineId::IdleSweep,
            DeadlineId::CopyTimeout,
            DeadlineId::SoftPin,
        ],
    ),
    (Quirk::WallClockTransfers, &[DeadlineId::Transfer]),
    (
        Quirk::WallClockTasks,
        &[DeadlineId::TaskPending, DeadlineId::TaskProcessing],
    ),
];

/// A set of quirks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// One bit for each that is on: a master asks with every request.
    on: u64,
    asked: Marks,
}

// A quirk beyond the width of the set would be mistaken for another.
const _: () = assert!(QUIRKS.len() <= 64);

/// A named set of quirks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// All that the pinned release has.
    Upstream,
    /// None: the contract as it should be.
    Strict,
}

impl Quirk {
    /// The row of the table.
    pub fn row(self) -> &'static QuirkRow {
        QUIRKS.iter().find(|row| row.id == self).unwrap_or(&QUIRKS[0])
    }

    fn bit(self) -> u64 {
        1 << self as u32
    }

    /// The quirk of that name.
    pub fn from_name(name: &str) -> Option<Quirk> {
        QUIRKS.iter().find(|row| row.name == name).map(|row| row.id)
    }
}

impl From<BTreeSet<Quirk>> for Quirks {
    fn from(on: BTreeSet<Quirk>) -> Quirks {
        Quirks {
            on: on.into_iter().fold(0, |set, quirk| set | quirk.bit()),
            asked: Marks::default(),
        }
    }
}

impl Quirks {
    /// No quirk.
    pub fn none() -> Quirks {
        Quirks::default()
    }

    /// Every quirk.
    pub fn all() -> Quirks {
        QUIRKS.iter().map(|row| row.id).collect::<BTreeSet<_>>().into()
    }

    /// One quirk alone.
    pub fn only(quirk: Quirk) -> Quirks {
        BTreeSet::from([quirk]).into()
    }

    /// Whether the quirk is on.
    pub fn has(&self, quirk: Quirk) -> bool {
        self.asked.set(quirk as usize);
        self.on & quirk.bit() != 0
    }

    /// Whether this one could have made a difference to a run that was made with these quirks and these rules, or with
    /// clones of them: it was asked for, or it would have kept a deadline on another clock that mattered.
    pub fn mattered(&self, quirk: Quirk, rules: &Rules) -> bool {
        let on_the_wall = ON_THE_WALL.iter().filter(|(of, _)| *of == quirk);
        let mut deadlines = on_the_wall.flat_map(|(_, ids)| *ids);
        self.asked.has(quirk as usize) || deadlines.any(|id| rules.mattered(*id, Flip::Clock))
    }

    /// Turns to the monotonic clock what a quirk that is off would keep on the wall clock. To be done once to the rules
    /// of a run: a test that has turned a deadline to the other clock before finds it on the wall clock then.
    pub fn apply_to(&self, rules: &mut Rules) {
        let off = ON_THE_WALL.iter().filter(|(quirk, _)| self.on & quirk.bit() == 0);
        for id in off.flat_map(|(_, ids)| *ids) {
            rules.flip_domain(*id);
        }
    }
}

impl Profile {
    /// The quirks of the profile.
    pub fn quirks(self) -> Quirks {
        match self {
            Profile::Upstream => Quirks::all(),
            Profile::Strict => Quirks::none(),
        }
    }

    /// The word on the command line and in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Upstream => "upstream",
            Profile::Strict => "strict",
        }
    }

    /// The profile of that name.
    pub fn from_name(name: &str) -> Option<Profile> {
        [Profile::Upstream, Profile::Strict]
            .into_iter()
            .find(|profile| profile.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_hold_all_and_none() {
        for row in QUIRKS {
            assert!(Profile::Upstream.quirks().has(row.id) && !Profile::Strict.quirks().has(row.id));
            assert_eq!(Quirk::from_name(row.name), Some(row.id));
            assert_eq!(
                QUIRKS
                    .iter()
                    .filter(|other| Quirks::only(row.id).has(other.id))
                    .count(),
                1
            );
        }
    }

    #[test]
    fn strict_looks_at_the_wall_clock_nowhere() {
        use moonquake_clock::Domain;
        let mut strict = Rules::default();
        Quirks::none().apply_to(&mut strict);
        let mut upstream = Rules::default();
        Quirks::all().apply_to(&mut upstream);
        for row in moonquake_clock::DEADLINES {
            assert_eq!(strict.get(row.id).domain, Domain::Monotonic, "{}", row.name);
        }
        assert_eq!(upstream, Rules::default());
    }
}
