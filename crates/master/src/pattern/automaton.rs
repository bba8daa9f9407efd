//! From the parts of a pattern to an automaton that searches keys.

use super::PatternError;
use super::backtrack::{SHARED_STEPS, Search};
use super::count::fits;
use super::parse::{Counts, Part, parse};
use super::set::{ByteSet, is_word};
use std::cell::Cell;

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Takes a byte of the set, then goes on with the next step.
    One(ByteSet),
    /// Goes on with either, with the first first where it matters.
    Split(usize, usize),
    Jump(usize),
    Begin,
    End,
    Boundary(bool),
    /// Looks ahead with the steps that follow; then goes on there.
    Ahead {
        wanted: bool,
        after: usize,
    },
    /// A group begins.
    Open(usize),
    /// A group ends.
    Close(usize),
    /// A round of the loop of that number begins.
    Round(usize),
    /// Takes what a group took last.
    Back(usize),
    Match,
}

/// A pattern that is ready to search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pattern {
    steps: Vec<Step>,
    /// How many groups there are; only counted where something refers back.
    groups: usize,
    loops: usize,
    refers_back: bool,
    /// Steps that are left to the search through all keys together, where something refers back.
    shared_steps: Cell<u32>,
}

/// Where the steps are run.
#[derive(Clone, Copy)]
struct Look {
    /// At this place of the key, and from there on at every one unless it is anchored.
    from: usize,
    /// What the steps take for the begin of the key.
    begin: usize,
    anchored: bool,
    /// Whether a look-ahead begins anew where it looks from, as if nothing were before. In the library it does so as long as
    /// the search has not left the begin of the key.
    anew: bool,
}

impl Look {
    fn ahead(self, at: usize) -> Look {
        Look {
            from: at,
            begin: if self.anew { at } else { 0 },
            anchored: true,
            ..self
        }
    }
}

fn refers_back(part: &Part) -> bool {
    match part {
        Part::Back(_) => true,
        Part::Sequence(parts) | Part::Either(parts) => parts.iter().any(refers_back),
        Part::Repeat(part, _) | Part::Group(part, _) | Part::Ahead(part, _) => refers_back(part),
        Part::One(_) | Part::Begin | Part::End | Part::Boundary(_) => false,
    }
}

impl Pattern {
    /// Reads a pattern.
    pub(crate) fn new(text: &str) -> Result<Pattern, PatternError> {
        let part = parse(text)?;
        if !fits(&part) {
            return Err(PatternError::Invalid);
        }
        let mut pattern = Pattern {
            refers_back: refers_back(&part),
            shared_steps: Cell::new(SHARED_STEPS),
            ..Pattern::default()
        };
        pattern.compile(&part);
        pattern.push(Step::Match);
        Ok(pattern)
    }

