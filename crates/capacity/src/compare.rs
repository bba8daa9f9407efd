//! One row each for MHA, GQA, MQA and MLA under the same load.

use crate::ask::{Ask, example, wrong};
use crate::budget::{Budget, Load, budget};
use crate::error::CapacityError;
use crate::shape::{Cache, Group, Keeps, Shape};
use crate::units::{BytesPerSecond, ElementBytes, Elements, Heads, Layers};

/// The four budgets, in that order. Where the flags say nothing, the example is 32 layers with 32 query heads, 8 KV heads
/// for GQA, head size 128, latent 512 + 64, 2 bytes, 8192 tokens, batch 64, page 16, chunk 256, tp 8, 20 GiB/s.
///
/// # Errors
/// If a flag has no meaning here, or a budget is refused.
pub fn compare(ask: &Ask) -> Result<Vec<Budget>, CapacityError> {
    let example = Example::new(ask)?;
    example
        .rows()
        .into_iter()
        .map(|(kind, cache)| example.budget(ask, kind, cache))
        .collect()
}

/// What all four have in common.
struct Example {
    layers: Layers,
    heads: u64,
    kv_heads: u64,
    head_dim: Elements,
    rank: Elements,
    rope_dim: Elements,
    load: Load,
    /// All of it in words.
    said: String,
}

impl Example {
    fn new(ask: &Ask) -> Result<Example, CapacityError> {
        allowed(ask)?;
        let heads = ask.heads.unwrap_or(example::HEADS);
        let kv_heads = ask.kv_heads.unwrap_or(example::KV_HEADS);
        if !heads.is_multiple_of(kv_heads) {
            return Err(wrong(
                &format!("{heads} query heads cannot share {kv_heads} KV heads evenly"),
                "make --heads a multiple of --kv-heads",
            ));
        }
        let head_dim = Elements(ask.head_dim.unwrap_or(example::HEAD_DIM));
        let rank = Elements(ask.mla_rank.unwrap_or(example::MLA_RANK));
        let rope_dim = Elements(ask.rope_dim.unwrap_or(example::ROPE_DIM));
        let layers = Layers(ask.layers.unwrap_or(example::LAYERS));
        let bandwidth = BytesPerSecond(example::BYTES_PER_SECOND);
        let load = ask.load_or(example::BATCH, example::TP, Some(bandwidth));
        let bytes = ask.bytes.unwrap_or(example::BYTES);
        let said = format!(
            "{layers} layers, {heads} query heads, {kv_heads} KV heads for GQA, head size {head_dim}, latent {rank} + \
             {rope_dim}; {bytes} B an element, {} tokens, batch {}, page {}, chunk {}, tp {}.",
            load.tokens, load.batch, load.page, load.chunk, load.tp
        );
        Ok(Example {
            layers,
            heads,
            kv_heads,
            head_dim,
            rank,
            rope_dim,
            load,
            said,
        })
    }

    fn rows(&self) -> [(&'static str, Cache); 4] {
        let plain = |kv_heads: u64| Cache::Heads {
            kv_heads: Heads(kv_heads),
            key_dim: self.head_dim,
            value_dim: self.head_dim,
        };
        let latent = Cache::Latent {
            rank: self.rank,
            rope_dim: self.rope_dim,
        };
        [
            ("MHA", plain(self.heads)),
            ("GQA", plain(self.kv_heads)),
            ("MQA", plain(1)),
            ("MLA", latent),
        ]
    }

    fn budget(&self, ask: &Ask, kind: &str, cache: Cache) -> Result<Budget, CapacityError> {
        let shape = Shape {
            name: kind.to_owned(),
            source: "example".to_owned(),
            groups: vec![Group {
                layers: self.layers,
                cache,
                keeps: Keeps::All,
            }],
            query_heads: Some(Heads(self.heads)),
            bytes: Some(ElementBytes(example::BYTES)),
            notes: vec![self.said.clone()],
        };
        // A row without a rotary key is not affected by its width.
        let with_rope = Ask {
            rope_bytes: ask.rope_bytes.filter(|_| kind == "MLA"),
            ..ask.clone()
        };
        let mut found = budget(&shape, &with_rope.precision(&shape)?, &self.load)?;
        found.kind = kind.to_owned();
        Ok(found)
    }
}

/// Refuses flags that have no meaning beside `--compare`.
fn allowed(ask: &Ask) -> Result<(), CapacityError> {
    if ask.model.is_some() || ask.config.is_some() {
        return Err(wrong(
            "--compare compares kinds of attention, not models",
            "leave out --model and --config, or leave out --compare",
        ));
    }
    if ask.window.is_some() || ask.index_bytes.is_some() {
        return Err(wrong(
            "--compare has no kind with --window or --index-bytes",
            "leave them out, or leave out --compare",
        ));
    }
    Ok(())
}
