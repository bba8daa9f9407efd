//! Keys that hint at layers of other kinds, or at windows, and are not understood here.

use super::keys::Keys;
use super::refuse::{BY_FLAGS, says_nothing};
use crate::error::CapacityError;
use crate::number::shown;
use serde_json::{Map, Value};

/// Parts of such keys, and what they may mean.
const HINTS: [(&str, &str); 11] = [
    ("mamba", "state-space layers keep a state, not tokens"),
    ("ssm", "state-space layers keep a state, not tokens"),
    ("rwkv", "recurrent layers keep a state, not tokens"),
    ("recurrent", "recurrent layers keep a state, not tokens"),
    ("linear_attn", "linear attention keeps a state, not tokens"),
    ("hybrid", "layers may be of several kinds"),
    ("block_type", "layers may be of several kinds"),
    ("pattern", "layers may be of several kinds"),
    ("interleav", "layers may be of several kinds"),
    ("local", "some layers may keep a window only"),
    (
        "window",
        "layers may keep a window by a rule that is not known here",
    ),
];
/// Hints that also stand in keys about other things.
const LOOSE: [&str; 3] = ["pattern", "interleav", "local"];
/// Such things: experts and dense blocks keep no cache, and positions change no size.
const OTHER_THINGS: [&str; 5] = ["expert", "moe", "mlp", "qkv", "rope_interleave"];
/// Families that read `sliding_window_pattern`.
const BY_PATTERN: [&str; 4] = ["gemma2", "gemma3", "gemma3_text", "cohere2"];

/// Refuses a key that hints at what would not be computed.
pub(super) fn refuse(keys: &Keys<'_>) -> Result<(), CapacityError> {
    all(keys, keys.part, |key, value| is_understood(keys, key, value))?;
    if !std::ptr::eq(keys.part, keys.whole) {
        all(keys, keys.whole, |key, value| is_understood(keys, key, value))?;
    }
    match keys.anywhere("attn_config").and_then(Value::as_object) {
        // There -1 is no window.
        Some(table) => all(keys, table, |_, value| {
            value.as_i64().is_some_and(|found| found < 0)
        }),
        None => Ok(()),
    }
}

fn all(
    keys: &Keys<'_>,
    table: &Map<String, Value>,
    is_understood: impl Fn(&str, &Value) -> bool,
) -> Result<(), CapacityError> {
    for (key, value) in table {
        let low = key.to_ascii_lowercase();
        let is_other = OTHER_THINGS.iter().any(|other| low.contains(other));
        let hint = HINTS
            .iter()
            .find(|(part, _)| low.contains(part) && !(is_other && LOOSE.contains(part)));
        let Some((_, why)) = hint else { continue };
        if says_nothing(value) || is_understood(key, value) {
            continue;
        }
        let of = match keys.model_type() {
            Some(model) => format!("models of type {}", shown(model)),
            None => "a model without model_type".to_owned(),
        };
        return Err(keys.wrong(
            key,
            &format!("`{}` is set, which is not understood for {of}: {why}", shown(key)),
            BY_FLAGS,
        ));
    }
    Ok(())
}

fn is_understood(keys: &Keys<'_>, key: &str, value: &Value) -> bool {
    let model = keys.model_type().unwrap_or_default();
    match key {
        "sliding_window" | "use_sliding_window" => true,
        // Without a window it says nothing.
        "max_window_layers" => {
            model.starts_with("qwen")
                || model == "dots1"
                || !keys.is_absent("sliding_window")
                || keys.has("use_sliding_window")
        }
        // Where each layer has its kind, the pattern says it again.
        "sliding_window_pattern" => BY_PATTERN.contains(&model) || keys.has("layer_types"),
        "rope_local_base_freq" => model.starts_with("gemma3") || keys.has("layer_types"),
        "order_of_interleaved_layers" => model == "cohere2" && value.as_str() == Some("local_attn_first"),
        _ => false,
    }
}
