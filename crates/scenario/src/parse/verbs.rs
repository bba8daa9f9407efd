//! Which keys each verb needs, allows and passes on.

use crate::Verb;
use moonquake_protocol::Rpc;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The type of an argument that is passed on under its upstream name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgKind {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int,
    /// Text.
    Text,
    /// A list of texts.
    List,
    /// One of these words of upstream.
    Word(&'static [&'static str]),
}

/// The keys of a verb beside those of every step.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// Must be there.
    pub(super) needs: Vec<&'static str>,
    /// May be there.
    pub(super) may: Vec<&'static str>,
    /// Further arguments.
    pub(super) args: Vec<(&'static str, ArgKind)>,
}

const REPLICA_TYPES: &[&str] = &["MEMORY", "DISK", "LOCAL_DISK", "NOF_SSD", "ALL", "DFS"];
const SOFT_PIN_ACTIONS: &[&str] = &["PRESERVE", "ENABLE", "DISABLE"];

/// The fields of `replica.h:ReplicateConfig`.
const CONFIG: &[(&str, ArgKind)] = &[
    ("replica_num", ArgKind::Int),
    ("nof_replica_num", ArgKind::Int),
    ("dfs_replica_num", ArgKind::Int),
    ("soft_pin_action", ArgKind::Word(SOFT_PIN_ACTIONS)),
    ("soft_pin_ttl_ms", ArgKind::Int),
    ("with_hard_pin", ArgKind::Bool),
    ("preferred_segments", ArgKind::List),
    ("preferred_segment", ArgKind::Text),
    ("preferred_nof_segments", ArgKind::List),
    SAME_NODE,
    ("data_type", ArgKind::Text),
    ("host_id", ArgKind::Text),
    ("group_ids", ArgKind::List),
];

/// Of a batch: what lies on one node is moved as one, and upstream reads it on a path of its own.
const SAME_NODE: (&str, ArgKind) = ("prefer_alloc_in_same_node", ArgKind::Bool);

const TENANT: (&str, ArgKind) = ("tenant_id", ArgKind::Text);
const FORCE: (&str, ArgKind) = ("force", ArgKind::Bool);

/// The keys of a verb.
pub(super) fn keys(verb: Verb) -> Keys {
    let (needs, may, args): (&[_], &[_], Vec<_>) = match verb {
        Verb::Put | Verb::Upsert => (&["key", "size"], &["pattern", "from", "bind"], with_config()),
        Verb::BatchPut | Verb::BatchUpsert => {
            (&["keys", "size"], &["pattern", "from", "bind"], with_config())
        }
        Verb::Get => (&["key"], &["ranges", "into", "payload"], vec![TENANT]),
        Verb::BatchGet => (&["keys"], &["ranges", "into", "payload"], vec![SAME_NODE, TENANT]),
        Verb::Exist | Verb::Size | Verb::GetStart => (&["key"], &[], vec![TENANT]),
        Verb::BatchExist => (&["keys"], &[], vec![TENANT]),
        Verb::Remove => (&["key"], &[], vec![FORCE, TENANT]),
        Verb::BatchRemove => (&["keys"], &[], vec![FORCE, TENANT]),
        Verb::RemoveByRegex => (
            &["regex"],
            &["count"],
            vec![("regex", ArgKind::Text), FORCE, TENANT],
        ),
        Verb::RemoveAll => (&[], &["count"], vec![FORCE, TENANT]),
        Verb::RunTasks | Verb::RunTask => (&[], &["count", "bind"], vec![]),
        Verb::PollTasks => (&[], &["count"], vec![]),
        Verb::Close | Verb::Resume => (&[], &[], vec![]),
        Verb::GetRead => (&[], &["use", "ranges", "into", "payload"], vec![]),
        Verb::GetEnd => (&[], &["use"], vec![]),
        Verb::PutWrite => (&[], &["use", "ranges", "pattern", "from"], vec![]),
        Verb::Fill => (&["into"], &["pattern", "size"], vec![]),
        Verb::RegisterBuffer => (&["into"], &["size"], vec![]),
        Verb::UnregisterBuffer => (&["into"], &[], vec![]),
        Verb::Rpc(rpc) => return call_keys(rpc),
    };
    Keys {
        needs: needs.to_vec(),
        may: may.to_vec(),
        args,
    }
}

fn with_config() -> Vec<(&'static str, ArgKind)> {
    let mut args = CONFIG.to_vec();
    args.push(TENANT);
    args
}

/// The keys of one RPC, from its arguments. The caller's own client id is never written.
fn call_keys(rpc: Rpc) -> Keys {
    let mut keys = Keys::default();
    for (field, kind) in rpc.fields() {
        match (*field, *kind) {
            ("client_id", _) => {}
            ("key", _) | ("object_meta", _) => keys.needs.push("key"),
            ("keys" | "object_keys" | "object_metas", _) => keys.needs.push("keys"),
            ("slice_length" | "slice_lengths" | "size", _) => keys.needs.push("size"),
            (_, "ReplicateConfig") => keys.args.extend_from_slice(CONFIG),
            (_, "ReplicaType") => keys.args.push((field, ArgKind::Word(REPLICA_TYPES))),
            (_, "bool") => keys.args.push((field, ArgKind::Bool)),
            (_, "u64" | "i64") => keys.args.push((field, ArgKind::Int)),
            (_, "String" | "Uuid" | "Segment" | "NoFSegment") => keys.args.push((field, ArgKind::Text)),
            _ => keys.args.push((field, ArgKind::List)),
        }
    }
    if rpc.hands_out_memory() {
        keys.may.push("bind");
    }
    if matches!(rpc, Rpc::MountSegment | Rpc::MountNoFSegment) {
        keys.may.push("size");
    }
    keys
}

/// Every argument that some verb passes on, with the schema of its value.
pub(crate) fn arguments() -> BTreeMap<String, Value> {
    let all = Verb::all().into_iter().flat_map(|verb| keys(verb).args);
    all.map(|(name, kind)| {
        let schema = match kind {
            ArgKind::Bool => json!({ "type": "boolean" }),
            ArgKind::Int => json!({ "type": "integer", "minimum": 0 }),
            ArgKind::Text => json!({ "type": "string" }),
            ArgKind::List => json!({ "type": ["string", "array"], "items": { "type": "string" } }),
            ArgKind::Word(words) => json!({ "enum": words }),
        };
        (name.to_owned(), schema)
    })
    .collect()
}
