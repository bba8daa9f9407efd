//! Single operations in the words of the scenario language.

use crate::operation::Operation;
use crate::write::is_plain_mount;
use moonquake_protocol::{ReplicaType, ReplicateConfig, Request, Segment, SoftPinAction, Uuid};
use std::collections::{BTreeMap, BTreeSet};

/// The names of a scenario: a node for each segment, a client for each id that writes, reads or pings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// By segment id: its node and its size, in the order of the first mounts.
    nodes: Vec<(Uuid, String, u64)>,
    clients: BTreeMap<Uuid, String>,
    /// Mounted by the world before the first step, and not yet met in the history.
    to_meet: BTreeSet<Uuid>,
}

/// A text in quotation marks. TOML does not allow the one control character that JSON lets stand.
pub(crate) fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    json.replace('\u{7f}', "\\u007f")
}

/// Whether a node can be called so.
fn is_a_node(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn list<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

type Said = Result<Vec<String>, String>;

impl Words {
    /// The names for a history.
    pub(crate) fn new(operations: &[Operation]) -> Words {
        let mut words = Words::default();
        for operation in operations {
            let Operation::Call(request) = operation else {
                continue;
            };
            match request {
                Request::MountSegment { segment, .. } if is_plain_mount(request) => words.meet(segment),
                Request::ReMountSegment { segments, .. } => {
                    segments.iter().for_each(|segment| words.meet(segment))
                }
                _ => {}
            }
        }
        words
    }

    fn meet(&mut self, segment: &Segment) {
        let is_new = self
            .nodes
            .iter()
            .all(|(id, name, _)| *id != segment.id && *name != segment.name);
        if is_new && segment.base != 0 && segment.size != 0 && is_a_node(&segment.name) {
            self.nodes.push((segment.id, segment.name.clone(), segment.size));
            self.to_meet.insert(segment.id);
        }
    }

    /// The nodes as the world lists them.
    pub(crate) fn nodes(&self) -> String {
        let nodes = self
            .nodes
            .iter()
            .map(|(_, name, size)| format!("{name} = \"{size}B\""));
        nodes.collect::<Vec<_>>().join(", ")
    }

    /// The clients as the world lists them.
    pub(crate) fn clients(&self) -> String {
        let named = self.clients.values().map(|name| quoted(name));
        let all: BTreeSet<String> = named.chain([quoted("w0")]).collect();
        all.into_iter().collect::<Vec<_>>().join(", ")
    }

    fn who(&mut self, client: Uuid) -> String {
        let next = format!("w{}", self.clients.len() + 1);
        self.clients.entry(client).or_insert(next).clone()
    }

    fn node(&self, segment: Uuid) -> Result<&str, String> {
        let found = self.nodes.iter().find(|(id, ..)| *id == segment);
        found
            .map(|(_, name, _)| name.as_str())
            .ok_or_else(|| format!("the segment {segment} is no node of its own"))
    }

    /// The steps that an operation becomes; none if the world does it already.
    pub(crate) fn steps(&mut self, operation: &Operation) -> Said {
        let mut said = self.plain_steps(operation)?;
        if let Operation::Call(request) = operation
            && let Some(tenant) = request.tenant()
        {
            let named = format!(", tenant_id = {}", quoted(tenant));
            said.iter_mut().for_each(|step| step.push_str(&named));
        }
        Ok(said)
    }

    fn plain_steps(&mut self, operation: &Operation) -> Said {
        match operation {
            Operation::Tick(thread) => Ok(vec![format!("tick = \"{}\"", thread.name())]),
            Operation::Clock { .. } => Ok(Vec::new()),
            Operation::CreateDrainJob { .. } | Operation::QueryDrainJob(_) | Operation::CancelDrainJob(_) => {
                Err(format!("{} has no word", operation.name()))
            }
            Operation::Call(request) => self
                .starts(request)
                .or_else(|| self.ends(request))
                .or_else(|| self.batch_ends(request))
                .or_else(|| self.reads(request))
                .or_else(|| self.copies(request))
                .or_else(|| self.segments(request))
                .unwrap_or_else(|| {
                    if request.rpc().argument_count() == 0 {
                        Ok(vec![format!("who = \"w0\", do = \"{}\"", request.rpc().verb())])
                    } else {
                        Err(format!("{} is not written yet", request.rpc().name()))
                    }
                }),
        }
    }

    fn starts(&mut self, request: &Request) -> Option<Said> {
        let verb = request.rpc().verb();
        Some(match request {
            Request::PutStart {
                client_id,
                key,
                slice_length,
                config,
                ..
            }
            | Request::UpsertStart {
                client_id,
                key,
                slice_length,
                config,
                ..
            } => self
                .start(verb, *client_id, (key, *slice_length), config)
                .map(|step| vec![step]),
            Request::BatchPutStart {
                client_id,
                keys,
                slice_lengths,
                config,
                ..
            }
            | Request::BatchUpsertStart {
                client_id,
                keys,
                slice_lengths,
                config,
                ..
            } => self.batch_start(verb, *client_id, (keys, slice_lengths), config),
            _ => return None,
        })
    }

    fn ends(&mut self, request: &Request) -> Option<Said> {
        let verb = request.rpc().verb();
        Some(match request {
            Request::PutEnd {
                client_id,
                object_meta,
                replica_type,
                ..
            }
            | Request::UpsertEnd {
                client_id,
                object_meta,
                replica_type,
                ..
            } => match object_meta.object_checksum {
                Some(_) => Err(format!("{verb} of {} with a checksum", object_meta.key)),
                None => self.ended(
                    verb,
                    *client_id,
                    &format!("key = {}", quoted(&object_meta.key)),
                    *replica_type,
                ),
            },
            Request::PutRevoke {
                client_id,
                key,
                replica_type,
                ..
            }
            | Request::UpsertRevoke {
                client_id,
                key,
                replica_type,
                ..
            } => self.ended(verb, *client_id, &format!("key = {}", quoted(key)), *replica_type),
            _ => return None,
        })
    }

    fn batch_ends(&mut self, request: &Request) -> Option<Said> {
        let verb = request.rpc().verb();
        Some(match request {
            Request::BatchPutEnd {
                client_id,
                object_metas,
                replica_type,
                ..
            } => {
                let keys = list(object_metas.iter().map(|meta| &meta.key));
                self.ended(verb, *client_id, &format!("keys = {keys}"), *replica_type)
            }
            Request::BatchPutRevoke {
                client_id,
                keys,
                replica_type,
                ..
            } => self.ended(verb, *client_id, &format!("keys = {}", list(keys)), *replica_type),
            Request::BatchUpsertEnd {
                client_id,
                object_metas,
                ..
            } => {
                let keys = list(object_metas.iter().map(|meta| &meta.key));
                Ok(vec![format!(
                    "who = \"{}\", do = \"{verb}\", keys = {keys}",
                    self.who(*client_id)
                )])
            }
            Request::BatchUpsertRevoke { client_id, keys, .. } => Ok(vec![format!(
                "who = \"{}\", do = \"{verb}\", keys = {}",
                self.who(*client_id),
                list(keys)
            )]),
            _ => return None,
        })
    }

    fn start(
        &mut self,
        verb: &str,
        client: Uuid,
        (key, size): (&str, u64),
        config: &ReplicateConfig,
    ) -> Result<String, String> {
        Ok(format!(
            "who = \"{}\", do = \"{verb}\", key = {}, size = \"{size}B\"{}",
            self.who(client),
            quoted(key),
            wishes(config)?
        ))
    }

    /// The language has one size for a batch. Where the sizes differ the batch is written as the loop that it is.
    fn batch_start(
        &mut self,
        verb: &str,
        client: Uuid,
        (keys, sizes): (&[String], &[u64]),
        config: &ReplicateConfig,
    ) -> Said {
        let groups = config.group_ids.as_ref();
        if keys.len() != sizes.len() || groups.is_some_and(|groups| groups.len() != keys.len()) {
            return Err(format!("{verb} with lists of different lengths"));
        }
        if config.prefer_alloc_in_same_node {
            return Err(format!("{verb} of several sizes on the same node"));
        }
        let single = verb.trim_start_matches("batch_");
        let mut steps = Vec::new();
        for (index, (key, size)) in keys.iter().zip(sizes).enumerate() {
            let config = ReplicateConfig {
                group_ids: groups.map(|groups| vec![groups[index].clone()]),
                ..config.clone()
            };
            steps.push(self.start(single, client, (key, *size), &config)?);
        }
        Ok(steps)
    }

    fn ended(&mut self, verb: &str, client: Uuid, of: &str, kind: ReplicaType) -> Said {
        let Some(kind) = kind.name() else {
            return Err(format!("{verb} of a kind without a name"));
        };
        Ok(vec![format!(
            "who = \"{}\", do = \"{verb}\", {of}, replica_type = \"{kind}\"",
            self.who(client)
        )])
    }

    fn reads(&mut self, request: &Request) -> Option<Said> {
        let verb = match request {
            // The client API has these words; what it sends is the same.
            Request::ExistKey { .. } => "exist",
            Request::BatchExistKey { .. } => "batch_exist",
            _ => request.rpc().verb(),
        };
        let rest = match request {
            Request::GetReplicaList { key, .. } | Request::ExistKey { key, .. } => {
                format!("key = {}", quoted(key))
            }
            Request::BatchGetReplicaList { keys, .. } | Request::BatchExistKey { keys, .. } => {
                format!("keys = {}", list(keys))
            }
            Request::GetReplicaListByRegex { regex, .. } => format!("regex = {}", quoted(regex)),
            Request::Remove { key, force, .. } => format!("key = {}, force = {force}", quoted(key)),
            Request::BatchRemove { keys, force, .. } => format!("keys = {}, force = {force}", list(keys)),
            Request::RemoveByRegex { regex, force, .. } => {
                format!("regex = {}, force = {force}", quoted(regex))
            }
            Request::RemoveAll { force, .. } => format!("force = {force}"),
            Request::QuerySegmentStatus { segment_name } => {
                format!("segment_name = {}", quoted(segment_name))
            }
            _ => return None,
        };
        Some(Ok(vec![format!("who = \"w0\", do = \"{verb}\", {rest}")]))
    }

    fn copies(&mut self, request: &Request) -> Option<Said> {
        let verb = request.rpc().verb();
        let (client, key, rest) = match request {
            Request::CopyStart {
                client_id,
                key,
                src_segment,
                tgt_segments,
                ..
            } => (
                *client_id,
                key,
                format!(
                    ", src_segment = {}, tgt_segments = {}",
                    quoted(src_segment),
                    list(tgt_segments)
                ),
            ),
            Request::MoveStart {
                client_id,
                key,
                src_segment,
                tgt_segment,
                ..
            } => (
                *client_id,
                key,
                format!(
                    ", src_segment = {}, tgt_segment = {}",
                    quoted(src_segment),
                    quoted(tgt_segment)
                ),
            ),
            Request::CopyEnd { client_id, key, .. }
            | Request::CopyRevoke { client_id, key, .. }
            | Request::MoveEnd { client_id, key, .. }
            | Request::MoveRevoke { client_id, key, .. } => (*client_id, key, String::new()),
            Request::BatchReplicaClear {
                object_keys,
                client_id,
                segment_name,
            } => {
                let who = self.who(*client_id);
                return Some(Ok(vec![format!(
                    "who = \"{who}\", do = \"{verb}\", keys = {}, segment_name = {}",
                    list(object_keys),
                    quoted(segment_name)
                )]));
            }
            _ => return None,
        };
        let who = self.who(client);
        Some(Ok(vec![format!(
            "who = \"{who}\", do = \"{verb}\", key = {}{rest}",
            quoted(key)
        )]))
    }

    fn segments(&mut self, request: &Request) -> Option<Said> {
        let verb = request.rpc().verb();
        let rest = match request {
            Request::MountSegment { segment, .. } => {
                if self.to_meet.remove(&segment.id) {
                    return Some(Ok(Vec::new()));
                }
                (segment.id, String::new())
            }
            Request::ReMountSegment { segments, client_id } => {
                return Some(self.remount(segments, *client_id));
            }
            Request::UnmountSegment { segment_id, .. } => (*segment_id, String::new()),
            Request::GracefulUnmountSegment {
                segment_id,
                grace_period_ms,
                ..
            } => (*segment_id, format!(", grace_period_ms = {grace_period_ms}")),
            Request::QuerySegmentStatusById { segment_id } => (*segment_id, String::new()),
            Request::Ping { client_id } => {
                let who = self.who(*client_id);
                return Some(Ok(vec![format!("who = \"{who}\", do = \"ping\"")]));
            }
            _ => return None,
        };
        Some(
            self.node(rest.0)
                .map(|node| vec![format!("who = \"{node}\", do = \"{verb}\"{}", rest.1)]),
        )
    }

    /// A node remounts what is its own; one that the history has not mounted before was mounted by the world.
    fn remount(&mut self, segments: &[Segment], client: Uuid) -> Said {
        let names: Vec<String> = segments
            .iter()
            .map(|segment| self.node(segment.id).map(str::to_owned))
            .collect::<Result<_, _>>()?;
        match names.first() {
            Some(first) => Ok(vec![format!(
                "who = \"{first}\", do = \"re_mount_segment\", segments = {}",
                list(&names)
            )]),
            None => Err(format!("{client} remounts nothing")),
        }
    }
}

/// The wishes of a write that are not the default, each with a comma before it.
fn wishes(config: &ReplicateConfig) -> Result<String, String> {
    let plain = ReplicateConfig::default();
    let mut text = String::new();
    let mut say = |name: &str, value: String| text.push_str(&format!(", {name} = {value}"));
    for (name, value, default) in [
        ("replica_num", config.replica_num, plain.replica_num),
        ("nof_replica_num", config.nof_replica_num, 0),
        ("dfs_replica_num", config.dfs_replica_num, 0),
    ] {
        if value != default {
            say(name, value.to_string());
        }
    }
    match config.soft_pin_action {
        SoftPinAction::Preserve => {}
        SoftPinAction::Unknown(_) => return Err("a soft-pin action without a name".to_owned()),
        other => say("soft_pin_action", quoted(&other.to_string())),
    }
    if let Some(ms) = config.soft_pin_ttl_ms {
        say("soft_pin_ttl_ms", ms.to_string());
    }
    if config.with_hard_pin {
        say("with_hard_pin", "true".to_owned());
    }
    if !config.preferred_segments.is_empty() {
        say("preferred_segments", list(&config.preferred_segments));
    }
    if !config.preferred_segment.is_empty() {
        say("preferred_segment", quoted(&config.preferred_segment));
    }
    if config.prefer_alloc_in_same_node {
        say("prefer_alloc_in_same_node", "true".to_owned());
    }
    if !config.host_id.is_empty() {
        say("host_id", quoted(&config.host_id));
    }
    if let Some(groups) = &config.group_ids {
        say("group_ids", list(groups));
    }
    Ok(text)
}
