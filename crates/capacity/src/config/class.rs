//! `architectures`: the class of a model must mean what its type means.

use super::keys::Keys;
use super::refuse::{BY_FLAGS, KNOWN};
use crate::error::CapacityError;
use crate::number::shown;
use serde_json::{Map, Value};

/// Parts of classes whose cache is not a list of tokens, in small letters.
const OTHER_KINDS: [&str; 19] = [
    "mamba",
    "jamba",
    "bamba",
    "zamba",
    "rwkv",
    "recurrent",
    "griffin",
    "hyena",
    "retnet",
    "retention",
    "xlstm",
    "hybrid",
    "nemotronh",
    "falconh1",
    "lfm2",
    "qwen3next",
    "linear",
    "deltanet",
    "ssm",
];

/// Refuses classes of another kind than the type says.
pub(super) fn refuse(keys: &Keys<'_>) -> Result<(), CapacityError> {
    of(keys, keys.part)?;
    if std::ptr::eq(keys.part, keys.whole) {
        return Ok(());
    }
    of(keys, keys.whole)
}

fn of(keys: &Keys<'_>, table: &Map<String, Value>) -> Result<(), CapacityError> {
    let Some(value) = table.get("architectures").filter(|value| !value.is_null()) else {
        return Ok(());
    };
    let list = match value {
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    // The type beside the class; what stands around a language model has a type of its own.
    let model = table.get("model_type").and_then(Value::as_str);
    for class in list {
        let Some(class) = class.as_str() else {
            return Err(keys.wrong(
                "architectures",
                &format!("`architectures` has {}, not a word", shown(&class.to_string())),
                "write the class as it is published, a text in quotes",
            ));
        };
        one(keys, class, model)?;
    }
    Ok(())
}

fn one(keys: &Keys<'_>, class: &str, model: Option<&str>) -> Result<(), CapacityError> {
    let stem = letters(stem(class));
    let shown_class = shown(class);
    if OTHER_KINDS.iter().any(|kind| stem.contains(kind)) {
        return Err(keys.wrong(
            "architectures",
            &format!("`architectures` is {shown_class}, whose layers do not all keep tokens"),
            BY_FLAGS,
        ));
    }
    let family = KNOWN.iter().find(|family| letters(family) == stem).copied();
    match (model, family) {
        (Some(model), Some(family)) if !is_same(model, family) => Err(keys.wrong(
            "architectures",
            &format!(
                "`architectures` is {shown_class} and `model_type` is {}, which are two families",
                shown(model)
            ),
            "keep the one that the model is built with",
        )),
        (None, Some(family)) if keys.model_type().is_none() && family != "llama" => Err(keys.wrong(
            "architectures",
            &format!("`architectures` is {shown_class} and `model_type` is missing"),
            &format!("add \"model_type\": \"{family}\" to the file as it is published"),
        )),
        (None, None) if keys.model_type().is_none() => Err(keys.wrong(
            "architectures",
            &format!("`architectures` is {shown_class}, whose cache is not known here, and `model_type` is missing"),
            "add model_type to the file as it is published; if it keeps plain keys and values, use --layers, --kv-heads, \
             --head-dim and --bytes",
        )),
        _ => Ok(()),
    }
}

/// The class without what the model is for.
fn stem(class: &str) -> &str {
    ["For", "LMHead", "Model"]
        .iter()
        .filter_map(|end| class.find(end))
        .filter(|at| *at > 0)
        .min()
        .and_then(|at| class.get(..at))
        .unwrap_or(class)
}

fn letters(text: &str) -> String {
    text.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// Whether a class of that family goes with the type. Kimi K2 is published with the class of DeepSeek-V3.
fn is_same(model: &str, family: &str) -> bool {
    let plain = |name: &str| letters(name.strip_suffix("_text").unwrap_or(name));
    plain(model) == plain(family) || (model == "kimi_k2" && family == "deepseek_v3")
}
