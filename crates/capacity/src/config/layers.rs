//! Which layer keeps how many heads, and of which tokens.

use super::keys::{KV_HEADS, Keys, QUERY_HEADS};
use crate::error::CapacityError;
use crate::number::shown;
use crate::shape::{Cache, Group, Keeps};
use crate::units::{Layers, Tokens};
use serde_json::Value;

/// Families in which a config without KV heads has one for each query head.
const MHA: [&str; 16] = [
    "llama",
    "gpt2",
    "gptj",
    "gpt_neox",
    "gpt_bigcode",
    "opt",
    "bloom",
    "phi",
    "phi3",
    "codegen",
    "baichuan",
    "internlm",
    "qwen",
    "mpt",
    "olmo",
    "deepseek",
];
/// Families of Falcon, whose flags say what their numbers mean.
const FALCON: [&str; 3] = ["falcon", "RefinedWeb", "RefinedWebModel"];
/// Families with a window in every layer, if there is one.
const ALL_WINDOWED: [&str; 5] = ["mistral", "mixtral", "starcoder2", "phi3", "phimoe"];
/// Families whose `use_sliding_window` must be true for a window, from layer `max_window_layers` on.
const SWITCHED: [&str; 8] = [
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen2_vl_text",
    "qwen2_5_vl_text",
];

/// KV heads that are the same in every layer.
pub(super) fn kv_heads(keys: &Keys<'_>, notes: &mut Vec<String>) -> Result<u64, CapacityError> {
    let model = keys.model_type();
    let is_falcon = model.is_some_and(|model| FALCON.contains(&model));
    let is_new_falcon = keys.truth("new_decoder_architecture")? == Some(true);
    let multi_query = keys.truth("multi_query")?;
    let queries = || keys.demand(&QUERY_HEADS);
    if is_falcon && !is_new_falcon {
        return match multi_query {
            Some(true) => Ok(1),
            Some(false) => queries(),
            None => Err(keys.wrong(
                "multi_query",
                "`multi_query` is missing, and it says whether this Falcon has one KV head",
                "add it to the file as it is published",
            )),
        };
    }
    if keys.truth("multi_query_attention")? == Some(true) {
        return keys.demand(&["multi_query_group_num"]);
    }
    if let Some(found) = nested_heads(keys)? {
        return Ok(found);
    }
    let found = keys.number(&KV_HEADS)?;
    match (found, multi_query) {
        (Some(found), Some(true)) if !is_falcon && found != 1 => Err(keys.wrong(
            "multi_query",
            &format!("`multi_query` is true and there are {found} KV heads"),
            "keep the one that the model is built with",
        )),
        (Some(found), _) => Ok(found),
        (None, Some(true)) if !is_falcon => Ok(1),
        (None, _) if model.is_none_or(|model| MHA.contains(&model)) => {
            notes.push("The config names no KV heads: there is one for each query head (MHA).".to_owned());
            queries()
        }
        (None, _) => keys.demand(&KV_HEADS),
    }
}

/// `attn_config.kv_n_heads` of MPT and DBRX.
fn nested_heads(keys: &Keys<'_>) -> Result<Option<u64>, CapacityError> {
    let config = keys.get("attn_config");
    let kind = config
        .and_then(|table| table.get("attn_type"))
        .and_then(Value::as_str);
    if kind == Some("multiquery_attention") {
        return Ok(Some(1));
    }
    let Some(value) = config.and_then(|table| table.get("kv_n_heads")) else {
        return Ok(None);
    };
    match value.as_u64().filter(|heads| *heads > 0) {
        Some(heads) => Ok(Some(heads)),
        None => Err(keys.wrong(
            "kv_n_heads",
            &format!(
                "`attn_config.kv_n_heads` is {}, not a whole number from 1",
                shown(&value.to_string())
            ),
            "write the number as it is published",
        )),
    }
}

/// KV heads that differ from layer to layer, in runs of layers that have the same.
pub(super) fn heads_of_layers(
    keys: &Keys<'_>,
    layers: Layers,
) -> Result<Option<Vec<(Layers, u64)>>, CapacityError> {
    let lists = KV_HEADS
        .iter()
        .filter_map(|key| Some((*key, keys.get(key)?.as_array()?)));
    let Some((key, list)) = lists.into_iter().next() else {
        return Ok(None);
    };
    if list.len() as u64 != layers.0 {
        return Err(keys.wrong(
            key,
            &format!("`{key}` has {} entries for {layers} layers", list.len()),
            "give one for each layer",
        ));
    }
    let mut runs: Vec<(Layers, u64)> = Vec::new();
    for value in list {
        let Some(heads) = value.as_u64().filter(|heads| *heads > 0) else {
            return Err(keys.wrong(
                key,
                &format!("`{key}` has the entry {}", shown(&value.to_string())),
                "give each layer a whole number of heads from 1; layers without a cache are not read here",
            ));
        };
        match runs.iter_mut().find(|(_, other)| *other == heads) {
            Some((layers, _)) => layers.0 += 1,
            None => runs.push((Layers(1), heads)),
        }
    }
    Ok(Some(runs))
}

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
    if SWITCHED.contains(&model) {
        if switch.is_none() {
            // The class has it off.
            return Ok(None);
        }
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