    /// Adds a step. There are never more than a few for each state of the library.
    fn push(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn compile(&mut self, part: &Part) {
        match part {
            Part::One(set) => self.steps.push(Step::One(*set)),
            Part::Begin => self.steps.push(Step::Begin),
            Part::End => self.steps.push(Step::End),
            Part::Boundary(wanted) => self.steps.push(Step::Boundary(*wanted)),
            Part::Sequence(parts) => parts.iter().for_each(|part| self.compile(part)),
            Part::Either(branches) => {
                let mut exits = Vec::new();
                for (index, branch) in branches.iter().enumerate() {
                    if index + 1 == branches.len() {
                        self.compile(branch);
                        break;
                    }
                    let split = self.push(Step::Split(0, 0));
                    self.compile(branch);
                    exits.push(self.push(Step::Jump(0)));
                    self.steps[split] = Step::Split(split + 1, self.steps.len());
                }
                let end = self.steps.len();
                exits
                    .into_iter()
                    .for_each(|exit| self.steps[exit] = Step::Jump(end));
            }
            Part::Repeat(part, counts) => self.compile_repeat(part, *counts),
            Part::Group(part, group) if self.refers_back => {
                self.groups = self.groups.max(*group + 1);
                self.steps.push(Step::Open(*group));
                self.compile(part);
                self.steps.push(Step::Close(*group));
            }
            Part::Group(part, _) => self.compile(part),
            Part::Back(group) => {
                // The group itself may be in a part that is repeated not at all.
                self.groups = self.groups.max(*group + 1);
                self.steps.push(Step::Back(*group));
            }
            Part::Ahead(part, wanted) => {
                let ahead = self.push(Step::Match);
                self.compile(part);
                self.steps.push(Step::Match);
                let after = self.steps.len();
                self.steps[ahead] = Step::Ahead {
                    wanted: *wanted,
                    after,
                };
            }
        }
    }

    fn compile_repeat(&mut self, part: &Part, counts: Counts) {
        for _ in 0..counts.least {
            self.compile(part);
        }
        let once_or_on = |once: usize, on: usize| {
            if counts.lazy {
                Step::Split(on, once)
            } else {
                Step::Split(once, on)
            }
        };
        let Some(most) = counts.most else {
            let split = self.push(Step::Split(0, 0));
            if self.refers_back {
                self.steps.push(Step::Round(self.loops));
                self.loops += 1;
            }
            self.compile(part);
            self.steps.push(Step::Jump(split));
            self.steps[split] = once_or_on(split + 1, self.steps.len());
            return;
        };
        let mut splits = Vec::new();
        for _ in counts.least..most {
            splits.push(self.push(Step::Split(0, 0)));
            self.compile(part);
        }
        let end = self.steps.len();
        splits
            .into_iter()
            .for_each(|split| self.steps[split] = once_or_on(split + 1, end));
    }

    /// Whether the pattern is found anywhere in the key.
    pub(crate) fn is_in(&self, key: &str) -> bool {
        let key = key.as_bytes();
        if self.refers_back {
            let shared = self.shared_steps.get();
            let mut search = Search::new(&self.steps, key, self.groups, self.loops, shared);
            let is_found = search.found();
            self.shared_steps.set(shared - search.drawn(shared));
            is_found
        } else {
            let from = |anew: bool| Look {
                from: usize::from(!anew),
                begin: 0,
                anchored: anew,
                anew,
            };
            self.run(key, 0, from(true)) || (!key.is_empty() && self.run(key, 0, from(false)))
        }
    }

    /// Runs the steps from one on.
    fn run(&self, key: &[u8], first: usize, look: Look) -> bool {
        let Look {
            from,
            begin,
            anchored,
            anew: _,
        } = look;
        let mut present = Vec::new();
        for at in from..=key.len() {
            let mut seen = vec![false; self.steps.len()];
            let mut reached = Vec::new();
            let starts = !anchored || at == from;
            let mut open: Vec<usize> = present.into_iter().chain(starts.then_some(first)).collect();
            while let Some(step) = open.pop() {
                if std::mem::replace(&mut seen[step], true) {
                    continue;
                }
                match &self.steps[step] {
                    Step::Match => return true,
                    Step::Jump(next) => open.push(*next),
                    Step::Split(one, other) => open.extend([*one, *other]),
                    Step::Begin if at == begin => open.push(step + 1),
                    Step::End if at == key.len() => open.push(step + 1),
                    Step::Boundary(wanted) if is_boundary(&key[begin..], at - begin) == *wanted => {
                        open.push(step + 1)
                    }
                    Step::Ahead { wanted, after } if self.run(key, step + 1, look.ahead(at)) == *wanted => {
                        open.push(*after)
                    }
                    Step::One(set) if key.get(at).is_some_and(|byte| set.contains(*byte)) => {
                        reached.push(step + 1)
                    }
                    _ => {}
                }
            }
            if anchored && reached.is_empty() {
                return false;
            }
            present = reached;
        }
        false
    }
}

pub(super) fn is_boundary(key: &[u8], at: usize) -> bool {
    let word = |index: Option<usize>| {
        index
            .and_then(|index| key.get(index))
            .is_some_and(|byte| is_word(*byte))
    };
    word(at.checked_sub(1)) != word(Some(at))
}

#[cfg(test)]
mod tests;
