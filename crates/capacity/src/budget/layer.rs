//! Layers that keep the same, together.

use super::{Load, Precision};
use crate::error::CapacityError;
use crate::ledger::Ledger;
use crate::rank::{Layout, lay};
use crate::scale::Scale;
use crate::shape::{Cache, Group, Keeps};
use crate::units::{Bytes, Elements, Heads, Layers, Pages, Tokens, Unit};

/// The numbers of a group of layers, all of its layers together.
pub(super) struct Layer {
    /// From 1; 0 if there is one group only.
    part: usize,
    pub(super) bytes_per_token: u128,
    pub(super) request: u128,
    pub(super) rank: u128,
    pub(super) pages: u128,
    pub(super) allocated: u128,
    pub(super) tensor_scales: u128,
    /// How it lies on the ranks, in words.
    pub(super) note: Option<String>,
}

/// One layer and one token, whole and on one rank.
struct Token {
    whole: u128,
    rank: u128,
    /// Vectors that a scale for whole tensors stands for.
    vectors: u128,
    layout: Layout,
}

/// Names of the intermediates of a group.
struct Names {
    part: usize,
}

impl Names {
    fn of(&self, name: &str) -> String {
        match self.part {
            0 => name.to_owned(),
            part => format!("{name}.{part}"),
        }
    }
}

impl Layer {
    pub(super) fn new(
        group: &Group,
        part: usize,
        precision: &Precision,
        load: &Load,
        ledger: &mut Ledger,
    ) -> Result<Layer, CapacityError> {
        let names = Names { part };
        let of = |name: &str| names.of(name);
        let layers = ("layers", group.layers.number());
        ledger.given(&of("layers"), group.layers.number(), Layers::WORD);
        let token = token(group, precision, load, &names, ledger)?;
        let tokens = kept(group, load, &names, ledger);
        let bytes_per_token = ledger.product(
            &of("bytes_per_token"),
            Bytes::WORD,
            &[layers, ("bytes_per_token_layer", token.whole)],
        )?;
        let request = ledger.product(
            &of("request_bytes"),
            Bytes::WORD,
            &[("bytes_per_token", bytes_per_token), tokens],
        )?;
        let rank = ledger.product(
            &of("rank_bytes"),
            Bytes::WORD,
            &[layers, ("rank_bytes_per_token_layer", token.rank), tokens],
        )?;
        let page = ("page", load.page.number());
        let pages = ledger.quotient_up(&of("pages"), Pages::WORD, tokens, page)?;
        let allocated = ledger.product(
            &of("allocated_bytes"),
            Bytes::WORD,
            &[("pages", pages), page, ("bytes_per_token", bytes_per_token)],
        )?;
        let tensor_scales = match precision.scale {
            Scale::Tensor { bytes } => ledger.product(
                &of("tensor_scale_bytes"),
                Bytes::WORD,
                &[
                    layers,
                    ("tensors", token.vectors),
                    ("scale_bytes", u128::from(bytes)),
                ],
            )?,
            _ => 0,
        };
        Ok(Layer {
            part,
            bytes_per_token,
            request,
            rank,
            pages,
            allocated,
            tensor_scales,
            note: note(group, &token, load),
        })
    }

    /// The name of one of its numbers.
    pub(super) fn named(&self, name: &str) -> String {
        Names { part: self.part }.of(name)
    }
}

/// How many tokens the layers keep of a request.
fn kept(group: &Group, load: &Load, names: &Names, ledger: &mut Ledger) -> (&'static str, u128) {
    let tokens = ("tokens", load.tokens.number());
    match group.keeps {
        Keeps::All => tokens,
        Keeps::Window(window) => (
            "kept_tokens",
            ledger.smaller(
                &names.of("kept_tokens"),
                Tokens::WORD,
                tokens,
                ("window", window.number()),
            ),
        ),
    }
}

fn token(
    group: &Group,
    precision: &Precision,
    load: &Load,
    names: &Names,
    ledger: &mut Ledger,
) -> Result<Token, CapacityError> {
    let (whole, at_rank) = (
        names.of("bytes_per_token_layer"),
        names.of("rank_bytes_per_token_layer"),
    );
    match group.cache {
        Cache::Heads {
            kv_heads,
            key_dim,
            value_dim,
        } => {
            let layout = lay(kv_heads, load.tp)?;
            let rank_heads = match layout {
                Layout::Split { heads } => heads,
                Layout::Copied { .. } => Heads(1),
                Layout::Whole => kv_heads,
            };
            let dims = (key_dim, value_dim);
            Ok(Token {
                whole: heads(kv_heads, dims, precision, &whole, ledger)?,
                rank: heads(rank_heads, dims, precision, &at_rank, ledger)?,
                vectors: 2,
                layout,
            })
        }
        Cache::Latent { rank, rope_dim } => {
            let bytes = latent(rank, rope_dim, precision, &whole, ledger)?;
            ledger.given(&at_rank, bytes, Bytes::WORD);
            Ok(Token {
                whole: bytes,
                rank: bytes,
                vectors: 1,
                layout: Layout::Whole,
            })
        }
        Cache::IndexKey { bytes } => {
            let bytes = u128::from(bytes);
            ledger.given(&whole, bytes, Bytes::WORD);
            ledger.given(&at_rank, bytes, Bytes::WORD);
            Ok(Token {
                whole: bytes,
                rank: bytes,
                vectors: 0,
                layout: Layout::Whole,
            })
        }
    }
}

