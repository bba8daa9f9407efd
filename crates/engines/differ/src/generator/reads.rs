//! Reads and probes.

use super::Generator;
use super::alphabet::{PATTERNS, client};
use super::family::Family;
use super::writes::TENANT;
use moonquake_protocol::{Request, TaskCompleteRequest, TaskStatus, Uuid};

impl Generator {
    /// A key that is read: mostly one that was written not long ago.
    fn read_key(&mut self) -> String {
        if !self.memory.finished.is_empty() && self.draw.chance(60) {
            self.draw.pick(&self.memory.finished).clone()
        } else {
            self.alphabet.key(&mut self.draw)
        }
    }

    pub(super) fn read_request(&mut self, family: Family) -> Option<Request> {
        let tenant_id = TENANT.to_owned();
        Some(match family {
            Family::Get => Request::GetReplicaList {
                key: self.read_key(),
                tenant_id,
            },
            Family::Exist => Request::ExistKey {
                key: self.read_key(),
                tenant_id,
            },
            Family::BatchGet => Request::BatchGetReplicaList {
                keys: self.alphabet.some_keys(&mut self.draw),
                tenant_id,
            },
            Family::BatchExist => Request::BatchExistKey {
                keys: self.alphabet.some_keys(&mut self.draw),
                tenant_id,
            },
            Family::RegexGet => Request::GetReplicaListByRegex {
                regex: (*self.draw.pick(&PATTERNS)).to_owned(),
                tenant_id,
            },
            Family::QuerySegment => {
                if self.draw.chance(50) {
                    Request::QuerySegmentStatus {
                        segment_name: self.alphabet.segment_name(&mut self.draw),
                    }
                } else {
                    Request::QuerySegmentStatusById {
                        segment_id: self.draw.pick(&self.alphabet.segments).id,
                    }
                }
            }
            Family::QueryIp => Request::BatchQueryIp {
                client_ids: (0..self.draw.below(4)).map(client).collect(),
            },
            Family::Plain => match self.draw.below(3) {
                0 => Request::GetFsdir {},
                1 => Request::GetStorageConfig {},
                _ => Request::ServiceReady {},
            },
            Family::Task => self.task(),
            Family::CreateTask => self.create_task(),
            _ => return None,
        })
    }

    /// Polls and reports, mostly of tasks that there are.
    fn task(&mut self) -> Request {
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

    fn create_task(&mut self) -> Request {
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
            key,
            tenant_id,
            source: self.alphabet.segment_name(&mut self.draw),
            target: self.alphabet.segment_name(&mut self.draw),
        }
    }
}
