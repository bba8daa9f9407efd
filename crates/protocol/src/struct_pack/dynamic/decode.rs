//! Values out of bytes.

use super::layout::Paddings;
use super::plain::decode_plain;
use super::scope::{Scope, resolve};
use super::types::DEPTH_MAX;
use super::{Type, Value};
use crate::struct_pack::{DecodeError, Reader};

/// Values that may be made per byte read. Only types made of nothing but structs in structs exceed it.
const VALUES_PER_BYTE_MAX: usize = 4;
/// Values that may be made on top, as a struct counts before its first byte is read.
const VALUES_BASE: usize = 64;

/// Counts the values made. Items without size would otherwise let few bytes fill the memory.
#[derive(Default)]
struct Budget {
    spent: usize,
}

impl Budget {
    /// One more value at `offset`, which is also the number of bytes read so far.
    fn spend(&mut self, offset: usize) -> Result<(), DecodeError> {
        let limit = offset
            .saturating_mul(VALUES_PER_BYTE_MAX)
            .saturating_add(VALUES_BASE);
        self.spent += 1;
        if self.spent > limit {
            Err(DecodeError::TooManyValues { offset, limit })
        } else {
            Ok(())
        }
    }
}

/// Makes values out of bytes.
pub(super) struct Decoder<'a> {
    reader: Reader<'a>,
    budget: Budget,
    depth: usize,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(reader: Reader<'a>) -> Self {
        Self {
            reader,
            budget: Budget::default(),
            depth: 0,
        }
    }

    /// Offset of the next byte.
    pub(super) fn position(&self) -> usize {
        self.reader.position()
    }

    /// The next value. `outer` is what is around its type.
    pub(super) fn value(&mut self, ty: &Type, outer: Option<&Scope<'_>>) -> Result<Value, DecodeError> {
        let offset = self.position();
        if self.depth >= DEPTH_MAX {
            return Err(DecodeError::TooDeep {
                offset,
                limit: DEPTH_MAX,
            });
        }
        self.budget.spend(offset)?;
        self.depth += 1;
        let value = self.value_inside(ty, outer)?;
        self.depth -= 1;
        Ok(value)
    }

    fn value_inside(&mut self, ty: &Type, outer: Option<&Scope<'_>>) -> Result<Value, DecodeError> {
        let scope = Scope { ty, outer };
        let inside = Some(&scope);
        Ok(match ty {
            Type::Plain(plain) => decode_plain(*plain, &mut self.reader)?,
            Type::String => {
                let length = self.reader.count("text", 1)?;
                Value::String(self.reader.take(length, "a text")?.to_vec())
            }
            Type::Array(item, length) => self.items(item, *length, inside)?,
            Type::Vector(item) | Type::Set(item) => {
                let count = self.count(bytes_min(item))?;
                self.items(item, count, inside)?
            }
            Type::Map(key, value) => self.entries(key, value, inside)?,
            Type::Optional(item) => {
                let present = self.reader.flag("the presence of an optional")?;
                Value::Optional(if present {
                    Some(Box::new(self.value(item, inside)?))
                } else {
                    None
                })
            }
            Type::Variant(alternatives) => self.alternative(alternatives, inside)?,
            Type::Expected(value, error) => {
                let present = self.reader.flag("the presence of an expected value")?;
                let held = Box::new(self.value(if present { value } else { error }, inside)?);
                Value::Expected(if present { Ok(held) } else { Err(held) })
            }
            Type::Void => Value::Void,
            Type::Struct(fields) => {
                let mut values = short_list(fields.len() as u64);
                for field in fields {
                    values.push(self.value(field, inside)?);
                }
                Value::List(values)
            }
            Type::Copied { fields, .. } => self.copied(ty, fields, inside)?,
            Type::Back(levels) => {
                let (target, outer) = resolve(*levels, outer).ok_or(NO_TARGET)?;
                self.value(target, outer)?
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

    fn items(&mut self, item: &Type, count: u64, inside: Option<&Scope<'_>>) -> Result<Value, DecodeError> {
        let mut items = short_list(count);
        for _ in 0..count {
            items.push(self.value(item, inside)?);
        }
        Ok(Value::List(items))
    }

    fn entries(
        &mut self,
        key: &Type,
        value: &Type,
        inside: Option<&Scope<'_>>,
    ) -> Result<Value, DecodeError> {
        let count = self.count(bytes_min(key) + bytes_min(value))?;
        let paddings = Paddings::of_entry(key, value);
        let mut entries = short_list(count);
        for _ in 0..count {
            let key = self.value(key, inside)?;
            self.skip(paddings.before[1])?;
            entries.push((key, self.value(value, inside)?));
            self.skip(paddings.after)?;
        }
        Ok(Value::Map(entries))
    }

    fn alternative(&mut self, types: &[Type], inside: Option<&Scope<'_>>) -> Result<Value, DecodeError> {
        let offset = self.position();
        let [index] = self.reader.array("the index of a variant")?;
        let ty = types.get(usize::from(index));
        let ty = ty.ok_or(DecodeError::Alternative {
            offset,
            index,
            alternatives: types.len(),
        })?;
        Ok(Value::Variant(index, Box::new(self.value(ty, inside)?)))
    }

    fn copied(
        &mut self,
        ty: &Type,
        fields: &[Type],
        inside: Option<&Scope<'_>>,
    ) -> Result<Value, DecodeError> {
        let paddings = Paddings::of(ty).ok_or(NOT_COPIED)?;
        let mut values = short_list(fields.len() as u64);
        for (field, padding) in fields.iter().zip(&paddings.before) {
            self.skip(*padding)?;
            values.push(self.value(field, inside)?);
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

// A parsed type has neither fault; one that a caller put together may.
const NO_TARGET: DecodeError = DecodeError::TypeShape {
    offset: 0,
    why: "a reference beyond the outermost type",
};
const NOT_COPIED: DecodeError = DecodeError::TypeShape {
    offset: 0,
    why: "a member cannot be copied as memory",
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
