//! The types of Rust that have a struct_pack form.

use super::{DecodeError, Reader, Writer};
use std::collections::BTreeMap;

/// A type of the wire: its literal, its smallest size and its encoding. Mirrors the type table of `struct_pack`
/// `type_id.hpp`.
pub trait StructPack: Sized {
    /// The fewest bytes a value can take, with lengths of one byte.
    const BYTES_MIN: usize;

    /// Whether upstream copies values as memory. A pair or map entry of two such types has C++ padding, which no
    /// type of the store has and this trait does not write: it refuses to compile. [`Value`](super::Value) can.
    const IS_COPIED: bool = false;

    /// Appends the bytes that spell the type.
    fn push_literal(literal: &mut Vec<u8>);

    /// Appends the value.
    fn encode(&self, writer: &mut Writer<'_>);

    /// Reads a value.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are not a value of this type.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

macro_rules! numbers {
    ($($type:ident = $code:literal;)*) => {$(
        impl StructPack for $type {
            const BYTES_MIN: usize = size_of::<$type>();
            const IS_COPIED: bool = true;

            fn push_literal(literal: &mut Vec<u8>) {
                literal.push($code);
            }

            fn encode(&self, writer: &mut Writer<'_>) {
                writer.put(&self.to_le_bytes());
            }

            fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok($type::from_le_bytes(reader.array(stringify!($type))?))
            }
        }
    )*};
}

numbers! {
    i32 = 0x01;
    u32 = 0x02;
    i64 = 0x03;
    u64 = 0x04;
    i8 = 0x05;
    u8 = 0x06;
    i16 = 0x07;
    u16 = 0x08;
    f32 = 0x11;
    f64 = 0x12;
}

impl StructPack for bool {
    const BYTES_MIN: usize = 1;
    const IS_COPIED: bool = true;

    fn push_literal(literal: &mut Vec<u8>) {
        literal.push(0x0b);
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        writer.put(&[u8::from(*self)]);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.flag("a bool")
    }
}

/// Upstream's `void`.
impl StructPack for () {
    const BYTES_MIN: usize = 0;

    fn push_literal(literal: &mut Vec<u8>) {
        literal.push(0xfa);
    }

    fn encode(&self, _writer: &mut Writer<'_>) {}

    fn decode(_reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

impl StructPack for String {
    const BYTES_MIN: usize = 1;

    fn push_literal(literal: &mut Vec<u8>) {
        literal.extend_from_slice(&[0x80, 0x0c]);
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        writer.count(self.len());
        writer.put(self.as_bytes());
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let length = reader.count("text", 1)?;
        let offset = reader.position();
        match str::from_utf8(reader.take(length, "a text")?) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => Err(DecodeError::NotUtf8 {
                offset,
                length,
                valid_up_to: error.valid_up_to(),
            }),
        }
    }
}

impl<T: StructPack> StructPack for Vec<T> {
    const BYTES_MIN: usize = 1;

    fn push_literal(literal: &mut Vec<u8>) {
        literal.push(0x84);
        T::push_literal(literal);
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        writer.count(self.len());
        for item in self {
            item.encode(writer);
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        // Exact, and safe: `count` has checked that the rest of the message can hold that many.
        let count = reader.count("vector", T::BYTES_MIN)?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(T::decode(reader)?);
        }
        Ok(items)
    }
}

/// Upstream's maps are hash maps: the order of entries on the wire means nothing, and the first of two equal keys
/// stays.
impl<K: StructPack + Ord, V: StructPack> StructPack for BTreeMap<K, V> {
    const BYTES_MIN: usize = 1;

    fn push_literal(literal: &mut Vec<u8>) {
        const {
            assert!(
                !(K::IS_COPIED && V::IS_COPIED),
                "entries of such a map are copied as memory"
            )
        };
        literal.push(0x82);
        K::push_literal(literal);
        V::push_literal(literal);
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        writer.count(self.len());
        for (key, value) in self {
            key.encode(writer);
            value.encode(writer);
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = reader.count("map", K::BYTES_MIN + V::BYTES_MIN)?;
        let mut map = BTreeMap::new();
        for _ in 0..count {
            let key = K::decode(reader)?;
            let value = V::decode(reader)?;
            map.entry(key).or_insert(value);
        }
        Ok(map)
    }
}

impl<T: StructPack> StructPack for Option<T> {
    const BYTES_MIN: usize = 1;

    fn push_literal(literal: &mut Vec<u8>) {
        literal.push(0x85);
        T::push_literal(literal);
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        self.is_some().encode(writer);
        if let Some(value) = self {
            value.encode(writer);
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if reader.flag("the presence of an optional")? {
            Ok(Some(T::decode(reader)?))
        } else {
            Ok(None)
        }
    }
}

/// Upstream's `tl::expected<T, E>`.
impl<T: StructPack, E: StructPack> StructPack for Result<T, E> {
    const BYTES_MIN: usize = 1 + if T::BYTES_MIN < E::BYTES_MIN {
        T::BYTES_MIN
    } else {
        E::BYTES_MIN
    };

    fn push_literal(literal: &mut Vec<u8>) {
        literal.push(0x87);
        T::push_literal(literal);
        E::push_literal(literal);
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        self.is_ok().encode(writer);
        match self {
            Ok(value) => value.encode(writer),
            Err(error) => error.encode(writer),
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if reader.flag("the presence of an expected value")? {
            Ok(Ok(T::decode(reader)?))
        } else {
            Ok(Err(E::decode(reader)?))
        }
    }
}

/// A pair that is not copied as memory, such as one with a string in it.
impl<A: StructPack, B: StructPack> StructPack for (A, B) {
    const BYTES_MIN: usize = A::BYTES_MIN + B::BYTES_MIN;

    fn push_literal(literal: &mut Vec<u8>) {
        const { assert!(!(A::IS_COPIED && B::IS_COPIED), "such a pair is copied as memory") };
        literal.push(0xfd);
        A::push_literal(literal);
        B::push_literal(literal);
        literal.push(0xff);
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        self.0.encode(writer);
        self.1.encode(writer);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((A::decode(reader)?, B::decode(reader)?))
    }
}

#[cfg(test)]
mod tests {
    use super::StructPack;
    use crate::struct_pack::{TypeTag, decode_message};
    use std::collections::BTreeMap;

    #[test]
    fn of_two_equal_keys_the_first_stays() {
        let tag = TypeTag::of::<BTreeMap<String, u8>>();
        let message = [&tag.hash().to_le_bytes()[..], b"\x03\x01b\x01\x01a\x02\x01b\x03"].concat();
        let map: BTreeMap<String, u8> = decode_message(&message).unwrap();
        assert_eq!(map, BTreeMap::from([("a".to_owned(), 2), ("b".to_owned(), 1)]));
    }

    #[test]
    fn the_smallest_size_is_that_of_the_smaller_side() {
        assert_eq!(<Result<(), i32>>::BYTES_MIN, 1);
        assert_eq!(<Result<u64, i32>>::BYTES_MIN, 5);
        assert_eq!(<(String, u64)>::BYTES_MIN, 9);
    }
}
