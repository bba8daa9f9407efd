//! Flattened references as a table: one block id a line, or columns with a header, as cache simulators read it.
//!
//! With a header, the column of ids is called `obj_id` (or `object_id`, `id`, `key`, `block`, `hash_id`); `time` (or
//! `timestamp`) may not go back; `obj_size` (or `size`) must be the same in all rows; other columns are passed over. Ids are
//! whole numbers of 64 bits if all of them are, else text. A field may stand in quotes, but has no comma.

use super::intern::{Ids, Names};
use super::{Flaw, References, read};
use crate::Block;

const ID: &[&str] = &["obj_id", "object_id", "id", "key", "block", "hash_id"];
const TIME: &[&str] = &["time", "timestamp"];
const SIZE: &[&str] = &["obj_size", "object_size", "size"];

/// Reads the lines.
pub(super) fn parse(text: &str) -> Result<References, (u64, Flaw)> {
    let table = Table::of(text).map_err(|flaw| (1, flaw))?;
    let mut numbers = Ids::new(text.len());
    let mut numeric = |id: &[u8]| {
        let id = number(id).ok_or(Stop::Text)?;
        Ok(numbers.number(id).ok_or(Flaw::TooMany)?)
    };
    match table.rows(text, &mut numeric) {
        Err((_, Stop::Text)) => {
            let mut names = Names::new();
            let mut text_id = |id| Ok(names.number(id).ok_or(Flaw::TooMany)?);
            table.rows(text, &mut text_id)
        }
        other => other,
    }
    .map_err(|(line, stop)| match stop {
        Stop::Flaw(flaw) => (line, flaw),
        Stop::Text => (line, Flaw::NoId),
    })
}

/// Why reading of rows ended early.
enum Stop {
    Flaw(Flaw),
    /// An id is no number: ids are text.
    Text,
}

impl From<Flaw> for Stop {
    fn from(flaw: Flaw) -> Stop {
        Stop::Flaw(flaw)
    }
}

/// Which column is what.
struct Table {
    header: bool,
    columns: usize,
    id: usize,
    time: Option<usize>,
    size: Option<usize>,
}

impl Table {
    fn of(text: &str) -> Result<Table, Flaw> {
        let first = read::lines(text).next().unwrap_or_default();
        let names: Vec<String> = first
            .split(',')
            .map(|name| words(bare(name.as_bytes())).to_ascii_lowercase())
            .collect();
        let find = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
        match (find(ID), names.len()) {
            (Some(id), columns) => Ok(Table {
                header: true,
                columns,
                id,
                time: find(TIME),
                size: find(SIZE),
            }),
            (None, 1) => Ok(Table {
                header: false,
                columns: 1,
                id: 0,
                time: None,
                size: None,
            }),
            (None, _) => Err(Flaw::NoIdColumn),
        }
    }

    fn rows<'a>(
        &self,
        text: &'a str,
        number: &mut impl FnMut(&'a [u8]) -> Result<(Block, bool), Stop>,
    ) -> Result<References, (u64, Stop)> {
        let mut read = References::default();
        let mut seen = Seen::default();
        // Lines are short: one byte at a time is faster than a search for many.
        let lines = text.as_bytes().split(|byte| *byte == b'\n');
        for (line, at) in lines.zip(1u64..).skip(usize::from(self.header)) {
            let flaw = |flaw| (at, Stop::Flaw(flaw));
            if line.trim_ascii().is_empty() {
                return Err(flaw(Flaw::Blank));
            }
            let mut id = line;
            if self.columns > 1 {
                id = self.row(line, &mut seen).map_err(flaw)?;
            }
            let id = bare(id);
            if id.is_empty() {
                return Err(flaw(Flaw::NoId));
            }
            if self.columns == 1 && id.contains(&b',') {
                return Err(flaw(Flaw::Fields {
                    found: id.split(|byte| *byte == b',').count(),
                    wanted: 1,
                }));
            }
            let (block, new) = number(id).map_err(|stop| (at, stop))?;
            read.blocks += usize::from(new);
            read.references.push(block);
        }
        Ok(read)
    }

    /// The id of a row; its time and its size are checked against those of the rows before.
    fn row<'a>(&self, line: &'a [u8], seen: &mut Seen<'a>) -> Result<&'a [u8], Flaw> {
        let (mut id, mut found): (&[u8], _) = (&[], 0);
        for (column, field) in line.split(|byte| *byte == b',').enumerate() {
            found = column + 1;
            if column == self.id {
                id = field;
            } else if Some(column) == self.time {
                let at = bare(field);
                let Some(now) = Time::of(at) else {
                    return Err(Flaw::Time { found: words(at) });
                };
                if seen.time.parts > now.parts {
                    return Err(Flaw::Backwards {
                        before: words(seen.time.text),
                        at: words(at),
                    });
                }
                seen.time = now;
            } else if Some(column) == self.size {
                let bytes = bare(field);
                if seen.size.is_empty() && number(bytes).is_some() {
                    seen.size = bytes;
                }
                if seen.size != bytes || bytes.is_empty() {
                    let wanted = match seen.size {
                        [] => "a whole number".to_owned(),
                        size => words(size),
                    };
                    return Err(Flaw::Size {
                        found: words(bytes),
                        wanted,
                    });
                }
            }
        }
        match found == self.columns {
            true => Ok(id),
            false => Err(Flaw::Fields {
                found,
                wanted: self.columns,
            }),
        }
    }
}

/// Without blanks and quotes around it.
fn bare(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    match field {
        [b'"', inner @ .., b'"'] => inner,
        _ => field,
    }
}

/// For messages.
fn words(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}

/// A whole number in digits alone.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        number
            .checked_mul(10)?
            .checked_add(u64::from(digit))
            .filter(|_| digit < 10)
    })
}

/// What rows are compared with: the last time, and the size of the first row.
#[derive(Default)]
struct Seen<'a> {
    time: Time<'a>,
    size: &'a [u8],
}

/// A decimal number: as it stands, and to be compared as whole part and fraction without zeros at its end.
#[derive(Clone, Copy, Default)]
struct Time<'a> {
    text: &'a [u8],
    parts: (u64, &'a [u8]),
}

impl<'a> Time<'a> {
    fn of(text: &'a [u8]) -> Option<Time<'a>> {
        if let Some(whole) = number(text) {
            return Some(Time {
                text,
                parts: (whole, &[]),
            });
        }
        let point = text.iter().position(|byte| *byte == b'.')?;
        let mut fraction = &text[point + 1..];
        if !fraction.iter().all(u8::is_ascii_digit) {
            return None;
        }
        while let [rest @ .., b'0'] = fraction {
            fraction = rest;
        }
        Some(Time {
            text,
            parts: (number(&text[..point])?, fraction),
        })
    }
}
