//! What lies between the members of types that are copied as memory.

use super::Type;

/// The bytes between the members of a type that is copied as memory.
pub(super) struct Paddings {
    /// Before each member.
    pub(super) before: Vec<u64>,
    /// Behind the last.
    pub(super) after: u64,
    /// Members and padding together, in bytes.
    pub(super) total: u64,
}

impl Paddings {
    /// Of a struct or pair; `None` if it cannot be copied. It has a member at least: C++ gives an empty struct a byte
    /// that no literal speaks of.
    pub(super) fn of(ty: &Type) -> Option<Self> {
        match ty {
            Type::Copied { fields, pack, align } if !fields.is_empty() => {
                Self::of_members(fields, u64::from(*pack), u64::from(*align))
            }
            _ => None,
        }
    }

    /// Of an entry of a map. Upstream writes it as a pair, so it is copied as memory if key and value can be.
    pub(super) fn of_entry(key: &Type, value: &Type) -> Self {
        let copied = || {
            let align = key.memory_layout()?.1.max(value.memory_layout()?.1);
            Self::of_members([key, value], align, align)
        };
        copied().unwrap_or(Self {
            before: vec![0, 0],
            after: 0,
            total: 0,
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
        let total = end.checked_next_multiple_of(align)?;
        Some(Self {
            before,
            after: total - end,
            total,
        })
    }
}
