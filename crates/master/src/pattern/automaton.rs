//! From the parts of a pattern to an automaton that searches keys.

use super::PatternError;
use super::backtrack::{SHARED_STEPS, Search};
use super::parse::{Counts, MAX_STATES, Part, parse};
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

/// Most steps, those included that the library has not.
const MAX_STEPS: usize = 4 * MAX_STATES;

/// A pattern that is ready to search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pattern {
    steps: Vec<Step>,
    states: usize,
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
        let mut pattern = Pattern {
            refers_back: refers_back(&part),
            shared_steps: Cell::new(SHARED_STEPS),
            ..Pattern::default()
        };
        pattern.compile(&part)?;
        pattern.push(Step::Match)?;
        Ok(pattern)
    }

    fn push(&mut self, step: Step) -> Result<usize, PatternError> {
        // The library has no jumps; they are bounded all the same, since nothing can be repeated very often.
        self.states += usize::from(!matches!(step, Step::Jump(_)));
        if self.states > MAX_STATES || self.steps.len() >= MAX_STEPS {
            return Err(PatternError::Invalid);
        }
        self.steps.push(step);
        Ok(self.steps.len() - 1)
    }

    fn compile(&mut self, part: &Part) -> Result<(), PatternError> {
        match part {
            Part::One(set) => drop(self.push(Step::One(*set))?),
            Part::Begin => drop(self.push(Step::Begin)?),
            Part::End => drop(self.push(Step::End)?),
            Part::Boundary(wanted) => drop(self.push(Step::Boundary(*wanted))?),
            Part::Sequence(parts) => parts.iter().try_for_each(|part| self.compile(part))?,
            Part::Either(branches) => {
                let mut exits = Vec::new();
                for (index, branch) in branches.iter().enumerate() {
                    if index + 1 == branches.len() {
                        self.compile(branch)?;
                        break;
                    }
                    let split = self.push(Step::Split(0, 0))?;
                    self.compile(branch)?;
                    exits.push(self.push(Step::Jump(0))?);
                    self.steps[split] = Step::Split(split + 1, self.steps.len());
                }
                let end = self.steps.len();
                exits
                    .into_iter()
                    .for_each(|exit| self.steps[exit] = Step::Jump(end));
            }
            Part::Repeat(part, counts) => self.compile_repeat(part, *counts)?,
            Part::Group(part, group) if self.refers_back => {
                self.groups = self.groups.max(*group + 1);
                self.push(Step::Open(*group))?;
                self.compile(part)?;
                self.push(Step::Close(*group))?;
            }
            Part::Group(part, _) => self.compile(part)?,
            Part::Back(group) => {
                // The group itself may be in a part that is repeated not at all.
                self.groups = self.groups.max(*group + 1);
                self.push(Step::Back(*group))?;
            }
            Part::Ahead(part, wanted) => {
                let ahead = self.push(Step::Match)?;
                self.compile(part)?;
                self.push(Step::Match)?;
                let after = self.steps.len();
                self.steps[ahead] = Step::Ahead {
                    wanted: *wanted,
                    after,
                };
            }
        }
        Ok(())
    }

    fn compile_repeat(&mut self, part: &Part, counts: Counts) -> Result<(), PatternError> {
        for _ in 0..counts.least {
            // A step for each repetition, so that repeating nothing is bounded too.
            let next = self.steps.len() + 1;
            self.push(Step::Jump(next))?;
            self.compile(part)?;
        }
        let once_or_on = |once: usize, on: usize| {
            if counts.lazy {
                Step::Split(on, once)
            } else {
                Step::Split(once, on)
            }
        };
        let Some(most) = counts.most else {
            let split = self.push(Step::Split(0, 0))?;
            if self.refers_back {
                self.push(Step::Round(self.loops))?;
                self.loops += 1;
            }
            self.compile(part)?;
            self.push(Step::Jump(split))?;
            self.steps[split] = once_or_on(split + 1, self.steps.len());
            return Ok(());
        };
        let mut splits = Vec::new();
        for _ in counts.least..most {
            splits.push(self.push(Step::Split(0, 0))?);
            self.compile(part)?;
        }
        let end = self.steps.len();
        splits
            .into_iter()
            .for_each(|split| self.steps[split] = once_or_on(split + 1, end));
        Ok(())
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
mod tests {
    use super::super::PatternError;
    use super::{Pattern, SHARED_STEPS};
    use proptest::prelude::*;

    const KEYS: [&str; 13] = [
        "",
        "a",
        "key_1",
        "key_12",
        "obj/key",
        "aab",
        "a b",
        "line\nbreak",
        "A-Z",
        "[x]",
        "ab\\c",
        "0001",
        "k_\u{e9}",
    ];

    /// Pattern, and for each key whether it is found in it; nothing if the library refuses the pattern. Computed with
    /// the GNU C++ library, version 12.
    #[rustfmt::skip]
    const VECTORS: &[(&str, Option<[u8; 13]>)] = &[
        (r"", Some([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"(a)\1", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])),
        (r"(a)\2", None),
        (r"\1", None),
        (r"\1(a)", None),
        (r"(a\1)", None),
        (r"(.)\1", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0])),
        (r"(0)\1\1", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0])),
        (r"(a)|\1", Some([0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"(?:(a)|b)\1", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])),
        (r"(a*)\1b", Some([0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"(a|(b))+\2", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"a(?=^b)", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0])),
        (r"a(?=\bb)", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0])),
        (r"a(?=\Bb)", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])),
        (r"_(?=^1)", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"(?=(a))\1", Some([0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"(?=(a*))\1b", Some([0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"(?=(a*?))\1b", Some([0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"(?!(a))\1", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"(a*)*\1b", Some([0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"(a*?)\1b", Some([0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"((a)b)\2", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"((a)b)\1", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"(.)(.)\2\1", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"(0){3}\1", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"(0)+\1", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0])),
        (r"(0)+?\1", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0])),
        (r"^(.*)(.)\2", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0])),
        (r"(\w)\1", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0])),
        (r"(.)\1*b", Some([0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0])),
        (r"(.)(?=\1)", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0])),
        (r"(.)(?!\1).b", Some([0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0])),
        (r"([ab])\12", None),
        (r"()\1a", Some([0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"(a)()\2b", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0])),
        (r"(?:(a)|(b))*\1", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])),
        (r"(y)?\1_", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"(?:(e)y)?\1_", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"(a){0}\1", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"(a){0}b", Some([0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"(a){2}\1", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"^(?:(a)|(b)|(c))*\1$", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"\0", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"[\1]", None),
        (r"(a)[\1]", None),
        (r"(x\])|\1", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])),
        (r"(?=a)*", None),
        (r"(a)\1*", Some([0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"(a)\1{2}", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"(a)(\1)", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])),
        (r"((.)\2)b", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])),
        (r"(?=(.))(?=\1)a", Some([0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"(?:(?=(a))a)+b", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0])),
        (r"(?:(?=(a)))\1a", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])),
        (r"[[.space.]]", Some([0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0])),
        (r"[[.hyphen.]-Z]", Some([0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0])),
        (r"[[=a=]]", Some([0, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0])),
        (r"[[:ALPHA:]]", Some([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1])),
        (r"[*\B]", None),
        (r"\u4e16", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"(?!^)", Some([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"a(?!^)", Some([0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0])),
        (r"a{65536}", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"[a-é]", None),
        (r"[é-a]", Some([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"a", Some([0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"^key_", Some([0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"key_\d+$", Some([0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"^key_[0-9]$", Some([0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"a*", Some([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"a+b", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0])),
        (r"(a|b)b", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0])),
        (r"^(key|obj)", Some([0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"[", None),
        (r"]", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])),
        (r"[]", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"[^]", Some([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"[^a]", Some([0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"[a-]", Some([0, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0])),
        (r"[-a]", Some([0, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0])),
        (r"[z-a]", None),
        (r"*", None),
        (r"a**", Some([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"a+*", Some([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"a{2}", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])),
        (r"^a{1,2}b$", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])),
        (r"a{2,1}", None),
        (r"a{", None),
        (r"{", None),
        (r"}", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"a{,2}", None),
        (r"a{x}", None),
        (r"(", None),
        (r"a)", None),
        (r"(?:a)b", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0])),
        (r"(?=k)key", Some([0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"(?!k)ey", Some([0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"^(?!key)", Some([1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"\bkey", Some([0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"y\b", Some([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"\Be", Some([0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0])),
        (r"[[:alpha:]]+_", Some([0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1])),
        (r"[[:nope:]]", None),
        (r"[\d_]", Some([0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1])),
        (r"[a-\d]", None),
        (r"[\w-]", Some([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"[\w-z]", None),
        (r"\", None),
        (r"\.", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"\-", Some([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])),
        (r"a|", Some([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"|b", Some([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"()", Some([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"(?", None),
        (r"(?<a)", None),
        (r"x{0}", Some([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        (r"^$", Some([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"^x{0}$", Some([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"a b", Some([0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0])),
        (r"\s", Some([0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0])),
        (r"line.break", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"line\nbreak", Some([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0])),
        (r"[[.a.]]b", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0])),
        (r"[[=a=]]b", Some([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0])),
        (r"\x41", Some([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])),
        (r"\u0041", Some([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])),
        (r"\cA", Some([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])),
        (r"\[x\]", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])),
        (r"a.?b", Some([0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0])),
        (r"a??b", Some([0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"^*", None),
        (r"$a", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"[A-Z]-[A-Z]", Some([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])),
        (r"\0", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"k_..$", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])),
        (r"k_.$", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        (r"[[.-.]]", None),
        (r"[a-b-c]", Some([0, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0])),
        (r"[\]]", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])),
        (r"a{0,}b", Some([0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"^.{4}$", Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1])),
        (r"[^\d]", Some([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1])),
        (r"\D", Some([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1])),
        (r"\W", Some([0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1])),
        (r"\S\s\S", Some([0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0])),
        (r"(a)(b)?", Some([0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0])),
        (r"[", None),
        (r"[a", None),
        (r"[[:alpha:]", None),
        (r"[x-[:alpha:]]", None),
    ];

    #[test]
    fn searches_find_what_the_library_finds() {
        for (pattern, found) in VECTORS {
            let got = Pattern::new(pattern).map(|pattern| KEYS.map(|key| pattern.is_in(key)));
            let expected = found.map(|found| found.map(|bit| bit == 1));
            assert_eq!(got.ok(), expected, "{pattern:?}");
        }
    }

    #[test]
    fn a_search_that_tries_for_too_long_finds_nothing() {
        let key = "a".repeat(60);
        assert!(Pattern::new(r"(a*)*\1b").is_ok_and(|pattern| !pattern.is_in(&key)));
        assert!(Pattern::new(r"(a)\1b").is_ok_and(|pattern| pattern.is_in(&(key + "b"))));
    }

    #[test]
    fn nothing_is_too_deep_or_too_often() {
        for pattern in [
            "(".repeat(20_000),
            format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000)),
            "((((a{999}){999}){999}){999})".to_owned(),
            "((){99999}){99999}".to_owned(),
            "a{99999999999999999999}".to_owned(),
        ] {
            assert_eq!(Pattern::new(&pattern).unwrap_err(), PatternError::Invalid);
        }
        let slow_elsewhere = Pattern::new("(a*)*b").unwrap();
        assert!(!slow_elsewhere.is_in(&"a".repeat(5_000)));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(
            text in prop_oneof![".{0,20}", "[ab\\[\\](){}|*+?.^$\\\\d:=!,0-9-]{0,20}"],
            key in ".{0,12}",
        ) {
            if let Ok(pattern) = Pattern::new(&text) {
                pattern.is_in(&key);
            }
        }
    }

    #[test]
    fn hostile_keys_use_up_what_all_keys_have_together_and_plain_ones_still_match() {
        let pattern = Pattern::new(r"(?:(a*)*)*\1c").unwrap();
        let hostile = "a".repeat(60);
        let used = |pattern: &Pattern| SHARED_STEPS - pattern.shared_steps.get();
        assert!(pattern.is_in("aac"));
        assert_eq!(used(&pattern), 0, "a plain key has enough of its own");
        assert!(!pattern.is_in(&hostile));
        let one = used(&pattern);
        assert!(one > 0);
        for _ in 0..=SHARED_STEPS / one {
            assert!(!pattern.is_in(&hostile));
        }
        assert_eq!(used(&pattern), SHARED_STEPS);
        assert!(pattern.is_in("aac"));
    }
}
