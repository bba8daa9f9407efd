//! Named, switchable behaviours of upstream that break the contract, and the two profiles made of them.

use moonquake_clock::Marks;
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
    /// An upsert of another size that finds no room has dropped the old object. Mirrors `master_service.cpp:UpsertStart`.
    FailedUpsertLosesObject,
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
        id: Quirk::FailedUpsertLosesObject,
        name: "failed-upsert-loses-object",
        upstream: "an upsert of another size gives the old object up before it asks for memory",
        strict: "the old object stays if there is no memory for the new one",
        mirrors: "master_service.cpp:UpsertStart",
    },
];

/// A set of quirks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    on: BTreeSet<Quirk>,
    asked: Marks,
}

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

    /// The quirk of that name.
    pub fn from_name(name: &str) -> Option<Quirk> {
        QUIRKS.iter().find(|row| row.name == name).map(|row| row.id)
    }
}

impl From<BTreeSet<Quirk>> for Quirks {
    fn from(on: BTreeSet<Quirk>) -> Quirks {
        Quirks {
            on,
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
        self.on.contains(&quirk)
    }

    /// Whether these quirks, or clones of them, were ever asked for this one. Where they were not, it makes no
    /// difference.
    pub fn asked(&self, quirk: Quirk) -> bool {
        self.asked.has(quirk as usize)
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
}
