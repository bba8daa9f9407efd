//! The budget: from the shape of a cache to bytes and nanoseconds.

mod alike;
mod layer;

use crate::error::CapacityError;
use crate::ledger::{Ledger, Step};
use crate::scale::Scale;
use crate::shape::Shape;
use crate::units::{
    Bytes, BytesPerSecond, Chunks, ElementBytes, Nanoseconds, Pages, Ranks, Replicas, Requests, Tokens, Unit,
};
pub use alike::PerLayer;
use layer::Layer;

/// How the numbers of a cache are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Bytes of an element of keys, values and latents.
    pub bytes: ElementBytes,
    /// Bytes of an element of the rotary key of MLA.
    pub rope_bytes: ElementBytes,
    /// Metadata beside a 1-byte cache.
    pub scale: Scale,
}

/// What the cache is asked to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Of one request.
    pub tokens: Tokens,
    /// Requests at once.
    pub batch: Requests,
    /// Tokens of a page in a device's memory.
    pub page: Tokens,
    /// Tokens of a chunk in the store.
    pub chunk: Tokens,
    /// Ranks of tensor parallelism.
    pub tp: Ranks,
    /// Copies in the store.
    pub replicas: Replicas,
    /// Of the one link that everything crosses.
    pub bandwidth: Option<BytesPerSecond>,
}

/// Every number of a budget. Bytes are those of all layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How the model is called.
    pub name: String,
    /// Where its numbers come from.
    pub source: String,
    /// MHA, GQA, MQA or MLA, and what else there is.
    pub kind: String,
    /// What all layers have in common.
    pub per_layer: PerLayer,
    /// What was asked.
    pub load: Load,
    /// One token, logically: each head once.
    pub bytes_per_token: Bytes,
    /// The tokens of one request, logically.
    pub request_bytes: Bytes,
    /// One request on one rank.
    pub rank_bytes: Bytes,
    /// One request on all ranks, copies counted.
    pub physical_bytes: Bytes,
    /// All requests, logically.
    pub batch_bytes: Bytes,
    /// All requests on all ranks.
    pub batch_physical_bytes: Bytes,
    /// All requests in the store, with its copies.
    pub stored_bytes: Bytes,
    /// Pages of one request: of the layers that need most.
    pub pages: Pages,
    /// One request in whole pages, logically.
    pub allocated_bytes: Bytes,
    /// Allocated and not used.
    pub padding_bytes: Bytes,
    /// One full chunk, all layers, logically.
    pub chunk_bytes: Bytes,
    /// Full chunks of one request.
    pub full_chunks: Chunks,
    /// Tokens of the last chunk if it is not full, else 0.
    pub partial_chunk_tokens: Tokens,
    /// Its bytes.
    pub partial_chunk_bytes: Bytes,
    /// Scales for whole tensors on one rank; no part of the other numbers.
    pub tensor_scale_bytes: Bytes,
    /// Lower bounds, where a bandwidth is given.
    pub transfer: Option<Transfer>,
    /// Every intermediate.
    pub steps: Vec<Step>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// How long bytes travel at least: nothing but their number over the bandwidth, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// `request_bytes`.
    pub request: Nanoseconds,
    /// `batch_bytes`.
    pub batch: Nanoseconds,
    /// `chunk_bytes`.
    pub chunk: Nanoseconds,
}