/// Keys and values of that many heads, with their scales.
fn heads(
    heads: Heads,
    (key_dim, value_dim): (Elements, Elements),
    precision: &Precision,
    name: &str,
    ledger: &mut Ledger,
) -> Result<u128, CapacityError> {
    let kv_heads = ("kv_heads", heads.number());
    let bytes = ("bytes", precision.bytes.number());
    let data = |name: &str, ledger: &mut Ledger| {
        if key_dim == value_dim {
            let two = ("keys and values", 2);
            return ledger.product(
                name,
                Bytes::WORD,
                &[two, kv_heads, ("head_dim", key_dim.number()), bytes],
            );
        }
        let both = ledger.sum(
            &format!("{name}.head_elements"),
            Elements::WORD,
            &[("head_dim", key_dim.number()), ("v_head_dim", value_dim.number())],
        )?;
        ledger.product(name, Bytes::WORD, &[kv_heads, ("head_elements", both), bytes])
    };
    let scales = match precision.scale {
        Scale::None | Scale::Tensor { .. } => return data(name, ledger),
        Scale::Token { bytes } => ledger.product(
            &format!("{name}.scales"),
            Bytes::WORD,
            &[("keys and values", 2), ("scale_bytes", u128::from(bytes))],
        )?,
        Scale::Head { bytes } => ledger.product(
            &format!("{name}.scales"),
            Bytes::WORD,
            &[
                ("keys and values", 2),
                kv_heads,
                ("scale_bytes", u128::from(bytes)),
            ],
        )?,
        Scale::Block { elements, bytes } => {
            let blocks = |dim: Elements, what| blocks(heads.number() * dim.number(), elements, what);
            let keys = blocks(key_dim, "elements of a token's key")?;
            let values = blocks(value_dim, "elements of a token's value")?;
            let both = ledger.sum(
                &format!("{name}.blocks"),
                "blocks",
                &[("key_blocks", keys), ("value_blocks", values)],
            )?;
            ledger.product(
                &format!("{name}.scales"),
                Bytes::WORD,
                &[("blocks", both), ("scale_bytes", u128::from(bytes))],
            )?
        }
    };
    let data = data(&format!("{name}.elements"), ledger)?;
    ledger.sum(name, Bytes::WORD, &[("elements", data), ("scales", scales)])
}

/// The latent and the rotary key of MLA, with the scales of what has one byte.
fn latent(
    rank: Elements,
    rope_dim: Elements,
    precision: &Precision,
    name: &str,
    ledger: &mut Ledger,
) -> Result<u128, CapacityError> {
    let latent = ledger.product(
        &format!("{name}.latent"),
        Bytes::WORD,
        &[("mla_rank", rank.number()), ("bytes", precision.bytes.number())],
    )?;
    let rope = ledger.product(
        &format!("{name}.rope"),
        Bytes::WORD,
        &[
            ("rope_dim", rope_dim.number()),
            ("rope_bytes", precision.rope_bytes.number()),
        ],
    )?;
    let scales = match precision.scale {
        Scale::None | Scale::Tensor { .. } => 0,
        Scale::Token { bytes } | Scale::Head { bytes } => u128::from(bytes),
        Scale::Block { elements, bytes } => {
            let (quantised, what) = if precision.rope_bytes.0 == 1 {
                (
                    rank.number() + rope_dim.number(),
                    "elements of a latent and its rotary key (--rope-bytes 2 keeps the latter apart)",
                )
            } else {
                (rank.number(), "elements of a latent")
            };
            let blocks = blocks(quantised, elements, what)?;
            ledger.product(
                &format!("{name}.scales"),
                Bytes::WORD,
                &[("blocks", blocks), ("scale_bytes", u128::from(bytes))],
            )?
        }
    };
    ledger.sum(
        name,
        Bytes::WORD,
        &[("latent", latent), ("rope", rope), ("scales", scales)],
    )
}

/// Whole blocks. A last block that is not full would be a guess about an engine.
fn blocks(elements: u128, block: u64, what: &'static str) -> Result<u128, CapacityError> {
    let by = u128::from(block);
    if by > 0 && elements.is_multiple_of(by) {
        return Ok(elements / by);
    }
    let mend = match common_divisor(elements, by) {
        0 => "choose a block that divides them".to_owned(),
        near => format!("choose a block that divides them, such as {near}"),
    };
    Err(CapacityError::Blocks {
        block,
        elements,
        what,
        mend,
    })
}

fn common_divisor(mut one: u128, mut other: u128) -> u128 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

fn note(group: &Group, token: &Token, load: &Load) -> Option<String> {
    let tp = load.tp;
    match (group.cache, token.layout) {
        (Cache::Heads { kv_heads, .. }, Layout::Copied { ranks }) => Some(format!(
            "{} on {tp} ranks: each head is on {ranks} ranks, so physical_bytes are {ranks} x request_bytes \
             (scales of whole tokens apart).",
            match kv_heads.0 {
                1 => "1 KV head".to_owned(),
                many => format!("{many} KV heads"),
            }
        )),
        (Cache::Latent { .. }, _) => Some(format!(
            "MLA: each of the {tp} ranks holds the whole latent, so physical_bytes are {tp} x request_bytes."
        )),
        (Cache::IndexKey { .. }, _) => Some("Each rank holds the whole index key.".to_owned()),
        _ => None,
    }
}
