//! What can be wrong with a message.

/// Why bytes are not the message they should be. Every variant says at which byte, counted from the start of the
/// message (the body of a frame).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message ends too early.
    #[error("at byte {offset}: {what} takes {needed} bytes, only {left} are left")]
    Truncated {
        /// Where the part begins.
        offset: usize,
        /// The part that does not fit.
        what: &'static str,
        /// Bytes it takes.
        needed: u64,
        /// Bytes that are left.
        left: usize,
    },
    /// A container claims more items than the rest of the message can hold.
    #[error("at byte {offset}: a {what} claims {count} items, but only {left} bytes are left")]
    Count {
        /// Where the items begin.
        offset: usize,
        /// The kind of container.
        what: &'static str,
        /// Items claimed.
        count: u64,
        /// Bytes that are left.
        left: usize,
    },
    /// The hash at the start belongs to another type: the peer is of another release, or the call is another one.
    #[error("at byte 0: the type hash is {found:08x}, this type has {expected:08x}")]
    TypeHash {
        /// Hash of the wanted type.
        expected: u32,
        /// Hash that came, without the flag bit.
        found: u32,
    },
    /// The hash is right and the type literal beside it is not.
    #[error("at byte {offset}: the type literal is {found}, this type has {expected}")]
    TypeLiteral {
        /// Where the literal begins.
        offset: usize,
        /// Literal of the wanted type, in hex.
        expected: String,
        /// Literal that came, in hex, cut after 64 bytes.
        found: String,
    },
    /// A literal has no 00 byte at its end.
    #[error("at byte {offset}: the type literal has no end")]
    LiteralEnd {
        /// Where the literal begins.
        offset: usize,
    },
    /// A literal contains a byte that names no type.
    #[error("at byte {offset}: {code:#04x} names no type")]
    TypeCode {
        /// Where the byte is, counted from the start of the literal.
        offset: usize,
        /// The byte.
        code: u8,
    },
    /// A literal describes a type that cannot exist, such as an empty array or a reference to nothing.
    #[error("at byte {offset} of the type literal: {why}")]
    TypeShape {
        /// Where, counted from the start of the literal.
        offset: usize,
        /// What is impossible about it.
        why: &'static str,
    },
    /// A message that describes itself carries no type literal.
    #[error("at byte 4: there is no type literal, so the type of the message is unknown")]
    NoLiteral,
    /// A byte that says yes or no is neither 0 nor 1.
    #[error("at byte {offset}: {what} is {value}, neither 0 nor 1")]
    Flag {
        /// Where the byte is.
        offset: usize,
        /// What it stands for.
        what: &'static str,
        /// Its value.
        value: u8,
    },
    /// The index of a variant is out of range.
    #[error("at byte {offset}: alternative {index} of a variant that has {alternatives}")]
    Alternative {
        /// Where the index is.
        offset: usize,
        /// The index.
        index: u8,
        /// How many alternatives there are.
        alternatives: usize,
    },
    /// A text is not UTF-8. Upstream takes any bytes; this crate's typed messages hold text.
    #[error("at byte {offset}: a text of {length} bytes is not UTF-8 (byte {valid_up_to} of it is wrong)")]
    NotUtf8 {
        /// Where the text begins.
        offset: usize,
        /// Its length in bytes.
        length: usize,
        /// How many of its bytes are right.
        valid_up_to: usize,
    },
    /// A varint has more digits than its type.
    #[error("at byte {offset}: a varint is longer than its type")]
    Varint {
        /// Where it begins.
        offset: usize,
    },
    /// Types or values lie too deep inside each other.
    #[error("at byte {offset}: nested deeper than {limit} levels")]
    TooDeep {
        /// Where the limit was passed.
        offset: usize,
        /// The limit.
        limit: usize,
    },
    /// Few bytes stand for very many values (items without size); to hold them would take too much memory.
    #[error("at byte {offset}: the bytes so far stand for more than {limit} values")]
    TooManyValues {
        /// Where the limit was passed.
        offset: usize,
        /// The limit.
        limit: usize,
    },
}
