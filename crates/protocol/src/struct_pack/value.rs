//! Values of any type.

use super::types::{DEPTH_MAX, Plain};
use super::{DecodeError, Reader, StructPack, Type, Writer};

/// Values a message may hold per byte of it. Only types made of nothing but structs in structs exceed it.
const VALUES_PER_BYTE_MAX: usize = 4;
/// Values any message may hold, however short.
const VALUES_BASE: usize = 64;

/// A value of some [`Type`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Also a plain enum.
    I32(i32),
    /// 32 bits, unsigned.
    U32(u32),
    /// 64 bits, signed.
    I64(i64),
    /// 64 bits, unsigned.
    U64(u64),
    /// 8 bits, signed.
    I8(i8),
    /// 8 bits, unsigned.
    U8(u8),
    /// 16 bits, signed.
    I16(i16),
    /// 16 bits, unsigned.
    U16(u16),
    /// A bool.
    Bool(bool),
    /// A char.
    Char(u8),
    /// IEEE, 32 bits.
    F32(f32),
    /// IEEE, 64 bits.
    F64(f64),
    /// A varint, signed.
    VarI32(i32),
    /// A varint, signed.
    VarI64(i64),
    /// A varint, unsigned.
    VarU32(u32),
    /// A varint, unsigned.
    VarU64(u64),
    /// Any bytes.
    String(Vec<u8>),
    /// Items of an array, vector or set; fields of a struct.
    List(Vec<Value>),
    /// Entries of a map in the order of the wire.
    Map(Vec<(Value, Value)>),
    /// An optional.
    Optional(Option<Box<Value>>),
    /// Index and value of a variant.
    Variant(u8, Box<Value>),
    /// An expected.
    Expected(Result<Box<Value>, Box<Value>>),
    /// Nothing.
    Void,
}

/// The types around the one at hand, for back-references.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    ty: &'a Type,
    outer: Option<&'a Scope<'a>>,
}

/// How many more values may be made. Items without size would otherwise let few bytes fill the memory.
pub(crate) struct Budget {
    left: usize,
    limit: usize,
    message_bytes: usize,
}

impl Budget {
    pub(crate) fn for_message(bytes: &[u8]) -> Self {
        let limit = bytes
            .len()
            .saturating_mul(VALUES_PER_BYTE_MAX)
            .saturating_add(VALUES_BASE);
        Self {
            left: limit,
            limit,
            message_bytes: bytes.len(),
        }
    }

    fn spend(&mut self, offset: usize) -> Result<(), DecodeError> {
        let error = DecodeError::TooManyValues {
            offset,
            length: self.message_bytes,
            limit: self.limit,
        };
        self.left = self.left.checked_sub(1).ok_or(error)?;
        Ok(())
    }
}

/// Makes values out of bytes.
pub(crate) struct Decoder<'a> {
    pub(crate) reader: Reader<'a>,
    pub(crate) budget: Budget,
}

