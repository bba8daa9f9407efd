//! Where operations come from: one at a time, each after the one before has been answered by the Rust master.

use crate::generator::Generator;
use crate::operation::Operation;
use crate::sides::Outcome;
use moonquake_clock::Clocks;

/// A source of operations.
pub(crate) trait Source {
    /// The next operation at an instant, if there is one.
    fn next(&mut self, now: Clocks) -> Option<Operation>;

    /// What the Rust master made of it.
    fn observe(&mut self, _operation: &Operation, _outcome: &Outcome, _now: Clocks) {}
}

/// Operations that are known beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Written<'a>(std::slice::Iter<'a, Operation>);

impl<'a> Written<'a> {
    pub(crate) fn new(operations: &'a [Operation]) -> Written<'a> {
        Written(operations.iter())
    }
}

impl Source for Written<'_> {
    fn next(&mut self, _now: Clocks) -> Option<Operation> {
        self.0.next().cloned()
    }
}

/// The operations of another source until somebody wants to stop.
pub(crate) struct Until<'a> {
    pub(crate) inner: &'a mut dyn Source,
    pub(crate) stop: &'a dyn Fn() -> bool,
}

impl Source for Until<'_> {
    fn next(&mut self, now: Clocks) -> Option<Operation> {
        if (self.stop)() { None } else { self.inner.next(now) }
    }

    fn observe(&mut self, operation: &Operation, outcome: &Outcome, now: Clocks) {
        self.inner.observe(operation, outcome, now);
    }
}

/// So many operations of a generator.
#[derive(Clone, Debug)]
pub(crate) struct Generated {
    generator: Generator,
    left: usize,
}

impl Generated {
    pub(crate) fn new(generator: Generator, length: usize) -> Generated {
        Generated {
            generator,
            left: length,
        }
    }
}

impl Source for Generated {
    fn next(&mut self, now: Clocks) -> Option<Operation> {
        self.left = self.left.checked_sub(1)?;
        Some(self.generator.next(now))
    }

    fn observe(&mut self, operation: &Operation, outcome: &Outcome, now: Clocks) {
        self.generator.observe(operation, outcome, now);
    }
}
