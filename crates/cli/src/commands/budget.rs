//! `moonquake budget`.

use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::quantity;
use crate::replace::replace;
use moonquake_capacity::{Ask, Budget, BytesPerSecond, CapacityError, Limit, Scale, compare, number, show};
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Compute how many bytes a KV cache takes, and how long they travel at least.
///
/// A model is named (--model), read from its published config.json (--config), or described by flags: --layers with
/// --kv-heads and --head-dim, or for MLA with --mla-rank and --rope-dim. Every number is a whole one with checked
/// arithmetic; what cannot be computed exactly is refused.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A model of the table; a wrong name lists them
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The config.json of a model as it is published
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Layers that keep a cache
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    layers: Option<String>,
    /// Query heads: they keep nothing, but tell MHA from GQA
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    heads: Option<String>,
    /// Heads of keys and values
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    kv_heads: Option<String>,
    /// Elements of a head
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    head_dim: Option<String>,
    /// Elements of the latent of MLA (`kv_lora_rank`)
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    mla_rank: Option<String>,
    /// Elements of the rotary key of MLA (`qk_rope_head_dim`)
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    rope_dim: Option<String>,
    /// Every layer keeps the last N tokens only
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    window: Option<String>,
    /// Bytes of an element; also beside --model and --config [default: as the model says, else 2]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    bytes: Option<String>,
    /// Bytes of an element of MLA's rotary key [default: --bytes]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    rope_bytes: Option<String>,
    /// Bytes that an indexer keeps of a token in each layer (132: 128 FP8 numbers and one fp32 scale)
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    index_bytes: Option<String>,
    /// Scales of a 1-byte cache: none, tensor:BYTES, token:BYTES, head:BYTES or block:ELEMENTS:BYTES [default: none]
    #[arg(long, value_name = "KIND", allow_hyphen_values = true)]
    scale: Option<String>,
    /// Tokens of a request [default: 8192]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    tokens: Option<String>,
    /// Requests at once [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    batch: Option<String>,
    /// Tokens of a page in a device's memory [default: 16]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    page: Option<String>,
    /// Tokens of a chunk in the store [default: 256]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    chunk: Option<String>,
    /// Ranks of tensor parallelism [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    tp: Option<String>,
    /// Copies in the store [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    replicas: Option<String>,
    /// Of the link, with its unit: 20GiB/s, 25GB/s, 200Gb/s [default: no transfer times]
    #[arg(long, value_name = "RATE", value_parser = quantity::rate, allow_hyphen_values = true)]
    bandwidth: Option<u64>,
    /// One row each for MHA, GQA, MQA and MLA under one load
    #[arg(long)]
    compare: bool,
    /// Show every intermediate: name, formula with its numbers, value, unit
    #[arg(long)]
    explain: bool,
    /// Tables for people, or one JSON object for machines
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Also write a plot of a request's bytes over its tokens into this file, up to --tokens
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  moonquake budget --model llama-3-70b --tokens 32768 --batch 64 --tp 8 --bandwidth 200Gb/s
  moonquake budget --config config.json --bytes 1 --scale token:4 --explain
  moonquake budget --layers 61 --mla-rank 512 --rope-dim 64 --bytes 1 --rope-bytes 2 --scale block:128:4
  moonquake budget --compare --svg kinds.svg

Models by name: llama-2-7b, llama-2-70b, llama-3-8b, llama-3-70b, llama-3.1-405b, mistral-7b-v0.1, mixtral-8x7b, falcon-7b,
qwen2.5-7b, qwen2.5-72b, qwen3-8b, qwen3-32b, qwen3-235b-a22b, deepseek-v2, deepseek-v3, deepseek-r1. The source of each row
is printed with it.

What is counted: bytes_per_token is what all layers keep of one token, each head once (logical). rank_bytes is a request on
one rank: KV heads are split evenly, or copied whole if there are fewer than ranks; MLA keeps its whole latent on each rank.
A layer with a window keeps min(tokens, window) tokens. physical_bytes is rank_bytes on all ranks. transfer_ns is the lower
bound for the logical bytes of one request: bytes / bandwidth, rounded up.

--compare, where flags say nothing else: 32 layers, 32 query heads, 8 KV heads for GQA, head size 128, latent 512 + 64,
2 bytes, 8192 tokens, batch 64, page 16, chunk 256, tp 8, 20GiB/s.

JSON (`--format json`): one object with table, origin (`computed`), notes, and the fields model, source, attention, tokens,
batch, page_tokens, chunk_tokens, tp, replicas, layers, kv_heads, head_dim, v_head_dim, mla_rank, rope_dim,
bytes_per_token_layer (these null where layers differ or the kind has no such number), bytes_per_token, request_bytes,
rank_bytes, physical_bytes, batch_bytes, batch_physical_bytes, stored_bytes, pages, allocated_bytes, token_bytes, padding_bytes, chunk_bytes, full_chunks,
partial_chunk_tokens, partial_chunk_bytes, tensor_scale_bytes, bandwidth_bytes_per_second, transfer_ns,
batch_transfer_ns, chunk_transfer_ns (the last four null without a bandwidth). A number of more than 64 bits is a text of
digits. With --explain also explain, a list of name, formula, value, unit. With --compare the fields stand in rows, a list of
four such objects, each with its own explain.

