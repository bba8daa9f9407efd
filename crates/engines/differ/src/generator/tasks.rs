//! Tasks with the clients that work on them, and drain jobs.

use super::Generator;
use super::writes::TENANT;
use crate::operation::Operation;
use moonquake_protocol::{
    Request, Response, TaskAssignment, TaskCompleteRequest, TaskStatus, TaskType, Uuid,
};
use serde::Deserialize;

/// What a task tells its client to do, as far as that is needed to do it.
#[derive(Deserialize)]
struct Payload {
    key: String,
    source: String,
    #[serde(default)]
    target: String,
    #[serde(default)]
    targets: Vec<String>,
}

impl Generator {
    /// Polls and reports, mostly of tasks that there are.
    pub(super) fn task(&mut self) -> Request {
        let known = (!self.memory.tasks.is_empty() && self.draw.chance(80))
            .then(|| *self.draw.pick(&self.memory.tasks));
        let (id, owner) = known.unwrap_or_else(|| (Uuid::new(self.draw.below(3), 1), self.usual()));
        match self.draw.below(3) {
            0 => Request::QueryTask { task_id: id },
            1 => Request::FetchTasks {
                client_id: self.usual(),
                batch_size: self.draw.below(4),
            },
            _ => Request::MarkTaskToComplete {
                client_id: if self.draw.chance(80) { owner } else { self.usual() },
                request: TaskCompleteRequest {
                    id,
                    status: TaskStatus::from_value(if self.draw.chance(80) {
                        2 + self.draw.below(2) as i32
                    } else {
                        self.draw.below(5) as i32
                    }),
                    message: "m".to_owned(),
                },
            },
        }
    }

    pub(super) fn create_task(&mut self) -> Request {
        let (key, tenant_id) = (self.read_key(), TENANT.to_owned());
        if self.draw.chance(50) {
            let count = if self.draw.chance(6) {
                0
            } else {
                self.draw.within(1, 3)
            };
            return Request::CreateCopyTask {
                key,
                tenant_id,
                targets: (0..count)
                    .map(|_| self.alphabet.segment_name(&mut self.draw))
                    .collect(),
            };
        }
        Request::CreateMoveTask {
            source: self.source_of(&key),
            key,
            tenant_id,
            target: self.alphabet.segment_name(&mut self.draw),
        }
    }

    /// Tasks one after the other, more than a low limit lets wait.
    pub(super) fn create_tasks(&mut self) -> Operation {
        for _ in 0..self.draw.within(3, 8) {
            let request = self.create_task();
            self.script.push_back(Operation::Call(request));
        }
        Operation::Call(self.create_task())
    }

    /// A client that was given tasks does most of them, one after the other, and reports on most.
    pub(super) fn work_on_answer(&mut self, request: &Request, response: &Response) {
        if let (Request::FetchTasks { client_id, .. }, Response::FetchTasks(Ok(tasks))) = (request, response)
        {
            // Before anything else that is to come.
            let later = std::mem::take(&mut self.script);
            for task in tasks {
                if self.draw.chance(70) || self.is_certain() {
                    self.work(*client_id, task);
                }
            }
            self.script.extend(later);
        }
    }

    /// Whether clients do and report everything that they are given, in one of two ways.
    fn is_certain(&self) -> bool {
        matches!(self.failing, 0 | 100)
    }

    fn work(&mut self, client_id: Uuid, task: &TaskAssignment) {
        if self.draw.chance(15) {
            let query = Request::QueryTask { task_id: task.id };
            self.script.push_back(Operation::Call(query));
        }
        let fails = self.draw.chance(self.failing);
        if let (false, Ok(payload)) = (fails, serde_json::from_str::<Payload>(&task.payload)) {
            let (start, end) = transfer(client_id, payload, task.r#type);
            self.script.push_back(Operation::Call(start));
            if self.draw.chance(92) || self.is_certain() {
                self.script.push_back(Operation::Call(end));
            }
        }
        if self.draw.chance(85) || self.is_certain() {
            let status = if fails {
                TaskStatus::Failed
            } else {
                TaskStatus::Success
            };
            let request = TaskCompleteRequest {
                id: task.id,
                status,
                message: String::new(),
            };
            self.script
                .push_back(Operation::Call(Request::MarkTaskToComplete {
                    client_id,
                    request,
                }));
        }
    }

    /// A job that empties one or two segments.
    pub(super) fn create_drain(&mut self) -> Operation {
        let sources = if self.draw.chance(3) {
            0
        } else {
            1 + u64::from(self.draw.chance(15))
        };
        let targets = if self.draw.chance(70) {
            0
        } else {
            self.draw.within(1, 2)
        };
        Operation::CreateDrainJob {
            segments: self.names(sources),
            target_segments: self.names(targets),
            max_concurrency: match self.draw.below(30) {
                0 => 0,
                // Upstream makes room for as many moves, and dies where it cannot have that.
                1 => 1_000,
                _ => self.draw.within(1, 4) as u32,
            },
        }
    }

    fn names(&mut self, count: u64) -> Vec<String> {
        let mut name = |_| {
            if self.draw.chance(80) {
                self.alphabet.ordinary_name(&mut self.draw)
            } else {
                self.alphabet.segment_name(&mut self.draw)
            }
        };
        (0..count).map(&mut name).collect()
    }

    /// A job, mostly one that there is.
    pub(super) fn job(&mut self) -> Uuid {
        if self.memory.jobs.is_empty() || self.draw.chance(4) {
            return Uuid::new(self.draw.below(3), 2);
        }
        *self.draw.pick(&self.memory.jobs)
    }
}

/// The requests by which a task is done.
fn transfer(client_id: Uuid, payload: Payload, kind: TaskType) -> (Request, Request) {
    let (key, tenant_id) = (payload.key, TENANT.to_owned());
    if kind == TaskType::ReplicaMove {
        let start = Request::MoveStart {
            client_id,
            key: key.clone(),
            tenant_id: tenant_id.clone(),
            src_segment: payload.source,
            tgt_segment: payload.target,
        };
        let end = Request::MoveEnd {
            client_id,
            key,
            tenant_id,
        };
        return (start, end);
    }
    let start = Request::CopyStart {
        client_id,
        key: key.clone(),
        tenant_id: tenant_id.clone(),
        src_segment: payload.source,
        tgt_segments: payload.targets,
    };
    let end = Request::CopyEnd {
        client_id,
        key,
        tenant_id,
    };
    (start, end)
}
