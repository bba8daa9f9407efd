//! Metadata of a quantised cache.

use crate::error::CapacityError;
use crate::number::{Limit, number};

/// Which scales stand beside the numbers of a 1-byte cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// None, or none that is counted.
    None,
    /// One for all keys and one for all values of a layer (one for the latent of MLA). It does not grow with tokens: it is
    /// told by itself and is no part of a request.
    Tensor {
        /// Bytes of a scale.
        bytes: u64,
    },
    /// One for the key and one for the value of each token in each layer (one for the latent of MLA), on each rank.
    Token {
        /// Bytes of a scale.
        bytes: u64,
    },
    /// The same for each KV head.
    Head {
        /// Bytes of a scale.
        bytes: u64,
    },
    /// One for each block of elements of a token's key, value or latent.
    Block {
        /// Elements in a block.
        elements: u64,
        /// Bytes of a scale.
        bytes: u64,
    },
}

const FLAG: &str = "--scale";
const MEND: &str =
    "write none, tensor:BYTES, token:BYTES, head:BYTES or block:ELEMENTS:BYTES, such as block:128:4";
/// Of an fp32 scale.
const USUAL: u64 = 4;

impl Scale {
    /// Reads `none`, `tensor[:BYTES]`, `token[:BYTES]`, `head[:BYTES]` or `block:ELEMENTS[:BYTES]`.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Scale, CapacityError> {
        let mut parts = text.split(':');
        let kind = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        let bytes = |at: usize| match rest.get(at) {
            None => Ok(USUAL),
            Some(text) => number(FLAG, text, Limit::SCALE_BYTES),
        };
        match (kind, rest.len()) {
            ("none", 0) => Ok(Scale::None),
            ("tensor", 0 | 1) => Ok(Scale::Tensor { bytes: bytes(0)? }),
            ("token", 0 | 1) => Ok(Scale::Token { bytes: bytes(0)? }),
            ("head", 0 | 1) => Ok(Scale::Head { bytes: bytes(0)? }),
            ("block", 1 | 2) => Ok(Scale::Block {
                elements: number(FLAG, rest.first().copied().unwrap_or_default(), Limit::ELEMENTS)?,
                bytes: bytes(1)?,
            }),
            _ => Err(CapacityError::Number {
                flag: FLAG.to_owned(),
                value: crate::number::shown(text),
                why: "that is no kind of scale".to_owned(),
                mend: MEND.to_owned(),
            }),
        }
    }
}
