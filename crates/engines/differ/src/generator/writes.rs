//! Writes, their ends, and removals.

use super::Generator;
use super::alphabet::client;
use super::family::Family;
use crate::operation::Operation;
use moonquake_protocol::{
    ObjectDataType, ObjectMeta, ReplicaType, ReplicateConfig, Request, SoftPinAction, Uuid,
};

/// Multi-tenancy is off, so the name of a tenant means nothing.
pub(super) const TENANT: &str = "default";

impl Generator {
    /// A put with its end.
    pub(super) fn whole_put(&mut self) -> Operation {
        let Request::PutStart {
            client_id,
            key,
            slice_length,
            config,
            tenant_id,
        } = self.put_start()
        else {
            return Operation::Call(self.put_start());
        };
        let end = Request::PutEnd {
            client_id,
            object_meta: self.meta(key.clone()),
            replica_type: self.kind(),
            tenant_id: tenant_id.clone(),
        };
        self.script.push_back(Operation::Call(end));
        Operation::Call(Request::PutStart {
            client_id,
            key,
            slice_length,
            config,
            tenant_id,
        })
    }

    /// A batch of puts or upserts with its end.
    pub(super) fn whole_batch(&mut self) -> Operation {
        let put = self.draw.chance(70);
        let start = self.batch_start(put);
        if let Request::BatchPutStart { client_id, keys, .. }
        | Request::BatchUpsertStart { client_id, keys, .. } = &start
        {
            let end = self.batch_end_of(put, *client_id, keys.clone());
            self.script.push_back(Operation::Call(end));
        }
        Operation::Call(start)
    }

    /// Puts one after the other until the pool is rather full.
    pub(super) fn fill(&mut self) -> Operation {
        for _ in 0..self.draw.within(4, 30) {
            let first = self.whole_put();
            self.script.push_front(first);
        }
        // The last start is in front now; each end stands somewhere behind its start.
        self.whole_put()
    }

    pub(super) fn write_request(&mut self, family: Family) -> Option<Request> {
        Some(match family {
            Family::PutStart => self.put_start(),
            Family::UpsertStart => self.upsert_start(),
            Family::PutEnd | Family::UpsertEnd => self.end(family == Family::PutEnd),
            Family::PutRevoke | Family::UpsertRevoke => self.revoke(family == Family::PutRevoke),
            Family::BatchPutStart | Family::BatchUpsertStart => {
                self.batch_start(family == Family::BatchPutStart)
            }
            Family::BatchPutEnd | Family::BatchUpsertEnd => self.batch_end(family == Family::BatchPutEnd),
            Family::BatchPutRevoke | Family::BatchUpsertRevoke => {
                self.batch_revoke(family == Family::BatchPutRevoke)
            }
            Family::Remove => Request::Remove {
                key: self.alphabet.key(&mut self.draw),
                force: self.draw.chance(30),
                tenant_id: TENANT.to_owned(),
            },
            Family::BatchRemove => Request::BatchRemove {
                keys: self.alphabet.some_keys(&mut self.draw),
                force: self.draw.chance(30),
                tenant_id: TENANT.to_owned(),
            },
            Family::RegexRemove => Request::RemoveByRegex {
                regex: self.alphabet.pattern(&mut self.draw),
                force: self.draw.chance(30),
                tenant_id: TENANT.to_owned(),
            },
            Family::RemoveAll => Request::RemoveAll {
                force: self.draw.chance(40),
                tenant_id: (*self.draw.pick(&[TENANT, ""])).to_owned(),
            },
            Family::ReplicaClear => Request::BatchReplicaClear {
                object_keys: self.alphabet.some_keys(&mut self.draw),
                client_id: self.alphabet.client(&mut self.draw),
                segment_name: if self.draw.chance(40) {
                    String::new()
                } else {
                    self.alphabet.segment_name(&mut self.draw)
                },
            },
            _ => return None,
        })
    }

