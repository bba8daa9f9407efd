//! From the words of a step to one request.

mod copies;
mod segments;
mod subsystems;

use crate::actors::Actor;
use moonquake_protocol::{
    ObjectDataType, ObjectMeta, ReplicaType, ReplicateConfig, Request, Rpc, Segment, SoftPinAction, Uuid,
};
use moonquake_scenario::{ArgValue, Do, Plan, Verb};
use std::collections::BTreeMap;

/// Whom and what the words of a step can name.
pub(crate) struct Cast<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) actors: &'a BTreeMap<String, Actor>,
    /// The tasks that steps have created.
    pub(crate) tasks: &'a BTreeMap<usize, Uuid>,
}

impl Cast<'_> {
    /// What the wire calls a segment: that of a node by the node's name, anything else as it is written.
    pub(crate) fn segment_name(&self, name: &str) -> String {
        let node = self.actors.get(name).and_then(|actor| actor.segments.first());
        node.map_or_else(|| name.to_owned(), |segment| segment.name.clone())
    }

    /// The segment of a node.
    fn segment(&self, name: &str) -> Result<Segment, String> {
        let segment = self.actors.get(name).and_then(|actor| actor.segments.first());
        segment
            .cloned()
            .ok_or_else(|| format!("{name} is no node with a segment"))
    }

    /// The id that a word means: that of a node's segment, of the task of a step, of a client, or the id itself.
    fn id(&self, word: &str, of: Id) -> Result<Uuid, String> {
        let named = match of {
            Id::Segment => self.segment(word).ok().map(|segment| segment.id),
            Id::Task => self
                .plan
                .step_index(word)
                .and_then(|step| self.tasks.get(&step).copied()),
            Id::Client => self.actors.get(word).map(|actor| actor.config.client_id),
            Id::Other => None,
        };
        match named {
            Some(id) => Ok(id),
            None => word.parse().map_err(|_| of.unknown(word)),
        }
    }
}

/// What an id is the id of.
#[derive(Clone, Copy, Debug)]
enum Id {
    Segment,
    Task,
    Client,
    Other,
}

impl Id {
    fn unknown(self, word: &str) -> String {
        match self {
            Id::Segment => format!("{word:?} is no node, nor the id of a segment such as 1-2"),
            Id::Task => format!("{word:?} is no step that has created a task, nor an id such as 1-2"),
            Id::Client => format!("{word:?} is no client or node, nor an id such as 1-2"),
            Id::Other => format!("{word:?} is no id such as 1-2"),
        }
    }
}

/// What a request is made of.
pub(crate) struct Words<'a> {
    action: &'a Do,
    cast: Cast<'a>,
    client_id: Uuid,
    tenant_id: String,
    segments: &'a [Segment],
    key: String,
    keys: Vec<String>,
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

/// The replication wishes of a write, under the request's own field names; segments by the names of their nodes.
pub(crate) fn replicate(action: &Do, cast: &Cast<'_>) -> ReplicateConfig {
    let segments = |name: &str| {
        let named = list(action, name).unwrap_or_default();
        named.iter().map(|name| cast.segment_name(name)).collect()
    };
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
        preferred_segments: segments("preferred_segments"),
        preferred_segment: cast.segment_name(&text(action, "preferred_segment")),
        preferred_nof_segments: list(action, "preferred_nof_segments").unwrap_or_default(),
        data_type: ObjectDataType::from_name(&text(action, "data_type")).unwrap_or(plain.data_type),
        prefer_alloc_in_same_node: flag(action, "prefer_alloc_in_same_node"),
        host_id: text(action, "host_id"),
        group_ids: list(action, "group_ids"),
    }
}

fn replica_type(action: &Do) -> ReplicaType {
    ReplicaType::from_name(&text(action, "replica_type")).unwrap_or(ReplicaType::All)
}

fn meta(key: String) -> ObjectMeta {
    ObjectMeta {
        key,
        object_checksum: None,
    }
}

impl Words<'_> {
    /// The words of a step of `actor`; the keys with their repetition in place.
    pub(crate) fn of<'a>(
        action: &'a Do,
        actor: &'a Actor,
        cast: Cast<'a>,
        (key, keys): (String, Vec<String>),
    ) -> Words<'a> {
        Words {
            action,
            cast,
            client_id: actor.config.client_id,
            tenant_id: tenant(action).unwrap_or_else(|| actor.config.tenant_id.clone()),
            segments: &actor.segments,
            key,
            keys,
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
            other => return Err(format!("{} is no single request", other.name())),
        };
        let made = self
            .read(rpc)
            .or_else(|| self.write(rpc))
            .or_else(|| self.batch(rpc))
            .or_else(|| self.copy(rpc));
        match made {
            Some(request) => Ok(request),
            None => self.segment(rpc)?.map_or_else(|| self.subsystem(rpc), Ok),
        }
    }

    fn flag(&self, name: &str) -> bool {
        flag(self.action, name)
    }

    fn number(&self, name: &str) -> u64 {
        number(self.action, name).unwrap_or(0)
    }

    fn text(&self, name: &str) -> String {
        text(self.action, name)
    }

    fn list(&self, name: &str) -> Vec<String> {
        list(self.action, name).unwrap_or_default()
    }

    /// The segment name that an argument gives, on the wire.
    fn segment_name(&self, name: &str) -> String {
        self.cast.segment_name(&self.text(name))
    }

    fn segment_names(&self, name: &str) -> Vec<String> {
        let named = self.list(name);
        named.iter().map(|name| self.cast.segment_name(name)).collect()
    }

    fn id(&self, name: &str, of: Id) -> Result<Uuid, String> {
        self.cast.id(&self.text(name), of)
    }

    /// Reads and removals.
    fn read(&self, rpc: Rpc) -> Option<Request> {
        let (key, keys, tenant_id) = (self.key.clone(), self.keys.clone(), self.tenant_id.clone());
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
        let (config, replica_type) = (replicate(self.action, &self.cast), replica_type(self.action));
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
        let (client_id, keys, tenant_id) = (self.client_id, self.keys.clone(), self.tenant_id.clone());
        let slice_lengths = vec![self.action.size_bytes.unwrap_or(0); keys.len()];
        let (config, replica_type) = (replicate(self.action, &self.cast), replica_type(self.action));
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
            Rpc::BatchUpsertStart => Request::BatchUpsertStart {
                client_id,
                keys,
                slice_lengths,
                config,
                tenant_id,
            },
            Rpc::BatchUpsertEnd => Request::BatchUpsertEnd {
                client_id,
                object_metas: keys.into_iter().map(meta).collect(),
                tenant_id,
            },
            Rpc::BatchUpsertRevoke => Request::BatchUpsertRevoke {
                client_id,
                keys,
                tenant_id,
            },
            _ => return None,
        })
    }
}