Exit codes: 0 computed, 64 wrong command line, file or model, 70 a file or standard output cannot be written.";

/// How the result is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Tables for people.
    Table,
    /// One JSON object.
    Json,
}

/// Computes and shows.
pub(crate) fn execute(args: &Args, out: &mut Out) -> Result<Exit, CliError> {
    let config = args.config.as_deref().map(read).transpose()?;
    let refused = |error: CapacityError| CliError::Budget {
        what: error.to_string(),
    };
    let ask = ask(args, config).map_err(refused)?;
    let budgets = if args.compare {
        compare(&ask).map_err(refused)?
    } else {
        vec![ask.budget().map_err(refused)?]
    };
    // What cannot be drawn is refused before anything is printed.
    let svg = args
        .svg
        .as_deref()
        .map(|path| ask.chart(args.compare).map(|chart| (path, chart.svg())));
    let svg = svg.transpose().map_err(refused)?;
    match args.format {
        Format::Json => out.text(&format!("{:#}\n", json(args, &budgets))),
        Format::Table => tables(args, &budgets, out),
    }
    if let Some((path, text)) = svg {
        replace(path, &text).map_err(|source| CliError::Written {
            flag: "--svg",
            path: path.to_owned(),
            source,
        })?;
    }
    Ok(Exit::Ok)
}

/// One object: of one budget its fields, else a row each.
fn json(args: &Args, budgets: &[Budget]) -> Value {
    let steps = |budget: &Budget| show::explanation(budget).json()["rows"].take();
    match budgets {
        [one] if !args.compare => {
            let mut json = show::flat(one);
            if args.explain {
                json["explain"] = steps(one);
            }
            json
        }
        many => {
            let mut json = show::rows("kinds", "KV cache", many).json();
            for (place, budget) in many.iter().enumerate().filter(|_| args.explain) {
                json["rows"][place]["explain"] = steps(budget);
            }
            json
        }
    }
}

fn tables(args: &Args, budgets: &[Budget], out: &mut Out) {
    match budgets {
        [one] if !args.compare => out.text(&show::lines(one).text()),
        many => out.text(&show::comparison(many).text()),
    }
    for budget in budgets.iter().filter(|_| args.explain) {
        out.text(&format!("\n{}", show::explanation(budget).text()));
    }
}

/// The bytes of a config; of a larger file only enough to be refused.
fn read(path: &Path) -> Result<(String, Vec<u8>), CliError> {
    let wrong = |source| CliError::Config {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(8 << 20).read_to_end(&mut bytes))
        .map_err(wrong)?;
    Ok((path.display().to_string(), bytes))
}

fn ask(args: &Args, config: Option<(String, Vec<u8>)>) -> Result<Ask, CapacityError> {
    let of = |flag: &str, text: &Option<String>, limit: Limit| {
        text.as_deref().map(|text| number(flag, text, limit)).transpose()
    };
    Ok(Ask {
        model: args.model.clone(),
        config,
        layers: of("--layers", &args.layers, Limit::LAYERS)?,
        heads: of("--heads", &args.heads, Limit::HEADS)?,
        kv_heads: of("--kv-heads", &args.kv_heads, Limit::HEADS)?,
        head_dim: of("--head-dim", &args.head_dim, Limit::ELEMENTS)?,
        mla_rank: of("--mla-rank", &args.mla_rank, Limit::ELEMENTS)?,
        rope_dim: of("--rope-dim", &args.rope_dim, Limit::ELEMENTS)?,
        window: of("--window", &args.window, Limit::TOKENS)?,
        bytes: of("--bytes", &args.bytes, Limit::BYTES)?,
        rope_bytes: of("--rope-bytes", &args.rope_bytes, Limit::BYTES)?,
        index_bytes: of("--index-bytes", &args.index_bytes, Limit::ELEMENTS)?,
        scale: args.scale.as_deref().map(Scale::parse).transpose()?,
        tokens: of("--tokens", &args.tokens, Limit::TOKENS)?,
        batch: of("--batch", &args.batch, Limit::BATCH)?,
        page: of("--page", &args.page, Limit::PAGE)?,
        chunk: of("--chunk", &args.chunk, Limit::CHUNK)?,
        tp: of("--tp", &args.tp, Limit::RANKS)?,
        replicas: of("--replicas", &args.replicas, Limit::REPLICAS)?,
        bandwidth: args.bandwidth.map(|rate| BytesPerSecond(rate.into())),
    })
}
