//! Types read from a literal. Mirrors `struct_pack` `type_id.hpp` and `type_calculate.hpp:get_type_literal`.

use super::layout::Paddings;
use crate::struct_pack::{DecodeError, TypeTag};

/// How deep types and values may lie inside each other. The deepest type of the store has 6 levels.
pub(super) const DEPTH_MAX: usize = 64;

/// The byte that ends a struct or a variant.
const END: u8 = 0xff;
/// A size literal is written in base 127; its last digit carries this offset.
const SIZE_BASE: u64 = 127;
const SIZE_LAST_DIGIT: u8 = 129;

/// A type as its literal spells it. Fields, types and enums have no names there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// A type without parts.
    Plain(Plain),
    /// `std::string`: any bytes.
    String,
    /// `std::array`: that many items.
    Array(Box<Type>, u64),
    /// A map, ordered or hashed.
    Map(Box<Type>, Box<Type>),
    /// A set.
    Set(Box<Type>),
    /// A vector or deque.
    Vector(Box<Type>),
    /// `std::optional` or `std::unique_ptr`.
    Optional(Box<Type>),
    /// `std::variant`.
    Variant(Vec<Type>),
    /// `tl::expected`.
    Expected(Box<Type>, Box<Type>),
    /// `void` or `std::monostate`.
    Void,
    /// A struct or tuple: its fields back to back.
    Struct(Vec<Type>),
    /// A struct or pair that is copied as memory, C++ padding included.
    Copied {
        /// The members.
        fields: Vec<Type>,
        /// Upper bound of a member's alignment, in bytes.
        pack: u8,
        /// Alignment of the whole, in bytes.
        align: u8,
    },
    /// The type this many levels above the one that contains the reference (recursive types).
    Back(u64),
}

macro_rules! plain_types {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $bytes:literal;)*) => {
        /// A type without parts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Plain { $($(#[$doc])* $name,)* }

        impl Plain {
            fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Plain::$name),)* _ => None }
            }

            fn code(self) -> u8 {
                match self { $(Plain::$name => $code,)* }
            }

            /// Size in bytes, which is the alignment as well; 0 for the varints, whose size varies.
            pub(super) fn bytes(self) -> u64 {
                match self { $(Plain::$name => $bytes,)* }
            }
        }
    };
}

plain_types! {
    /// 32 bits, signed; plain enums too.
    I32 = 0x01, 4;
    /// 32 bits, unsigned.
    U32 = 0x02, 4;
    /// 64 bits, signed.
    I64 = 0x03, 8;
    /// 64 bits, unsigned.
    U64 = 0x04, 8;
    /// 8 bits, signed.
    I8 = 0x05, 1;
    /// 8 bits, unsigned.
    U8 = 0x06, 1;
    /// 16 bits, signed.
    I16 = 0x07, 2;
    /// 16 bits, unsigned.
    U16 = 0x08, 2;
    /// 0 or 1.
    Bool = 0x0b, 1;
    /// One byte.
    Char = 0x0c, 1;
    /// IEEE, 32 bits.
    F32 = 0x11, 4;
    /// IEEE, 64 bits.
    F64 = 0x12, 8;
    /// Variable length, signed, 32 bits.
    VarI32 = 0x14, 0;
    /// Variable length, signed, 64 bits.
    VarI64 = 0x15, 0;
    /// Variable length, unsigned, 32 bits.
    VarU32 = 0x16, 0;
    /// Variable length, unsigned, 64 bits.
    VarU64 = 0x17, 0;
}

impl Type {
    /// From a literal, without the closing 00.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes spell no type or more than one; offsets count from the start of the literal.
    pub fn parse(literal: &[u8]) -> Result<Self, DecodeError> {
        let mut parser = Parser { literal, position: 0 };
        let parsed = parser.parse(0)?;
        if parser.position < literal.len() {
            return Err(DecodeError::TypeShape {
                offset: parser.position,
                why: "bytes after the type",
            });
        }
        Ok(parsed)
    }

    /// The bytes that spell the type, without the closing 00.
    pub fn literal(&self) -> Vec<u8> {
        let mut literal = Vec::new();
        self.push_literal(&mut literal);
        literal
    }

    /// Literal and hash.
    pub fn tag(&self) -> TypeTag {
        TypeTag::new(self.literal())
    }

    fn push_literal(&self, out: &mut Vec<u8>) {
        match self {
            Type::Plain(plain) => out.push(plain.code()),
            Type::String => out.extend_from_slice(&[0x80, Plain::Char.code()]),
            Type::Array(item, length) => {
                push_all(out, 0x81, [&**item]);
                push_size(out, *length);
            }
            Type::Map(key, value) => push_all(out, 0x82, [&**key, &**value]),
            Type::Set(item) => push_all(out, 0x83, [&**item]),
            Type::Vector(item) => push_all(out, 0x84, [&**item]),
            Type::Optional(item) => push_all(out, 0x85, [&**item]),
            Type::Variant(alternatives) => {
                push_all(out, 0x86, alternatives);
                out.push(END);
            }
            Type::Expected(value, error) => push_all(out, 0x87, [&**value, &**error]),
            Type::Void => out.push(0xfa),
            Type::Struct(fields) => {
                push_all(out, 0xfd, fields);
                out.push(END);
            }
            Type::Copied { fields, pack, align } => {
                push_all(out, 0xfd, fields);
                push_size(out, u64::from(*pack));
                push_size(out, u64::from(*align));
                out.push(END);
            }
            Type::Back(levels) => {
                out.push(0xfb);
                push_size(out, *levels);
            }
        }
    }

