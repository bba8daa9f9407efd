//! The canary: a pattern is written at the start of an epoch, and what is not that pattern any more has been written.

use crate::{Access, AccessKind, Grain, Mapping, Sight, Way, Witness, WitnessError};
use std::ops::Range;
use std::sync::Arc;

/// The witness that compares. It destroys what the memory held: only for memory whose content nobody needs.
#[derive(Debug)]
pub struct Canary {
    memory: Arc<Mapping>,
    epoch: u64,
}

impl Canary {
    /// Watches memory.
    pub fn new(memory: Arc<Mapping>) -> Canary {
        Canary { memory, epoch: 0 }
    }
}

impl Witness for Canary {
    fn name(&self) -> &'static str {
        "canary"
    }

    fn sight(&self) -> Sight {
        Sight::of(Way::ALL.map(AccessKind::write), Grain::EndState)
    }

    fn arm(&mut self, _bytes: Range<u64>) -> Result<(), WitnessError> {
        let _ = (&self.memory, self.epoch);
        todo!()
    }

    fn accesses(&mut self) -> Result<Vec<Access>, WitnessError> {
        todo!()
    }

    fn disarm(&mut self) -> Result<(), WitnessError> {
        todo!()
    }
}
