//! Files to traces.

use super::{Flaw, MOONCAKE_BLOCK_TOKENS, Ticks, Trace, TraceError, asks, builder, csv, jsonl, ticks};
use crate::Block;
use std::io::BufRead;
use std::path::Path;

/// How a trace file is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Tokens of a full block; 512 in the public traces.
    pub block_tokens: u64,
    /// What to do with timestamps that stand for a whole tick.
    pub ticks: Ticks,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading {
            block_tokens: MOONCAKE_BLOCK_TOKENS,
            ticks: Ticks::Raw,
        }
    }
}

/// References alone, without requests and times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// In their order.
    pub references: Vec<Block>,
    /// How many different blocks there are; their numbers are below it.
    pub blocks: usize,
    /// What was found while reading, a sentence each, for the output.
    pub notes: Vec<String>,
}

/// Reads a trace of requests: JSON lines, of Mooncake's form (see `jsonl.rs`) or with prefixes (see `asks.rs`).
pub fn read(path: &Path, reading: &Reading) -> Result<Trace, TraceError> {
    parse(&path.display().to_string(), &bytes(path)?, reading)
}

/// As [`read`], from memory; `file` is what errors call it.
pub fn parse(file: &str, bytes: &[u8], reading: &Reading) -> Result<Trace, TraceError> {
    let text = text(file, bytes)?;
    let mut trace = builder::empty(reading.block_tokens)?;
    let wrong = |(line, flaw)| at(file, line, flaw);
    if asks::is_form(text) {
        trace = asks::parse(text, reading.block_tokens).map_err(wrong)?;
    } else {
        jsonl::parse(text, &mut trace, true).map_err(wrong)?;
    }
    ticks::apply(&mut trace, reading.ticks);
    Ok(trace)
}

/// Reads references to blocks: JSON lines of requests, or a table of block ids (see `csv.rs`).
///
/// The order of references is all that counts: an id may stand behind different ids, and lengths need not go with the number of
/// ids. How often it is so is said in notes.
pub fn read_references(path: &Path, block_tokens: u64) -> Result<References, TraceError> {
    parse_references(&path.display().to_string(), &bytes(path)?, block_tokens)
}

/// As [`read_references`], from memory; `file` is what errors call it.
pub fn parse_references(file: &str, bytes: &[u8], block_tokens: u64) -> Result<References, TraceError> {
    let text = text(file, bytes)?;
    if asks::is_form(text) {
        let reading = Reading {
            block_tokens,
            ticks: Ticks::Raw,
        };
        let trace = parse(file, bytes, &reading)?;
        return Ok(References {
            blocks: trace.blocks(),
            references: trace.references,
            notes: Vec::new(),
        });
    }
    if !text.starts_with('{') && !text.contains("\"hash_ids\"") {
        let read = csv::parse(text).map_err(|(line, flaw)| at(file, line, flaw))?;
        if read.references.is_empty() {
            return Err(TraceError::Empty {
                file: file.to_owned(),
            });
        }
        return Ok(read);
    }
    let mut trace = builder::empty(block_tokens)?;
    let odd = jsonl::parse(text, &mut trace, false).map_err(|(line, flaw)| at(file, line, flaw))?;
    let mut notes = Vec::new();
    if odd.lengths > 0 {
        notes.push(format!(
            "{} of {} requests have another number of block ids than input_length makes blocks of {block_tokens} tokens, or a \
             length out of range: lengths play no part here.",
            odd.lengths,
            trace.requests.len()
        ));
    }
    if odd.strays > 0 {
        notes.push(format!(
            "{} references stand behind another block than the first one to the same id did: ids name no prefixes here.",
            odd.strays
        ));
    }
    Ok(References {
        blocks: trace.blocks(),
        references: trace.references,
        notes,
    })
}

fn at(file: &str, line: u64, flaw: Flaw) -> TraceError {
    TraceError::Line {
        file: file.to_owned(),
        line,
        flaw,
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, TraceError> {
    std::fs::read(path).map_err(|wrong| TraceError::Unreadable {
        file: path.display().to_string(),
        why: wrong.to_string(),
    })
}

/// Text without the empty lines at its end.
fn text<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, TraceError> {
    let place = |offset: usize| {
        let before = &bytes[..offset];
        let start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64;
        (line, offset - start + 1)
    };
    let text = std::str::from_utf8(bytes).map_err(|wrong| {
        let (line, column) = place(wrong.valid_up_to());
        at(file, line, Flaw::NotUtf8 { column })
    })?;
    if bytes.contains(&0) {
        let (line, column) = place(bytes.iter().position(|byte| *byte == 0).unwrap_or(0));
        return Err(at(file, line, Flaw::Nul { column }));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_ascii_end();
    if text.is_empty() {
        return Err(TraceError::Empty {
            file: file.to_owned(),
        });
    }
    Ok(text)
}

/// The lines, without what ends them. Unlike `str::lines` this looks for many bytes at a time.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.as_bytes();
    let mut start = 0;
    std::iter::from_fn(move || {
        let length = rest.skip_until(b'\n').ok().filter(|length| *length > 0)?;
        let line = &text[start..start + length];
        start += length;
        Some(line.strip_suffix('\n').unwrap_or(line))
    })
}
