//! What a command line asks for: flags, a file or a name, made into a shape, a precision and a load.

use crate::budget::{Budget, Load, Precision, budget};
use crate::config::{self, Beside};
use crate::error::CapacityError;
use crate::models;
use crate::scale::Scale;
use crate::shape::{Cache, Group, Keeps, Shape};
use crate::units::{
    BytesPerSecond, ElementBytes, Elements, Heads, Layers, Ranks, Replicas, Requests, Tokens,
};

/// The flags. What is not given is `None`.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// `--model`: a name of the table.
    pub model: Option<String>,
    /// `--config`: the path of a file and its bytes.
    pub config: Option<(String, Vec<u8>)>,
    /// `--layers`.
    pub layers: Option<u64>,
    /// `--heads`: query heads.
    pub heads: Option<u64>,
    /// `--kv-heads`.
    pub kv_heads: Option<u64>,
    /// `--head-dim`.
    pub head_dim: Option<u64>,
    /// `--mla-rank`.
    pub mla_rank: Option<u64>,
    /// `--rope-dim`.
    pub rope_dim: Option<u64>,
    /// `--window`: tokens that every layer keeps at most.
    pub window: Option<u64>,
    /// `--bytes` of an element.
    pub bytes: Option<u64>,
    /// `--rope-bytes` of an element.
    pub rope_bytes: Option<u64>,
    /// `--index-bytes` of a token and layer.
    pub index_bytes: Option<u64>,
    /// `--scale`.
    pub scale: Option<Scale>,
    /// `--tokens`.
    pub tokens: Option<u64>,
    /// `--batch`.
    pub batch: Option<u64>,
    /// `--page`.
    pub page: Option<u64>,
    /// `--chunk`.
    pub chunk: Option<u64>,
    /// `--tp`.
    pub tp: Option<u64>,
    /// `--replicas`.
    pub replicas: Option<u64>,
    /// `--bandwidth`.
    pub bandwidth: Option<BytesPerSecond>,
}

/// The example that `--compare` uses where a flag says nothing else, and the loads of a single budget where it says
/// nothing: tokens, page and chunk.
pub(crate) mod example {
    pub(crate) const LAYERS: u64 = 32;
    pub(crate) const HEADS: u64 = 32;
    pub(crate) const KV_HEADS: u64 = 8;
    pub(crate) const HEAD_DIM: u64 = 128;
    pub(crate) const MLA_RANK: u64 = 512;
    pub(crate) const ROPE_DIM: u64 = 64;
    pub(crate) const BYTES: u64 = 2;
    pub(crate) const TOKENS: u64 = 8192;
    pub(crate) const BATCH: u64 = 64;
    pub(crate) const PAGE: u64 = 16;
    pub(crate) const CHUNK: u64 = 256;
    pub(crate) const TP: u64 = 8;
    pub(crate) const BYTES_PER_SECOND: u128 = 20 << 30;
}

impl Ask {
    /// The budget of what is asked.
    ///
    /// # Errors
    /// If the flags, the file or the name are refused, or a number does not fit.
    pub fn budget(&self) -> Result<Budget, CapacityError> {
        let shape = self.shape()?;
        let precision = self.precision(&shape)?;
        budget(&shape, &precision, &self.load())
    }

