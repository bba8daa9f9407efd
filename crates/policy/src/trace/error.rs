//! What can be wrong with a trace.

use thiserror::Error;

/// Why a trace was refused: where, what is wrong, and the mend.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The file could not be read.
    #[error("{file}: cannot be read ({why}); name a trace file that is there and may be read")]
    Unreadable {
        /// Its name.
        file: String,
        /// In the words of the system.
        why: String,
    },
    /// There is nothing in it.
    #[error("{file}: is empty; a trace has a line for each request")]
    Empty {
        /// Its name.
        file: String,
    },
    /// The blocks have no tokens.
    #[error("a block of 0 tokens holds nothing; the public traces have blocks of 512 tokens")]
    NoTokens,
    /// A line is broken.
    #[error("{file}:{line}: {flaw}")]
    Line {
        /// Its name.
        file: String,
        /// Counted from 1.
        line: u64,
        /// What is wrong, and the mend.
        flaw: Flaw,
    },
}

/// What is wrong with a line, and the mend.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    /// Bytes that are no text.
    #[error("is not UTF-8 at byte {column}; save the file as UTF-8 text, uncompressed")]
    NotUtf8 {
        /// Counted from 1.
        column: usize,
    },
    /// A byte that no text has.
    #[error("has a NUL at byte {column}; the file was cut off or written over: fetch it again")]
    Nul {
        /// Counted from 1.
        column: usize,
    },
    /// Nothing in it.
    #[error("is blank; delete it")]
    Blank,
    /// No JSON.
    #[error(
        "is not JSON at byte {column} ({why}); a line is one object with {keys}{}",
        if *table { "; a table of block ids has no times and is read with --blocks-only" } else { "" }
    )]
    NotJson {
        /// Counted from 1.
        column: usize,
        /// In the words of the JSON parser.
        why: String,
        /// That the object has.
        keys: &'static str,
        /// It looks like a table instead.
        table: bool,
    },
    /// JSON, but no request.
    #[error(
        "is no request: {why} (byte {column}); write timestamp in ms, input_length and output_length in tokens and the \
         list hash_ids, once each, in whole numbers of 0 or more, below 2^64"
    )]
    NotARequest {
        /// Counted from 1.
        column: usize,
        /// In the words of the JSON parser.
        why: String,
    },
    /// JSON, but no request of the form with prefixes.
    #[error(
        "is no request: {why} (byte {column}); write arrival_time in ns, namespace, prefix_id, and prefix_tokens and \
         suffix_tokens, once each, in whole numbers of 0 or more, below 2^64"
    )]
    NotAnAsk {
        /// Counted from 1.
        column: usize,
        /// In the words of the JSON parser.
        why: String,
    },
    /// Keys of both forms in one file.
    #[error(
        "mixes two forms: arrival_time with prefix_id, and timestamp with hash_ids; write all lines of a file in one of them"
    )]
    Mixed,
    /// Prefixes and suffixes make more blocks than are made.
    #[error(
        "makes more than {most} blocks, with the lines before it; cut the file into parts, or take larger blocks"
    )]
    TooManyBlocks {
        /// The bound.
        most: u64,
    },
    /// Time went back.
    #[error("time goes back from {before} to {at}; sort the lines by time")]
    Backwards {
        /// The time in front of it.
        before: String,
        /// Its time.
        at: String,
    },
    /// So late that sums of times would not fit.
    #[error("its time, {at}, is more than 146 years after 0; count from the first request")]
    TooLate {
        /// As it stands, with its unit.
        at: String,
    },
    /// A request of nothing.
    #[error("has no tokens, so it has no first token either; leave the line out")]
    NoTokens,
    /// No prompt or answer is that long.
    #[error("{key} {tokens} is more than 2^32 tokens; correct it")]
    TooLong {
        /// Of the line.
        key: &'static str,
        /// Its value.
        tokens: u64,
    },
    /// Tokens and blocks do not fit.
    #[error(
        "has {ids} block ids, but input_length {input_tokens} makes {needed} blocks of {block_tokens} tokens; correct one \
         of them, or name the block size of the trace"
    )]
    Blocks {
        /// In the line.
        ids: usize,
        /// In the line.
        input_tokens: u64,
        /// Rounded up.
        needed: u64,
        /// Of the reading.
        block_tokens: u64,
    },
    /// A block id that is no prefix.
    #[error(
        "block id {id} stands {} here and {} in line {first}; an id names a whole prefix, so what stands before it is \
         always the same: give one of them another id, or replay references alone with --blocks-only",
        behind(.here),
        behind(.there)
    )]
    TwoParents {
        /// The block.
        id: u64,
        /// The one before it in this line.
        here: Option<u64>,
        /// The one before it where it was first.
        there: Option<u64>,
        /// Where it was first.
        first: u64,
    },
    /// More than can be numbered.
    #[error("is one reference too many: a trace has at most 2^32 - 16; cut it into parts")]
    TooMany,
    /// The header of a table does not say where the ids are.
    #[error("names no column of block ids; call it obj_id, or write one id a line and no header")]
    NoIdColumn,
    /// A row is too short or too long.
    #[error("has {found} fields instead of {wanted}; write as many as the first line has")]
    Fields {
        /// In the row.
        found: usize,
        /// In the first line.
        wanted: usize,
    },
    /// An id is empty.
    #[error("has no block id; write one, or delete the line")]
    NoId,
    /// A time is none.
    #[error("time `{found}` is no number of 0 or more in digits; correct it, or leave the column out")]
    Time {
        /// As it stands.
        found: String,
    },
    /// A size is none, or differs.
    #[error(
        "size `{found}` is not that of the other blocks, {wanted}; blocks are counted here, so they have one size: leave \
         the column out if the cache is to count all as one block"
    )]
    Size {
        /// As it stands.
        found: String,
        /// That of the first row.
        wanted: String,
    },
}

fn behind(id: &Option<u64>) -> String {
    match id {
        Some(id) => format!("behind {id}"),
        None => "at the beginning of a chain".to_owned(),
    }
}
