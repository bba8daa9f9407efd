//! The round of the job dispatch thread. Mirrors `master_service.cpp:ProcessDrainJobs`, `RefreshDrainJobTasks`,
//! `MaybeCompleteDrainJob` and `ScheduleDrainJobTasks`.

use super::job::{ActiveMove, Job, JobStatus, Unit};
use crate::Master;
use crate::tasks::is_final;
use moonquake_clock::Clocks;
use moonquake_protocol::{ErrorCode, SegmentStatus, TaskStatus, Uuid};
use std::collections::BTreeSet;

/// A move that is to be asked for.
struct Plan {
    unit: Unit,
    target: String,
    size_bytes: u64,
}

impl Master {
    /// One round: each job that has not ended hears of its moves, may end, and asks for more of them.
    pub(crate) fn dispatch_jobs(&mut self, now: Clocks) {
        let ids: Vec<Uuid> = self.drains.order.iter().collect();
        for id in ids {
            // The job is out of the table while it works, so that it and the master can be changed together.
            let Some(mut job) = self.drains.jobs.remove(&id) else {
                continue;
            };
            if !job.has_ended() {
                self.hear_of_moves(&mut job);
                if !self.end_if_empty(now, &mut job) {
                    self.ask_for_moves(now, &mut job);
                }
            }
            self.drains.jobs.insert(id, job);
        }
    }

    /// Counts the moves that have ended. One whose task is forgotten is given up at once.
    fn hear_of_moves(&self, job: &mut Job) {
        let known = |id: &Uuid| self.tasks.get(*id).map(|task| task.status);
        let ended: Vec<(Uuid, Option<TaskStatus>)> = job
            .active
            .keys()
            .map(|id| (*id, known(id)))
            .filter(|(_, status)| status.is_none_or(is_final))
            .collect();
        for (id, status) in ended {
            let Some(active) = job.active.remove(&id) else {
                continue;
            };
            match status {
                None => {
                    job.failed_units += 1;
                    job.given_up.insert(active.unit);
                }
                Some(TaskStatus::Success) => {
                    job.succeeded_units += 1;
                    job.migrated_bytes += active.size_bytes;
                    job.completed.insert(active.unit);
                }
                Some(_) => job.note_failure(active.unit),
            }
        }
    }

    /// Ends the job when nothing is left on its segments, or only what was given up. A segment that is empty is DRAINED,
    /// whatever becomes of the job.
    fn end_if_empty(&mut self, now: Clocks, job: &mut Job) -> bool {
        if job.has_moves() {
            return false;
        }
        let mut left: BTreeSet<Unit> = BTreeSet::new();
        for id in self.objects.by_shard() {
            let key = self.objects.key_of(id);
            let names = self.segment_names_of(key);
            for source in &job.request.segments {
                if names.contains(&source.as_str()) {
                    left.insert((key.to_string(), source.clone()));
                }
            }
        }
        for source in &job.request.segments {
            if !left.iter().any(|(_, name)| name == source) {
                // Nobody is told of a name that is not mounted any more.
                let _ = self.segments.set_status(source, SegmentStatus::Drained);
            }
        }
        if left.is_empty() {
            job.become_status(JobStatus::Succeeded, "Drain job finished successfully", now);
            return true;
        }
        if !left.iter().all(|unit| job.given_up.contains(unit)) {
            return false;
        }
        self.reopen(&job.request.segments);
        let message = "Drain job failed: unrecoverable units remain";
        job.become_status(JobStatus::Failed, message, now);
        true
    }

    /// Asks for as many moves as may be under way.
    fn ask_for_moves(&mut self, now: Clocks, job: &mut Job) {
        let most = job.request.max_concurrency as usize;
        let Some(free @ 1..) = most.checked_sub(job.active.len()) else {
            job.status = JobStatus::Running;
            return;
        };
        let (plans, blocked) = self.plan_moves(now, job, free);
        job.blocked_units = blocked;
        for plan in plans {
            let (key, source) = &plan.unit;
            match self.create_move_task(now, key, source, &plan.target) {
                Ok(id) => {
                    let active = ActiveMove {
                        unit: plan.unit,
                        size_bytes: plan.size_bytes,
                    };
                    job.active.insert(id, active);
                }
                Err(
                    ErrorCode::NoAvailableHandle
                    | ErrorCode::UnavailableInCurrentStatus
                    | ErrorCode::ObjectHasReplicationTask,
                ) => job.blocked_units += 1,
                Err(_) => job.note_failure(plan.unit),
            }
        }
        job.become_status(JobStatus::Running, "Drain job running", now);
    }

    /// The first moves in the order in which upstream walks its objects, and how many objects cannot be moved now.
    fn plan_moves(&self, now: Clocks, job: &Job, free: usize) -> (Vec<Plan>, u64) {
        let (mut plans, mut blocked) = (Vec::new(), 0);
        for id in self.objects.by_shard() {
            let Some(object) = self.objects.at(id) else {
                continue;
            };
            let key = self.objects.key_of(id);
            let names = self.segment_names_of(key);
            let there = |source: &&String| names.contains(&source.as_str());
            for source in job.request.segments.iter().filter(there) {
                let unit = (key.to_string(), source.clone());
                if job.is_settled(&unit) {
                    continue;
                }
                let movable = !object.hard_pinned
                    && self.lease_is_over(id, now)
                    && object.all_complete()
                    && !self.copies.contains_key(key);
                let target = if movable {
                    self.drain_target(key, source, &job.request.target_segments)
                } else {
                    None
                };
                match target {
                    None => blocked += 1,
                    Some(target) if plans.len() < free => plans.push(Plan {
                        unit,
                        target,
                        size_bytes: object.size_bytes,
                    }),
                    Some(_) => {}
                }
            }
        }
        (plans, blocked)
    }

    /// The candidate that is used least and holds no replica of the object; of equals the first. Mirrors
    /// `master_service.cpp:SelectDrainTargetForKey`.
    fn drain_target(&self, key: &str, source: &str, asked: &[String]) -> Option<String> {
        let all: Vec<&str> = if asked.is_empty() {
            self.segments.ok_names().collect()
        } else {
            asked.iter().map(String::as_str).collect()
        };
        let taken = self.segment_names_of(key);
        let mut best: Option<(f64, &str)> = None;
        for name in all {
            let open = name != source && !taken.contains(&name) && self.check_is_ok(name).is_ok();
            let used = self.segments.used_share(name).filter(|_| open);
            if let Some(used) = used.filter(|used| best.is_none_or(|(least, _)| *used < least)) {
                best = Some((used, name));
            }
        }
        best.map(|(_, name)| name.to_owned())
    }
}
