//! The serialisation of `struct_pack` (yalantinglibs 0.5.7), both directions, typed and self-describing.
//!
//! A message is a hash of its type, optionally the literal that spells the type, and the value. The typed half
//! ([`StructPack`], [`encode_message`], [`decode_message`]) builds literals from Rust types; the dynamic half
//! ([`DynamicMessage`]) reads the type from the message.

mod dynamic;
mod error;
mod message;
mod traits;
mod wire;

pub use dynamic::{DynamicMessage, Plain, Type, Value, ValueMismatch};
pub use error::DecodeError;
pub use message::{Literal, TypeTag, decode_message, encode_message, peek_type_hash};
pub use traits::StructPack;
pub use wire::{Reader, Width, Writer};

pub(crate) use message::{Prefix, encode_message_into};
