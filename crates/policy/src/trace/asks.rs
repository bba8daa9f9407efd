//! Requests by the prefix that they share: a JSON object a line.
//!
//! `{"arrival_time": 0, "namespace": 0, "prefix_id": 7, "prefix_tokens": 8192, "suffix_tokens": 100}`, the time in nanoseconds
//! from the beginning, lengths in tokens. Namespaces and prefixes are named by whole numbers or texts. Other keys are passed
//! over, but those of the other form are not.

use super::intern::Names;
use super::{Flaw, Trace, builder, read};
use crate::sim::SimError;
use crate::trace::TraceError;
use crate::workload::{Ask, MOST_REFERENCES, trace_of};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Whether the file is in this form, by the keys of its first line.
pub(super) fn is_form(text: &str) -> bool {
    let first = read::lines(text).next().unwrap_or_default();
    has_keys(first) && !first.contains("\"hash_ids\"")
}

/// Whether a line has keys of this form.
pub(super) fn has_keys(line: &str) -> bool {
    [
        "\"arrival_time\"",
        "\"prefix_id\"",
        "\"prefix_tokens\"",
        "\"suffix_tokens\"",
    ]
    .iter()
    .any(|key| line.contains(key))
}

/// Reads the lines and cuts the requests into blocks.
pub(super) fn parse(text: &str, block_tokens: u64) -> Result<Trace, (u64, Flaw)> {
    let (mut namespaces, mut prefixes) = (Names::new(), Names::new());
    let (mut asks, mut blocks) = (Vec::new(), 0_u64);
    for (line, number) in read::lines(text).zip(1..) {
        let wrong = |flaw| (number, flaw);
        let row = row(line).map_err(wrong)?;
        // Before any of them is made.
        blocks += (row.prefix_tokens + row.suffix_tokens).div_ceil(block_tokens);
        if blocks > MOST_REFERENCES {
            return Err(wrong(Flaw::TooManyBlocks {
                most: MOST_REFERENCES,
            }));
        }
        let named = namespaces
            .number(row.namespace)
            .zip(prefixes.number(row.prefix_id));
        let ((namespace, _), (prefix, _)) = named.ok_or_else(|| wrong(Flaw::TooMany))?;
        asks.push(Ask {
            arrival_ns: row.arrival_time,
            namespace: namespace.0,
            prefix_id: prefix.0,
            prefix_tokens: row.prefix_tokens,
            suffix_tokens: row.suffix_tokens,
        });
    }
    trace_of(&asks, block_tokens).map_err(|error| place(error, &asks))
}

/// In which line it is: requests are lines.
fn place(error: SimError, asks: &[Ask]) -> (u64, Flaw) {
    match error {
        SimError::Empty { request } => (request + 1, Flaw::NoTokens),
        SimError::Trace(TraceError::Line { line, flaw, .. }) => (line, flaw),
        _ => (asks.len() as u64, Flaw::TooMany),
    }
}

/// What has a name.
#[derive(Debug, Deserialize, PartialEq, Eq, Hash)]
#[serde(
    untagged,
    expecting = "a name is a whole number of 0 or more, below 2^64, or a text"
)]
enum Name {
    Number(u64),
    Text(String),
}

#[derive(Deserialize)]
struct Row {
    arrival_time: u64,
    namespace: Name,
    prefix_id: Name,
    prefix_tokens: u64,
    suffix_tokens: u64,
    /// Keys of the other form.
    timestamp: Option<IgnoredAny>,
    input_length: Option<IgnoredAny>,
    output_length: Option<IgnoredAny>,
    hash_ids: Option<IgnoredAny>,
}

/// One line.
fn row(line: &str) -> Result<Row, Flaw> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Err(Flaw::Blank);
    }
    if line.starts_with('[') {
        // A list of the values in their order would pass for the object.
        return Err(Flaw::NotAnAsk {
            column: 1,
            why: "a list, expected an object".to_owned(),
        });
    }
    let row: Row = serde_json::from_str(line).map_err(|wrong| {
        let (column, why) = (wrong.column(), wrong.to_string());
        let why = why.split(" at line ").next().unwrap_or_default().to_owned();
        match wrong.is_data() {
            true if !has_keys(line) && line.contains("\"hash_ids\"") => Flaw::Mixed,
            true => Flaw::NotAnAsk { column, why },
            false => Flaw::NotJson {
                column,
                why,
                keys: "arrival_time, namespace, prefix_id, prefix_tokens and suffix_tokens",
                table: false,
            },
        }
    })?;
    let others = [
        &row.timestamp,
        &row.input_length,
        &row.output_length,
        &row.hash_ids,
    ];
    if others.iter().any(|other| other.is_some()) {
        return Err(Flaw::Mixed);
    }
    if row.arrival_time > builder::LATEST_NS {
        return Err(Flaw::TooLate {
            at: format!("{} ns", row.arrival_time),
        });
    }
    let sum = row.prefix_tokens.saturating_add(row.suffix_tokens);
    for (key, tokens) in [
        ("prefix_tokens", row.prefix_tokens),
        ("suffix_tokens", row.suffix_tokens),
        ("prefix_tokens and suffix_tokens", sum),
    ] {
        if tokens > u64::from(u32::MAX) {
            return Err(Flaw::TooLong { key, tokens });
        }
    }
    Ok(row)
}
