//! Messages of any type, read by the literal they carry.

use super::decode::Decoder;
use super::encode::Encoder;
use super::{Type, Value};
use crate::struct_pack::message::{Prefix, hex};
use crate::struct_pack::{DecodeError, Literal, Reader, Width, Writer};

/// The value does not have the shape of the type it was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value does not fit the type {literal}")]
pub struct ValueMismatch {
    /// Literal of the type, in hex.
    literal: String,
}

/// A whole message with its type, whatever the type is.
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicMessage {
    /// The type.
    pub ty: Type,
    /// The value.
    pub value: Value,
    /// Whether the literal is written.
    pub literal: Literal,
    /// Width of container lengths. Encoding takes a larger one if the value needs it.
    pub width: Width,
    /// Width of the total length, which only messages with compatible fields have.
    pub total_width: Option<Width>,
    /// The compatible fields, raw: the literal does not spell their types.
    pub compatible: Vec<u8>,
}

impl DynamicMessage {
    /// Reads a message by the literal it carries.
    ///
    /// # Errors
    /// [`DecodeError`]: no literal, a hash that is not the literal's, or a damaged value.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let prefix = Prefix::read(bytes)?;
        let (offset, literal) = prefix.literal.ok_or(DecodeError::NoLiteral)?;
        let ty = Type::parse(literal).map_err(|error| shifted(error, offset))?;
        Self::decode_value(bytes, &prefix, ty)
    }

    /// Reads a message whose type is known; the literal may be absent.
    ///
    /// # Errors
    /// [`DecodeError`]: another hash or literal, or a damaged value.
    pub fn decode_as(bytes: &[u8], ty: &Type) -> Result<Self, DecodeError> {
        let prefix = Prefix::read(bytes)?;
        Self::decode_value(bytes, &prefix, ty.clone())
    }

    fn decode_value(bytes: &[u8], prefix: &Prefix<'_>, ty: Type) -> Result<Self, DecodeError> {
        prefix.check(&ty.tag())?;
        let mut decoder = Decoder::new(Reader::at(bytes, prefix.value_offset, prefix.width));
        let value = decoder.value(&ty, None)?;
        let mut compatible = Vec::new();
        if let Some((_, total)) = prefix.total_bytes {
            // `Prefix::read` has checked that the message is that long.
            let end = usize::try_from(total).unwrap_or(bytes.len());
            let fields = bytes.get(decoder.position()..end).ok_or(DecodeError::Truncated {
                offset: prefix.value_offset,
                what: "the value",
                needed: (decoder.position() - prefix.value_offset) as u64,
                left: end.saturating_sub(prefix.value_offset),
            })?;
            compatible = fields.to_vec();
        }
        Ok(Self {
            ty,
            value,
            literal: if prefix.literal.is_some() {
                Literal::With
            } else {
                Literal::Without
            },
            width: prefix.width,
            total_width: prefix.total_bytes.map(|(width, _)| width),
            compatible,
        })
    }

    /// The message as bytes. Padding is written as zeros.
    ///
    /// # Errors
    /// [`ValueMismatch`] if somebody put a value beside a type it does not have.
    pub fn encode(&self) -> Result<Vec<u8>, ValueMismatch> {
        let mut width = self.width;
        loop {
            let mut value = Vec::new();
            let mut writer = Writer::new(&mut value, width);
            Encoder::new(&mut writer)
                .value(&self.ty, None, &self.value)
                .ok_or_else(|| ValueMismatch {
                    literal: hex(&self.ty.literal()),
                })?;
            let needed = writer.needed_width();
            if needed <= width {
                return Ok(self.assemble(width, &value));
            }
            width = needed;
        }
    }

    fn assemble(&self, width: Width, value: &[u8]) -> Vec<u8> {
        let tag = self.ty.tag();
        let literal: &[u8] = if self.literal == Literal::With {
            &[tag.literal(), &[0]].concat()
        } else {
            &[]
        };
        let metainfo = width.bits() << 3
            | if literal.is_empty() { 0 } else { 0b100 }
            | self.total_width.map_or(0, Width::bits);
        let mut out = tag.hash().to_le_bytes().to_vec();
        if metainfo != 0 {
            out[0] |= 1;
            out.push(metainfo);
        }
        if let Some(total_width) = self.total_width {
            let total_bytes = total_width.bytes();
            let total = out.len() + total_bytes + literal.len() + value.len() + self.compatible.len();
            out.extend_from_slice(&(total as u64).to_le_bytes()[..total_bytes]);
        }
        [out.as_slice(), literal, value, &self.compatible].concat()
    }
}

/// Errors of [`Type::parse`] count from the start of the literal; here they count from the start of the message.
fn shifted(error: DecodeError, by: usize) -> DecodeError {
    match error {
        DecodeError::TypeCode { offset, code } => DecodeError::TypeCode {
            offset: offset + by,
            code,
        },
        DecodeError::TypeShape { offset, why } => DecodeError::TypeShape {
            offset: offset + by,
            why,
        },
        DecodeError::TooDeep { offset, limit } => DecodeError::TooDeep {
            offset: offset + by,
            limit,
        },
        other => other,
    }
}
