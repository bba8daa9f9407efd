//! Which layers keep all tokens, and which those of a window.

use super::keys::Keys;
use crate::error::CapacityError;
use crate::number::shown;
use crate::shape::{Cache, Group, Keeps};
use crate::units::{Layers, Tokens};
use serde_json::Value;

/// Families with a window in every layer, if there is one.
const ALL_WINDOWED: [&str; 5] = ["mistral", "mixtral", "starcoder2", "phi3", "phimoe"];
/// Families whose `use_sliding_window` must be true for a window, from layer `max_window_layers` on.
const SWITCHED: [&str; 7] = [
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen2_vl_text",
    "qwen2_5_vl_text",
];
/// Families whose class has a window where the file says none: only `null` means that there is none.
const WINDOWED_BY_CLASS: [&str; 11] = [
    "mistral",
    "mistral3",
    "ministral",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "cohere2",
    "gpt_oss",
    "olmo3",
    "dots1",
    "exaone4",
];

/// Groups of layers: those that keep all tokens, and those with a window.
pub(super) fn windowed(
    keys: &Keys<'_>,
    layers: Layers,
    caches: &[(Layers, Cache)],
) -> Result<Vec<Group>, CapacityError> {
    let all = |caches: &[(Layers, Cache)], keeps| {
        caches
            .iter()
            .map(|(layers, cache)| Group {
                layers: *layers,
                cache: *cache,
                keeps,
            })
            .collect()
    };
    let (window, in_window) = match window_layers(keys, layers)? {
        None => return Ok(all(caches, Keeps::All)),
        Some(found) => found,
    };
    let window = Keeps::Window(window);
    if in_window == layers {
        return Ok(all(caches, window));
    }
    let [(_, cache)] = caches else {
        return Err(keys.wrong(
            "sliding_window",
            "KV heads differ from layer to layer and some layers have a window",
            "such a model is not read here: add up budgets of its parts, each with --layers, --kv-heads, --head-dim, --window",
        ));
    };
    let rest = Layers(layers.0.saturating_sub(in_window.0));
    let mut groups = Vec::new();
    for (layers, keeps) in [(rest, Keeps::All), (in_window, window)] {
        if layers.0 > 0 {
            groups.push(Group {
                layers,
                cache: *cache,
                keeps,
            });
        }
    }
    Ok(groups)
}

/// The window, and how many layers have it.
fn window_layers(keys: &Keys<'_>, layers: Layers) -> Result<Option<(Tokens, Layers)>, CapacityError> {
    let window = keys.number(&["sliding_window"])?.map(Tokens);
    let switch = keys.truth("use_sliding_window")?;
    let typed = typed_layers(keys, layers)?;
    said(keys, typed)?;
    if switch == Some(false) {
        return match typed {
            Some(some) if some.0 > 0 => Err(keys.wrong(
                "use_sliding_window",
                "`use_sliding_window` is false and `layer_types` has sliding layers",
                "keep the one that the model is built with",
            )),
            _ => Ok(None),
        };
    }
    match (window, typed) {
        (None, Some(some)) if some.0 > 0 => Err(keys.wrong(
            "layer_types",
            "`layer_types` has sliding layers and `sliding_window` is missing",
            "add it to the file as it is published",
        )),
        (None, _) if switch == Some(true) => keys.demand(&["sliding_window"]).map(|_| None),
        (None, _) | (_, Some(Layers(0))) => Ok(None),
        (Some(window), Some(some)) => Ok(Some((window, some))),
        (Some(window), None) => by_family(keys, layers, window, switch),
    }
}

/// Refuses a file that leaves the window to the class of its family.
fn said(keys: &Keys<'_>, typed: Option<Layers>) -> Result<(), CapacityError> {
    let Some(model) = keys
        .model_type()
        .filter(|model| WINDOWED_BY_CLASS.contains(model))
    else {
        return Ok(());
    };
    // Mistral does not read layer_types.
    let is_full = typed == Some(Layers(0)) && model != "mistral";
    if !keys.is_absent("sliding_window") || is_full {
        return Ok(());
    }
    Err(keys.wrong(
        "sliding_window",
        &format!("`sliding_window` is missing, and models of type {model} then have a window all the same"),
        "add sliding_window to the file: the tokens of the window, or null if there is none",
    ))
}

/// Sliding layers as `layer_types` lists them.
fn typed_layers(keys: &Keys<'_>, layers: Layers) -> Result<Option<Layers>, CapacityError> {
    let Some(value) = keys.get("layer_types") else {
        return Ok(None);
    };
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if list.len() as u64 != layers.0 {
        return Err(keys.wrong(
            "layer_types",
            &format!("`layer_types` has {} entries for {layers} layers", list.len()),
            "give one for each layer",
        ));
    }
    let mut sliding = 0;
    for kind in list {
        match kind.as_str() {
            Some("full_attention" | "attention") => {}
            Some("sliding_attention") => sliding += 1,
            _ => {
                return Err(keys.wrong(
                    "layer_types",
                    &format!("`layer_types` has {}, whose cache is not known here", shown(&kind.to_string())),
                    "only full_attention and sliding_attention are computed; budget the attention layers with --layers, \
                     --kv-heads, --head-dim and add the state of the others",
                ));
            }
        }
    }
    Ok(Some(Layers(sliding)))
}

/// Sliding layers by the rule of the family, where the config does not list them.
fn by_family(
    keys: &Keys<'_>,
    layers: Layers,
    window: Tokens,
    switch: Option<bool>,
) -> Result<Option<(Tokens, Layers)>, CapacityError> {
    let model = keys.model_type().unwrap_or_default();
    let is_all_or_none = model == "qwen3_moe";
    if (is_all_or_none || SWITCHED.contains(&model)) && switch.is_none() {
        // The class has it off.
        return Ok(None);
    }
    if is_all_or_none {
        // It does not read max_window_layers.
        return Ok(Some((window, layers)));
    }
    if SWITCHED.contains(&model) {
        let first = match keys.get("max_window_layers").map(Value::as_u64) {
            Some(Some(first)) => first,
            _ => keys.demand(&["max_window_layers"])?,
        };
        return Ok(Some((window, Layers(layers.0.saturating_sub(first)))));
    }
    if ALL_WINDOWED.contains(&model) {
        return Ok(Some((window, layers)));
    }
    let pattern = keys.number(&["sliding_window_pattern"])?;
    // Every n-th layer keeps all.
    let every = match (model, pattern) {
        ("gemma2", None | Some(2)) => 2,
        ("gemma3_text" | "gemma3", pattern) => pattern.unwrap_or(6),
        ("cohere2", pattern) => pattern.unwrap_or(4),
        _ => {
            return Err(keys.wrong(
                "sliding_window",
                &format!("`sliding_window` is {window}, and nothing says which layers have it"),
                "add layer_types to the file (one of full_attention and sliding_attention for each layer), or set \
                 use_sliding_window to false",
            ));
        }
    };
    Ok(Some((window, Layers(layers.0 - layers.0 / every))))
}