    fn put_start(&mut self) -> Request {
        let mut key = self.alphabet.key(&mut self.draw);
        // Most keys exist after a while; mostly a new one is looked for.
        for _ in 0..3 {
            if self.memory.is_known(&key) && self.draw.chance(60) {
                key = self.alphabet.key(&mut self.draw);
            }
        }
        Request::PutStart {
            client_id: self.alphabet.client(&mut self.draw),
            slice_length: self.alphabet.size(&mut self.draw),
            config: self.config(std::slice::from_ref(&key)),
            key,
            tenant_id: TENANT.to_owned(),
        }
    }

    fn upsert_start(&mut self) -> Request {
        let known = !self.memory.finished.is_empty() && self.draw.chance(60);
        let key = if known {
            self.draw.pick(&self.memory.finished).clone()
        } else {
            self.alphabet.key(&mut self.draw)
        };
        Request::UpsertStart {
            client_id: self.alphabet.client(&mut self.draw),
            // A few sizes only, so that a key is often written again with the size that it has.
            slice_length: if self.draw.chance(50) {
                64 << self.draw.below(4)
            } else {
                self.alphabet.size(&mut self.draw)
            },
            config: self.config(std::slice::from_ref(&key)),
            key,
            tenant_id: TENANT.to_owned(),
        }
    }

    /// Whose write of what is meant: mostly one that is open.
    fn write_meant(&mut self) -> (Uuid, String) {
        if self.draw.chance(85)
            && let Some((owner, key)) = self.memory.open_write(&mut self.draw)
        {
            let stranger = self.draw.chance(8);
            let who = if stranger {
                self.alphabet.client(&mut self.draw)
            } else {
                owner
            };
            return (who, key);
        }
        (
            self.alphabet.client(&mut self.draw),
            self.alphabet.key(&mut self.draw),
        )
    }

    fn end(&mut self, put: bool) -> Request {
        let (client_id, key) = self.write_meant();
        let object_meta = self.meta(key);
        let replica_type = self.kind();
        let tenant_id = TENANT.to_owned();
        if put {
            Request::PutEnd {
                client_id,
                object_meta,
                replica_type,
                tenant_id,
            }
        } else {
            Request::UpsertEnd {
                client_id,
                object_meta,
                replica_type,
                tenant_id,
            }
        }
    }

    fn revoke(&mut self, put: bool) -> Request {
        let (client_id, key) = self.write_meant();
        let replica_type = self.kind();
        let tenant_id = TENANT.to_owned();
        if put {
            Request::PutRevoke {
                client_id,
                key,
                replica_type,
                tenant_id,
            }
        } else {
            Request::UpsertRevoke {
                client_id,
                key,
                replica_type,
                tenant_id,
            }
        }
    }

    fn batch_start(&mut self, put: bool) -> Request {
        let keys = self.alphabet.some_keys(&mut self.draw);
        let count = if self.draw.chance(4) {
            keys.len() + 1
        } else {
            keys.len()
        };
        let slice_lengths = (0..count).map(|_| self.alphabet.size(&mut self.draw)).collect();
        let client_id = self.alphabet.client(&mut self.draw);
        let mut config = self.config(&keys);
        config.prefer_alloc_in_same_node |= self.draw.chance(20);
        let tenant_id = TENANT.to_owned();
        if put {
            Request::BatchPutStart {
                client_id,
                keys,
                slice_lengths,
                config,
                tenant_id,
            }
        } else {
            Request::BatchUpsertStart {
                client_id,
                keys,
                slice_lengths,
                config,
                tenant_id,
            }
        }
    }

    /// The keys of a batch that ends something, and who ends it.
    fn batch_meant(&mut self) -> (Uuid, Vec<String>) {
        let (who, key) = self.write_meant();
        let mut keys = vec![key];
        let others: Vec<String> = self
            .memory
            .writes
            .iter()
            .filter(|(owner, other)| *owner == who && *other != keys[0])
            .map(|(_, other)| other.clone())
            .collect();
        keys.extend(others.into_iter().take(self.draw.below(5) as usize));
        if self.draw.chance(20) {
            keys.extend(self.alphabet.some_keys(&mut self.draw));
        }
        (who, keys)
    }

    fn batch_end(&mut self, put: bool) -> Request {
        let (client_id, keys) = self.batch_meant();
        self.batch_end_of(put, client_id, keys)
    }

