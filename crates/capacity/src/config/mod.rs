//! `config.json` of a model as it is published: read exactly, or refused with the key's name.

mod class;
mod heads;
mod hints;
mod keys;
mod layers;
mod refuse;
mod strict;

use crate::error::CapacityError;
use crate::shape::{Cache, Group, Keeps, Shape};
use crate::units::{ElementBytes, Elements, Heads, Layers};
use keys::Keys;
use serde_json::Value;
use strict::Strict;

/// What the flags may say about a config that it does not say itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    /// `--bytes` is given, so the type in the file does not matter.
    pub has_bytes: bool,
    /// `--index-bytes`: bytes of an index key of a token and layer.
    pub index_bytes: Option<u64>,
}

/// A config is far smaller.
const MOST_BYTES: usize = 4 << 20;

/// Reads the text of a `config.json`. `path` is what messages call it.
///
/// # Errors
/// If it is no such file, or says something that no exact budget can be made of.
pub fn read(path: &str, text: &[u8], beside: Beside) -> Result<Shape, CapacityError> {
    let wrong = |place: String, what: String, mend: &str| CapacityError::Config {
        place,
        what,
        mend: mend.to_owned(),
    };
    let mend = "give the config.json of a model as it is published";
    if text.len() > MOST_BYTES {
        return Err(wrong(
            path.to_owned(),
            "the file is too large for a config".to_owned(),
            mend,
        ));
    }
    let text = std::str::from_utf8(text)
        .map_err(|_| wrong(path.to_owned(), "the file is no text".to_owned(), mend))?;
    let Strict(value) = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        let place = format!("{path}:{}", error.line());
        let said = error.to_string();
        match said.split_once(" at line ") {
            Some((twice, _)) if error.is_data() => wrong(
                place,
                twice.to_owned(),
                "keep the one that the model is built with",
            ),
            _ => wrong(place, format!("this is no JSON: {said}"), mend),
        }
    })?;
    of_value(path, text, &value, beside)
}

/// The shape that a parsed config describes.
pub(crate) fn of_value(
    path: &str,
    text: &str,
    value: &Value,
    beside: Beside,
) -> Result<Shape, CapacityError> {
    let keys = Keys::new(path, text, value)?;
    refuse::refuse(&keys, beside)?;
    let layers = Layers(keys.demand(&keys::LAYERS)?);
    let bytes = bytes(&keys, beside)?;
    let mut notes = Vec::new();
    if keys.model_type().is_none() && !refuse::is_latent(&keys)? {
        notes.push(
            "The config names no model_type: it was read as plain attention, keys and values in every layer."
                .to_owned(),
        );
    }
    if let Some(extra) = keys.number(&["num_nextn_predict_layers"])?
        && extra > 0
    {
        notes.push(format!(
            "num_nextn_predict_layers {extra} (multi-token prediction) is not counted: it is no layer of the model itself."
        ));
    }
    let query_heads = match keys.class_number(&keys::QUERY_HEADS, &mut notes) {
        Some(found) => Some(found),
        None => keys.number(&keys::QUERY_HEADS)?,
    }
    .map(Heads);
    let mut groups = if refuse::is_latent(&keys)? {
        latent(&keys, layers, &mut notes)?
    } else {
        heads(&keys, (layers, query_heads), &mut notes)?
    };
    if keys.has("index_head_dim") || keys.has("index_topk") {
        let bytes = beside.index_bytes.unwrap_or_default();
        notes.push(format!(
            "The indexer keeps {bytes} B of each token in each layer, as --index-bytes says."
        ));
        groups.push(Group {
            layers,
            cache: Cache::IndexKey { bytes },
            keeps: Keeps::All,
        });
    }
    Ok(Shape {
        name: keys.model_type().unwrap_or("model").to_owned(),
        source: path.to_owned(),
        groups,
        query_heads,
        bytes,
        notes,
    })
}

fn bytes(keys: &Keys<'_>, beside: Beside) -> Result<Option<ElementBytes>, CapacityError> {
    if beside.has_bytes {
        return Ok(None);
    }
    let Some((key, word)) = keys.word(&["torch_dtype", "dtype"])? else {
        return Err(keys.wrong(
            "torch_dtype",
            "neither `torch_dtype` nor `dtype` says how wide a number is",
            "add --bytes 2 for 16-bit numbers",
        ));
    };
    match word.trim_start_matches("torch.") {
        "float16" | "bfloat16" | "half" => Ok(Some(ElementBytes(2))),
        "float32" | "float" => Ok(Some(ElementBytes(4))),
        "float8_e4m3fn" | "float8_e5m2" => Ok(Some(ElementBytes(1))),
        other => Err(keys.wrong(
            key,
            &format!(
                "`{key}` is {:?}, whose width is not known here",
                crate::number::shown(other)
            ),
            "say the width with --bytes",
        )),
    }
}

fn latent(keys: &Keys<'_>, layers: Layers, notes: &mut Vec<String>) -> Result<Vec<Group>, CapacityError> {
    if keys.model_type().is_none() {
        notes.push(
            "The config names no model_type: kv_lora_rank and qk_rope_head_dim are taken as those of DeepSeek (MLA)."
                .to_owned(),
        );
    }
    let rank = Elements(keys.demand(&["kv_lora_rank"])?);
    let rope_dim = Elements(keys.demand(&["qk_rope_head_dim"])?);
    layers::windowed(keys, layers, &[(layers, Cache::Latent { rank, rope_dim })])
}

fn heads(
    keys: &Keys<'_>,
    (layers, query_heads): (Layers, Option<Heads>),
    notes: &mut Vec<String>,
) -> Result<Vec<Group>, CapacityError> {
    let key_dim = head_dim(keys, notes)?;
    let value_dim = keys.number(&["v_head_dim"])?.map_or(key_dim, Elements);
    let cache = |kv_heads: u64| Cache::Heads {
        kv_heads: Heads(kv_heads),
        key_dim,
        value_dim,
    };
    let runs = match heads::heads_of_layers(keys, layers)? {
        Some(runs) => runs,
        None => vec![(layers, heads::kv_heads(keys, notes)?)],
    };
    let mut caches = Vec::new();
    for (layers, kv_heads) in runs {
        heads::shared_evenly(keys, query_heads, kv_heads)?;
        caches.push((layers, cache(kv_heads)));
    }
    layers::windowed(keys, layers, &caches)
}

/// Of a head: as the config says, else the hidden size shared out, where that is how the family does it.
fn head_dim(keys: &Keys<'_>, notes: &mut Vec<String>) -> Result<Elements, CapacityError> {
    if let Some(found) = keys.class_number(&keys::HEAD_DIM, notes) {
        return Ok(Elements(found));
    }
    if let Some(found) = keys.number(&keys::HEAD_DIM)? {
        return Ok(Elements(found));
    }
    if let Some(model) = keys.model_type()
        && keys::OWN_HEAD_DIM.contains(&model)
    {
        return Err(keys.wrong(
            "head_dim",
            &format!("`head_dim` is missing, and models of type {model} do not share out their hidden size"),
            "add head_dim to the file, or use --layers, --kv-heads, --head-dim and --bytes",
        ));
    }
    let hidden = keys.demand(&keys::HIDDEN)?;
    let heads = keys.demand(&keys::QUERY_HEADS)?;
    if heads == 0 || !hidden.is_multiple_of(heads) {
        return Err(keys.wrong(
            "hidden_size",
            &format!("there is no `head_dim`, and the hidden size {hidden} is no multiple of {heads} heads"),
            "add head_dim to the file",
        ));
    }
    Ok(Elements(hidden / heads))
}
