//! Values into bytes.

use super::layout::Paddings;
use super::plain::encode_plain;
use super::scope::{Scope, resolve};
use super::types::DEPTH_MAX;
use super::{Type, Value};
use crate::struct_pack::Writer;

/// Writes values. Every function gives `None` if a value does not fit its type.
pub(super) struct Encoder<'a, 'b> {
    writer: &'a mut Writer<'b>,
    depth: usize,
}

impl<'a, 'b> Encoder<'a, 'b> {
    pub(super) fn new(writer: &'a mut Writer<'b>) -> Self {
        Self { writer, depth: 0 }
    }

    /// Appends a value. `outer` is what is around its type.
    pub(super) fn value(&mut self, ty: &Type, outer: Option<&Scope<'_>>, value: &Value) -> Option<()> {
        if self.depth >= DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        self.value_inside(ty, outer, value)?;
        self.depth -= 1;
        Some(())
    }

    fn value_inside(&mut self, ty: &Type, outer: Option<&Scope<'_>>, value: &Value) -> Option<()> {
        let scope = Scope { ty, outer };
        let inside = Some(&scope);
        match (ty, value) {
            (Type::Plain(plain), value) => encode_plain(*plain, value, self.writer),
            (Type::String, Value::String(bytes)) => {
                self.writer.count(bytes.len());
                self.writer.put(bytes);
                Some(())
            }
            (Type::Array(item, length), Value::List(items)) => {
                (items.len() as u64 == *length).then_some(())?;
                self.items(item, items, inside)
            }
            (Type::Vector(item) | Type::Set(item), Value::List(items)) => {
                self.writer.count(items.len());
                self.items(item, items, inside)
            }
            (Type::Map(key, value), Value::Map(entries)) => self.entries((key, value), entries, inside),
            (Type::Optional(item), Value::Optional(value)) => {
                self.writer.put(&[u8::from(value.is_some())]);
                value
                    .as_ref()
                    .map_or(Some(()), |value| self.value(item, inside, value))
            }
            (Type::Variant(alternatives), Value::Variant(index, value)) => {
                self.writer.put(&[*index]);
                self.value(alternatives.get(usize::from(*index))?, inside, value)
            }
            (Type::Expected(value_type, error_type), Value::Expected(result)) => {
                self.writer.put(&[u8::from(result.is_ok())]);
                match result {
                    Ok(value) => self.value(value_type, inside, value),
                    Err(error) => self.value(error_type, inside, error),
                }
            }
            (Type::Void, Value::Void) => Some(()),
            (Type::Struct(fields), Value::List(values)) => {
                (fields.len() == values.len()).then_some(())?;
                fields
                    .iter()
                    .zip(values)
                    .try_for_each(|(field, value)| self.value(field, inside, value))
            }
            (Type::Copied { fields, .. }, Value::List(values)) => {
                (fields.len() == values.len()).then_some(())?;
                self.copied(&Paddings::of(ty)?, fields, values, inside)
            }
            (Type::Back(levels), value) => {
                let (target, outer) = resolve(*levels, outer)?;
                self.value(target, outer, value)
            }
            _ => None,
        }
    }

    fn items(&mut self, item: &Type, items: &[Value], inside: Option<&Scope<'_>>) -> Option<()> {
        items.iter().try_for_each(|value| self.value(item, inside, value))
    }

    fn entries(
        &mut self,
        (key_type, value_type): (&Type, &Type),
        entries: &[(Value, Value)],
        inside: Option<&Scope<'_>>,
    ) -> Option<()> {
        self.writer.count(entries.len());
        let paddings = Paddings::of_entry(key_type, value_type);
        for (key, value) in entries {
            self.value(key_type, inside, key)?;
            self.zeros(paddings.before[1]);
            self.value(value_type, inside, value)?;
            self.zeros(paddings.after);
        }
        Some(())
    }

    fn copied(
        &mut self,
        paddings: &Paddings,
        fields: &[Type],
        values: &[Value],
        inside: Option<&Scope<'_>>,
    ) -> Option<()> {
        for ((field, value), padding) in fields.iter().zip(values).zip(&paddings.before) {
            self.zeros(*padding);
            self.value(field, inside, value)?;
        }
        self.zeros(paddings.after);
        Some(())
    }

    /// Upstream leaves padding undefined; zeros keep equal values equal.
    fn zeros(&mut self, bytes: u64) {
        for _ in 0..bytes {
            self.writer.put(&[0]);
        }
    }
}
