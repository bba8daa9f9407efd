//! Budgets as tables, for people and for machines.

use crate::budget::Budget;
use crate::units::{Elements, Unit, readable_bytes, readable_time};
use moonquake_figures::{Cell, Computed, Table};
use serde_json::Value;

/// A number with its key in JSON, its name for people, and both forms of its value.
struct Figure {
    key: &'static str,
    title: &'static str,
    cell: Cell,
}

fn exact(number: u128) -> Value {
    Cell::Whole(number).value()
}

fn bytes(key: &'static str, title: &'static str, number: u128) -> Figure {
    Figure {
        key,
        title,
        cell: Cell::Shown(readable_bytes(number), exact(number)),
    }
}

fn count(key: &'static str, title: &'static str, number: u128) -> Figure {
    Figure {
        key,
        title,
        cell: Cell::Whole(number),
    }
}

fn time(key: &'static str, title: &'static str, ns: Option<u128>) -> Figure {
    let cell = ns.map_or(Cell::Absent, |ns| Cell::Shown(readable_time(ns), exact(ns)));
    Figure { key, title, cell }
}

fn words(key: &'static str, title: &'static str, text: &str) -> Figure {
    Figure {
        key,
        title,
        cell: Cell::Text(text.to_owned()),
    }
}

/// Every number of a budget, in the order of the output.
fn figures(budget: &Budget) -> Vec<Figure> {
    let mut figures = asked(budget);
    figures.extend(layer(budget));
    figures.extend(sizes(budget));
    figures.extend(times(budget));
    figures
}

/// What was asked.
fn asked(budget: &Budget) -> Vec<Figure> {
    let load = &budget.load;
    vec![
        words("model", "model", &budget.name),
        words("source", "source", &budget.source),
        words("attention", "attention", &budget.kind),
        count("tokens", "tokens of a request", load.tokens.number()),
        count("batch", "requests", load.batch.number()),
        count("page_tokens", "tokens of a page", load.page.number()),
        count("chunk_tokens", "tokens of a chunk", load.chunk.number()),
        count("tp", "ranks", load.tp.number()),
        count("replicas", "replicas", load.replicas.number()),
    ]
}

/// What every layer has; absent where layers differ, or where it does not go with the kind.
fn layer(budget: &Budget) -> Vec<Figure> {
    let layer = &budget.per_layer;
    let count = |key, title, number: Option<u128>| Figure {
        key,
        title,
        cell: number.map_or(Cell::Absent, Cell::Whole),
    };
    let elements = |number: Option<Elements>| number.map(Unit::number);
    let each = layer.bytes_per_token.map(|each| each.0);
    vec![
        count("layers", "layers", layer.layers.map(Unit::number)),
        count("kv_heads", "KV heads", layer.kv_heads.map(Unit::number)),
        count("head_dim", "elements of a head", elements(layer.head_dim)),
        count("v_head_dim", "elements of a value", elements(layer.v_head_dim)),
        count("mla_rank", "elements of the latent", elements(layer.mla_rank)),
        count("rope_dim", "elements of its rotary key", elements(layer.rope_dim)),
        Figure {
            key: "bytes_per_token_layer",
            title: "bytes/token/layer",
            cell: each.map_or(Cell::Absent, |each| {
                Cell::Shown(readable_bytes(each), exact(each))
            }),
        },
    ]
}

/// Bytes, pages and chunks.
fn sizes(budget: &Budget) -> Vec<Figure> {
    vec![
        bytes("bytes_per_token", "bytes/token", budget.bytes_per_token.0),
        bytes("request_bytes", "bytes/request", budget.request_bytes.0),
        bytes("rank_bytes", "bytes/request/rank", budget.rank_bytes.0),
        bytes(
            "physical_bytes",
            "bytes/request on all ranks",
            budget.physical_bytes.0,
        ),
        bytes("batch_bytes", "bytes/batch", budget.batch_bytes.0),
        bytes(
            "batch_physical_bytes",
            "bytes/batch on all ranks",
            budget.batch_physical_bytes.0,
        ),
        bytes("stored_bytes", "bytes/batch with replicas", budget.stored_bytes.0),
        count("pages", "pages/request", budget.pages.0),
        bytes("allocated_bytes", "allocated in pages", budget.allocated_bytes.0),
        bytes("token_bytes", "of it tokens", budget.request_bytes.0),
        bytes("padding_bytes", "of it empty", budget.padding_bytes.0),
        bytes("chunk_bytes", "bytes/chunk", budget.chunk_bytes.0),
        count("full_chunks", "full chunks", budget.full_chunks.0),
        count(
            "partial_chunk_tokens",
            "tokens of the partial chunk",
            budget.partial_chunk_tokens.number(),
        ),
        bytes(
            "partial_chunk_bytes",
            "bytes of the partial chunk",
            budget.partial_chunk_bytes.0,
        ),
        bytes(
            "tensor_scale_bytes",
            "scales of whole tensors",
            budget.tensor_scale_bytes.0,
        ),
    ]
}

