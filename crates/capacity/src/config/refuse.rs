//! What no exact budget can be made of, by the key that says so.

use super::keys::Keys;
use super::{Beside, class, hints};
use crate::error::CapacityError;
use serde_json::Value;

/// Families whose cache is what this crate computes.
pub(super) const KNOWN: &[&str] = &[
    "llama",
    "mistral",
    "mistral3",
    "ministral",
    "mixtral",
    "qwen",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "qwen2_vl",
    "qwen2_vl_text",
    "qwen2_5_vl",
    "qwen2_5_vl_text",
    "qwen3_vl",
    "qwen3_vl_text",
    "qwen3_vl_moe",
    "qwen3_vl_moe_text",
    "gemma",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "phi",
    "phi3",
    "phimoe",
    "starcoder2",
    "gpt2",
    "gptj",
    "gpt_neox",
    "gpt_bigcode",
    "codegen",
    "opt",
    "bloom",
    "mpt",
    "dbrx",
    "falcon",
    "RefinedWeb",
    "RefinedWebModel",
    "stablelm",
    "baichuan",
    "internlm",
    "internlm2",
    "internlm3",
    "chatglm",
    "glm",
    "glm4",
    "glm4_moe",
    "glm4_moe_lite",
    "cohere",
    "cohere2",
    "olmo",
    "olmo2",
    "olmo3",
    "olmoe",
    "deepseek",
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "glm_moe_dsa",
    "kimi_k2",
    "minicpm",
    "granite",
    "granitemoe",
    "exaone",
    "exaone4",
    "gpt_oss",
    "smollm3",
    "nemotron",
    "arcee",
    "ernie4_5",
    "ernie4_5_moe",
    "seed_oss",
    "dots1",
    "minimax_m2",
    "persimmon",
    "openelm",
    "apertus",
    "aquila",
    "xverse",
    "hunyuan_v1_dense",
    "hunyuan_v1_moe",
];

/// Families of which engines keep one latent for all heads.
const LATENT: [&str; 6] = [
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "kimi_k2",
    "glm4_moe_lite",
    "glm_moe_dsa",
];

pub(super) const BY_FLAGS: &str = "budget its attention layers with --layers, --kv-heads, --head-dim and --bytes, and add what else it keeps";

/// Beginnings and parts of keys of a cache that is not a list of tokens, and what they mean.
const STARTS: [(&str, &str); 17] = [
    ("mamba", "state-space layers keep a state, not tokens"),
    ("ssm", "state-space layers keep a state, not tokens"),
    ("state_", "state-space layers keep a state, not tokens"),
    ("rwkv", "recurrent layers keep a state, not tokens"),
    ("lru_", "recurrent layers keep a state, not tokens"),
    ("linear_", "linear attention keeps a state, not tokens"),
    ("conv_", "convolutions keep a state, not tokens"),
    ("hybrid", "layers of several kinds"),
    ("full_attention_interval", "most layers keep a state, not tokens"),
    ("attention_chunk_size", "attention within chunks drops tokens"),
    (
        "cross_attention",
        "cross attention keeps the tokens of another sequence",
    ),
    ("index_", "an indexer keeps keys of its own"),
    (
        "indexer_types",
        "an indexer keeps keys of its own in some layers only",
    ),
    (
        "use_bidirectional_attention",
        "tokens see later ones, and a window means another number",
    ),
    ("compress", "a compressed cache is no list of tokens"),
    ("swa_", "layers with a window have heads of their own"),
    ("global_head_dim", "layers have heads of different sizes"),
];
const PARTS: [(&str, &str); 14] = [
    ("linear_attn", "linear attention keeps a state, not tokens"),
    ("ssm_", "state-space layers keep a state, not tokens"),
    ("mamba", "state-space layers keep a state, not tokens"),
    ("kv_shared_layers", "layers share a cache"),
    ("use_cla", "layers share a cache"),
    ("k_eq_v", "keys and values are the same"),
    ("window_size", "a window whose rule is not known here"),
    ("attention_window", "a window whose rule is not known here"),
    ("attention_types", "layers of several kinds"),
    ("attn_layer", "layers of several kinds"),
    ("block_configs", "layers of several kinds"),
    ("layers_block_type", "layers of several kinds"),
    (
        "sparse_attention",
        "sparse attention may keep more or less than tokens",
    ),
    ("global_key_value_heads", "layers have different heads"),
];

/// Refuses what is not computed.
pub(super) fn refuse(keys: &Keys<'_>, beside: Beside) -> Result<(), CapacityError> {
    if keys.anywhere("is_encoder_decoder").and_then(Value::as_bool) == Some(true) {
        return Err(keys.wrong(
            "is_encoder_decoder",
            "`is_encoder_decoder` is true: the decoder also keeps the tokens of the encoder",
            BY_FLAGS,
        ));
    }
    if keys.anywhere("add_cross_attention").and_then(Value::as_bool) == Some(true) {
        return Err(keys.wrong(
            "add_cross_attention",
            "`add_cross_attention` is true: cross attention keeps the tokens of another sequence",
            BY_FLAGS,
        ));
    }
    if keys.get("use_mla").and_then(Value::as_bool) == Some(false) && keys.has("kv_lora_rank") {
        return Err(keys.wrong(
            "use_mla",
            "`use_mla` is false and `kv_lora_rank` is there: it is not clear what is kept",
            BY_FLAGS,
        ));
    }
    odd_keys(keys)?;
    family(keys)?;
    hints::refuse(keys)?;
    class::refuse(keys)?;
    index(keys, beside)?;
    quantised(keys, beside)
}

