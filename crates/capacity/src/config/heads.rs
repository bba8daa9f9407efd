//! How many KV heads the layers of a config have.

use super::keys::{KV_HEADS, Keys, QUERY_HEADS};
use crate::error::CapacityError;
use crate::number::{Limit, shown};
use crate::units::{Heads, Layers};
use serde_json::Value;

/// Families in which a config without KV heads has one for each query head.
const MHA: [&str; 15] = [
    "llama", "gpt2", "gptj", "gpt_neox", "opt", "bloom", "phi", "phi3", "codegen", "baichuan", "internlm",
    "qwen", "mpt", "olmo", "deepseek",
];
/// Keys that say how many KV heads there are, beside those of `KV_HEADS`.
const ODD_KV_HEADS: [&str; 2] = ["multi_query_group_num", "attn_config"];
/// Families of Falcon, whose flags say what their numbers mean.
const FALCON: [&str; 3] = ["falcon", "RefinedWeb", "RefinedWebModel"];
/// KV heads that are the same in every layer.
pub(super) fn kv_heads(keys: &Keys<'_>, notes: &mut Vec<String>) -> Result<u64, CapacityError> {
    let model = keys.model_type();
    let is_falcon = model.is_some_and(|model| FALCON.contains(&model));
    if is_falcon && keys.truth("new_decoder_architecture")? != Some(true) {
        return falcon_heads(keys, model == Some("RefinedWeb"));
    }
    if model == Some("gpt_bigcode") {
        return bigcode_heads(keys, notes);
    }
    let multi_query = keys.truth("multi_query")?;
    if keys.truth("multi_query_attention")? == Some(true) {
        return keys.demand(&["multi_query_group_num"]);
    }
    if let Some(found) = nested_heads(keys)? {
        return Ok(found);
    }
    if let Some(found) = keys.class_number(&KV_HEADS, notes) {
        return Ok(found);
    }
    let found = keys.number(&KV_HEADS)?;
    match (found, multi_query) {
        (Some(found), Some(true)) if !is_falcon && found != 1 => Err(both(keys, found)),
        (Some(found), _) => Ok(found),
        (None, Some(true)) if !is_falcon => Ok(1),
        (None, _) if model.is_none_or(|model| MHA.contains(&model)) => {
            notes.push("The config names no KV heads: there is one for each query head (MHA).".to_owned());
            keys.demand(&QUERY_HEADS)
        }
        (None, _) => keys.demand(&KV_HEADS),
    }
}

fn both(keys: &Keys<'_>, heads: u64) -> CapacityError {
    keys.wrong(
        "multi_query",
        &format!("`multi_query` is true and there are {heads} KV heads"),
        "keep the one that the model is built with",
    )
}

/// KV heads of a Falcon of the old architecture. With `multi_query`, a number of KV heads beside it says nothing.
fn falcon_heads(keys: &Keys<'_>, is_first_40b: bool) -> Result<u64, CapacityError> {
    let named = || keys.number(&KV_HEADS);
    match keys.truth("multi_query")? {
        Some(true) => Ok(1),
        Some(false) => match named()? {
            Some(heads) => Ok(heads),
            None => keys.demand(&QUERY_HEADS),
        },
        // The first form of the 40B model has no flag, only the number.
        None => named()?.filter(|_| is_first_40b).ok_or_else(|| {
            keys.wrong(
                "multi_query",
                "`multi_query` is missing, and it says whether this Falcon has one KV head",
                "add it to the file as it is published",
            )
        }),
    }
}

/// KV heads of StarCoder and its like: `multi_query` decides, and is true where it is not there.
fn bigcode_heads(keys: &Keys<'_>, notes: &mut Vec<String>) -> Result<u64, CapacityError> {
    let is_one = match keys.truth("multi_query")? {
        Some(found) => found,
        None if keys.is_absent("multi_query") => {
            notes.push(
                "The config has no multi_query, which gpt_bigcode takes as true: 1 KV head.".to_owned(),
            );
            true
        }
        None => {
            return Err(keys.wrong(
                "multi_query",
                "`multi_query` is null, neither true nor false",
                "write true or false",
            ));
        }
    };
    let named = keys.number(&KV_HEADS)?;
    if is_one {
        return match named {
            Some(heads) if heads != 1 => Err(both(keys, heads)),
            _ => Ok(1),
        };
    }
    let queries = keys.demand(&QUERY_HEADS)?;
    match named {
        Some(heads) if heads != queries => Err(keys.wrong(
            "multi_query",
            &format!("`multi_query` is false, which means one KV head for each of {queries} query heads, and there are {heads}"),
            "keep the one that the model is built with",
        )),
        _ => Ok(queries),
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
        Some(heads) => keys.within("kv_n_heads", heads, Limit::HEADS).map(Some),
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
        keys.within(key, heads, Limit::HEADS)?;
        match runs.iter_mut().find(|(_, other)| *other == heads) {
            Some((layers, _)) => layers.0 += 1,
            None => runs.push((Layers(1), heads)),
        }
    }
    Ok(Some(runs))
}

/// Refuses KV heads that the query heads cannot share.
pub(super) fn shared_evenly(
    keys: &Keys<'_>,
    query_heads: Option<Heads>,
    kv_heads: u64,
) -> Result<(), CapacityError> {
    let Some(Heads(queries)) = query_heads else {
        return Ok(());
    };
    if queries.is_multiple_of(kv_heads) {
        return Ok(());
    }
    let mut names = KV_HEADS.iter().chain(&ODD_KV_HEADS).copied();
    let key = names.find(|name| keys.has(name)).unwrap_or(KV_HEADS[0]);
    let what = if kv_heads > queries {
        format!("there are {kv_heads} KV heads and only {queries} query heads")
    } else {
        format!("{queries} query heads cannot share {kv_heads} KV heads evenly")
    };
    Err(keys.wrong(
        if key == "attn_config" { "kv_n_heads" } else { key },
        &what,
        "write both numbers as they are published: the query heads are a multiple of the KV heads",
    ))
}
