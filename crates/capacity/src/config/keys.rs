//! The keys of a config under all their names, and where they stand.

use crate::error::CapacityError;
use crate::number::{Limit, shown};
use serde_json::{Map, Value};

/// Layers.
pub(super) const LAYERS: [&str; 5] = [
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
    "num_transformer_layers",
];
/// Query heads.
pub(super) const QUERY_HEADS: [&str; 4] = ["num_attention_heads", "n_head", "n_heads", "num_heads"];
/// KV heads.
pub(super) const KV_HEADS: [&str; 4] = [
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "num_key_value_heads_per_layer",
];
/// Elements of a head.
pub(super) const HEAD_DIM: [&str; 2] = ["head_dim", "kv_channels"];
/// Elements of all query heads, where nothing else is said.
pub(super) const HIDDEN: [&str; 4] = ["hidden_size", "n_embd", "d_model", "n_embed"];
/// Families whose heads are not the hidden size shared out: their configs say `head_dim`.
pub(super) const OWN_HEAD_DIM: [&str; 15] = [
    "qwen3",
    "qwen3_moe",
    "gemma",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "gpt_oss",
    "glm4_moe",
    "ernie4_5",
    "seed_oss",
    "minimax_m2",
    "qwen3_vl",
    "qwen3_vl_text",
    "glm",
    "glm4",
];
/// What the class of `gemma3_text` has where a file says nothing; the published Gemma 3 4B leaves all three out.
const OF_GEMMA3: [(&[&str], u64); 3] = [(&QUERY_HEADS, 8), (&KV_HEADS, 4), (&HEAD_DIM, 256)];
/// Tables in which the language part of a model with other senses stands.
const NESTED: [&str; 3] = ["text_config", "llm_config", "language_config"];

/// The keys of the part of a config that describes the language model.
pub(super) struct Keys<'a> {
    path: &'a str,
    text: &'a str,
    pub(super) whole: &'a Map<String, Value>,
    pub(super) part: &'a Map<String, Value>,
}

/// What the flag of the same meaning takes.
fn limit(name: &str) -> Limit {
    if LAYERS.contains(&name) || name == "num_nextn_predict_layers" {
        Limit::LAYERS
    } else if QUERY_HEADS.contains(&name) || KV_HEADS.contains(&name) || name == "multi_query_group_num" {
        Limit::HEADS
    } else if name == "sliding_window" {
        Limit::TOKENS
    } else {
        Limit::ELEMENTS
    }
}

impl<'a> Keys<'a> {
    pub(super) fn new(path: &'a str, text: &'a str, value: &'a Value) -> Result<Keys<'a>, CapacityError> {
        let Some(whole) = value.as_object() else {
            return Err(CapacityError::Config {
                place: format!("{path}:1"),
                what: "this is no JSON object".to_owned(),
                mend: "give the config.json of a model as it is published".to_owned(),
            });
        };
        let nested = NESTED
            .iter()
            .find_map(|key| Some((*key, whole.get(*key)?.as_object()?)));
        let keys = Keys {
            path,
            text,
            whole,
            part: nested.map_or(whole, |(_, part)| part),
        };
        if let Some((name, part)) = nested {
            // A model that repeats its numbers outside must mean the same.
            for key in LAYERS
                .iter()
                .chain(&KV_HEADS)
                .chain(&QUERY_HEADS)
                .chain(&HEAD_DIM)
            {
                if let (Some(outer), Some(inner)) = (whole.get(*key), part.get(*key))
                    && outer != inner
                {
                    return Err(keys.wrong(
                        key,
                        &format!("`{key}` is {outer} at the top and {inner} in `{name}`"),
                        "keep the one of the language model",
                    ));
                }
            }
        }
        Ok(keys)
    }

    /// An error about a key, with the line on which it stands.
    pub(super) fn wrong(&self, key: &str, what: &str, mend: &str) -> CapacityError {
        let quoted = format!("\"{key}\"");
        let line = self
            .text
            .find(&quoted)
            .and_then(|at| self.text.get(..at))
            .map(|before| before.matches('\n').count() + 1);
        CapacityError::Config {
            place: match line {
                Some(line) => format!("{}:{line}", self.path),
                None => self.path.to_owned(),
            },
            what: what.to_owned(),
            mend: mend.to_owned(),
        }
    }

    /// A value that says something.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.part.get(key).filter(|value| !value.is_null())
    }