impl Decoder<'_> {
    pub(crate) fn value(
        &mut self,
        ty: &Type,
        outer: Option<&Scope<'_>>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        let offset = self.reader.position();
        if depth >= DEPTH_MAX {
            return Err(DecodeError::TooDeep {
                offset,
                limit: DEPTH_MAX,
            });
        }
        self.budget.spend(offset)?;
        let scope = Scope { ty, outer };
        let (inside, depth) = (Some(&scope), depth + 1);
        Ok(match ty {
            Type::Plain(plain) => plain_value(*plain, &mut self.reader)?,
            Type::String => {
                let length = self.reader.count("text", 1)?;
                Value::String(self.reader.take(length, "a text")?.to_vec())
            }
            Type::Array(item, length) => self.items(item, *length, inside, depth)?,
            Type::Vector(item) | Type::Set(item) => {
                let count = self.count(bytes_min(item))?;
                self.items(item, count, inside, depth)?
            }
            Type::Map(key, value) => {
                let count = self.count(bytes_min(key) + bytes_min(value))?;
                let paddings = Paddings::of_entry(key, value);
                let mut entries = short_list(count);
                for _ in 0..count {
                    let key = self.value(key, inside, depth)?;
                    self.skip(paddings.before[1])?;
                    entries.push((key, self.value(value, inside, depth)?));
                    self.skip(paddings.after)?;
                }
                Value::Map(entries)
            }
            Type::Optional(item) => {
                Value::Optional(match self.reader.flag("the presence of an optional")? {
                    true => Some(Box::new(self.value(item, inside, depth)?)),
                    false => None,
                })
            }
            Type::Variant(alternatives) => {
                let [index] = self.reader.array("the index of a variant")?;
                let alternative = alternatives.get(usize::from(index));
                let count = alternatives.len();
                let alternative = alternative.ok_or(DecodeError::Alternative {
                    offset,
                    index,
                    alternatives: count,
                })?;
                Value::Variant(index, Box::new(self.value(alternative, inside, depth)?))
            }
            Type::Expected(value, error) => {
                Value::Expected(match self.reader.flag("the presence of an expected value")? {
                    true => Ok(Box::new(self.value(value, inside, depth)?)),
                    false => Err(Box::new(self.value(error, inside, depth)?)),
                })
            }
            Type::Void => Value::Void,
            Type::Struct(fields) => {
                let mut values = short_list(fields.len() as u64);
                for field in fields {
                    values.push(self.value(field, inside, depth)?);
                }
                Value::List(values)
            }
            Type::Copied { fields, .. } => self.copied(ty, fields, inside, depth)?,
            Type::Back(levels) => {
                let (target, outer) = resolve(*levels, outer).ok_or(NO_TARGET)?;
                self.value(target, outer, depth)?
            }
        })
    }

    /// A length from the wire. If items may have no size the rest of the message says nothing about it, and the
    /// budget alone ends the loop.
    fn count(&mut self, item_bytes_min: usize) -> Result<u64, DecodeError> {
        if item_bytes_min == 0 {
            self.reader.unchecked_count()
        } else {
            Ok(self.reader.count("container", item_bytes_min)? as u64)
        }
    }

    fn items(
        &mut self,
        item: &Type,
        count: u64,
        inside: Option<&Scope<'_>>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        let mut items = short_list(count);
        for _ in 0..count {
            items.push(self.value(item, inside, depth)?);
        }
        Ok(Value::List(items))
    }

    fn copied(
        &mut self,
        ty: &Type,
        fields: &[Type],
        inside: Option<&Scope<'_>>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        let paddings = Paddings::of(ty).ok_or(DecodeError::TypeShape {
            offset: 0,
            why: "it cannot be copied",
        })?;
        let mut values = short_list(fields.len() as u64);
        for (field, padding) in fields.iter().zip(&paddings.before) {
            self.skip(*padding)?;
            values.push(self.value(field, inside, depth)?);
        }
        self.skip(paddings.after)?;
        Ok(Value::List(values))
    }

    fn skip(&mut self, bytes: u64) -> Result<(), DecodeError> {
        // More than `usize` can count is more than is left.
        self.reader
            .take(usize::try_from(bytes).unwrap_or(usize::MAX), "padding")
            .map(|_| ())
    }
}

const NO_TARGET: DecodeError = DecodeError::TypeShape {
    offset: 0,
    why: "a reference beyond the outermost type",
};

/// A list that is about to get `count` items. Few get exactly their room (a vector's first step is 4); many grow as
/// they come, because `count` proves nothing.
fn short_list<T>(count: u64) -> Vec<T> {
    Vec::with_capacity(count.min(4) as usize)
}

/// 1 if every value of the type takes at least a byte, else 0.
fn bytes_min(ty: &Type) -> usize {
    match ty {
        Type::Void | Type::Struct(_) | Type::Back(_) => 0,
        Type::Array(item, _) => bytes_min(item),
        _ => 1,
    }
}

/// The type that a back-reference inside `outer` means, and what is around that type.
fn resolve<'a>(levels: u64, outer: Option<&'a Scope<'a>>) -> Option<(&'a Type, Option<&'a Scope<'a>>)> {
    // `outer` is the type that contains the reference; level 0 is the one around it.
    let mut target = outer?.outer?;
    for _ in 0..levels {
        target = target.outer?;
    }
    Some((target.ty, target.outer))
}

/// The bytes between the members of a type that is copied as memory.
struct Paddings {
    /// Before each member.
    before: Vec<u64>,
    /// Behind the last.
    after: u64,
}

impl Paddings {
    /// Of a struct or pair; `None` if it cannot be copied.
    fn of(ty: &Type) -> Option<Self> {
        let Type::Copied { fields, pack, align } = ty else {
            return None;
        };
        Self::of_members(fields, u64::from(*pack), u64::from(*align))
    }

    /// Of an entry of a map. Upstream writes it as a pair, so it is copied as memory if key and value can be.
    fn of_entry(key: &Type, value: &Type) -> Self {
        let copied = || {
            let align = key.memory_layout()?.1.max(value.memory_layout()?.1);
            Self::of_members([key, value], align, align)
        };
        copied().unwrap_or(Self {
            before: vec![0, 0],
            after: 0,
        })
    }