    /// Size and alignment in bytes of a type that is copied as memory; `None` if it cannot be.
    pub(super) fn memory_layout(&self) -> Option<(u64, u64)> {
        match self {
            Type::Plain(plain) if plain.bytes() > 0 => Some((plain.bytes(), plain.bytes())),
            Type::Array(item, length) => {
                let (bytes, align) = item.memory_layout()?;
                Some((bytes.checked_mul(*length)?, align))
            }
            Type::Copied { align, .. } => Some((Paddings::of(self)?.total, u64::from(*align))),
            _ => None,
        }
    }
}

fn push_all<'a>(out: &mut Vec<u8>, code: u8, parts: impl IntoIterator<Item = &'a Type>) {
    out.push(code);
    for part in parts {
        part.push_literal(out);
    }
}

/// Base 127, least significant digit first.
fn push_size(out: &mut Vec<u8>, mut size: u64) {
    while size >= SIZE_BASE {
        out.push((size % SIZE_BASE) as u8 + 1);
        size /= SIZE_BASE;
    }
    out.push(size as u8 + SIZE_LAST_DIGIT);
}

struct Parser<'a> {
    literal: &'a [u8],
    position: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Result<u8, DecodeError> {
        let offset = self.position;
        match self.literal.get(offset) {
            Some(&code) => {
                self.position += 1;
                Ok(code)
            }
            None => Err(DecodeError::TypeShape {
                offset,
                why: "the literal ends inside a type",
            }),
        }
    }

    /// `depth` is the number of types around this one.
    fn parse(&mut self, depth: usize) -> Result<Type, DecodeError> {
        let offset = self.position;
        if depth >= DEPTH_MAX {
            return Err(DecodeError::TooDeep {
                offset,
                limit: DEPTH_MAX,
            });
        }
        let code = self.next()?;
        if let Some(plain) = Plain::from_code(code) {
            return Ok(Type::Plain(plain));
        }
        Ok(match code {
            0x80 => match self.next()? {
                0x0c => Type::String,
                other => {
                    return Err(DecodeError::TypeCode {
                        offset: offset + 1,
                        code: other,
                    });
                }
            },
            0x81 => {
                let item = self.boxed(depth)?;
                match self.size()? {
                    0 => {
                        return Err(DecodeError::TypeShape {
                            offset,
                            why: "an array of nothing",
                        });
                    }
                    length => Type::Array(item, length),
                }
            }
            0x82 => Type::Map(self.boxed(depth)?, self.boxed(depth)?),
            0x83 => Type::Set(self.boxed(depth)?),
            0x84 => Type::Vector(self.boxed(depth)?),
            0x85 => Type::Optional(self.boxed(depth)?),
            0x86 => self.variant(offset, depth)?,
            0x87 => Type::Expected(self.boxed(depth)?, self.boxed(depth)?),
            0xfa => Type::Void,
            0xfb => {
                let levels = self.size()?;
                // Level 0 is the type around the one that contains the reference.
                if levels.saturating_add(2) > depth as u64 {
                    return Err(DecodeError::TypeShape {
                        offset,
                        why: "a reference beyond the outermost type",
                    });
                }
                Type::Back(levels)
            }
            0xfd => self.structure(offset, depth)?,
            code => return Err(DecodeError::TypeCode { offset, code }),
        })
    }

    fn boxed(&mut self, depth: usize) -> Result<Box<Type>, DecodeError> {
        Ok(Box::new(self.parse(depth + 1)?))
    }

    fn variant(&mut self, offset: usize, depth: usize) -> Result<Type, DecodeError> {
        let mut alternatives = Vec::new();
        while self.literal.get(self.position) != Some(&END) {
            alternatives.push(self.parse(depth + 1)?);
        }
        self.position += 1;
        if alternatives.is_empty() || alternatives.len() > 255 {
            return Err(DecodeError::TypeShape {
                offset,
                why: "a variant has 1 to 255 alternatives",
            });
        }
        Ok(Type::Variant(alternatives))
    }

    fn structure(&mut self, offset: usize, depth: usize) -> Result<Type, DecodeError> {
        let mut fields = Vec::new();
        loop {
            if self.literal.get(self.position) == Some(&END) {
                self.position += 1;
                return Ok(Type::Struct(fields));
            }
            if let Some((pack, align)) = self.alignment() {
                let copied = Type::Copied { fields, pack, align };
                return match copied.memory_layout() {
                    Some(_) => Ok(copied),
                    None => Err(DecodeError::TypeShape {
                        offset,
                        why: "a member cannot be copied as memory",
                    }),
                };
            }
            fields.push(self.parse(depth + 1)?);
        }
    }

    /// The two alignments and the end that close a struct copied as memory. Alignments are powers of two below 127,
    /// whose digits are 82, 83, 85, 89, 91, a1 and c1; two of those before `ff` are never the end of a type, so the
    /// literal has one reading only.
    fn alignment(&mut self) -> Option<(u8, u8)> {
        let [pack, align, END] = *self.literal.get(self.position..)?.first_chunk::<3>()? else {
            return None;
        };
        let pack = pack
            .checked_sub(SIZE_LAST_DIGIT)
            .filter(|bytes| bytes.is_power_of_two())?;
        let align = align
            .checked_sub(SIZE_LAST_DIGIT)
            .filter(|bytes| bytes.is_power_of_two())?;
        self.position += 3;
        Some((pack, align))
    }

    fn size(&mut self) -> Result<u64, DecodeError> {
        let offset = self.position;
        let too_large = DecodeError::TypeShape {
            offset,
            why: "a size above 64 bits",
        };
        let (mut size, mut unit) = (0_u64, 1_u64);
        loop {
            let code = self.next()?;
            // 1 to 127 are digits, 129 to 255 the last digit; 0 and 128 are neither.
            let last = code >= SIZE_LAST_DIGIT;
            let digit = code.checked_sub(if last { SIZE_LAST_DIGIT } else { 1 });
            let Some(digit) = digit.filter(|&digit| u64::from(digit) < SIZE_BASE) else {
                return Err(DecodeError::TypeCode {
                    offset: self.position - 1,
                    code,
                });
            };
            if last && digit == 0 && unit > 1 {
                return Err(DecodeError::TypeShape {
                    offset,
                    why: "a size that ends in a superfluous zero",
                });
            }
            let sum = u64::from(digit)
                .checked_mul(unit)
                .and_then(|part| size.checked_add(part));
            size = sum.ok_or_else(|| too_large.clone())?;
            if last {
                return Ok(size);
            }
            unit = unit.checked_mul(SIZE_BASE).ok_or_else(|| too_large.clone())?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DEPTH_MAX, Type};
    use crate::struct_pack::DecodeError;

    #[test]
    fn sizes_of_arrays_use_base_127() {
        for (size, digits) in [
            (1, vec![130]),
            (3, vec![0x84]),
            (126, vec![255]),
            (127, vec![1, 130]),
            (128, vec![2, 130]),
            (127 * 127, vec![1, 1, 130]),
        ] {
            let mut literal = vec![0x81, 0x06];
            literal.extend(digits);
            let parsed = Type::parse(&literal).unwrap();
            assert!(
                matches!(parsed, Type::Array(_, length) if length == size),
                "{size}: {parsed:?}"
            );
            assert_eq!(parsed.literal(), literal);
        }
    }

    #[test]
    fn impossible_types_are_refused() {
        for (literal, expected) in [
            (&[][..], "ends inside"),
            (&[0x84], "ends inside"),
            (&[0x00], "names no type"),
            (&[0x80, 0x0d], "names no type"),
            (&[0x01, 0x01], "after the type"),
            (&[0x81, 0x06, 0x81], "array of nothing"),
            (&[0xfd, 0x89, 0x89, 0xff], "copied as memory"),
            (&[0x81, 0x06, 0x04, 0x81], "superfluous zero"),
            (&[0x81, 0x06, 0x80, 0x82], "names no type"),
            (&[0x86, 0xff], "1 to 255"),
            (&[0xfd, 0x84, 0xfb, 0x82, 0xff], "beyond the outermost"),
            (&[0xfd, 0x80, 0x0c, 0x82, 0x82, 0xff], "copied as memory"),
            (&[0x81, 0x06, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 130], "64 bits"),
        ] {
            let message = Type::parse(literal).unwrap_err().to_string();
            assert!(message.contains(expected), "{literal:02x?}: {message}");
        }
        let deep = vec![0x84; DEPTH_MAX + 1];
        assert!(matches!(Type::parse(&deep), Err(DecodeError::TooDeep { .. })));
    }

    #[test]
    fn memory_layout_is_that_of_the_compiler() {
        let layout = |literal: &[u8]| Type::parse(literal).unwrap().memory_layout();
        assert_eq!(layout(&[0xfd, 0x06, 0x02, 0x85, 0x85, 0xff]), Some((8, 4)));
        assert_eq!(layout(&[0xfd, 0x03, 0x01, 0x89, 0x89, 0xff]), Some((16, 8)));
        assert_eq!(layout(&[0xfd, 0x01, 0x12, 0x89, 0x89, 0xff]), Some((16, 8)));
        assert_eq!(layout(&[0xfd, 0x06, 0x02, 0x82, 0x82, 0xff]), Some((5, 1)));
        assert_eq!(layout(&[0x84, 0x06]), None);
    }
}