    /// A value of the language part, or of the whole.
    pub(super) fn anywhere(&self, key: &str) -> Option<&'a Value> {
        self.get(key)
            .or_else(|| self.whole.get(key).filter(|value| !value.is_null()))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Whether the language part does not even say `null`.
    pub(super) fn is_absent(&self, key: &str) -> bool {
        !self.part.contains_key(key)
    }

    /// The type of the language part, else that of the whole.
    pub(super) fn model_type(&self) -> Option<&'a str> {
        self.anywhere("model_type").and_then(Value::as_str)
    }

    /// The number that the class of the family has where the file has none of the names, with a note.
    pub(super) fn class_number(&self, names: &[&'static str], notes: &mut Vec<String>) -> Option<u64> {
        if self.model_type() != Some("gemma3_text") || !names.iter().all(|name| self.is_absent(name)) {
            return None;
        }
        let (_, number) = OF_GEMMA3.iter().find(|(of, _)| *of == names)?;
        let name = names.first().copied().unwrap_or_default();
        notes.push(format!(
            "The config has no {name}: {number}, as the class of gemma3_text has it."
        ));
        Some(*number)
    }

    /// The number under any of the names, which must agree.
    pub(super) fn number(&self, names: &[&'static str]) -> Result<Option<u64>, CapacityError> {
        let mut found: Option<(&str, u64)> = None;
        for name in names {
            let Some(value) = self.get(name) else { continue };
            let Some(number) = value
                .as_u64()
                .filter(|number| *number > 0 || *name == "num_nextn_predict_layers")
            else {
                return Err(self.wrong(
                    name,
                    &format!(
                        "`{name}` is {}, not a whole number from 1",
                        shown(&value.to_string())
                    ),
                    "write the number as it is published",
                ));
            };
            self.within(name, number, limit(name))?;
            match found {
                Some((other, before)) if before != number => {
                    return Err(self.wrong(
                        name,
                        &format!("`{other}` is {before} and `{name}` is {number}"),
                        "keep the one that the model is built with",
                    ));
                }
                _ => found = Some((name, number)),
            }
        }
        Ok(found.map(|(_, number)| number))
    }

    /// The number, if a flag would take it too.
    pub(super) fn within(&self, name: &str, number: u64, limit: Limit) -> Result<u64, CapacityError> {
        if number <= limit.most {
            return Ok(number);
        }
        Err(self.wrong(
            name,
            &format!("`{name}` is {number}, which is too large"),
            &format!(
                "write the number as it is published, at most {}, such as {}",
                limit.most, limit.such_as
            ),
        ))
    }

    /// The number under any of the names.
    pub(super) fn demand(&self, names: &[&'static str]) -> Result<u64, CapacityError> {
        let first = names.first().copied().unwrap_or_default();
        self.number(names)?.ok_or_else(|| {
            self.wrong(
                first,
                &format!("the key `{first}` is missing"),
                "add it to the file, or use --layers, --kv-heads, --head-dim and --bytes instead",
            )
        })
    }

    /// `true` or `false`.
    pub(super) fn truth(&self, name: &'static str) -> Result<Option<bool>, CapacityError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(found)) => Ok(Some(*found)),
            Some(other) => Err(self.wrong(
                name,
                &format!(
                    "`{name}` is {}, neither true nor false",
                    shown(&other.to_string())
                ),
                "write true or false",
            )),
        }
    }

    /// The word under any of the names, in the language part or in the whole.
    pub(super) fn word(
        &self,
        names: &[&'static str],
    ) -> Result<Option<(&'static str, &'a str)>, CapacityError> {
        for name in names {
            match self.anywhere(name) {
                None => {}
                Some(Value::String(word)) => return Ok(Some((name, word))),
                Some(other) => {
                    return Err(self.wrong(
                        name,
                        &format!("`{name}` is {}, not a word", shown(&other.to_string())),
                        "write a text in quotes",
                    ));
                }
            }
        }
        Ok(None)
    }
}
