//! The search for patterns that refer back to what a group took. No automaton can do it, so every way is tried, as the
//! library does it, but on a stack of its own and with a bound.

use super::automaton::{Step, is_boundary};

/// Steps that the search through one key may take; a key that needs more counts as one that does not match. The library
/// has no bound: it runs until it is done or its stack is.
const MAX_STEPS: u32 = 1_000_000;
/// So many of them each key has for itself. What it needs beyond comes out of what all keys of a request have together, so
/// that one request cannot keep the others waiting for long however many keys there are.
const OWN_STEPS: u32 = 1_000;
/// What all keys of a request have together.
pub(super) const SHARED_STEPS: u32 = 20 * MAX_STEPS;

/// What a group took, or where a loop was last, before it was changed.
type Undo = (usize, Option<(usize, usize)>);

/// One search through one key.
pub(super) struct Search<'a> {
    steps: &'a [Step],
    key: &'a [u8],
    /// For each group the range that it took last; then for each where it began last, which comes twice; then for each
    /// loop the place of its last round and how many rounds began there.
    taken: Vec<Option<(usize, usize)>>,
    groups: usize,
    left: u32,
    /// Whether a look-ahead begins anew where it looks from; see the automaton.
    anew: bool,
}

/// A place to go back to.
struct Choice {
    step: usize,
    at: usize,
    undone: usize,
}

impl<'a> Search<'a> {
    /// A search with that many groups and loops; `shared` is what is left of the steps that all keys have together.
    pub(super) fn new(steps: &'a [Step], key: &'a [u8], groups: usize, loops: usize, shared: u32) -> Self {
        Search {
            steps,
            key,
            taken: vec![None; 2 * groups + loops],
            groups,
            left: OWN_STEPS + shared.min(MAX_STEPS - OWN_STEPS),
            anew: true,
        }
    }

    /// Steps that were taken beyond those that a key has for itself.
    pub(super) fn drawn(&self, shared: u32) -> u32 {
        shared.min(MAX_STEPS - OWN_STEPS).saturating_sub(self.left)
    }

    /// Whether the pattern is found anywhere.
    pub(super) fn found(&mut self) -> bool {
        (0..=self.key.len()).any(|at| {
            self.taken.fill(None);
            self.anew = at == 0;
            self.matches(0, at, 0)
        })
    }

    fn set(&mut self, slot: usize, value: Option<(usize, usize)>, trail: &mut Vec<Undo>) {
        trail.push((slot, std::mem::replace(&mut self.taken[slot], value)));
    }

    fn undo(&mut self, trail: &mut Vec<Undo>, length: usize) {
        while trail.len() > length {
            if let Some((slot, old)) = trail.pop() {
                self.taken[slot] = old;
            }
        }
    }

    /// Keeps what groups took in a look-ahead that found something. The library does not take it back where this way fails
    /// later, not even where something was not to be found.
    fn keep_groups(&mut self, taken: &[Option<(usize, usize)>]) {
        for group in (0..self.groups).filter(|group| taken[*group].is_some()) {
            self.taken[group] = taken[group];
        }
    }

    /// Whether the steps from one on match at one place. What groups took stays if they do. `begin` is what the steps
    /// take for the begin of the key.
    fn matches(&mut self, first: usize, from: usize, begin: usize) -> bool {
        let (mut trail, mut choices): (Vec<Undo>, Vec<Choice>) = (Vec::new(), Vec::new());
        let (mut step, mut at) = (first, from);
        loop {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            match self.advance(step, at, begin, &mut trail, &mut choices) {
                Some(None) => return true,
                Some(Some(next)) => (step, at) = next,
                None => {
                    let Some(choice) = choices.pop() else {
                        self.undo(&mut trail, 0);
                        return false;
                    };
                    self.undo(&mut trail, choice.undone);
                    (step, at) = (choice.step, choice.at);
                }
            }
        }
    }

    /// Where it goes on after one step; nothing if this way is at its end, and no place if it is a match.
    fn advance(
        &mut self,
        step: usize,
        at: usize,
        begin: usize,
        trail: &mut Vec<Undo>,
        choices: &mut Vec<Choice>,
    ) -> Option<Option<(usize, usize)>> {
        let on = Some(Some((step + 1, at)));
        match &self.steps[step] {
            Step::Match => Some(None),
            Step::Jump(next) => Some(Some((*next, at))),
            Step::Split(one, other) => {
                choices.push(Choice {
                    step: *other,
                    at,
                    undone: trail.len(),
                });
                Some(Some((*one, at)))
            }
            Step::Begin => on.filter(|_| at == begin),
            Step::End => on.filter(|_| at == self.key.len()),
            Step::Boundary(wanted) => {
                let found = is_boundary(&self.key[begin..], at - begin);
                on.filter(|_| found == *wanted)
            }
            Step::Ahead { wanted, after } => {
                let (wanted, after) = (*wanted, *after);
                let before = self.taken.clone();
                let found = self.matches(step + 1, at, if self.anew { at } else { 0 });
                let after_taken = std::mem::replace(&mut self.taken, before);
                if found {
                    self.keep_groups(&after_taken);
                }
                (found == wanted).then_some(Some((after, at)))
            }
            Step::One(set) => {
                let byte = self.key.get(at)?;
                set.contains(*byte).then_some(Some((step + 1, at + 1)))
            }
            Step::Open(group) => {
                self.set(self.groups + *group, Some((at, at)), trail);
                on
            }
            Step::Close(group) => {
                let (start, _) = self.taken[self.groups + *group]?;
                self.set(*group, Some((start, at)), trail);
                on
            }
            Step::Round(slot) => {
                let slot = 2 * self.groups + *slot;
                let rounds = match self.taken[slot] {
                    // A round that takes nothing is tried once more and then no longer.
                    Some((place, rounds)) if place == at => (rounds < 2).then_some(rounds + 1)?,
                    _ => 1,
                };
                self.set(slot, Some((at, rounds)), trail);
                on
            }
            Step::Back(group) => {
                let (start, end) = self.taken[*group]?;
                let text = &self.key[start..end];
                self.key[at..]
                    .starts_with(text)
                    .then_some(Some((step + 1, at + text.len())))
            }
        }
    }
}