    /// Flags of the shape that are given, by name.
    fn shape_flags(&self) -> Vec<&'static str> {
        let flags = [
            ("--layers", self.layers),
            ("--heads", self.heads),
            ("--kv-heads", self.kv_heads),
            ("--head-dim", self.head_dim),
            ("--mla-rank", self.mla_rank),
            ("--rope-dim", self.rope_dim),
            ("--window", self.window),
        ];
        flags
            .into_iter()
            .filter_map(|(name, value)| value.map(|_| name))
            .collect()
    }

    pub(crate) fn shape(&self) -> Result<Shape, CapacityError> {
        let flags = self.shape_flags();
        let beside = Beside {
            has_bytes: self.bytes.is_some(),
            index_bytes: self.index_bytes,
        };
        let named = match (&self.model, &self.config) {
            (Some(_), Some(_)) => {
                return Err(wrong(
                    "--model and --config both name a model",
                    "leave one of them out",
                ));
            }
            (Some(name), None) => ("--model", models::model_beside(name, beside)),
            (None, Some((path, text))) => ("--config", config::read(path, text, beside)),
            (None, None) => return self.shape_of_flags(),
        };
        let (by, shape) = named;
        if let Some(flag) = flags.first() {
            return Err(wrong(
                &format!("{by} and {flag} both say what the model is like"),
                &format!("leave out {by}, or {}", flags.join(", ")),
            ));
        }
        let shape = shape?;
        let has_indexer = shape
            .groups
            .iter()
            .any(|group| matches!(group.cache, Cache::IndexKey { .. }));
        if self.index_bytes.is_some() && !has_indexer {
            return Err(wrong(
                "--index-bytes is given and the model has no indexer",
                "leave it out",
            ));
        }
        Ok(shape)
    }

    fn shape_of_flags(&self) -> Result<Shape, CapacityError> {
        let Some(layers) = self.layers else {
            return Err(match self.shape_flags().first() {
                Some(flag) => wrong(
                    &format!("{flag} without --layers"),
                    "add --layers N, or name a model with --model or --config",
                ),
                None => wrong(
                    "there is no model to budget",
                    "name one with --model NAME or --config FILE, or describe it with --layers, --kv-heads, --head-dim, or \
                     see --compare",
                ),
            });
        };
        let cache = match (self.mla_rank, self.rope_dim) {
            (Some(rank), Some(rope)) => {
                if self.kv_heads.is_some() || self.head_dim.is_some() {
                    return Err(wrong(
                        "--mla-rank and --kv-heads or --head-dim describe two kinds of attention",
                        "leave out --kv-heads and --head-dim for MLA: its latent has no heads",
                    ));
                }
                Cache::Latent {
                    rank: Elements(rank),
                    rope_dim: Elements(rope),
                }
            }
            (Some(_), None) => {
                return Err(wrong(
                    "--mla-rank without --rope-dim",
                    "add --rope-dim N, such as 64",
                ));
            }
            (None, Some(_)) => {
                return Err(wrong(
                    "--rope-dim without --mla-rank",
                    "add --mla-rank N, such as 512",
                ));
            }
            (None, None) => self.heads_of_flags()?,
        };
        let mut groups = vec![Group {
            layers: Layers(layers),
            cache,
            keeps: self
                .window
                .map_or(Keeps::All, |window| Keeps::Window(Tokens(window))),
        }];
        if let Some(bytes) = self.index_bytes {
            groups.push(Group {
                layers: Layers(layers),
                cache: Cache::IndexKey { bytes },
                keeps: Keeps::All,
            });
        }
        Ok(Shape {
            name: "flags".to_owned(),
            source: "command line".to_owned(),
            groups,
            query_heads: self.heads.map(Heads),
            bytes: Some(ElementBytes(example::BYTES)),
            notes: if self.bytes.is_none() {
                vec!["--bytes is not given: numbers have 2 bytes, as fp16 and bf16.".to_owned()]
            } else {
                Vec::new()
            },
        })
    }

    fn heads_of_flags(&self) -> Result<Cache, CapacityError> {
        let (Some(kv_heads), Some(head_dim)) = (self.kv_heads, self.head_dim) else {
            let missing = if self.kv_heads.is_none() {
                "--kv-heads"
            } else {
                "--head-dim"
            };
            return Err(wrong(
                &format!("{missing} is missing"),
                "give --layers, --kv-heads and --head-dim, or for MLA --layers, --mla-rank and --rope-dim",
            ));
        };
        if let Some(heads) = self.heads
            && !heads.is_multiple_of(kv_heads)
        {
            return Err(wrong(
                &format!("{heads} query heads cannot share {kv_heads} KV heads evenly"),
                "make --heads a multiple of --kv-heads",
            ));
        }
        Ok(Cache::Heads {
            kv_heads: Heads(kv_heads),
            key_dim: Elements(head_dim),
            value_dim: Elements(head_dim),
        })
    }

    pub(crate) fn precision(&self, shape: &Shape) -> Result<Precision, CapacityError> {
        let bytes = self
            .bytes
            .or(shape.bytes.map(|bytes| bytes.0))
            .unwrap_or(example::BYTES);
        let is_mla = shape
            .groups
            .iter()
            .any(|group| matches!(group.cache, Cache::Latent { .. }));
        if self.rope_bytes.is_some() && !is_mla {
            return Err(wrong(
                "--rope-bytes is given and the model has no rotary key of its own",
                "leave it out: it goes with MLA",
            ));
        }
        let scale = self.scale.unwrap_or(Scale::None);
        if scale != Scale::None && bytes != 1 {
            return Err(wrong(
                &format!("--scale is given and numbers have {bytes} bytes"),
                "add --bytes 1, or leave out --scale: scales belong to a 1-byte cache",
            ));
        }
        Ok(Precision {
            bytes: ElementBytes(bytes),
            rope_bytes: ElementBytes(self.rope_bytes.unwrap_or(bytes)),
            scale,
        })
    }

    /// The load, with the defaults of a single budget.
    fn load(&self) -> Load {
        self.load_or(1, 1, None)
    }

    pub(crate) fn load_or(&self, batch: u64, tp: u64, bandwidth: Option<BytesPerSecond>) -> Load {
        Load {
            tokens: Tokens(self.tokens.unwrap_or(example::TOKENS)),
            batch: Requests(self.batch.unwrap_or(batch)),
            page: Tokens(self.page.unwrap_or(example::PAGE)),
            chunk: Tokens(self.chunk.unwrap_or(example::CHUNK)),
            tp: Ranks(self.tp.unwrap_or(tp)),
            replicas: Replicas(self.replicas.unwrap_or(1)),
            bandwidth: self.bandwidth.or(bandwidth),
        }
    }
}

pub(crate) fn wrong(what: &str, mend: &str) -> CapacityError {
    CapacityError::Flags {
        what: what.to_owned(),
        mend: mend.to_owned(),
    }
}
