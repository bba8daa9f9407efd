//! From the words of a step to the machine or request of the client.

use crate::memory::BufferKey;
use crate::ports::Ports;
use crate::state::Stage;
use moonquake_client::{Get, GetStart, Operation, Put, PutKind, PutWrite, ReadSession, Single};
use moonquake_protocol::{ObjectMeta, ReplicaType, ReplicateConfig, Request, Rpc};
use moonquake_scenario::{ArgValue, Do, Verb};

/// An operation that is ready to begin.
pub(crate) struct Prepared {
    pub(crate) machine: Box<dyn Operation>,
    pub(crate) buffer: Option<BufferKey>,
    pub(crate) size: u64,
    /// The buffer is filled with this pattern first.
    pub(crate) fill: Option<String>,
}

fn bool_arg(action: &Do, name: &str) -> bool {
    matches!(action.args.get(name), Some(ArgValue::Bool(true)))
}

fn list_arg(action: &Do, name: &str) -> Vec<String> {
    match action.args.get(name) {
        Some(ArgValue::List(items)) => items.clone(),
        Some(ArgValue::Text(item)) => vec![item.clone()],
        _ => Vec::new(),
    }
}

fn replicate(action: &Do) -> ReplicateConfig {
    let mut config = ReplicateConfig::default();
    if let Some(ArgValue::Int(number)) = action.args.get("replica_num") {
        config.replica_num = *number;
    }
    config.preferred_segments = list_arg(action, "preferred_segments");
    config.with_hard_pin = bool_arg(action, "with_hard_pin");
    config
}

fn replica_type(action: &Do) -> ReplicaType {
    match action.args.get("replica_type") {
        Some(ArgValue::Text(name)) if name == "MEMORY" => ReplicaType::Memory,
        Some(ArgValue::Text(name)) if name == "DISK" => ReplicaType::Disk,
        _ => ReplicaType::All,
    }
}

