//! Numbers, bools and chars of any width.

use super::Value;
use super::types::Plain;
use crate::struct_pack::{DecodeError, Reader, StructPack, Writer};

pub(super) fn decode_plain(plain: Plain, reader: &mut Reader<'_>) -> Result<Value, DecodeError> {
    Ok(match plain {
        Plain::I32 => Value::I32(i32::decode(reader)?),
        Plain::U32 => Value::U32(u32::decode(reader)?),
        Plain::I64 => Value::I64(i64::decode(reader)?),
        Plain::U64 => Value::U64(u64::decode(reader)?),
        Plain::I8 => Value::I8(i8::decode(reader)?),
        Plain::U8 => Value::U8(u8::decode(reader)?),
        Plain::I16 => Value::I16(i16::decode(reader)?),
        Plain::U16 => Value::U16(u16::decode(reader)?),
        Plain::Bool => Value::Bool(bool::decode(reader)?),
        Plain::Char => Value::Char(u8::decode(reader)?),
        Plain::F32 => Value::F32(f32::decode(reader)?),
        Plain::F64 => Value::F64(f64::decode(reader)?),
        Plain::VarU32 => Value::VarU32(varint(reader, 32)? as u32),
        Plain::VarU64 => Value::VarU64(varint(reader, 64)?),
        Plain::VarI32 => Value::VarI32(zigzag_decode(varint(reader, 32)?) as i32),
        Plain::VarI64 => Value::VarI64(zigzag_decode(varint(reader, 64)?)),
    })
}

/// Seven bits a byte, least significant first; bit 7 says that more follow.
fn varint(reader: &mut Reader<'_>, bits: u32) -> Result<u64, DecodeError> {
    let offset = reader.position();
    let (mut value, mut shift) = (0_u64, 0_u32);
    loop {
        let [byte] = reader.array("a varint")?;
        let digit = u64::from(byte & 0x7f);
        let fits = shift < bits && (bits - shift >= 7 || digit >> (bits - shift) == 0);
        if !fits {
            return Err(DecodeError::Varint { offset });
        }
        value |= digit << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
        shift += 7;
    }
}

fn put_varint(writer: &mut Writer<'_>, mut value: u64) {
    while value >= 0x80 {
        writer.put(&[value as u8 | 0x80]);
        value >>= 7;
    }
    writer.put(&[value as u8]);
}

/// 0, -1, 1, -2, ... are written as 0, 1, 2, 3, ...
fn zigzag_decode(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn zigzag_encode(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Appends a number; `None` if it is of another type.
pub(super) fn encode_plain(plain: Plain, value: &Value, writer: &mut Writer<'_>) -> Option<()> {
    match (plain, value) {
        (Plain::I32, Value::I32(number)) => number.encode(writer),
        (Plain::U32, Value::U32(number)) => number.encode(writer),
        (Plain::I64, Value::I64(number)) => number.encode(writer),
        (Plain::U64, Value::U64(number)) => number.encode(writer),
        (Plain::I8, Value::I8(number)) => number.encode(writer),
        (Plain::U8, Value::U8(number)) | (Plain::Char, Value::Char(number)) => number.encode(writer),
        (Plain::I16, Value::I16(number)) => number.encode(writer),
        (Plain::U16, Value::U16(number)) => number.encode(writer),
        (Plain::Bool, Value::Bool(flag)) => flag.encode(writer),
        (Plain::F32, Value::F32(number)) => number.encode(writer),
        (Plain::F64, Value::F64(number)) => number.encode(writer),
        (Plain::VarU32, Value::VarU32(number)) => put_varint(writer, u64::from(*number)),
        (Plain::VarU64, Value::VarU64(number)) => put_varint(writer, *number),
        // A 32-bit varint stays within 32 bits after the zigzag.
        (Plain::VarI32, Value::VarI32(number)) => put_varint(writer, zigzag_encode(i64::from(*number))),
        (Plain::VarI64, Value::VarI64(number)) => put_varint(writer, zigzag_encode(*number)),
        _ => return None,
    }
    Some(())
}