/// The bandwidth, and what it means for the bytes.
fn times(budget: &Budget) -> Vec<Figure> {
    let transfer = budget.transfer.as_ref();
    let bandwidth = budget.load.bandwidth;
    vec![
        Figure {
            key: "bandwidth_bytes_per_second",
            title: "bandwidth",
            cell: bandwidth.map_or(Cell::Absent, |rate| {
                Cell::Shown(format!("{}/s", readable_bytes(rate.0)), exact(rate.0))
            }),
        },
        time(
            "transfer_ns",
            "transfer of a request, at least",
            transfer.map(|times| times.request.0),
        ),
        time(
            "batch_transfer_ns",
            "transfer of the batch, at least",
            transfer.map(|times| times.batch.0),
        ),
        time(
            "chunk_transfer_ns",
            "transfer of a chunk, at least",
            transfer.map(|times| times.chunk.0),
        ),
    ]
}

/// Budgets as rows whose keys carry the units.
pub fn rows(name: &str, title: &str, budgets: &[Budget]) -> Table<Computed> {
    let mut table = Table::new(name, title);
    if let Some(first) = budgets.first() {
        for figure in figures(first) {
            table = table.column(figure.key, figure.title);
        }
    }
    for budget in budgets {
        table.row(figures(budget).into_iter().map(|figure| figure.cell));
        for note in &budget.notes {
            if !table.notes.contains(note) {
                table.notes.push(note.clone());
            }
        }
    }
    table
}

/// One budget for machines: its fields, its origin and its notes in one object.
pub fn flat(budget: &Budget) -> Value {
    let mut json = rows("budget", "KV cache", std::slice::from_ref(budget)).json();
    let fields = json["rows"][0].take();
    if let (Value::Object(object), Value::Object(fields)) = (&mut json, fields) {
        object.remove("rows");
        object.extend(fields);
    }
    json
}

/// One budget, a number a line.
pub fn lines(budget: &Budget) -> Table<Computed> {
    let mut table = Table::new("budget", format!("KV cache of {}", budget.name))
        .column("name", "")
        .column("value", "")
        .column("exact", "exact");
    for figure in figures(budget) {
        let exact = match &figure.cell {
            Cell::Shown(_, value) if figure.key.ends_with("_ns") => {
                Cell::Shown(format!("{value} ns"), value.clone())
            }
            Cell::Shown(_, value) if figure.key.ends_with("_second") => {
                Cell::Shown(format!("{value} B/s"), value.clone())
            }
            Cell::Shown(_, value) => Cell::Shown(format!("{} B", plain(value)), value.clone()),
            _ => Cell::Text(String::new()),
        };
        if figure.cell != Cell::Absent {
            table.row([
                Cell::Text(figure.title.to_owned()),
                Cell::Text(figure.cell.words()),
                exact,
            ]);
        }
    }
    table.notes.clone_from(&budget.notes);
    table
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Four budgets beside each other: what people compare.
pub fn comparison(budgets: &[Budget]) -> Table<Computed> {
    let mut table = Table::new("kinds", "The same load under four kinds of attention")
        .column("attention", "attention")
        .column("bytes_per_token", "bytes/token")
        .column("request_bytes", "request")
        .column("rank_bytes", "request/rank")
        .column("physical_bytes", "on all ranks")
        .column("batch_bytes", "batch")
        .column("chunk_bytes", "chunk")
        .column("transfer_ns", "transfer");
    for budget in budgets {
        let size = |number: u128| Cell::Shown(readable_bytes(number), exact(number));
        table.row([
            Cell::Text(budget.kind.clone()),
            size(budget.bytes_per_token.0),
            size(budget.request_bytes.0),
            size(budget.rank_bytes.0),
            size(budget.physical_bytes.0),
            size(budget.batch_bytes.0),
            size(budget.chunk_bytes.0),
            budget.transfer.as_ref().map_or(Cell::Absent, |times| {
                Cell::Shown(readable_time(times.request.0), exact(times.request.0))
            }),
        ]);
        for note in &budget.notes {
            if !table.notes.contains(note) {
                table.notes.push(note.clone());
            }
        }
    }
    table
}

/// Every intermediate of a budget.
pub fn explanation(budget: &Budget) -> Table<Computed> {
    let mut table = Table::new("explain", format!("How the numbers of {} are made", budget.name))
        .column("name", "name")
        .column("formula", "formula")
        .column("value", "value")
        .column("unit", "unit");
    for step in &budget.steps {
        table.row([
            Cell::Text(step.name.clone()),
            Cell::Text(step.formula.clone()),
            Cell::Whole(step.value),
            Cell::Text(step.unit.to_owned()),
        ]);
    }
    table
}