impl<P: Ports> Stage<'_, P> {
    /// Makes the machine of a step, or says why it cannot begin.
    pub(crate) fn prepare(&mut self, action: &Do, who: &str, repetition: u32) -> Result<Prepared, String> {
        let key = action
            .key
            .as_deref()
            .map(|key| Do::repeated(key, repetition))
            .unwrap_or_default();
        let size = action.size_bytes.unwrap_or(0);
        let actor = self
            .actors
            .get(who)
            .ok_or_else(|| format!("{who} is not on the stage"))?;
        let config = actor.config.clone();
        let named = |name: &Option<String>| {
            name.as_deref()
                .map(|name| BufferKey::Named(Do::repeated(name, repetition)))
        };
        let pattern = action.written_pattern().map(str::to_owned);
        let plain = |machine: Box<dyn Operation>| Prepared {
            machine,
            buffer: None,
            size: 0,
            fill: None,
        };
        Ok(match action.verb {
            Verb::Put | Verb::Upsert => {
                let kind = if action.verb == Verb::Put {
                    PutKind::Put
                } else {
                    PutKind::Upsert
                };
                let machine = Box::new(Put::new(config, kind, key, size, replicate(action)));
                Prepared {
                    machine,
                    buffer: named(&action.from),
                    size,
                    fill: pattern,
                }
            }
            Verb::Get => {
                let machine = Box::new(Get::new(config, key));
                Prepared {
                    machine,
                    buffer: named(&action.into),
                    size: 0,
                    fill: None,
                }
            }
            Verb::GetStart => plain(Box::new(GetStart::new(config, key))),
            Verb::GetRead => {
                let sessions = &actor.get_sessions;
                let session = match action.use_step {
                    Some(step) => sessions.get(&step),
                    None => sessions.values().next_back(),
                };
                let session = session.cloned().ok_or("the session was never opened")?;
                let machine = Box::new(ReadSession::new(config, session));
                Prepared {
                    machine,
                    buffer: named(&action.into),
                    size: 0,
                    fill: None,
                }
            }
            Verb::PutWrite => {
                let sessions = &actor.put_sessions;
                let session = match action.use_step {
                    Some(step) => sessions.get(&step),
                    None => sessions.values().next_back(),
                };
                let session = session.cloned().ok_or("the put was never started")?;
                let size = session.size_bytes;
                let machine = Box::new(PutWrite::new(config, session));
                Prepared {
                    machine,
                    buffer: named(&action.from),
                    size,
                    fill: pattern,
                }
            }
            Verb::Close => plain(Box::new(self.close_machine(who))),
            _ => {
                let fence = self.fence_of(action, who, &key);
                let request = self.request(action, who, &key)?;
                Prepared {
                    machine: Box::new(Single::new(request, fence)),
                    buffer: None,
                    size,
                    fill: None,
                }
            }
        })
    }

    /// The attempt that a PutEnd or PutRevoke of this client means: its latest of the key.
    fn fence_of(&self, action: &Do, who: &str, key: &str) -> Option<u64> {
        let ends = matches!(
            action.verb,
            Verb::Rpc(Rpc::PutEnd | Rpc::PutRevoke | Rpc::UpsertEnd | Rpc::UpsertRevoke)
        );
        let attempts = &self.actors.get(who).filter(|_| ends)?.attempts;
        attempts.get(key).map(|(_, replica)| *replica)
    }

    fn request(&self, action: &Do, who: &str, key: &str) -> Result<Request, String> {
        let actor = self
            .actors
            .get(who)
            .ok_or_else(|| format!("{who} is not on the stage"))?;
        let (client_id, tenant_id) = (actor.config.client_id, actor.config.tenant_id.clone());
        let (key, keys, force) = (key.to_owned(), action.keys.clone(), bool_arg(action, "force"));
        let segment = actor
            .segments
            .first()
            .cloned()
            .ok_or_else(|| format!("{who} has no segment"));
        let size = action.size_bytes.unwrap_or(0);
        let slice_lengths = vec![size; keys.len()];
        let meta = |key: String| ObjectMeta {
            key,
            object_checksum: None,
        };
        Ok(match action.verb {
            Verb::Exist | Verb::Rpc(Rpc::ExistKey) => Request::ExistKey { key, tenant_id },
            Verb::Size | Verb::Rpc(Rpc::GetReplicaList) => Request::GetReplicaList { key, tenant_id },
            Verb::Remove | Verb::Rpc(Rpc::Remove) => Request::Remove {
                key,
                force,
                tenant_id,
            },
            Verb::RemoveAll | Verb::Rpc(Rpc::RemoveAll) => Request::RemoveAll { force, tenant_id },
            Verb::RemoveByRegex | Verb::Rpc(Rpc::RemoveByRegex) => Request::RemoveByRegex {
                regex: key,
                force,
                tenant_id,
            },
            Verb::BatchExist | Verb::Rpc(Rpc::BatchExistKey) => Request::BatchExistKey { keys, tenant_id },
            Verb::BatchRemove | Verb::Rpc(Rpc::BatchRemove) => Request::BatchRemove {
                keys,
                force,
                tenant_id,
            },
            Verb::Rpc(Rpc::BatchGetReplicaList) => Request::BatchGetReplicaList { keys, tenant_id },
            Verb::Rpc(Rpc::PutStart) => Request::PutStart {
                client_id,
                key,
                slice_length: size,
                config: replicate(action),
                tenant_id,
            },
            Verb::Rpc(Rpc::UpsertStart) => Request::UpsertStart {
                client_id,
                key,
                slice_length: size,
                config: replicate(action),
                tenant_id,
            },
            Verb::Rpc(Rpc::BatchPutStart) => Request::BatchPutStart {
                client_id,
                keys,
                slice_lengths,
                config: replicate(action),
                tenant_id,
            },
            Verb::Rpc(Rpc::PutEnd) => {
                let replica_type = replica_type(action);
                Request::PutEnd {
                    client_id,
                    object_meta: meta(key),
                    replica_type,
                    tenant_id,
                }
            }
            Verb::Rpc(Rpc::UpsertEnd) => {
                let replica_type = replica_type(action);
                Request::UpsertEnd {
                    client_id,
                    object_meta: meta(key),
                    replica_type,
                    tenant_id,
                }
            }
            Verb::Rpc(Rpc::PutRevoke) => Request::PutRevoke {
                client_id,
                key,
                replica_type: replica_type(action),
                tenant_id,
            },
            Verb::Rpc(Rpc::UpsertRevoke) => Request::UpsertRevoke {
                client_id,
                key,
                replica_type: replica_type(action),
                tenant_id,
            },
            Verb::Rpc(Rpc::BatchPutEnd) => {
                let (object_metas, replica_type) =
                    (keys.into_iter().map(meta).collect(), replica_type(action));
                Request::BatchPutEnd {
                    client_id,
                    object_metas,
                    replica_type,
                    tenant_id,
                }
            }
            Verb::Rpc(Rpc::BatchPutRevoke) => Request::BatchPutRevoke {
                client_id,
                keys,
                replica_type: replica_type(action),
                tenant_id,
            },
            Verb::Rpc(Rpc::Ping) => Request::Ping { client_id },
            Verb::Rpc(Rpc::ServiceReady) => Request::ServiceReady {},
            Verb::Rpc(Rpc::MountSegment) => Request::MountSegment {
                segment: segment?,
                client_id,
            },
            Verb::Rpc(Rpc::ReMountSegment) => Request::ReMountSegment {
                segments: actor.segments.clone(),
                client_id,
            },
            Verb::Rpc(Rpc::UnmountSegment) => Request::UnmountSegment {
                segment_id: segment?.id,
                client_id,
            },
            other => return Err(format!("this engine has no words for {other:?}")),
        })
    }
}
