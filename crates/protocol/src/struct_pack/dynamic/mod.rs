//! Types read from literals, values of any type, messages that describe themselves.

mod decode;
mod encode;
mod layout;
mod message;
mod plain;
mod scope;
mod types;
mod value;

pub use message::{DynamicMessage, ValueMismatch};
pub use types::{Plain, Type};
pub use value::Value;
