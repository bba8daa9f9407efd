//! Reads and probes.

use super::Generator;
use super::alphabet::client;
use super::family::Family;
use super::writes::TENANT;
use moonquake_protocol::Request;

impl Generator {
    /// A key that is read: mostly one that was written not long ago.
    pub(super) fn read_key(&mut self) -> String {
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
                regex: self.alphabet.pattern(&mut self.draw),
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
            Family::FetchTasks => Request::FetchTasks {
                client_id: self.usual(),
                batch_size: self.draw.within(1, 4),
            },
            _ => return None,
        })
    }
}
