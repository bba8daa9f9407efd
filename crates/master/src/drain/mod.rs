//! Drain jobs: segments are emptied by moves that their owners execute. Mirrors `master_service.cpp:CreateDrainJob`,
//! `QueryDrainJob` and `CancelDrainJob`. Upstream offers them on its admin server alone, here they are methods of
//! [`Master`]. What the dispatch thread does with them is in [`round`].

mod job;
mod round;

pub use job::{DrainJob, DrainRequest, JobStatus};

use crate::Master;
use crate::ids::hash_of_id;
use crate::objects::order::HashOrder;
use job::Job;
use moonquake_clock::Clocks;
use moonquake_protocol::{ErrorCode, SegmentStatus, Uuid};
use std::collections::{BTreeMap, BTreeSet};

/// All jobs, for ever: upstream forgets none.
#[derive(Clone, Debug, Default)]
pub(crate) struct DrainJobs {
    jobs: BTreeMap<Uuid, Job>,
    /// Their ids in the order in which upstream's table is walked.
    order: HashOrder<Uuid>,
}

impl Master {
    /// Takes segments out of placement and begins to empty them.
    ///
    /// # Errors
    /// INVALID_PARAMS for no segments, for one that is named twice or is a target too, or for a concurrency of zero;
    /// SEGMENT_NOT_FOUND for a name that is not mounted; UNAVAILABLE_IN_CURRENT_STATUS for one that is not OK.
    pub fn create_drain_job(&mut self, now: Clocks, request: &DrainRequest) -> Result<Uuid, ErrorCode> {
        self.run_graceful_timer(now);
        self.check_drain(request)?;
        for name in &request.segments {
            self.segments.set_status(name, SegmentStatus::Draining)?;
        }
        let id = self.ids.next();
        self.drains.jobs.insert(id, Job::new(now, request));
        self.drains.order.insert(hash_of_id(id), id);
        Ok(id)
    }

    fn check_drain(&self, request: &DrainRequest) -> Result<(), ErrorCode> {
        let names: BTreeSet<&String> = request.segments.iter().collect();
        let twice = names.len() != request.segments.len();
        if names.is_empty() || request.max_concurrency == 0 || twice {
            return Err(ErrorCode::InvalidParams);
        }
        for name in &request.segments {
            self.check_is_ok(name)?;
        }
        for target in &request.target_segments {
            if names.contains(target) {
                return Err(ErrorCode::InvalidParams);
            }
            self.check_is_ok(target)?;
        }
        Ok(())
    }

    fn check_is_ok(&self, name: &str) -> Result<(), ErrorCode> {
        match self.segment_status(name)? {
            SegmentStatus::Ok => Ok(()),
            _ => Err(ErrorCode::UnavailableInCurrentStatus),
        }
    }

    /// How far a job is.
    ///
    /// # Errors
    /// JOB_NOT_FOUND for an id that no job has.
    pub fn drain_job(&self, id: Uuid) -> Result<DrainJob, ErrorCode> {
        let job = self.drains.jobs.get(&id).ok_or(ErrorCode::JobNotFound)?;
        Ok(job.told(id))
    }

    /// Ends a job and makes its segments allocatable again, whatever else was done to them in the meantime.
    ///
    /// # Errors
    /// JOB_NOT_FOUND; UNAVAILABLE_IN_CURRENT_STATUS for a job that has ended or has moves under way.
    pub fn cancel_drain_job(&mut self, now: Clocks, id: Uuid) -> Result<(), ErrorCode> {
        self.run_graceful_timer(now);
        let job = self.drains.jobs.get_mut(&id).ok_or(ErrorCode::JobNotFound)?;
        if job.has_ended() || job.has_moves() {
            return Err(ErrorCode::UnavailableInCurrentStatus);
        }
        job.become_status(JobStatus::Canceled, "Drain job canceled", now);
        let names = job.request.segments.clone();
        self.reopen(&names);
        Ok(())
    }

    /// Makes segments allocatable again; those that have left stay away.
    fn reopen(&mut self, names: &[String]) {
        for name in names {
            // Nobody is told of a name that is not mounted any more.
            let _ = self.segments.set_status(name, SegmentStatus::Ok);
        }
    }
}
