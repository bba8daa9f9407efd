//! The calls of the store by what they do, whatever their upstream name.

use crate::view::{Frame, View};
use moonquake_evidence::{Range, key_of_tenant};
use moonquake_scenario::ArgValue;

/// What a call does to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    /// Hands out memory for a write.
    Start,
    /// Publishes a write.
    End,
    /// Gives a write up.
    Revoke,
    /// Tells a reader where the bytes are.
    Query,
    /// Asks whether a key is readable.
    Exist,
    /// Takes a key away.
    Remove,
}

/// The family of a call, by upstream's name of the RPC.
pub(crate) fn family(rpc: &str) -> Option<Family> {
    Some(match rpc.strip_prefix("Batch").unwrap_or(rpc) {
        "PutStart" | "UpsertStart" => Family::Start,
        "PutEnd" | "UpsertEnd" => Family::End,
        "PutRevoke" | "UpsertRevoke" => Family::Revoke,
        "GetReplicaList" => Family::Query,
        "ExistKey" => Family::Exist,
        "Remove" => Family::Remove,
        _ => return None,
    })
}

/// Whether a call takes keys away, one by one or by a pattern. The keys of a pattern stand in no frame.
pub(crate) fn is_removal(rpc: &str) -> bool {
    family(rpc) == Some(Family::Remove) || matches!(rpc, "RemoveByRegex" | "RemoveAll")
}

/// Whether an answer of that call grants what was asked for.
pub(crate) fn granted(rpc: &str, code: Option<&str>) -> bool {
    match family(rpc) {
        Some(Family::Exist) => code == Some("true"),
        _ => code == Some("ok"),
    }
}

/// One key of a call with its own answer.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) key: String,
    pub(crate) code: Option<&'a str>,
    pub(crate) ranges: Vec<Range>,
}

/// The keys of a call, each with its own answer. A batch whose keys, codes and ranges do not match up yields its keys
/// without ranges, or nothing.
pub(crate) fn entries<'a>(view: &View<'a>, frame: &Frame<'a>) -> Vec<Entry<'a>> {
    if !frame.rpc.starts_with("Batch") {
        let key = frame.key.map(str::to_owned);
        return key
            .map(|key| Entry {
                key,
                code: frame.code,
                ranges: frame.ranges.to_vec(),
            })
            .into_iter()
            .collect();
    }
    let codes: Vec<&str> = frame
        .code
        .map_or_else(Vec::new, |codes| codes.split(',').map(str::trim).collect());
    let keys = batch_keys(view, frame, codes.len());
    if frame.shares.len() == codes.len() && keys.len() == codes.len() {
        return shared_out(frame, keys, &codes);
    }
    let granted_count = codes.iter().filter(|code| granted(frame.rpc, Some(code))).count();
    let each = match granted_count {
        0 => 0,
        count if frame.ranges.len().is_multiple_of(count) => frame.ranges.len() / count,
        _ => 0,
    };
    let mut ranges = frame.ranges.iter();
    keys.into_iter()
        .enumerate()
        .map(|(index, key)| {
            let code = codes.get(index).copied();
            let take = if granted(frame.rpc, code) { each } else { 0 };
            Entry {
                key,
                code,
                ranges: ranges.by_ref().take(take).cloned().collect(),
            }
        })
        .collect()
}

/// The entries of a batch whose frame says which ranges belong to which.
fn shared_out<'a>(frame: &Frame<'a>, keys: Vec<String>, codes: &[&'a str]) -> Vec<Entry<'a>> {
    let mut ranges = frame.ranges.iter();
    let entries = keys.into_iter().zip(codes).zip(frame.shares);
    entries
        .map(|((key, code), share)| Entry {
            key,
            code: Some(code),
            ranges: ranges.by_ref().take(*share as usize).cloned().collect(),
        })
        .collect()
}

/// The keys that a batch names: those of the frame, or else those of the plan's step.
fn batch_keys(view: &View<'_>, frame: &Frame<'_>, codes: usize) -> Vec<String> {
    let named: Vec<String> = frame.key.map_or_else(Vec::new, |keys| {
        keys.split(',').map(|key| key.trim().to_owned()).collect()
    });
    if codes == 0 || named.len() == codes {
        return named;
    }
    let planned = frame
        .event
        .op
        .and_then(|op| view.action(op).map(|action| keys_of(action, op.repetition)));
    planned
        .filter(|planned| planned.len() == codes)
        .unwrap_or_default()
}

/// The keys that an operation names, `{i}` replaced, each with its tenant.
pub(crate) fn keys_of(action: &moonquake_scenario::Do, repetition: u32) -> Vec<String> {
    let one = action.key.iter();
    one.chain(&action.keys)
        .map(|key| key_of_tenant(tenant(action), &moonquake_scenario::Do::repeated(key, repetition)))
        .collect()
}

/// The tenant that an operation names, unless it is the default one.
fn tenant(action: &moonquake_scenario::Do) -> Option<&str> {
    match action.args.get("tenant_id") {
        Some(ArgValue::Text(tenant)) if !tenant.is_empty() && tenant != "default" => Some(tenant),
        _ => None,
    }
}

/// Whether a call is the heartbeat.
pub(crate) fn is_ping(rpc: &str) -> bool {
    rpc == "Ping"
}

/// How a call ends a copy or move of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplicationEnd {
    /// The targets become readable; of a move the source goes.
    Commit { moves: bool },
    /// The targets are given back.
    Revoke,
}

/// Whether a call ends a copy or move of a replica, and how.
pub(crate) fn replication_end(rpc: &str) -> Option<ReplicationEnd> {
    Some(match rpc {
        "CopyEnd" | "DynamicReplicaCopyEnd" => ReplicationEnd::Commit { moves: false },
        "MoveEnd" => ReplicationEnd::Commit { moves: true },
        "CopyRevoke" | "DynamicReplicaCopyRevoke" | "MoveRevoke" => ReplicationEnd::Revoke,
        _ => return None,
    })
}

/// Whether a call begins a copy or move of a replica.
pub(crate) fn is_replication_start(rpc: &str) -> bool {
    matches!(rpc, "CopyStart" | "MoveStart" | "DynamicReplicaCopyStart")
}

/// Whether a call gives or takes memory in a way that the attempts do not follow: promotions, offloads and what clears
/// replicas one by one.
pub(crate) fn moves_replicas(rpc: &str) -> bool {
    rpc.contains("Promotion")
        || rpc.contains("Offload")
        || rpc.contains("EvictDisk")
        || rpc == "BatchReplicaClear"
}