/// Computes a budget.
///
/// # Errors
/// If heads do not go onto the ranks, blocks of scales do not fit, or a number does not fit in 128 bits.
pub fn budget(shape: &Shape, precision: &Precision, load: &Load) -> Result<Budget, CapacityError> {
    let mut ledger = Ledger::default();
    given(&mut ledger, load);
    let layers = shape
        .groups
        .iter()
        .enumerate()
        .map(|(index, group)| {
            let part = if shape.groups.len() == 1 { 0 } else { index + 1 };
            Layer::new(group, part, precision, load, &mut ledger)
        })
        .collect::<Result<Vec<Layer>, CapacityError>>()?;
    let request = Request::new(&layers, &mut ledger)?;
    let chunks = chunks(request.bytes_per_token, load, &mut ledger)?;
    let total = totals(&request, load, &mut ledger)?;
    let transfer = match load.bandwidth {
        None => None,
        Some(bandwidth) => Some(Transfer {
            request: travel(
                &mut ledger,
                "transfer_ns",
                ("request_bytes", request.bytes),
                bandwidth,
            )?,
            batch: travel(
                &mut ledger,
                "batch_transfer_ns",
                ("batch_bytes", total.batch),
                bandwidth,
            )?,
            chunk: travel(
                &mut ledger,
                "chunk_transfer_ns",
                ("chunk_bytes", chunks.bytes),
                bandwidth,
            )?,
        }),
    };
    Ok(Budget {
        name: shape.name.clone(),
        source: shape.source.clone(),
        kind: shape.kind(),
        per_layer: PerLayer::new(shape, request.bytes_per_token),
        load: *load,
        bytes_per_token: Bytes(request.bytes_per_token),
        request_bytes: Bytes(request.bytes),
        rank_bytes: Bytes(request.rank),
        physical_bytes: Bytes(total.physical),
        batch_bytes: Bytes(total.batch),
        batch_physical_bytes: Bytes(total.batch_physical),
        stored_bytes: Bytes(total.stored),
        pages: Pages(request.pages),
        allocated_bytes: Bytes(request.allocated),
        padding_bytes: Bytes(request.allocated.saturating_sub(request.bytes)),
        chunk_bytes: Bytes(chunks.bytes),
        full_chunks: Chunks(chunks.full),
        partial_chunk_tokens: Tokens(u64::try_from(chunks.rest).unwrap_or(u64::MAX)),
        partial_chunk_bytes: Bytes(chunks.rest_bytes),
        tensor_scale_bytes: Bytes(request.tensor_scales),
        transfer,
        steps: ledger.steps,
        notes: notes(shape, precision, load, &layers),
    })
}

fn given(ledger: &mut Ledger, load: &Load) {
    ledger.given("tokens", load.tokens.number(), Tokens::WORD);
    ledger.given("batch", load.batch.number(), Requests::WORD);
    ledger.given("page", load.page.number(), Tokens::WORD);
    ledger.given("chunk", load.chunk.number(), Tokens::WORD);
    ledger.given("tp", load.tp.number(), Ranks::WORD);
    ledger.given("replicas", load.replicas.number(), Replicas::WORD);
    if let Some(bandwidth) = load.bandwidth {
        ledger.given("bandwidth", bandwidth.number(), BytesPerSecond::WORD);
    }
}

/// One request, over all layers.
struct Request {
    bytes_per_token: u128,
    bytes: u128,
    rank: u128,
    pages: u128,
    allocated: u128,
    tensor_scales: u128,
}

impl Request {
    fn new(layers: &[Layer], ledger: &mut Ledger) -> Result<Request, CapacityError> {
        let mut sum = |name: &str, of: fn(&Layer) -> u128| {
            let terms: Vec<(String, u128)> = layers
                .iter()
                .map(|layer| (layer.named(name), of(layer)))
                .collect();
            match terms.as_slice() {
                [(_, only)] => Ok(*only),
                _ => {
                    let terms: Vec<(&str, u128)> =
                        terms.iter().map(|(name, of)| (name.as_str(), *of)).collect();
                    ledger.sum(name, Bytes::WORD, &terms)
                }
            }
        };
        let request = Request {
            bytes_per_token: sum("bytes_per_token", |layer| layer.bytes_per_token)?,
            bytes: sum("request_bytes", |layer| layer.request)?,
            rank: sum("rank_bytes", |layer| layer.rank)?,
            allocated: sum("allocated_bytes", |layer| layer.allocated)?,
            tensor_scales: sum("tensor_scale_bytes", |layer| layer.tensor_scales)?,
            pages: layers.iter().map(|layer| layer.pages).max().unwrap_or(0),
        };
        Ok(request)
    }
}

struct Totals {
    physical: u128,
    batch: u128,
    batch_physical: u128,
    stored: u128,
}