pub(super) fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Array(items) => items.is_empty(),
        Value::Object(items) => items.is_empty(),
        Value::Bool(true) | Value::String(_) => false,
    }
}

fn odd_keys(keys: &Keys<'_>) -> Result<(), CapacityError> {
    for (key, value) in keys.part {
        let is_read = is_plain_index(key);
        let is_plain = key == "attn_type_list"
            && value
                .as_array()
                .is_some_and(|kinds| kinds.iter().all(|kind| kind.as_u64() == Some(1)));
        if says_nothing(value) || is_read || is_plain {
            continue;
        }
        let start = STARTS.iter().find(|(start, _)| key.starts_with(start));
        let odd = start.or_else(|| PARTS.iter().find(|(part, _)| key.contains(part)));
        let odd = odd.or((key == "attn_type_list").then_some(&("attn_type_list", "layers of several kinds")));
        if let Some((_, why)) = odd {
            return Err(keys.wrong(
                key,
                &format!("`{}` is set: {why}", crate::number::shown(key)),
                BY_FLAGS,
            ));
        }
    }
    Ok(())
}

/// Keys of the indexer of DeepSeek-V3.2; others of the same beginning change which layers have one.
fn is_plain_index(key: &str) -> bool {
    ["index_head_dim", "index_n_heads", "index_topk"].contains(&key)
}

/// Whether the model keeps a latent instead of heads. A config without a type is taken at its keys' word.
pub(super) fn is_latent(keys: &Keys<'_>) -> Result<bool, CapacityError> {
    let model = keys.model_type();
    let is_known = model.is_none_or(|model| LATENT.contains(&model));
    match keys.has("kv_lora_rank") {
        true if !is_known => Err(keys.wrong(
            "kv_lora_rank",
            &format!(
                "`kv_lora_rank` is set, and it is not known here what models of type {} keep of it",
                crate::number::shown(model.unwrap_or_default())
            ),
            "use --mla-rank and --rope-dim if the engine keeps the latent, --kv-heads and --head-dim if it keeps heads",
        )),
        // The class has a rank; only `null` means heads.
        false if model.is_some() && is_known && keys.is_absent("kv_lora_rank") => {
            keys.demand(&["kv_lora_rank"]).map(|_| true)
        }
        is_there => Ok(is_there),
    }
}

fn family(keys: &Keys<'_>) -> Result<(), CapacityError> {
    match keys.anywhere("model_type") {
        None => Ok(()),
        Some(Value::String(_)) => match keys.model_type() {
            Some("minicpm3") => Err(keys.wrong(
                "model_type",
                "`model_type` is \"minicpm3\", of which SGLang keeps the latent and vLLM the heads made of it",
                "use --mla-rank and --rope-dim for the latent, --kv-heads and --head-dim for the heads",
            )),
            Some(model) if !KNOWN.contains(&model) => Err(keys.wrong(
                "model_type",
                &format!(
                    "`model_type` is {:?}, whose cache is not known here",
                    crate::number::shown(model)
                ),
                "if it keeps plain keys and values, use --layers, --kv-heads, --head-dim and --bytes",
            )),
            _ => Ok(()),
        },
        Some(other) => Err(keys.wrong(
            "model_type",
            &format!(
                "`model_type` is {}, not a word",
                crate::number::shown(&other.to_string())
            ),
            "write a text in quotes",
        )),
    }
}

/// The width of an index key is the engine's choice, not the model's.
fn index(keys: &Keys<'_>, beside: Beside) -> Result<(), CapacityError> {
    if (keys.has("index_head_dim") || keys.has("index_topk")) && beside.index_bytes.is_none() {
        return Err(keys.wrong(
            "index_head_dim",
            "`index_head_dim` is set: an indexer keeps a key of its own for each token and layer, and the engine chooses its width",
            "say it with --index-bytes (132 for 128 FP8 numbers and one fp32 scale, 256 for bf16)",
        ));
    }
    Ok(())
}

/// A checkpoint may ask for a quantised cache.
fn quantised(keys: &Keys<'_>, beside: Beside) -> Result<(), CapacityError> {
    let Some(table) = keys.anywhere("quantization_config") else {
        return Ok(());
    };
    for key in ["kv_cache_scheme", "kv_cache_quant_algo"] {
        let is_set = table.get(key).is_some_and(|value| !says_nothing(value));
        if is_set && !beside.has_bytes {
            return Err(keys.wrong(
                key,
                &format!(
                    "`quantization_config.{key}` is set: the cache is not as wide as the model's own type"
                ),
                "say how wide it is with --bytes, and its scales with --scale",
            ));
        }
    }
    Ok(())
}
