//! The requests for tasks. Mirrors `master_service.cpp:CreateCopyTask`, `CreateMoveTask`, `QueryTask`, `FetchTasks` and
//! `MarkTaskToComplete`.

use super::{Limits, payload};
use crate::Master;
use moonquake_clock::Clocks;
use moonquake_faults::Quirk;
use moonquake_protocol::{
    ErrorCode, QueryTaskResponse, Request, Response, SegmentStatus, TaskAssignment, TaskCompleteRequest,
    TaskType, Uuid,
};

impl Master {
    /// Answers a request about tasks; none if it is another.
    pub(crate) fn dispatch_tasks(&mut self, now: Clocks, request: &Request) -> Option<Response> {
        Some(match request {
            Request::CreateCopyTask { key, targets, .. } => {
                Response::CreateCopyTask(self.create_copy_task(now, key, targets))
            }
            Request::CreateMoveTask {
                key, source, target, ..
            } => Response::CreateMoveTask(self.create_move_task(now, key, source, target)),
            Request::QueryTask { task_id } => Response::QueryTask(self.query_task(*task_id)),
            Request::FetchTasks {
                client_id,
                batch_size,
            } => Response::FetchTasks(Ok(self.fetch_tasks(now, *client_id, *batch_size))),
            Request::MarkTaskToComplete {
                client_id,
                request: report,
            } => Response::MarkTaskToComplete(self.complete_task(now, *client_id, report)),
            _ => return None,
        })
    }

    /// The limits of the configuration.
    pub(crate) fn task_limits(&self) -> Limits {
        let config = &self.config;
        Limits {
            finished: config.max_total_finished_tasks,
            pending: config.max_total_pending_tasks,
            processing: config.max_total_processing_tasks,
            pending_timeout: config.pending_task_timeout,
            processing_timeout: config.processing_task_timeout,
        }
    }

    /// The segment names of an object's replicas in their order, unfinished ones too; those out of reach have none.
    pub(crate) fn segment_names_of(&self, key: &str) -> Vec<&str> {
        let replicas = self.objects.get(key).map_or(&[][..], |object| &object.replicas);
        replicas
            .iter()
            .filter_map(|replica| self.segments.get(replica.mount))
            .map(|mount| mount.segment.name.as_str())
            .collect()
    }

    /// The target of a task must be mounted under that name and take allocations.
    fn check_task_target(&self, name: &str) -> Result<(), ErrorCode> {
        match self.segment_status(name) {
            Ok(SegmentStatus::Ok) => Ok(()),
            Ok(_) => Err(ErrorCode::UnavailableInCurrentStatus),
            Err(_) => Err(ErrorCode::InvalidParams),
        }
    }

    /// Asks the owner of one of the replicas, drawn by lot whatever their status, to copy it.
    pub(crate) fn create_copy_task(
        &mut self,
        now: Clocks,
        key: &str,
        targets: &[String],
    ) -> Result<Uuid, ErrorCode> {
        if targets.is_empty() {
            return Err(ErrorCode::InvalidParams);
        }
        self.look(key).ok_or(ErrorCode::ObjectNotFound)?;
        targets
            .iter()
            .try_for_each(|target| self.check_task_target(target))?;
        let count = self.segment_names_of(key).len();
        if count == 0 {
            return Err(ErrorCode::InternalError);
        }
        let drawn = self.dice.index_below(count);
        let source = self.segment_names_of(key)[drawn].to_owned();
        let (_, client) = self
            .segments
            .latest_of_name(&source)
            .ok_or(ErrorCode::InternalError)?;
        let (tenant, user_key) = self.parts_of(key);
        let text = payload::copy(tenant, user_key, &source, targets);
        self.submit_task(now, client, TaskType::ReplicaCopy, text)
    }

    /// Asks the owner of the source to move its replica.
    pub(crate) fn create_move_task(
        &mut self,
        now: Clocks,
        key: &str,
        source: &str,
        target: &str,
    ) -> Result<Uuid, ErrorCode> {
        self.look(key).ok_or(ErrorCode::ObjectNotFound)?;
        if source == target {
            return Err(ErrorCode::InvalidParams);
        }
        self.check_task_target(target)?;
        if !self.segment_names_of(key).contains(&source) {
            return Err(ErrorCode::InvalidParams);
        }
        let (_, client) = self
            .segments
            .latest_of_name(source)
            .ok_or(ErrorCode::InternalError)?;
        let (tenant, user_key) = self.parts_of(key);
        let text = payload::r#move(tenant, user_key, source, target);
        self.submit_task(now, client, TaskType::ReplicaMove, text)
    }

    fn submit_task(
        &mut self,
        now: Clocks,
        client: Uuid,
        kind: TaskType,
        payload: String,
    ) -> Result<Uuid, ErrorCode> {
        let limits = self.task_limits();
        self.tasks
            .submit(now, &limits, &mut self.ids, (client, kind, payload))
    }

    /// One round of the clean-up thread, as far as tasks are concerned.
    pub(crate) fn clean_up_tasks(&mut self, now: Clocks) {
        let limits = self.task_limits();
        self.tasks.clean_up(now, &limits, &self.config.rules);
    }

    /// How many ids of tasks and jobs were made. They follow from the seed and from this number.
    pub fn ids_made(&self) -> u64 {
        self.ids.made()
    }

    /// Makes ids from here on as if so many had been made already: for a master that stands for a process which has served
    /// other masters' histories before.
    pub fn continue_ids_after(&mut self, made: u64) {
        self.ids.continue_after(made);
    }

    fn query_task(&self, id: Uuid) -> Result<QueryTaskResponse, ErrorCode> {
        let task = self.tasks.get(id).ok_or(ErrorCode::TaskNotFound)?;
        Ok(task.told())
    }

    fn fetch_tasks(&mut self, now: Clocks, client: Uuid, count: u64) -> Vec<TaskAssignment> {
        let (limits, retries) = (self.task_limits(), self.config.max_retry_attempts);
        let tasks = self.tasks.fetch(now, &limits, client, count);
        tasks.into_iter().map(|task| task.assignment(retries)).collect()
    }

    fn complete_task(
        &mut self,
        now: Clocks,
        client: Uuid,
        report: &TaskCompleteRequest,
    ) -> Result<(), ErrorCode> {
        let leaks = self.config.quirks.has(Quirk::EndedTaskStillWaits);
        let ended = (report.status, report.message.as_str());
        self.tasks.complete(now, client, report.id, ended, leaks)
    }
}
