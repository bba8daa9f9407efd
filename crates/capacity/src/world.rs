//! The size of a segment that is to hold a number of tokens of a model.

use crate::ask::Ask;
use crate::error::CapacityError;

/// Bytes that a request of so many tokens of a model of the table takes, without page rounding.
///
/// # Errors
/// If there is no such model, or the bytes do not fit in 64 bits.
pub fn segment_bytes(model: &str, tokens: u64) -> Result<u64, CapacityError> {
    let ask = Ask {
        model: Some(model.to_owned()),
        tokens: Some(tokens),
        page: Some(1),
        chunk: Some(1),
        ..Ask::default()
    };
    let bytes = ask.budget()?.request_bytes.0;
    u64::try_from(bytes).map_err(|_| CapacityError::Overflow {
        name: "segment_bytes".to_owned(),
        formula: format!("{tokens} tokens of {model}"),
    })
}
