//! Whole messages: hash, metainfo, literal, value. Mirrors `struct_pack` `packer.hpp:serialize_metainfo` and
//! `unpacker.hpp:deserialize_metainfo`.

use super::{DecodeError, Reader, StructPack, Width, Writer};
use md5::{Digest, Md5};
use std::fmt::Write as _;

/// Whether a message carries the literal of its type. Released binaries always send it and accept both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Literal {
    /// As the released binaries do.
    #[default]
    With,
    /// Shorter; what a build with `NDEBUG` sends.
    Without,
}

/// Bit 2 of the metainfo byte.
const HAS_LITERAL: u8 = 0b100;
/// How many bytes of a foreign literal an error shows.
const SHOWN_BYTES_MAX: usize = 64;

/// A type as the wire knows it: the bytes that spell it, and their hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeTag {
    literal: Vec<u8>,
    hash: u32,
}

impl TypeTag {
    /// From the bytes that spell the type.
    pub fn new(literal: Vec<u8>) -> Self {
        let digest = Md5::digest(&literal);
        let hash = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) & !1;
        Self { literal, hash }
    }

    /// Of a type of Rust.
    pub fn of<T: StructPack>() -> Self {
        let mut literal = Vec::new();
        T::push_literal(&mut literal);
        Self::new(literal)
    }

    /// The bytes that spell the type, without the closing 00.
    pub fn literal(&self) -> &[u8] {
        &self.literal
    }

    /// The first four bytes of their MD5, read big-endian, with bit 0 cleared.
    pub fn hash(&self) -> u32 {
        self.hash
    }
}

/// What stands before the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix<'a> {
    /// Without the flag bit.
    pub(crate) hash: u32,
    /// `None` if the flag bit is 0.
    pub(crate) metainfo: Option<u8>,
    pub(crate) width: Width,
    /// Only messages with compatible fields have it; it counts the whole message.
    pub(crate) total_bytes: Option<(Width, u64)>,
    pub(crate) literal: Option<(usize, &'a [u8])>,
    pub(crate) value_offset: usize,
}

impl<'a> Prefix<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let hash = u32::decode(&mut reader).map_err(|_| DecodeError::Truncated {
            offset: 0,
            what: "the type hash",
            needed: 4,
            left: bytes.len(),
        })?;
        let mut prefix = Prefix {
            hash: hash & !1,
            metainfo: None,
            width: Width::One,
            total_bytes: None,
            literal: None,
            value_offset: 4,
        };
        if hash & 1 == 0 {
            return Ok(prefix);
        }
        let [metainfo] = reader.array("the metainfo byte")?;
        prefix.metainfo = Some(metainfo);
        prefix.width = Width::from_bits(metainfo >> 3);
        prefix.total_bytes = read_total_bytes(metainfo, &mut reader)?;
        if metainfo & HAS_LITERAL != 0 {
            let offset = reader.position();
            let rest = &bytes[offset..];
            let length = rest
                .iter()
                .position(|&byte| byte == 0)
                .ok_or(DecodeError::LiteralEnd { offset })?;
            prefix.literal = Some((offset, reader.take(length, "the type literal")?));
            reader.take(1, "the end of the type literal")?;
        }
        prefix.value_offset = reader.position();
        Ok(prefix)
    }

    /// Compares hash and literal with the wanted type.
    pub(crate) fn check(&self, tag: &TypeTag) -> Result<(), DecodeError> {
        if self.hash != tag.hash {
            return Err(DecodeError::TypeHash {
                expected: tag.hash,
                found: self.hash,
            });
        }
        match self.literal {
            Some((offset, literal)) if literal != tag.literal => Err(DecodeError::TypeLiteral {
                offset,
                expected: hex(&tag.literal),
                found: hex(&literal[..literal.len().min(SHOWN_BYTES_MAX)]),
            }),
            _ => Ok(()),
        }
    }
}

