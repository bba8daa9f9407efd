//! The public Mooncake format: a JSON object a line.
//!
//! `{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}`, timestamp in milliseconds, lengths
//! in tokens, ids of blocks of 512 tokens. An id names a block with all that stands before it. Other keys are passed
//! over, but `arrival_time` is of the other form (`asks.rs`).

use super::intern::Ids;
use super::{Flaw, Trace, builder};
use crate::Block;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// What is no flaw where references alone count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Odd {
    /// References behind another block than the first one to the same id was.
    pub(super) strays: u64,
    /// Requests whose lengths do not go with the number of their ids.
    pub(super) lengths: u64,
}

/// Reads the lines. `chains` says whether lengths and ids must go together and a block may have one parent only; else what
/// does not is counted.
pub(super) fn parse(text: &str, trace: &mut Trace, chains: bool) -> Result<Odd, (u64, Flaw)> {
    let mut numbers = Ids::new(text.len());
    let mut ids = Vec::new();
    let mut odd = Odd::default();
    for (line, number) in super::read::lines(text).zip(1..) {
        let wrong = |flaw| (number, flaw);
        if line.trim_ascii().is_empty() {
            return Err(wrong(Flaw::Blank));
        }
        ids.clear();
        let row = row(line, &mut ids).map_err(wrong)?;
        let at = row.timestamp.checked_mul(1_000_000);
        let at = at.ok_or_else(|| wrong(late(row.timestamp)))?;
        match builder::fits(trace, row.input_length, row.output_length, ids.len()) {
            Err(flaw) if chains => return Err(wrong(flaw)),
            fits => odd.lengths += u64::from(fits.is_err()),
        }
        builder::add(trace, at, row.input_length, row.output_length, ids.len())
            .map_err(|flaw| wrong(in_milliseconds(flaw, trace, row.timestamp)))?;
        let mut parent = None;
        for (place, &id) in ids.iter().enumerate() {
            let (block, new) = numbers.number(id).ok_or_else(|| wrong(Flaw::TooMany))?;
            if new {
                trace.parents.push(parent);
            } else if trace.parents[block.index()] != parent {
                if chains {
                    let here = place.checked_sub(1).map(|before| ids[before]);
                    return Err(wrong(two_parents(text, trace, block, id, here, number)));
                }
                odd.strays += 1;
            }
            trace.references.push(block);
            parent = Some(block);
        }
    }
    Ok(odd)
}

fn late(timestamp: u64) -> Flaw {
    Flaw::TooLate {
        at: format!("{timestamp} ms"),
    }
}

fn in_milliseconds(flaw: Flaw, trace: &Trace, timestamp: u64) -> Flaw {
    match (flaw, trace.requests.last()) {
        (Flaw::Backwards { .. }, Some(last)) => Flaw::Backwards {
            before: format!("{} ms", last.arrival_ns / 1_000_000),
            at: format!("{timestamp} ms"),
        },
        (Flaw::TooLate { .. }, _) => late(timestamp),
        (flaw, _) => flaw,
    }
}

/// Finds out where the block was first, and behind which id.
fn two_parents(text: &str, trace: &Trace, block: Block, id: u64, here: Option<u64>, line: u64) -> Flaw {
    let place = trace
        .references
        .iter()
        .position(|other| *other == block)
        .unwrap_or(0);
    let request = trace
        .requests
        .partition_point(|request| request.first as usize <= place);
    let first = request.max(1) as u64;
    let mut ids = Vec::new();
    let there = super::read::lines(text)
        .nth(first as usize - 1)
        .and_then(|line| row(line, &mut ids).ok())
        .and_then(|_| ids.iter().position(|other| *other == id))
        .and_then(|place| place.checked_sub(1))
        .map(|before| ids[before]);
    Flaw::TwoParents {
        id,
        here,
        there,
        first: first.min(line),
    }
}

struct Row {
    timestamp: u64,
    input_length: u64,
    output_length: u64,
}

/// One line; its block ids go into `ids`.
fn row(line: &str, ids: &mut Vec<u64>) -> Result<Row, Flaw> {
    let mut json = serde_json::Deserializer::from_str(line);
    let row = json
        .deserialize_map(Line { ids })
        .and_then(|row| json.end().map(|()| row));
    row.map_err(|wrong| {
        let column = wrong.column();
        let why = wrong.to_string();
        let why = why.split(" at line ").next().unwrap_or_default().to_owned();
        let table = line
            .trim_ascii_start()
            .starts_with(|first: char| first.is_ascii_alphanumeric());
        if wrong.is_data() && super::asks::has_keys(line) {
            Flaw::Mixed
        } else if wrong.is_data() && !table {
            Flaw::NotARequest { column, why }
        } else {
            Flaw::NotJson {
                column,
                why,
                keys: "timestamp, input_length, output_length and hash_ids",
                table,
            }
        }
    })
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Timestamp,
    InputLength,
    OutputLength,
    HashIds,
    /// Of the other form.
    ArrivalTime,
    #[serde(other)]
    Other,
}

struct Line<'a> {
    ids: &'a mut Vec<u64>,
}

impl<'de> Visitor<'de> for Line<'_> {
    type Value = Row;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Row, M::Error> {
        let (mut timestamp, mut input, mut output, mut hash_ids) = (None, None, None, None);
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Timestamp => once(&mut timestamp, map.next_value()?, "timestamp")?,
                Key::InputLength => once(&mut input, map.next_value()?, "input_length")?,
                Key::OutputLength => once(&mut output, map.next_value()?, "output_length")?,
                Key::HashIds => {
                    map.next_value_seed(Ints { ids: &mut *self.ids })?;
                    once(&mut hash_ids, (), "hash_ids")?;
                }
                Key::ArrivalTime => return Err(M::Error::custom("both forms in one line")),
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        hash_ids.ok_or_else(|| M::Error::missing_field("hash_ids"))?;
        Ok(Row {
            timestamp: timestamp.ok_or_else(|| M::Error::missing_field("timestamp"))?,
            input_length: input.ok_or_else(|| M::Error::missing_field("input_length"))?,
            output_length: output.ok_or_else(|| M::Error::missing_field("output_length"))?,
        })
    }
}

fn once<T, E: Error>(place: &mut Option<T>, value: T, key: &'static str) -> Result<(), E> {
    match place.replace(value) {
        Some(_) => Err(E::duplicate_field(key)),
        None => Ok(()),
    }
}

struct Ints<'a> {
    ids: &'a mut Vec<u64>,
}

impl<'de> DeserializeSeed<'de> for Ints<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Ints<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of block ids")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<(), S::Error> {
        while let Some(id) = seq.next_element()? {
            self.ids.push(id);
        }
        Ok(())
    }
}
