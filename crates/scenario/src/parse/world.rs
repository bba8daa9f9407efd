//! `[world]`: who is there and how long things take.

use super::names::{Kind, Named, Names};
use super::problems::{Problems, shown};
use super::rules::MOST_PAYLOAD_BYTES;
use super::segments::segments;
use super::tree::{Table, Value, array, boolean, table, text};
use super::values::{duration, is_name, size};
use crate::error::ProblemKind;
use crate::{Timeouts, World, words};
use moonquake_clock::Span;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// A part of a payload: what lands at once.
const CHUNK_BYTES: u64 = 64 * 1024;

const KEYS: [&str; 9] = [
    "segments",
    "clients",
    "timeouts",
    "step",
    "chunk",
    "slice",
    "local_buffer",
    "checksums",
    "flags",
];

/// Flags that a scenario sets by another key, or that an engine keeps for itself.
const OWNED_FLAGS: [(&str, &str); 9] = [
    (
        "put_start_discard_timeout_sec",
        "set `timeouts = { discard = \"30s\" }`",
    ),
    (
        "put_start_release_timeout_sec",
        "set `timeouts = { release = \"600s\" }`",
    ),
    ("default_kv_lease_ttl", "set `timeouts = { lease = \"10s\" }`"),
    (
        "default_kv_soft_pin_ttl",
        "set `timeouts = { soft_pin = \"30min\" }`",
    ),
    ("client_ttl", "set `timeouts = { client_ttl = \"10s\" }`"),
    ("rpc_port", "leave it out: the engine chooses free ports"),
    ("port", "leave it out: the engine chooses free ports"),
    ("metrics_port", "leave it out: the engine chooses free ports"),
    (
        "rpc_address",
        "leave it out: the engine listens on this host only",
    ),
];

/// Reads `[world]`, and names its actors.
pub(super) fn read<'a>(world: &Table<'a>, names: &mut Names<'a>, problems: &mut Problems) -> World {
    world.only(&KEYS, problems);
    let segments = world
        .demand("segments", "`segments = { n1 = \"16MiB\" }`", problems)
        .map_or_else(Vec::new, |value| segments(value, names, problems));
    let clients = world
        .demand("clients", "`clients = [\"w1\", \"r1\"]`", problems)
        .map_or_else(Vec::new, |value| clients(value, names, problems));
    if segments.is_empty() && clients.is_empty() && problems.is_empty() {
        problems.add(
            ProblemKind::MissingKey,
            "nobody lives in this world",
            world.span.clone(),
            "neither a node nor a client",
            "add a node, such as `segments = { n1 = \"16MiB\" }`",
        );
    }
    World {
        segments,
        clients,
        timeouts: timeouts(world, problems),
        step: world
            .get("step")
            .and_then(|value| duration(value, "`step = \"1ms\"`", problems))
            .unwrap_or(Span::ZERO),
        chunk_bytes: piece(world, "chunk", CHUNK_BYTES, problems),
        slice_bytes: piece(world, "slice", World::SLICE_BYTES, problems),
        local_buffer_bytes: world
            .get("local_buffer")
            .and_then(|value| local_buffer(value, problems))
            .unwrap_or(World::LOCAL_BUFFER_BYTES),
        checksums: world
            .get("checksums")
            .and_then(|value| boolean(value, "`checksums = true`", problems))
            .unwrap_or(false),
        flags: flags(world, problems),
    }
}

/// Staging memory is real memory of this machine, for each client.
fn local_buffer(value: Value<'_>, problems: &mut Problems) -> Option<u64> {
    let bytes = size(value, "`local_buffer = \"16MiB\"`", problems)?;
    if bytes > MOST_PAYLOAD_BYTES {
        problems.add(
            ProblemKind::Value,
            format!("staging memory of {}", words::size(bytes)),
            value.span(),
            format!("at most {}", words::size(MOST_PAYLOAD_BYTES)),
            "scale it and the objects down together; the store behaves the same",
        );
        return None;
    }
    Some(bytes)
}

fn clients<'a>(value: Value<'a>, names: &mut Names<'a>, problems: &mut Problems) -> Vec<String> {
    let example = "`clients = [\"w1\", \"r1\"]`";
    let mut clients = Vec::new();
    for (found, span) in super::tree::texts(value, example, problems) {
        let named = Named {
            kind: Kind::Client,
            span,
            step: 0,
            owner: None,
        };
        names.add(found, named, problems);
        clients.push(found.to_owned());
    }
    clients
}

