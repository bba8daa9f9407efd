//! Values of any type.

/// A value of some [`Type`](super::Type).
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