    fn batch_end_of(&mut self, put: bool, client_id: Uuid, keys: Vec<String>) -> Request {
        let object_metas = keys.into_iter().map(|key| self.meta(key)).collect();
        let tenant_id = TENANT.to_owned();
        if put {
            Request::BatchPutEnd {
                client_id,
                object_metas,
                replica_type: self.kind(),
                tenant_id,
            }
        } else {
            Request::BatchUpsertEnd {
                client_id,
                object_metas,
                tenant_id,
            }
        }
    }

    fn batch_revoke(&mut self, put: bool) -> Request {
        let (client_id, keys) = self.batch_meant();
        let tenant_id = TENANT.to_owned();
        if put {
            Request::BatchPutRevoke {
                client_id,
                keys,
                replica_type: self.kind(),
                tenant_id,
            }
        } else {
            Request::BatchUpsertRevoke {
                client_id,
                keys,
                tenant_id,
            }
        }
    }

    fn meta(&mut self, key: String) -> ObjectMeta {
        ObjectMeta {
            key,
            object_checksum: self.draw.chance(20).then(|| self.draw.any()),
        }
    }

    fn kind(&mut self) -> ReplicaType {
        match self.draw.below(100) {
            0 => ReplicaType::Unknown(7),
            1..=2 => ReplicaType::Disk,
            3 => ReplicaType::LocalDisk,
            4 => ReplicaType::NofSsd,
            5 => ReplicaType::Dfs,
            6..=50 => ReplicaType::Memory,
            _ => ReplicaType::All,
        }
    }

    fn config(&mut self, keys: &[String]) -> ReplicateConfig {
        let mut config = ReplicateConfig {
            replica_num: match self.draw.below(100) {
                0..=1 => 0,
                2..=20 => 2,
                21..=30 => 3,
                31..=34 => 4,
                _ => 1,
            },
            ..ReplicateConfig::default()
        };
        let groups: Vec<Option<String>> = keys.iter().map(|key| self.alphabet.group(key)).collect();
        if groups.iter().any(Option::is_some) && self.draw.chance(85) {
            config.group_ids = Some(groups.into_iter().map(Option::unwrap_or_default).collect());
        }
        if self.draw.chance(35) {
            self.wishes(&mut config);
        }
        if self.draw.chance(4) {
            self.oddities(&mut config);
        }
        config
    }

    /// Pins and places.
    fn wishes(&mut self, config: &mut ReplicateConfig) {
        match self.draw.below(10) {
            0..=4 => {
                config.soft_pin_action = SoftPinAction::Enable;
                config.soft_pin_ttl_ms = match self.draw.below(3) {
                    0 => None,
                    1 => Some(self.draw.below(30_000)),
                    _ => Some(1_000 * self.draw.within(1, 20)),
                };
            }
            5 => config.soft_pin_action = SoftPinAction::Disable,
            6 => config.with_hard_pin = true,
            7 => config.preferred_segment = self.alphabet.segment_name(&mut self.draw),
            _ => {
                let count = self.draw.within(1, 3);
                config.preferred_segments = (0..count)
                    .map(|_| self.alphabet.segment_name(&mut self.draw))
                    .collect();
            }
        }
        if self.draw.chance(10) {
            config.host_id = self.alphabet.host(&mut self.draw);
        }
    }

    /// What a caller should not ask for.
    fn oddities(&mut self, config: &mut ReplicateConfig) {
        match self.draw.below(9) {
            0 => config.nof_replica_num = self.draw.within(1, 2),
            1 => config.dfs_replica_num = self.draw.within(1, 2),
            2 => config.soft_pin_action = SoftPinAction::Unknown(9),
            3 => config.soft_pin_ttl_ms = Some(1_000),
            4 => {
                config.soft_pin_action = SoftPinAction::Enable;
                config.soft_pin_ttl_ms = Some(86_400_000 + self.draw.below(2));
            }
            5 => config.group_ids = Some(vec!["g1".to_owned()]),
            6 => config.data_type = ObjectDataType::from_value(self.draw.below(12) as u8),
            7 => config.prefer_alloc_in_same_node = true,
            _ => config.replica_num = self.draw.within(5, 200),
        }
    }

    /// A usual client.
    pub(super) fn usual(&mut self) -> Uuid {
        client(self.draw.below(3))
    }
}
