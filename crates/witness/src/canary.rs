//! The canary: a pattern is written at the start of an epoch, and what is not that pattern any more has been written.

use crate::{Access, Grain, How, Mapping, Sight, Way, Witness, WitnessError, fill};
use std::ops::Range;
use std::sync::Arc;

/// The witness that compares. It destroys what the memory held: only for memory whose content nobody needs, such as the
/// target of a read.
///
/// It sees what is different at the end, whoever wrote it. It misses every read, and a write of the byte that was there: one
/// in 256 of bytes that know nothing of the pattern, so a run of them shows by its other bytes.
#[derive(Debug)]
pub struct Canary {
    memory: Arc<Mapping>,
    epoch: u64,
    armed: Option<Range<u64>>,
    /// What was last known of the armed bytes.
    known: Vec<u8>,
}

/// How much is looked at in one go.
const CHUNK: usize = 1 << 16;

impl Canary {
    /// Watches memory.
    pub fn new(memory: Arc<Mapping>) -> Canary {
        Canary {
            memory,
            epoch: 0,
            armed: None,
            known: Vec::new(),
        }
    }

    /// The pattern of the current epoch, as [`crate::classify`] knows it.
    pub fn pattern(&self) -> String {
        format!("canary{}", self.epoch)
    }
}

impl Witness for Canary {
    fn name(&self) -> &'static str {
        "epoch canary"
    }

    fn sight(&self) -> Sight {
        sight()
    }

    fn arm(&mut self, bytes: Range<u64>) -> Result<(), WitnessError> {
        // Another pattern each time, or a write of an older epoch's pattern would go unseen.
        self.epoch += 1;
        let outside = WitnessError::Outside {
            from: bytes.start,
            to: bytes.end,
            size: self.memory.len(),
        };
        if bytes.end > self.memory.len() {
            return Err(outside);
        }
        let len = usize::try_from(bytes.end.saturating_sub(bytes.start)).map_err(|_| outside)?;
        let mut known = vec![0; len];
        fill(&self.pattern(), 0, &mut known);
        self.memory.write(bytes.start, &known)?;
        (self.armed, self.known) = (Some(bytes), known);
        Ok(())
    }

    fn accesses(&mut self) -> Result<Vec<Access>, WitnessError> {
        let Some(armed) = &self.armed else {
            return Ok(Vec::new());
        };
        let mut seen: Vec<Access> = Vec::new();
        let mut now = vec![0; CHUNK.min(self.known.len())];
        for (chunk, from) in self.known.chunks_mut(CHUNK).zip((armed.start..).step_by(CHUNK)) {
            let now = &mut now[..chunk.len()];
            self.memory.read(from, now)?;
            for ((known, now), at) in chunk.iter_mut().zip(now).zip(from..) {
                if known == now {
                    continue;
                }
                *known = *now;
                match seen.last_mut() {
                    Some(last) if last.to == at => last.to = at + 1,
                    _ => seen.push(Access {
                        write: true,
                        from: at,
                        to: at + 1,
                        how: How::Changed,
                    }),
                }
            }
        }
        Ok(seen)
    }

    fn disarm(&mut self) -> Result<(), WitnessError> {
        self.armed = None;
        self.known = Vec::new();
        Ok(())
    }
}

/// What a canary sees: any write that leaves another byte, whoever made it.
pub fn sight() -> Sight {
    Sight::of_changes(Way::ALL, Grain::EndState)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once_and_the_same_bytes_never() {
        let memory = Arc::new(Mapping::anonymous(8192).unwrap());
        let mut canary = Canary::new(memory.clone());
        assert!(canary.arm(1..9000).is_err());
        canary.arm(1..8000).unwrap();
        assert_eq!(canary.accesses().unwrap(), []);
        let mut there = [0; 4];
        memory.read(100, &mut there).unwrap();
        memory.write(100, &there).unwrap();
        assert_eq!(canary.accesses().unwrap(), [], "nobody can see that");
        memory.write(100, &there.map(|byte| !byte)).unwrap();
        memory.write(8000, b"beside").unwrap();
        let seen = canary.accesses().unwrap();
        assert_eq!(
            seen.iter()
                .map(|seen| (seen.write, seen.from, seen.to))
                .collect::<Vec<_>>(),
            [(true, 100, 104)]
        );
        assert_eq!(canary.accesses().unwrap(), []);
        let old = canary.pattern();
        canary.arm(0..8).unwrap();
        assert_ne!(old, canary.pattern());
    }
}