    fn of_members<'a>(fields: impl IntoIterator<Item = &'a Type>, pack: u64, align: u64) -> Option<Self> {
        let mut end: u64 = 0;
        let mut before = Vec::new();
        for field in fields {
            let (bytes, field_align) = field.memory_layout()?;
            let start = end.checked_next_multiple_of(field_align.min(pack))?;
            before.push(start - end);
            end = start.checked_add(bytes)?;
        }
        Some(Self {
            before,
            after: end.checked_next_multiple_of(align)? - end,
        })
    }
}

fn plain_value(plain: Plain, reader: &mut Reader<'_>) -> Result<Value, DecodeError> {
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

/// Appends a value; `None` if it does not fit the type.
pub(crate) fn encode_value(
    ty: &Type,
    outer: Option<&Scope<'_>>,
    depth: usize,
    value: &Value,
    writer: &mut Writer<'_>,
) -> Option<()> {
    if depth >= DEPTH_MAX {
        return None;
    }
    let scope = Scope { ty, outer };
    let (inside, depth) = (Some(&scope), depth + 1);
    match (ty, value) {
        (Type::Plain(plain), value) => encode_plain(*plain, value, writer)?,
        (Type::String, Value::String(bytes)) => {
            writer.count(bytes.len());
            writer.put(bytes);
        }
        (Type::Array(item, length), Value::List(items)) if items.len() as u64 == *length => {
            encode_items(item, items, inside, depth, writer)?;
        }
        (Type::Vector(item) | Type::Set(item), Value::List(items)) => {
            writer.count(items.len());
            encode_items(item, items, inside, depth, writer)?;
        }
        (Type::Map(key_type, value_type), Value::Map(entries)) => {
            writer.count(entries.len());
            let paddings = Paddings::of_entry(key_type, value_type);
            for (key, value) in entries {
                encode_value(key_type, inside, depth, key, writer)?;
                put_zeros(writer, paddings.before[1]);
                encode_value(value_type, inside, depth, value, writer)?;
                put_zeros(writer, paddings.after);
            }
        }
        (Type::Optional(item), Value::Optional(value)) => {
            writer.put(&[u8::from(value.is_some())]);
            if let Some(value) = value {
                encode_value(item, inside, depth, value, writer)?;
            }
        }
        (Type::Variant(alternatives), Value::Variant(index, value)) => {
            writer.put(&[*index]);
            encode_value(
                alternatives.get(usize::from(*index))?,
                inside,
                depth,
                value,
                writer,
            )?;
        }
        (Type::Expected(value_type, error_type), Value::Expected(result)) => {
            writer.put(&[u8::from(result.is_ok())]);
            match result {
                Ok(value) => encode_value(value_type, inside, depth, value, writer)?,
                Err(error) => encode_value(error_type, inside, depth, error, writer)?,
            }
        }
        (Type::Void, Value::Void) => {}
        (Type::Struct(fields), Value::List(values)) if fields.len() == values.len() => {
            for (field, value) in fields.iter().zip(values) {
                encode_value(field, inside, depth, value, writer)?;
            }
        }
        (Type::Copied { fields, .. }, Value::List(values)) if fields.len() == values.len() => {
            let paddings = Paddings::of(ty)?;
            for ((field, value), padding) in fields.iter().zip(values).zip(&paddings.before) {
                put_zeros(writer, *padding);
                encode_value(field, inside, depth, value, writer)?;
            }
            put_zeros(writer, paddings.after);
        }
        (Type::Back(levels), value) => {
            let (target, outer) = resolve(*levels, outer)?;
            encode_value(target, outer, depth, value, writer)?;
        }
        _ => return None,
    }
    Some(())
}

fn encode_items(
    item: &Type,
    items: &[Value],
    inside: Option<&Scope<'_>>,
    depth: usize,
    writer: &mut Writer<'_>,
) -> Option<()> {
    items
        .iter()
        .try_for_each(|value| encode_value(item, inside, depth, value, writer))
}

/// Upstream leaves padding undefined; zeros keep equal values equal.
fn put_zeros(writer: &mut Writer<'_>, bytes: u64) {
    for _ in 0..bytes {
        writer.put(&[0]);
    }
}

fn encode_plain(plain: Plain, value: &Value, writer: &mut Writer<'_>) -> Option<()> {
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
