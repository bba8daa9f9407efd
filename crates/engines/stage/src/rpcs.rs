//! From the words of a step to one request.

use crate::actors::Actor;
use moonquake_protocol::{
    ObjectMeta, ReplicaType, ReplicateConfig, Request, Rpc, Segment, SoftPinAction, Uuid,
};
use moonquake_scenario::{ArgValue, Do, Verb};

/// What a request is made of.
pub(crate) struct Words<'a> {
    action: &'a Do,
    client_id: Uuid,
    tenant_id: String,
    segments: &'a [Segment],
    key: String,
}

fn flag(action: &Do, name: &str) -> bool {
    matches!(action.args.get(name), Some(ArgValue::Bool(true)))
}

fn number(action: &Do, name: &str) -> Option<u64> {
    match action.args.get(name) {
        Some(ArgValue::Int(number)) => Some(*number),
        _ => None,
    }
}

fn text(action: &Do, name: &str) -> String {
    match action.args.get(name) {
        Some(ArgValue::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

/// The tenant that a step names, an empty one too.
pub(crate) fn tenant(action: &Do) -> Option<String> {
    match action.args.get("tenant_id") {
        Some(ArgValue::Text(tenant)) => Some(tenant.clone()),
        _ => None,
    }
}

fn list(action: &Do, name: &str) -> Option<Vec<String>> {
    match action.args.get(name) {
        Some(ArgValue::List(items)) => Some(items.clone()),
        Some(ArgValue::Text(item)) => Some(vec![item.clone()]),
        _ => None,
    }
}

/// The replication wishes of a write, under the request's own field names.
pub(crate) fn replicate(action: &Do) -> ReplicateConfig {
    let plain = ReplicateConfig::default();
    ReplicateConfig {
        replica_num: number(action, "replica_num").unwrap_or(plain.replica_num),
        nof_replica_num: number(action, "nof_replica_num").unwrap_or(plain.nof_replica_num),
        dfs_replica_num: number(action, "dfs_replica_num").unwrap_or(plain.dfs_replica_num),
        soft_pin_action: match text(action, "soft_pin_action").as_str() {
            "ENABLE" => SoftPinAction::Enable,
            "DISABLE" => SoftPinAction::Disable,
            _ => plain.soft_pin_action,
        },
        soft_pin_ttl_ms: number(action, "soft_pin_ttl_ms"),
        with_hard_pin: flag(action, "with_hard_pin"),
        preferred_segments: list(action, "preferred_segments").unwrap_or_default(),
        preferred_segment: text(action, "preferred_segment"),
        prefer_alloc_in_same_node: flag(action, "prefer_alloc_in_same_node"),
        host_id: text(action, "host_id"),
        group_ids: list(action, "group_ids"),
        ..plain
    }
}

fn replica_type(action: &Do) -> ReplicaType {
    match text(action, "replica_type").as_str() {
        "MEMORY" => ReplicaType::Memory,
        "DISK" => ReplicaType::Disk,
        _ => ReplicaType::All,
    }
}

fn meta(key: String) -> ObjectMeta {
    ObjectMeta {
        key,
        object_checksum: None,
    }
}

impl Words<'_> {
    /// The words of a step of `actor`; `key` with its repetition in place.
    pub(crate) fn of<'a>(action: &'a Do, actor: &'a Actor, key: String) -> Words<'a> {
        Words {
            action,
            client_id: actor.config.client_id,
            tenant_id: tenant(action).unwrap_or_else(|| actor.config.tenant_id.clone()),
            segments: &actor.segments,
            key,
        }
    }

    /// The request, or why there is none.
    pub(crate) fn request(&self) -> Result<Request, String> {
        let rpc = match self.action.verb {
            Verb::Exist => Rpc::ExistKey,
            Verb::Size => Rpc::GetReplicaList,
            Verb::Remove => Rpc::Remove,
            Verb::RemoveAll => Rpc::RemoveAll,
            Verb::RemoveByRegex => Rpc::RemoveByRegex,
            Verb::BatchExist => Rpc::BatchExistKey,
            Verb::BatchRemove => Rpc::BatchRemove,
            Verb::Rpc(rpc) => rpc,
            other => return Err(format!("this engine has no words for {}", other.name())),
        };
        let made = self
            .read(rpc)
            .or_else(|| self.write(rpc))
            .or_else(|| self.batch(rpc));
        match made {
            Some(request) => Ok(request),
            None => self.segment(rpc),
        }
    }

    /// Reads and removals.
    fn read(&self, rpc: Rpc) -> Option<Request> {
        let (key, keys, tenant_id) = (self.key.clone(), self.action.keys.clone(), self.tenant_id.clone());
        let (force, regex) = (flag(self.action, "force"), text(self.action, "regex"));
        Some(match rpc {
            Rpc::ExistKey => Request::ExistKey { key, tenant_id },
            Rpc::GetReplicaList => Request::GetReplicaList { key, tenant_id },
            Rpc::BatchExistKey => Request::BatchExistKey { keys, tenant_id },
            Rpc::BatchGetReplicaList => Request::BatchGetReplicaList { keys, tenant_id },
            Rpc::GetReplicaListByRegex => Request::GetReplicaListByRegex { regex, tenant_id },
            Rpc::Remove => Request::Remove {
                key,
                force,
                tenant_id,
            },
            Rpc::RemoveAll => Request::RemoveAll { force, tenant_id },
            Rpc::RemoveByRegex => Request::RemoveByRegex {
                regex,
                force,
                tenant_id,
            },
            Rpc::BatchRemove => Request::BatchRemove {
                keys,
                force,
                tenant_id,
            },
            _ => return None,
        })
    }

    /// The life of one write.
    fn write(&self, rpc: Rpc) -> Option<Request> {
        let (client_id, key, tenant_id) = (self.client_id, self.key.clone(), self.tenant_id.clone());
        let slice_length = self.action.size_bytes.unwrap_or(0);
        let (config, replica_type) = (replicate(self.action), replica_type(self.action));
        Some(match rpc {
            Rpc::PutStart => Request::PutStart {
                client_id,
                key,
                slice_length,
                config,
                tenant_id,
            },
            Rpc::UpsertStart => Request::UpsertStart {
                client_id,
                key,
                slice_length,
                config,
                tenant_id,
            },
            Rpc::PutEnd => Request::PutEnd {
                client_id,
                object_meta: meta(key),
                replica_type,
                tenant_id,
            },
            Rpc::UpsertEnd => Request::UpsertEnd {
                client_id,
                object_meta: meta(key),
                replica_type,
                tenant_id,
            },
            Rpc::PutRevoke => Request::PutRevoke {
                client_id,
                key,
                replica_type,
                tenant_id,
            },
            Rpc::UpsertRevoke => Request::UpsertRevoke {
                client_id,
                key,
                replica_type,
                tenant_id,
            },
            _ => return None,
        })
    }

    /// The life of many writes.
    fn batch(&self, rpc: Rpc) -> Option<Request> {
        let (client_id, keys, tenant_id) = (self.client_id, self.action.keys.clone(), self.tenant_id.clone());
        let slice_lengths = vec![self.action.size_bytes.unwrap_or(0); keys.len()];
        let (config, replica_type) = (replicate(self.action), replica_type(self.action));
        Some(match rpc {
            Rpc::BatchPutStart => Request::BatchPutStart {
                client_id,
                keys,
                slice_lengths,
                config,
                tenant_id,
            },
            Rpc::BatchPutEnd => {
                let object_metas = keys.into_iter().map(meta).collect();
                Request::BatchPutEnd {
                    client_id,
                    object_metas,
                    replica_type,
                    tenant_id,
                }
            }
            Rpc::BatchPutRevoke => Request::BatchPutRevoke {
                client_id,
                keys,
                replica_type,
                tenant_id,
            },
            _ => return None,
        })
    }

    /// Segments and liveness.
    fn segment(&self, rpc: Rpc) -> Result<Request, String> {
        let client_id = self.client_id;
        let segment = || {
            self.segments
                .first()
                .cloned()
                .ok_or("it has no segment of its own")
        };
        Ok(match rpc {
            Rpc::Ping => Request::Ping { client_id },
            Rpc::ServiceReady => Request::ServiceReady {},
            Rpc::MountSegment => Request::MountSegment {
                segment: segment()?,
                client_id,
            },
            Rpc::ReMountSegment => Request::ReMountSegment {
                segments: self.segments.to_vec(),
                client_id,
            },
            Rpc::UnmountSegment => Request::UnmountSegment {
                segment_id: segment()?.id,
                client_id,
            },
            other => return Err(format!("this engine has no words for {}", other.verb())),
        })
    }
}
