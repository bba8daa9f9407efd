//! Drain jobs: asked for at the real master's admin server, and of the Rust master by its methods.

use super::Outcome;
use super::http::{Http, nonsense};
use crate::error::DifferError;
use crate::operation::Operation;
use moonquake_clock::Clocks;
use moonquake_master::{DrainJob, DrainRequest, Master};
use moonquake_protocol::{ErrorCode, Uuid};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What is told about a drain job, as upstream's admin server writes it. Mirrors `rpc_types.h:QueryJobResponse`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSeen {
    /// Its id.
    pub job_id: String,
    /// How far it is, by number.
    pub status: i32,
    /// Wall time in ms since 1970 at which it was created.
    pub created_at_ms_epoch: i64,
    /// Wall time in ms since 1970 of its last change.
    pub last_updated_at_ms_epoch: i64,
    /// The segments to empty.
    pub segments: Vec<String>,
    /// Objects on a segment that were moved.
    pub succeeded_units: u64,
    /// Moves that failed.
    pub failed_units: u64,
    /// Objects that could not be moved in the last round.
    pub blocked_units: u64,
    /// Moves under way.
    pub active_units: u64,
    /// Bytes that were moved.
    pub migrated_bytes: u64,
    /// Text for people.
    pub message: String,
}

impl JobSeen {
    /// The name of its status.
    pub fn status_name(&self) -> &'static str {
        match self.status {
            0 => "CREATED",
            1 => "PLANNING",
            2 => "RUNNING",
            3 => "SUCCEEDED",
            4 => "FAILED",
            5 => "CANCELED",
            _ => "unknown",
        }
    }
}

impl From<DrainJob> for JobSeen {
    fn from(job: DrainJob) -> JobSeen {
        JobSeen {
            job_id: job.id.to_string(),
            status: job.status as i32,
            created_at_ms_epoch: job.created_at_ms_epoch,
            last_updated_at_ms_epoch: job.last_updated_at_ms_epoch,
            segments: job.segments,
            succeeded_units: job.succeeded_units,
            failed_units: job.failed_units,
            blocked_units: job.blocked_units,
            active_units: job.active_units,
            migrated_bytes: job.migrated_bytes,
            message: job.message,
        }
    }
}

/// Does it on the Rust master; none if it is no operation on jobs.
pub(super) fn apply_rust(master: &mut Master, now: Clocks, operation: &Operation) -> Option<Outcome> {
    Some(match operation {
        Operation::CreateDrainJob {
            segments,
            target_segments,
            max_concurrency,
        } => Outcome::JobCreated(master.create_drain_job(
            now,
            &DrainRequest {
                segments: segments.clone(),
                target_segments: target_segments.clone(),
                max_concurrency: *max_concurrency,
            },
        )),
        Operation::QueryDrainJob(id) => Outcome::Job(master.drain_job(*id).map(JobSeen::from)),
        Operation::CancelDrainJob(id) => Outcome::JobCanceled(master.cancel_drain_job(now, *id)),
        _ => return None,
    })
}

#[derive(Deserialize)]
struct Created {
    job_id: String,
}

#[derive(Deserialize)]
struct Refused {
    error_code: i32,
}

/// Does it on the real master; none if it is no operation on jobs.
pub(super) fn apply_real(http: &mut Http, operation: &Operation) -> Result<Option<Outcome>, DifferError> {
    Ok(Some(match operation {
        Operation::CreateDrainJob {
            segments,
            target_segments,
            max_concurrency,
        } => {
            let body = json!({
                "segments": segments, "target_segments": target_segments, "max_concurrency": max_concurrency,
            });
            let answer = http.ask("POST", "/api/v1/drain_jobs", &body.to_string())?;
            Outcome::JobCreated(match read::<Created>(&answer)? {
                Ok(created) => Ok(id_of(&created.job_id)?),
                Err(code) => Err(code),
            })
        }
        Operation::QueryDrainJob(id) => {
            let answer = http.ask("GET", &format!("/api/v1/drain_jobs/query?job_id={id}"), "")?;
            Outcome::Job(read(&answer)?)
        }
        Operation::CancelDrainJob(id) => {
            let answer = http.ask("POST", &format!("/api/v1/drain_jobs/cancel?job_id={id}"), "")?;
            Outcome::JobCanceled(read::<serde_json::Value>(&answer)?.map(|_| ()))
        }
        _ => return Ok(None),
    }))
}

fn id_of(text: &str) -> Result<Uuid, DifferError> {
    text.parse().map_err(|_| nonsense(format!("`{text}` is no id")))
}

/// What an answer says, or the error that it names.
fn read<T: for<'a> Deserialize<'a>>(
    (status, body): &(u16, String),
) -> Result<Result<T, ErrorCode>, DifferError> {
    let unreadable = |error: serde_json::Error| nonsense(format!("status {status}, {body}: {error}"));
    if *status == 200 {
        return serde_json::from_str(body).map(Ok).map_err(unreadable);
    }
    let refused: Refused = serde_json::from_str(body).map_err(unreadable)?;
    Ok(Err(ErrorCode::from_value(refused.error_code)))
}
