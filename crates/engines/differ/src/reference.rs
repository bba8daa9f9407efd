//! A history that is made one operation at a time, for whoever drives it from outside.

use crate::error::DifferError;
use crate::generator::Generator;
use crate::operation::Operation;
use crate::setup::{START, Setup};
use crate::sides::RustSide;

/// The Rust master with a generator that knows what it has answered.
#[derive(Clone, Debug)]
pub struct Reference {
    rust: RustSide,
    generator: Generator,
}

impl Reference {
    /// At the start of a history. The alphabet and the mixture of operations follow from the seed.
    ///
    /// # Errors
    /// The Rust master refuses the configuration.
    pub fn start(setup: &Setup, seed: u64) -> Result<Reference, DifferError> {
        let generator = Generator::new(setup, seed).map_err(|source| DifferError::Config {
            setup: setup.name.clone(),
            source,
        })?;
        Ok(Reference {
            rust: RustSide::start(setup, START)?,
            generator,
        })
    }

    /// What may come next, by a choice.
    pub fn propose(&self, choice: u64) -> Operation {
        self.generator.reseeded(choice).next(self.rust.clocks())
    }

    /// Does an operation.
    pub fn apply(&mut self, operation: &Operation) {
        self.generator.accept(operation);
        let outcome = self.rust.apply(operation);
        self.generator.observe(operation, &outcome, self.rust.clocks());
    }
}