fn timeouts(world: &Table<'_>, problems: &mut Problems) -> Timeouts {
    let mut lengths = Timeouts::default();
    let example = "`timeouts = { lease = \"10s\" }`";
    let Some(found) = world
        .get("timeouts")
        .and_then(|value| table(value, "timeouts", example, problems))
    else {
        return lengths;
    };
    found.only(&Timeouts::NAMES, problems);
    for (name, _, value) in &found.entries {
        let Some(slot) = lengths.slot(name) else {
            continue;
        };
        if let Some(length) = duration(value, "a duration such as `\"10s\"`", problems) {
            *slot = length;
        }
    }
    if lengths.release <= lengths.discard && (found.has("release") || found.has("discard")) {
        let own = if found.has("release") {
            "release"
        } else {
            "discard"
        };
        let mut labels = vec![(
            found.value_span(own),
            format!("release is {}, discard is {}", lengths.release, lengths.discard),
        )];
        if own == "release" && found.has("discard") {
            labels.push((found.value_span("discard"), "discard is set here".to_owned()));
        }
        problems.add_at(
            ProblemKind::Value,
            "`release` must be above `discard`",
            labels,
            "an unfinished put is first discarded, then released: make `release` longer or `discard` shorter",
        );
    }
    lengths
}

impl Timeouts {
    /// The place of the deadline of that name.
    fn slot(&mut self, name: &str) -> Option<&mut Span> {
        Some(match name {
            "discard" => &mut self.discard,
            "release" => &mut self.release,
            "lease" => &mut self.lease,
            "client_ttl" => &mut self.client_ttl,
            "soft_pin" => &mut self.soft_pin,
            "rpc" => &mut self.rpc,
            "transfer" => &mut self.transfer,
            "progress" => &mut self.progress,
            _ => return None,
        })
    }
}

/// Into what a payload is cut; it has a byte at least.
fn piece(world: &Table<'_>, key: &str, default: u64, problems: &mut Problems) -> u64 {
    let Some(value) = world.get(key) else {
        return default;
    };
    match size(value, &format!("`{key} = \"1MiB\"`"), problems) {
        Some(0) => {
            problems.add(
                ProblemKind::Value,
                format!("a {key} of a payload has no bytes"),
                value.span(),
                "nothing could ever be moved",
                "give it a size such as \"64KiB\"",
            );
            default
        }
        other => other.unwrap_or(default),
    }
}

fn flags(world: &Table<'_>, problems: &mut Problems) -> BTreeMap<String, String> {
    let mut flags = BTreeMap::new();
    let example = "`flags = { eviction_ratio = \"0.1\" }`";
    let Some(found) = world
        .get("flags")
        .and_then(|value| table(value, "flags", example, problems))
    else {
        return flags;
    };
    for (name, span, value) in &found.entries {
        if !is_name(name) {
            problems.add(
                ProblemKind::Name,
                format!("`{}` is no flag of the master", shown(name)),
                span.clone(),
                "flags are words with _",
                "write upstream's name without dashes, such as `eviction_ratio`",
            );
        } else if let Some((_, help)) = OWNED_FLAGS.iter().find(|(owned, _)| owned == name) {
            problems.add(
                ProblemKind::Value,
                format!("the flag `{name}` is not set here"),
                span.clone(),
                "set by another key or by the engine",
                *help,
            );
        }
        let written = match value.get_ref() {
            DeValue::String(found) => found.to_string(),
            DeValue::Integer(found) => found.to_string(),
            DeValue::Float(found) => found.to_string(),
            DeValue::Boolean(found) => found.to_string(),
            _ => {
                text(value, "a text, a number, true or false", problems);
                continue;
            }
        };
        flags.insert((*name).to_owned(), written);
    }
    flags
}

/// The steps of `[timeline]`, each as a table on one line; others are reported and left out.
pub(super) fn timeline_steps<'a>(
    timeline: &Table<'a>,
    source: &str,
    problems: &mut Problems,
) -> Vec<Table<'a>> {
    timeline.only(&["steps"], problems);
    let example = "`steps = [ { who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\" } ]`";
    let Some(value) = timeline.demand("steps", example, problems) else {
        return Vec::new();
    };
    let items = array(value, example, problems).unwrap_or_default();
    if items.is_empty() && value.get_ref().is_array() {
        problems.add(
            ProblemKind::MissingKey,
            "the timeline has no steps",
            value.span(),
            "nothing happens here",
            format!("add a step: {example}"),
        );
    }
    let mut steps = Vec::new();
    for item in items {
        let Some(step) = table(
            item,
            "a step",
            "`{ who = \"r1\", do = \"get\", key = \"k\" }`",
            problems,
        ) else {
            continue;
        };
        let written = source.get(step.span.clone()).unwrap_or("");
        if written.contains('\n') || !written.starts_with('{') {
            problems.add(
                ProblemKind::Step,
                "a step is one inline table on one line",
                step.span.clone(),
                "this step is written otherwise",
                "write it as `{ who = \"r1\", do = \"get\", key = \"k\" },` so that a difference is a step",
            );
        }
        steps.push(step);
    }
    steps
}
