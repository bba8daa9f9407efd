//! Why there is no budget: what happened, where, and what to do next.

use thiserror::Error;

/// An input that no exact budget can be made of.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CapacityError {
    /// A number on the command line that means nothing.
    #[error("{flag} {value}: {why}; {mend}")]
    Number {
        /// The flag.
        flag: String,
        /// As it was written.
        value: String,
        /// What is wrong.
        why: String,
        /// What to write instead.
        mend: String,
    },
    /// Flags that say two things, or too little.
    #[error("{what}; {mend}")]
    Flags {
        /// What is wrong with them.
        what: String,
        /// What to write instead.
        mend: String,
    },
    /// A name that the table of models does not have.
    #[error("no model is called {name:?}{near}; the table has {known}, others are read with --config FILE")]
    NoSuchModel {
        /// The name.
        name: String,
        /// `; did you mean NAME?`, or nothing.
        near: String,
        /// The names of the table.
        known: String,
    },
    /// A file that is no config of a model.
    #[error("{place}: {what}; {mend}")]
    Config {
        /// File and line.
        place: String,
        /// What is wrong.
        what: String,
        /// What to do about it.
        mend: String,
    },
    /// Heads that cannot be laid on the ranks.
    #[error(
        "--tp {tp}: {kv_heads} KV heads go neither evenly nor as whole copies on {tp} ranks; use --tp {mend}"
    )]
    Ranks {
        /// The ranks.
        tp: u64,
        /// The heads.
        kv_heads: u64,
        /// The numbers of ranks that would do.
        mend: String,
    },
    /// A block of scales that the elements are no multiple of.
    #[error("--scale block:{block}: {elements} {what} are no whole number of blocks; {mend}")]
    Blocks {
        /// Elements in a block.
        block: u64,
        /// Elements there are.
        elements: u128,
        /// Whose elements.
        what: &'static str,
        /// What to do about it.
        mend: String,
    },
    /// A number that does not fit.
    #[error("{name} = {formula} does not fit in 128 bits; use smaller numbers")]
    Overflow {
        /// The number.
        name: String,
        /// How it is made.
        formula: String,
    },
}
