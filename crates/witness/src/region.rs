//! A named stretch of memory that is read and written through its guard only.

use std::fmt;

/// An access that lies outside its region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionError {
    /// The first byte asked for.
    pub offset: u64,
    /// The number of bytes asked for.
    pub len: u64,
    /// The size of the region.
    pub size: u64,
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes at {} lie outside a region of {} bytes",
            self.len, self.offset, self.size
        )
    }
}

impl std::error::Error for RegionError {}

/// Memory of a segment or of a caller. It grows lazily up to its size; what nobody wrote reads as zero.
#[derive(Clone, Debug, Default)]
pub struct Region {
    size: u64,
    bytes: Vec<u8>,
}

impl Region {
    /// A region of `size` bytes, all zero. Takes no memory until it is written.
    pub fn new(size: u64) -> Region {
        Region {
            size,
            bytes: Vec::new(),
        }
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Makes the region at least `size` bytes large.
    pub fn grow(&mut self, size: u64) {
        self.size = self.size.max(size);
    }

    fn check(&self, offset: u64, len: u64) -> Result<(usize, usize), RegionError> {
        let error = || RegionError {
            offset,
            len,
            size: self.size,
        };
        let end = offset
            .checked_add(len)
            .filter(|end| *end <= self.size)
            .ok_or_else(error)?;
        Ok((
            usize::try_from(offset).map_err(|_| error())?,
            usize::try_from(end).map_err(|_| error())?,
        ))
    }

    /// Writes `bytes` at `offset`.
    ///
    /// # Errors
    /// When the bytes do not all lie inside.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), RegionError> {
        let (from, to) = self.check(offset, bytes.len() as u64)?;
        if self.bytes.len() < to {
            self.bytes.resize(to, 0);
        }
        self.bytes[from..to].copy_from_slice(bytes);
        Ok(())
    }

    /// Reads `len` bytes at `offset`.
    ///
    /// # Errors
    /// When the bytes do not all lie inside.
    pub fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>, RegionError> {
        let (from, to) = self.check(offset, len)?;
        let held = self.bytes.len();
        let mut bytes = self.bytes[from.min(held)..to.min(held)].to_vec();
        bytes.resize(to - from, 0);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_wrote_is_zero_and_outside_is_refused() {
        let mut region = Region::new(100);
        assert_eq!(region.read(10, 4), Ok(vec![0; 4]));
        region.write(98, &[7, 8]).unwrap();
        assert_eq!(region.read(96, 4), Ok(vec![0, 0, 7, 8]));
        assert!(region.write(99, &[1, 2]).is_err());
        assert!(region.read(u64::MAX, 2).is_err());
        assert_eq!(region.read(100, 0), Ok(Vec::new()));
        region.grow(200);
        assert_eq!(region.read(150, 2), Ok(vec![0, 0]));
    }
}
