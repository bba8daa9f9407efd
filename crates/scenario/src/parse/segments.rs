//! `segments` of `[world]`: nodes with the room that each gives.

use super::names::{Kind, Named, Names};
use super::problems::{Problems, did_you_mean, shown};
use super::rules::MOST_SEGMENT_BYTES;
use super::tree::{Value, table, text, whole};
use super::values::size;
use crate::error::ProblemKind;
use crate::words;
use moonquake_capacity::{models, segment_bytes};

const EXAMPLE: &str = "`segments = { n1 = \"16MiB\" }`";
const BY_MODEL: &str = "`n1 = { model = \"llama-3-8b\", tokens = 1024 }`";

/// Reads the nodes, in the file's order, with the bytes of their segments.
pub(super) fn segments<'a>(
    value: Value<'a>,
    names: &mut Names<'a>,
    problems: &mut Problems,
) -> Vec<(String, u64)> {
    let Some(found) = table(value, "segments", EXAMPLE, problems) else {
        return Vec::new();
    };
    let mut segments = Vec::new();
    for (name, span, capacity) in &found.entries {
        let named = Named {
            kind: Kind::Node,
            span: span.clone(),
            step: 0,
            owner: None,
        };
        names.add(name, named, problems);
        let bytes = if capacity.get_ref().is_table() {
            by_model(capacity, problems)
        } else {
            size(capacity, "a size such as `\"16MiB\"`", problems)
        };
        match bytes {
            Some(0) => problems.add(
                ProblemKind::Value,
                format!("the segment of `{}` has no bytes", shown(name)),
                capacity.span(),
                "a segment needs room",
                "give it a size such as \"16MiB\", or make it a client",
            ),
            Some(bytes) => segments.push(((*name).to_owned(), bytes)),
            None => {}
        }
    }
    segments
}

/// Room for the KV cache of so many tokens of a model.
fn by_model(value: Value<'_>, problems: &mut Problems) -> Option<u64> {
    let found = table(value, "this segment", BY_MODEL, problems)?;
    found.only(&["model", "tokens"], problems);
    let model = found
        .demand("model", BY_MODEL, problems)
        .and_then(|model| text(model, "`model = \"llama-3-8b\"`", problems));
    let tokens = found
        .demand("tokens", BY_MODEL, problems)
        .and_then(|tokens| whole(tokens, "`tokens = 1024`", problems));
    let (model, tokens) = (model?, tokens?);
    let known = || models().iter().map(|row| row.name.as_str());
    if !known().any(|name| name == model) {
        let help = did_you_mean(model, known());
        problems.add(
            ProblemKind::Value,
            format!("no model is called `{}`", shown(model)),
            found.value_span("model"),
            "not in the table of `moonquake budget`",
            help,
        );
        return None;
    }
    if tokens == 0 {
        return Some(0);
    }
    match segment_bytes(model, tokens) {
        Ok(bytes) if bytes <= MOST_SEGMENT_BYTES => Some(bytes),
        other => {
            too_large(model, tokens, other.ok(), found.value_span("tokens"), problems);
            None
        }
    }
}

/// More tokens than any world has room for.
fn too_large(
    model: &str,
    tokens: u64,
    bytes: Option<u64>,
    at: std::ops::Range<usize>,
    problems: &mut Problems,
) {
    let come_to = match bytes {
        Some(bytes) => format!("{bytes} bytes"),
        None => "more bytes than can be counted".to_owned(),
    };
    let help = match segment_bytes(model, 1) {
        Ok(each @ 1..) => format!(
            "use at most {} tokens (a token of {model} has {each} bytes); the store behaves the same when segments and \
             objects are scaled down together",
            MOST_SEGMENT_BYTES / each
        ),
        _ => "use fewer tokens".to_owned(),
    };
    problems.add(
        ProblemKind::Value,
        format!("{tokens} tokens of {model} are {come_to}"),
        at,
        format!(
            "the segments of a world have at most {} in all",
            words::size(MOST_SEGMENT_BYTES)
        ),
        help,
    );
}
