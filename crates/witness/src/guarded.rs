//! A region that remembers who went through its guard.

use crate::{Access, AccessKind, Grain, How, Region, RegionError, Sight, Way, Witness, WitnessError};
use std::ops::Range;

/// Memory of the model: its bytes are reached through the guard alone, by clients and by transport. There is no other process
/// and no card that could know of it.
#[derive(Clone, Debug, Default)]
pub struct Guarded {
    region: Region,
    armed: Option<Range<u64>>,
    seen: Vec<Access>,
}

impl Guarded {
    /// A guarded region of `size` bytes, all zero.
    pub fn new(size: u64) -> Guarded {
        Guarded {
            region: Region::new(size),
            armed: None,
            seen: Vec::new(),
        }
    }

    /// Writes `bytes` at `offset`.
    ///
    /// # Errors
    /// When the bytes do not all lie inside.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), RegionError> {
        self.region.write(offset, bytes)?;
        self.note(true, offset, bytes.len() as u64);
        Ok(())
    }

    /// Reads `len` bytes at `offset`.
    ///
    /// # Errors
    /// When the bytes do not all lie inside.
    pub fn read(&mut self, offset: u64, len: u64) -> Result<Vec<u8>, RegionError> {
        let bytes = self.region.read(offset, len)?;
        self.note(false, offset, len);
        Ok(bytes)
    }

    fn note(&mut self, write: bool, offset: u64, len: u64) {
        let Some(armed) = &self.armed else { return };
        let (from, to) = (offset.max(armed.start), (offset + len).min(armed.end));
        if from < to {
            let how = How::Guard;
            self.seen.push(Access { write, from, to, how });
        }
    }
}

impl Witness for Guarded {
    fn name(&self) -> &'static str {
        "model regions"
    }

    fn sight(&self) -> Sight {
        let both = |way| [AccessKind::read(way), AccessKind::write(way)];
        let sees = [Way::Cpu, Way::Socket].into_iter().flat_map(both);
        let absent = [Way::File, Way::Peer, Way::Nic].into_iter().flat_map(both);
        Sight::of(sees, Grain::Each).without(absent)
    }

    fn arm(&mut self, bytes: Range<u64>) -> Result<(), WitnessError> {
        if bytes.end > self.region.size() {
            return Err(WitnessError::Outside {
                from: bytes.start,
                to: bytes.end,
                size: self.region.size(),
            });
        }
        self.armed = Some(bytes);
        self.seen.clear();
        Ok(())
    }

    fn accesses(&mut self) -> Result<Vec<Access>, WitnessError> {
        Ok(std::mem::take(&mut self.seen))
    }

    fn disarm(&mut self) -> Result<(), WitnessError> {
        self.armed = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_armed_bytes_are_told_and_in_order() {
        let mut region = Guarded::new(100);
        region.write(0, &[1; 100]).unwrap();
        region.arm(10..20).unwrap();
        region.write(5, &[2; 10]).unwrap();
        region.read(19, 50).unwrap();
        region.read(20, 50).unwrap();
        assert!(
            region.write(95, &[0; 6]).is_err(),
            "what did not happen is not told"
        );
        let told: Vec<_> = region.accesses().unwrap();
        assert_eq!(
            told.iter()
                .map(|told| (told.write, told.from, told.to))
                .collect::<Vec<_>>(),
            [(true, 10, 15), (false, 19, 20)]
        );
        region.disarm().unwrap();
        region.write(12, &[3]).unwrap();
        assert_eq!(region.accesses().unwrap(), []);
        assert!(region.arm(0..101).is_err());
    }
}
