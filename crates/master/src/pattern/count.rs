//! How many states the library needs for a pattern, since it refuses one that needs too many.
//!
//! Mirrors `regex_compiler.tcc` and `regex_automaton.tcc` of the GNU C++ library: states are only ever added, and what is
//! repeated by numbers is copied for each time while the original stays behind.

use super::parse::{Counts, Part};

/// Most states, as in the library. No part has none, so that nothing is repeated more often either.
const MAX_STATES: usize = 100_000;

/// The states of a part: how many were ever added for it, and how many of them a copy of it would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct States {
    added: usize,
    alive: usize,
}

impl States {
    fn and(self, more: usize) -> States {
        States {
            added: self.added.saturating_add(more),
            alive: self.alive.saturating_add(more),
        }
    }
}

/// Whether the library has room for a whole pattern. It adds a begin, an end and a last state.
pub(super) fn fits(part: &Part) -> bool {
    states(part).and(3).added <= MAX_STATES
}

fn states(part: &Part) -> States {
    match part {
        Part::One(_) | Part::Back(_) | Part::Begin | Part::End | Part::Boundary(_) => sum(&[]).and(1),
        // A sequence ends with an empty state.
        Part::Sequence(parts) => sum(parts).and(1),
        Part::Either(branches) => sum(branches).and(2 * (branches.len() - 1)),
        Part::Group(part, _) | Part::Ahead(part, _) => states(part).and(2),
        Part::Repeat(part, counts) => repeated(states(part), *counts),
    }
}

fn sum(parts: &[Part]) -> States {
    let nothing = States { added: 0, alive: 0 };
    parts.iter().map(states).fold(nothing, |sum, next| States {
        added: sum.added.saturating_add(next.added),
        alive: sum.alive.saturating_add(next.alive),
    })
}

fn repeated(once: States, counts: Counts) -> States {
    let times = |count: usize, each: usize| count.saturating_mul(each);
    let least = times(counts.least, once.alive);
    let copies = match counts {
        Counts {
            by_numbers: false,
            most,
            ..
        } => return once.and(1 + usize::from(most.is_some())),
        Counts { most: None, .. } => least.saturating_add(once.alive).saturating_add(2),
        Counts { most: Some(most), .. } => {
            let optional = times(most - counts.least, once.alive.saturating_add(1));
            least.saturating_add(optional).saturating_add(2)
        }
    };
    States {
        added: once.added.saturating_add(copies),
        alive: copies,
    }
}
