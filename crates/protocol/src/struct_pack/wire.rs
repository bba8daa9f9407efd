//! Reading and writing the parts of which messages consist. All integers are little-endian.

use super::DecodeError;

/// Width of every container length in one message. Mirrors the size type in bits 3 and 4 of the metainfo byte of
/// `struct_pack` `packer.hpp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// One byte.
    #[default]
    One,
    /// Two bytes.
    Two,
    /// Four bytes.
    Four,
    /// Eight bytes.
    Eight,
}

impl Width {
    /// From the two bits of the metainfo byte.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0 => Self::One,
            1 => Self::Two,
            2 => Self::Four,
            _ => Self::Eight,
        }
    }

    /// The two bits of the metainfo byte.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Width in bytes.
    pub const fn bytes(self) -> usize {
        1 << (self as usize)
    }

    /// The smallest width that holds `count`.
    pub const fn for_count(count: u64) -> Self {
        match count {
            0..=0xff => Self::One,
            0x100..=0xffff => Self::Two,
            0x1_0000..=0xffff_ffff => Self::Four,
            _ => Self::Eight,
        }
    }
}

/// Takes a message apart. Never reads past its end and never trusts a length.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    width: Width,
}

impl<'a> Reader<'a> {
    /// Over the whole message, so that offsets in errors count from its start.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            position: 0,
            width: Width::One,
        }
    }

    pub(crate) fn at(bytes: &'a [u8], position: usize, width: Width) -> Self {
        Self {
            bytes,
            position,
            width,
        }
    }

    /// The next byte's offset.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes that are left.
    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// The next `length` bytes.
    ///
    /// # Errors
    /// [`DecodeError`] if they are not there.
    pub fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let (offset, left) = (self.position, self.left());
        if length > left {
            return Err(DecodeError::Truncated {
                offset,
                what,
                needed: length as u64,
                left,
            });
        }
        self.position += length;
        Ok(&self.bytes[offset..offset + length])
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`DecodeError`] if they are not there.
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    /// A byte that must be 0 or 1.
    ///
    /// # Errors
    /// [`DecodeError`] if they are not there or the byte is another.
    pub fn flag(&mut self, what: &'static str) -> Result<bool, DecodeError> {
        let offset = self.position;
        match self.array::<1>(what)? {
            [0] => Ok(false),
            [1] => Ok(true),
            [value] => Err(DecodeError::Flag { offset, what, value }),
        }
    }

    /// The length of a container of items that take at least `item_bytes_min` bytes each (0 counts as 1). A length
    /// that the rest of the message cannot hold is refused here, before anybody allocates for it.
    ///
    /// # Errors
    /// [`DecodeError`] if the message ends here or cannot hold that many items.
    pub fn count(&mut self, what: &'static str, item_bytes_min: usize) -> Result<usize, DecodeError> {
        let (count, left) = (self.unchecked_count()?, self.left());
        match usize::try_from(count) {
            Ok(items) if items <= left / item_bytes_min.max(1) => Ok(items),
            _ => Err(DecodeError::Count {
                offset: self.position,
                what,
                count,
                left,
            }),
        }
    }

    /// A length that nobody may allocate for.
    pub(crate) fn unchecked_count(&mut self) -> Result<u64, DecodeError> {
        let mut wide = [0; 8];
        let width_bytes = self.width.bytes();
        wide[..width_bytes].copy_from_slice(self.take(width_bytes, "a length")?);
        Ok(u64::from_le_bytes(wide))
    }
}

/// Puts the value of a message together, with one width for all lengths, and remembers the largest of them.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    width: Width,
    largest_count: u64,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>, width: Width) -> Self {
        Self {
            out,
            width,
            largest_count: 0,
        }
    }

    /// The width that the lengths written so far need.
    pub(crate) fn needed_width(&self) -> Width {
        Width::for_count(self.largest_count)
    }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends the length of a container. One that does not fit is cut; the message is then written again, wider.
    pub fn count(&mut self, count: usize) {
        let wide = count as u64;
        self.largest_count = self.largest_count.max(wide);
        let bytes = wide.to_le_bytes();
        self.put(&bytes[..self.width.bytes()]);
    }
}

#[cfg(test)]
mod tests {
    use super::Width;
    use crate::struct_pack::{Literal, decode_message, encode_message};

    #[test]
    fn the_smallest_width_that_fits_is_taken() {
        for (count, width) in [
            (0, Width::One),
            (255, Width::One),
            (256, Width::Two),
            (65_535, Width::Two),
            (65_536, Width::Four),
            (0xffff_ffff, Width::Four),
            (0x1_0000_0000, Width::Eight),
        ] {
            assert_eq!(Width::for_count(count), width, "{count}");
            assert_eq!(Width::from_bits(width.bits()), width);
        }
    }

    #[test]
    fn one_long_text_widens_every_length() {
        // Hash, metainfo if the width is not 1, the count, the two lengths, the texts.
        for (length, prefix_bytes, width_bytes) in [(255, 4, 1), (256, 5, 2), (65_535, 5, 2), (65_536, 5, 4)]
        {
            let texts = vec!["x".repeat(length), "y".to_owned()];
            let message = encode_message(&texts, Literal::Without);
            assert_eq!(
                message.len(),
                prefix_bytes + 3 * width_bytes + length + 1,
                "{length}"
            );
            assert_eq!(decode_message(&message), Ok(texts));
        }
    }
}
