//! One drain job. Mirrors `master_service.h:DrainJob` and `rpc_types.h:QueryJobResponse`.

use crate::tasks::wall_ms;
use moonquake_clock::Clocks;
use moonquake_protocol::Uuid;
use std::collections::{BTreeMap, BTreeSet};

/// After so many failed moves an object on a segment is given up. Mirrors `master_service.h:kMaxDrainUnitRetries`.
const TRIES_PER_UNIT: u32 = 3;

/// Which segments are to be emptied. Mirrors `rpc_types.h:CreateDrainJobRequest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainRequest {
    /// Names of the segments to empty.
    pub segments: Vec<String>,
    /// Names of the segments that may take the objects; empty for every other one.
    pub target_segments: Vec<String>,
    /// How many moves are under way at once, at least 1. Upstream takes 4 where nothing is said.
    pub max_concurrency: u32,
}

/// How far a job is. Mirrors `rpc_types.h:JobStatus`; the numbers are what upstream's admin server tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum JobStatus {
    /// No round has seen it yet. Mirrors `CREATED`.
    Created = 0,
    /// Within its first round. Mirrors `PLANNING`.
    Planning = 1,
    /// Rounds move its objects. Mirrors `RUNNING`.
    Running = 2,
    /// Nothing is left on its segments. Mirrors `SUCCEEDED`.
    Succeeded = 3,
    /// Every object that is left was given up. Mirrors `FAILED`.
    Failed = 4,
    /// It was cancelled. Mirrors `CANCELED`.
    Canceled = 5,
}

/// What is told about a job. Mirrors `rpc_types.h:QueryJobResponse`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainJob {
    /// Its id.
    pub id: Uuid,
    /// How far it is.
    pub status: JobStatus,
    /// Wall time in ms since 1970 at which it was created.
    pub created_at_ms_epoch: i64,
    /// Wall time in ms since 1970 of its last change.
    pub last_updated_at_ms_epoch: i64,
    /// The segments to empty.
    pub segments: Vec<String>,
    /// Objects on a segment that were moved.
    pub succeeded_units: u64,
    /// Moves that failed, each try counted.
    pub failed_units: u64,
    /// Objects on a segment that could not be moved in the last round.
    pub blocked_units: u64,
    /// Moves under way.
    pub active_units: u64,
    /// Bytes that were moved.
    pub migrated_bytes: u64,
    /// Text for people.
    pub message: String,
}

/// An object on a segment that is to be emptied: key and segment name.
pub(super) type Unit = (String, String);

/// A move that was asked for.
#[derive(Clone, Debug)]
pub(super) struct ActiveMove {
    pub(super) unit: Unit,
    pub(super) size_bytes: u64,
}

/// A job.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(super) request: DrainRequest,
    pub(super) status: JobStatus,
    created: Clocks,
    changed: Clocks,
    message: &'static str,
    pub(super) succeeded_units: u64,
    pub(super) failed_units: u64,
    pub(super) blocked_units: u64,
    pub(super) migrated_bytes: u64,
    /// The moves under way by the id of their task.
    pub(super) active: BTreeMap<Uuid, ActiveMove>,
    pub(super) completed: BTreeSet<Unit>,
    tries: BTreeMap<Unit, u32>,
    pub(super) given_up: BTreeSet<Unit>,
}

impl Job {
    pub(super) fn new(now: Clocks, request: &DrainRequest) -> Job {
        Job {
            request: request.clone(),
            status: JobStatus::Created,
            created: now,
            changed: now,
            message: "Drain job created",
            succeeded_units: 0,
            failed_units: 0,
            blocked_units: 0,
            migrated_bytes: 0,
            active: BTreeMap::new(),
            completed: BTreeSet::new(),
            tries: BTreeMap::new(),
            given_up: BTreeSet::new(),
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(
            self.status,
            JobStatus::Succeeded | JobStatus::Failed | JobStatus::Canceled
        )
    }

    pub(super) fn has_moves(&self) -> bool {
        !self.active.is_empty()
    }

    pub(super) fn become_status(&mut self, status: JobStatus, message: &'static str, now: Clocks) {
        self.status = status;
        self.message = message;
        self.changed = now;
    }

    /// Counts a failed move; after three the object is given up.
    pub(super) fn note_failure(&mut self, unit: Unit) {
        self.failed_units += 1;
        let tries = self.tries.entry(unit.clone()).or_default();
        *tries += 1;
        if *tries >= TRIES_PER_UNIT {
            self.given_up.insert(unit);
        }
    }

    /// Whether an object needs no move: it was moved, is being moved or was given up.
    pub(super) fn is_settled(&self, unit: &Unit) -> bool {
        let active = || self.active.values().any(|active| active.unit == *unit);
        self.completed.contains(unit) || self.given_up.contains(unit) || active()
    }

    pub(super) fn told(&self, id: Uuid) -> DrainJob {
        DrainJob {
            id,
            status: self.status,
            created_at_ms_epoch: wall_ms(self.created),
            last_updated_at_ms_epoch: wall_ms(self.changed),
            segments: self.request.segments.clone(),
            succeeded_units: self.succeeded_units,
            failed_units: self.failed_units,
            blocked_units: self.blocked_units,
            active_units: self.active.len() as u64,
            migrated_bytes: self.migrated_bytes,
            message: self.message.to_owned(),
        }
    }
}
