//! From a history that parts to the shortest one found that still parts.

use crate::error::DifferError;
use crate::operation::Operation;
use crate::pair::{Pair, Ran, States};
use crate::plain;
use crate::simpler::simpler;
use std::collections::BTreeMap;

/// Runs that one shrinking may take; it stops with the best that it has.
const MOST_RUNS: usize = 3_000;

/// Shrinks a run that parted. Deletes ever smaller pieces, with the time that passed in them and without it, then makes
/// single operations simpler, until nothing helps.
///
/// # Errors
/// When the real master fails.
pub fn shrink(pair: &mut Pair, ran: Ran) -> Result<Ran, DifferError> {
    shrink_until(pair, ran, &|| false)
}

/// The same, with a question between two runs whether to stop; the best so far is the result then.
pub(crate) fn shrink_until(pair: &mut Pair, ran: Ran, stop: &dyn Fn() -> bool) -> Result<Ran, DifferError> {
    let mut shrinking = Shrinking {
        runs: 0,
        stop,
        best: ran,
        pair,
    };
    // What parts by what an observer sees is looked at once, at the end, where it may have been put right again.
    if !shrinking.improves(shrinking.best.history.operations.clone())? {
        return Ok(shrinking.best);
    }
    shrinking.rename()?;
    loop {
        let before = shrinking.best.history.operations.clone();
        shrinking.delete()?;
        shrinking.simplify()?;
        if shrinking.best.history.operations == before || shrinking.runs >= MOST_RUNS || stop() {
            break;
        }
    }
    shrinking.best.history.seed = None;
    Ok(shrinking.best)
}

struct Shrinking<'a> {
    runs: usize,
    stop: &'a dyn Fn() -> bool,
    best: Ran,
    pair: &'a mut Pair,
}

impl Shrinking<'_> {
    /// Whether these operations part too. If so they are the best so far, up to where they part.
    fn improves(&mut self, operations: Vec<Operation>) -> Result<bool, DifferError> {
        if self.runs >= MOST_RUNS || (self.stop)() {
            return Ok(false);
        }
        self.runs += 1;
        let ran = self.pair.run(&operations, States::End)?;
        // The reset may have to tell what nobody looked at before.
        let is_shorter =
            ran.history.operations.len() <= operations.len().max(self.best.history.operations.len());
        let parts = ran.difference.is_some() && is_shorter;
        if parts {
            self.best = ran;
        }
        Ok(parts)
    }

    /// Gives what is named oddly a plain name: all of it at once, or else whatever may have one.
    fn rename(&mut self) -> Result<(), DifferError> {
        let names = plain::names(&self.best.history.operations);
        if names.is_empty() || self.improves(plain::renamed(&self.best.history.operations, &names))? {
            return Ok(());
        }
        for name in names {
            self.improves(plain::renamed(
                &self.best.history.operations,
                &BTreeMap::from([name]),
            ))?;
        }
        Ok(())
    }

    fn delete(&mut self) -> Result<(), DifferError> {
        let mut size = (self.best.history.operations.len() / 2).max(1);
        loop {
            let mut start = 0;
            while start < self.best.history.operations.len() {
                let operations = &self.best.history.operations;
                let end = (start + size).min(operations.len());
                let (kept, passed) = without(operations, start, end);
                let helped = match passed {
                    Some(step) if !(end == start + 1 && operations[start] == step) => {
                        let mut with_time = kept.clone();
                        with_time.insert(start, step);
                        (with_time.len() < operations.len() && self.improves(with_time)?)
                            || self.improves(kept)?
                    }
                    _ => self.improves(kept)?,
                };
                if !helped {
                    start += size;
                }
            }
            if size == 1 {
                return Ok(());
            }
            size /= 2;
        }
    }

    fn simplify(&mut self) -> Result<(), DifferError> {
        let mut index = 0;
        while index < self.best.history.operations.len() {
            let mut helped = false;
            for candidate in simpler(&self.best.history.operations[index]) {
                let mut operations = self.best.history.operations.clone();
                operations[index] = candidate;
                if self.improves(operations)? {
                    helped = true;
                    break;
                }
            }
            if !helped {
                index += 1;
            }
        }
        Ok(())
    }
}

/// What is left, and the time that passed in what is gone, as one step.
fn without(operations: &[Operation], start: usize, end: usize) -> (Vec<Operation>, Option<Operation>) {
    let (mut realtime, mut monotonic) = (0_i64, 0_i64);
    for operation in &operations[start..end] {
        if let Operation::Clock {
            realtime_ns,
            monotonic_ns,
        } = operation
        {
            realtime = realtime.saturating_add(*realtime_ns);
            monotonic = monotonic.saturating_add(*monotonic_ns);
        }
    }
    let kept = [&operations[..start], &operations[end..]].concat();
    let step = ((realtime, monotonic) != (0, 0)).then_some(Operation::Clock {
        realtime_ns: realtime,
        monotonic_ns: monotonic,
    });
    (kept, step)
}