fn read_total_bytes(metainfo: u8, reader: &mut Reader<'_>) -> Result<Option<(Width, u64)>, DecodeError> {
    let bits = metainfo & 0b11;
    if bits == 0 {
        return Ok(None);
    }
    let width = Width::from_bits(bits);
    let mut wide = [0; 8];
    wide[..width.bytes()].copy_from_slice(reader.take(width.bytes(), "the total length")?);
    let total = u64::from_le_bytes(wide);
    let present = reader.position() + reader.left();
    if total > present as u64 {
        return Err(DecodeError::Truncated {
            offset: 0,
            what: "the message",
            needed: total,
            left: present,
        });
    }
    Ok(Some((width, total)))
}

/// Appends a message: `value` is written with the smallest width that fits its largest container.
pub(crate) fn encode_message_into(
    out: &mut Vec<u8>,
    tag: &TypeTag,
    literal: Literal,
    value: impl Fn(&mut Writer<'_>),
) {
    let start = out.len();
    let mut width = Width::One;
    loop {
        push_prefix(out, tag, literal, width);
        let mut writer = Writer::new(out, width);
        value(&mut writer);
        let needed = writer.needed_width();
        if needed <= width {
            return;
        }
        out.truncate(start);
        width = needed;
    }
}

fn push_prefix(out: &mut Vec<u8>, tag: &TypeTag, literal: Literal, width: Width) {
    let mut metainfo = width.bits() << 3;
    if literal == Literal::With {
        metainfo |= HAS_LITERAL;
    }
    if metainfo == 0 {
        out.extend_from_slice(&tag.hash.to_le_bytes());
        return;
    }
    out.extend_from_slice(&(tag.hash | 1).to_le_bytes());
    out.push(metainfo);
    if literal == Literal::With {
        out.extend_from_slice(&tag.literal);
        out.push(0);
    }
}

/// A value as a whole message.
pub fn encode_message<T: StructPack>(value: &T, literal: Literal) -> Vec<u8> {
    let mut out = Vec::new();
    encode_message_into(&mut out, &TypeTag::of::<T>(), literal, |writer| {
        value.encode(writer)
    });
    out
}

/// A whole message as a value. Bytes after the value are ignored, as upstream does.
///
/// # Errors
/// [`DecodeError`] if the message is of another type or damaged.
pub fn decode_message<T: StructPack>(bytes: &[u8]) -> Result<T, DecodeError> {
    let prefix = Prefix::read(bytes)?;
    prefix.check(&TypeTag::of::<T>())?;
    T::decode(&mut Reader::at(bytes, prefix.value_offset, prefix.width))
}

/// The type hash a message begins with, without the flag bit; `None` if it is shorter than a hash.
pub fn peek_type_hash(bytes: &[u8]) -> Option<u32> {
    let first = bytes.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*first) & !1)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::{TypeTag, decode_message};
    use crate::struct_pack::{DecodeError, DynamicMessage, Type};

    /// A number, preceded by a total length of two bytes that says `total`.
    fn with_total(total: u16) -> Vec<u8> {
        let hash = (TypeTag::of::<u32>().hash() | 1).to_le_bytes();
        [&hash[..], &[0b01], &total.to_le_bytes(), &[1, 2, 3, 4]].concat()
    }

    #[test]
    fn a_total_length_must_be_there_and_hold_the_value() {
        let number = u32::from_le_bytes([1, 2, 3, 4]);
        assert_eq!(decode_message::<u32>(&with_total(11)), Ok(number));
        let beyond = DecodeError::Truncated {
            offset: 0,
            what: "the message",
            needed: 12,
            left: 11,
        };
        assert_eq!(decode_message::<u32>(&with_total(12)), Err(beyond.clone()));

        let ty = Type::parse(&[0x02]).unwrap();
        let whole = DynamicMessage::decode_as(&with_total(11), &ty).unwrap();
        assert_eq!(whole.encode().unwrap(), with_total(11));
        assert_eq!(DynamicMessage::decode_as(&with_total(12), &ty), Err(beyond));
        let inside = DecodeError::Truncated {
            offset: 7,
            what: "the value",
            needed: 4,
            left: 3,
        };
        assert_eq!(DynamicMessage::decode_as(&with_total(10), &ty), Err(inside));
    }
}
