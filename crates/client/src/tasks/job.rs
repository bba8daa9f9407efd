//! What a task asks for, and the calls that do it.

use moonquake_protocol::{ErrorCode, ReplicaDescriptor, Request, Response, TaskAssignment, TaskType, Uuid};
use serde::Deserialize;

/// The payload of a copy. A field that is missing is empty, as for upstream's JSON library. Mirrors
/// `task_manager.h:ReplicaCopyPayload`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CopyPayload {
    tenant_id: String,
    key: String,
    source: String,
    targets: Vec<String>,
    dynamic_replication_lease_id_high: u64,
    dynamic_replication_lease_id_low: u64,
    dynamic_replication_version_epoch: u64,
}

/// The payload of a move. Mirrors `task_manager.h:ReplicaMovePayload`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MovePayload {
    tenant_id: String,
    key: String,
    source: String,
    target: String,
}

/// Which of the three kinds of calls a job makes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Copy {
        targets: Vec<String>,
    },
    /// A copy that the master proposed by itself, under a lease and a version of its own.
    Dynamic {
        targets: Vec<String>,
        lease: Uuid,
        epoch: u64,
    },
    Move {
        target: String,
    },
}

/// One copy or move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    tenant_id: String,
    key: String,
    source: String,
    kind: Kind,
}

/// What the start of a job is answered: the replica to read and those to write.
pub(super) type Started = Result<(ReplicaDescriptor, Vec<ReplicaDescriptor>), ErrorCode>;

impl Job {
    /// What a task asks for.
    ///
    /// # Errors
    /// INTERNAL_ERROR if the payload cannot be read, INVALID_PARAMS for a kind of task without a name.
    pub(super) fn of(assignment: &TaskAssignment) -> Result<Job, ErrorCode> {
        match assignment.r#type {
            TaskType::ReplicaCopy => {
                let payload: CopyPayload = read(&assignment.payload)?;
                let lease = Uuid {
                    first: payload.dynamic_replication_lease_id_high,
                    second: payload.dynamic_replication_lease_id_low,
                };
                let (targets, epoch) = (payload.targets, payload.dynamic_replication_version_epoch);
                let kind = if lease == Uuid::default() {
                    Kind::Copy { targets }
                } else {
                    Kind::Dynamic {
                        targets,
                        lease,
                        epoch,
                    }
                };
                Ok(Job {
                    tenant_id: payload.tenant_id,
                    key: payload.key,
                    source: payload.source,
                    kind,
                })
            }
            TaskType::ReplicaMove => {
                let payload: MovePayload = read(&assignment.payload)?;
                Ok(Job {
                    tenant_id: payload.tenant_id,
                    key: payload.key,
                    source: payload.source,
                    kind: Kind::Move {
                        target: payload.target,
                    },
                })
            }
            TaskType::Unknown(_) => Err(ErrorCode::InvalidParams),
        }
    }

    /// The call that begins it.
    pub(super) fn start(&self, client_id: Uuid) -> Request {
        let (key, tenant_id) = (self.key.clone(), self.tenant_id.clone());
        let src_segment = self.source.clone();
        match self.kind.clone() {
            Kind::Copy { targets } => Request::CopyStart {
                client_id,
                key,
                tenant_id,
                src_segment,
                tgt_segments: targets,
            },
            Kind::Dynamic {
                targets,
                lease,
                epoch,
            } => Request::DynamicReplicaCopyStart {
                client_id,
                key,
                tenant_id,
                src_segment,
                tgt_segments: targets,
                dynamic_replication_lease_id: lease,
                dynamic_replication_version_epoch: epoch,
            },
            Kind::Move { target } => Request::MoveStart {
                client_id,
                key,
                tenant_id,
                src_segment,
                tgt_segment: target,
            },
        }
    }

    /// The call that commits it.
    pub(super) fn end(&self, client_id: Uuid) -> Request {
        let (key, tenant_id) = (self.key.clone(), self.tenant_id.clone());
        match self.kind {
            Kind::Copy { .. } => Request::CopyEnd {
                client_id,
                key,
                tenant_id,
            },
            Kind::Dynamic { lease, epoch, .. } => Request::DynamicReplicaCopyEnd {
                client_id,
                key,
                tenant_id,
                dynamic_replication_lease_id: lease,
                dynamic_replication_version_epoch: epoch,
            },
            Kind::Move { .. } => Request::MoveEnd {
                client_id,
                key,
                tenant_id,
            },
        }
    }

    /// The call that gives it up.
    pub(super) fn revoke(&self, client_id: Uuid) -> Request {
        let (key, tenant_id) = (self.key.clone(), self.tenant_id.clone());
        match self.kind {
            Kind::Copy { .. } => Request::CopyRevoke {
                client_id,
                key,
                tenant_id,
            },
            Kind::Dynamic { lease, epoch, .. } => Request::DynamicReplicaCopyRevoke {
                client_id,
                key,
                tenant_id,
                dynamic_replication_lease_id: lease,
                dynamic_replication_version_epoch: epoch,
            },
            Kind::Move { .. } => Request::MoveRevoke {
                client_id,
                key,
                tenant_id,
            },
        }
    }

    /// Whether its start was refused because nothing is left to do.
    pub(super) fn is_done_already(&self, refused: ErrorCode) -> bool {
        matches!(self.kind, Kind::Dynamic { .. }) && refused == ErrorCode::ObjectAlreadyExists
    }

    /// The answer to its start; RPC_FAIL if it is one to another call.
    pub(super) fn started(&self, response: Response) -> Started {
        match (&self.kind, response) {
            (Kind::Copy { .. }, Response::CopyStart(answer))
            | (Kind::Dynamic { .. }, Response::DynamicReplicaCopyStart(answer)) => {
                answer.map(|copy| (copy.source, copy.targets))
            }
            (Kind::Move { .. }, Response::MoveStart(answer)) => {
                answer.map(|moving| (moving.source, moving.target.into_iter().collect()))
            }
            _ => Err(ErrorCode::RpcFail),
        }
    }

    /// The answer to its end; RPC_FAIL if it is one to another call.
    pub(super) fn ended(&self, response: &Response) -> Result<(), ErrorCode> {
        match (&self.kind, response) {
            (Kind::Copy { .. }, Response::CopyEnd(answer))
            | (Kind::Dynamic { .. }, Response::DynamicReplicaCopyEnd(answer))
            | (Kind::Move { .. }, Response::MoveEnd(answer)) => *answer,
            _ => Err(ErrorCode::RpcFail),
        }
    }
}

fn read<'a, T: Deserialize<'a>>(payload: &'a str) -> Result<T, ErrorCode> {
    serde_json::from_str(payload).map_err(|_| ErrorCode::InternalError)
}