fn totals(request: &Request, load: &Load, ledger: &mut Ledger) -> Result<Totals, CapacityError> {
    let (batch, tp) = (("batch", load.batch.number()), ("tp", load.tp.number()));
    let physical = ledger.product("physical_bytes", Bytes::WORD, &[("rank_bytes", request.rank), tp])?;
    let all = ledger.product(
        "batch_bytes",
        Bytes::WORD,
        &[("request_bytes", request.bytes), batch],
    )?;
    let batch_physical = ledger.product(
        "batch_physical_bytes",
        Bytes::WORD,
        &[("physical_bytes", physical), batch],
    )?;
    let replicas = ("replicas", load.replicas.number());
    let stored = ledger.product("stored_bytes", Bytes::WORD, &[("batch_bytes", all), replicas])?;
    Ok(Totals {
        physical,
        batch: all,
        batch_physical,
        stored,
    })
}

struct ChunkBytes {
    bytes: u128,
    full: u128,
    rest: u128,
    rest_bytes: u128,
}

fn chunks(per_token: u128, load: &Load, ledger: &mut Ledger) -> Result<ChunkBytes, CapacityError> {
    let chunk = ("chunk", load.chunk.number());
    let tokens = ("tokens", load.tokens.number());
    let per_token = ("bytes_per_token", per_token);
    let bytes = ledger.product("chunk_bytes", Bytes::WORD, &[per_token, chunk])?;
    let full = ledger.quotient_down("full_chunks", Chunks::WORD, tokens, chunk)?;
    let rest = ledger.rest("partial_chunk_tokens", Tokens::WORD, tokens, chunk)?;
    let rest_bytes = ledger.product(
        "partial_chunk_bytes",
        Bytes::WORD,
        &[per_token, ("partial_chunk_tokens", rest)],
    )?;
    Ok(ChunkBytes {
        bytes,
        full,
        rest,
        rest_bytes,
    })
}

/// The time that bytes need at least.
fn travel(
    ledger: &mut Ledger,
    name: &str,
    (what, bytes): (&str, u128),
    bandwidth: BytesPerSecond,
) -> Result<Nanoseconds, CapacityError> {
    const SECOND: u128 = 1_000_000_000;
    let product = format!("{what} x 1e9");
    let byte_ns = bytes.checked_mul(SECOND).ok_or_else(|| CapacityError::Overflow {
        name: name.to_owned(),
        formula: format!("{what} {bytes} x {SECOND} ns / bandwidth {bandwidth}"),
    })?;
    let by = ("bandwidth", bandwidth.number());
    ledger
        .quotient_up(name, Nanoseconds::WORD, (&product, byte_ns), by)
        .map(Nanoseconds)
}

fn notes(shape: &Shape, precision: &Precision, load: &Load, layers: &[Layer]) -> Vec<String> {
    let mut notes = shape.notes.clone();
    if !shape.is_linear() {
        notes.push(
            "A layer with a window keeps the last min(tokens, window) tokens, and that is what is counted; bytes_per_token \
             and chunks are of a token that every layer still keeps. That is a floor: vLLM sets aside window - 1 + the tokens of \
             one step (max_num_batched_tokens) and one page more, or all tokens where its hybrid KV cache manager is off."
                .to_owned(),
        );
    }
    if load.tp.0 > 1 {
        notes.extend(layers.iter().filter_map(|layer| layer.note.clone()));
    }
    if let Some(heads) = shape.query_heads
        && !heads.0.is_multiple_of(load.tp.0)
    {
        notes.push(format!(
            "{heads} query heads do not go evenly on {} ranks: engines may refuse to serve it so.",
            load.tp
        ));
    }
    match precision.scale {
        Scale::None if precision.bytes.0 == 1 => notes.push(
            "No scales are counted; say which there are with --scale tensor, token, head or block:ELEMENTS:BYTES."
                .to_owned(),
        ),
        Scale::Tensor { .. } => notes.push(
            "tensor_scale_bytes are the scales of whole tensors on one rank: they do not grow with tokens and are in no \
             other number."
                .to_owned(),
        ),
        _ => {}
    }
    if load.bandwidth.is_some() {
        notes.push(
            "Times are lower bounds: the logical bytes over the bandwidth, rounded up to a nanosecond; no latency, no header, \
             nobody else on the link."
                .to_owned(),
        );
    }
    notes.dedup();
    notes
}
