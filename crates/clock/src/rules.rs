//! How deadlines are compared in one run: the table, with switches for quirks and for tests that flip a comparison.

use crate::{Clocks, Compare, DEADLINES, DeadlineId, Domain, Marks, Span};

/// Nanoseconds of a millisecond.
const MS: u128 = 1_000_000;

/// How one deadline is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// On which clock.
    pub domain: Domain,
    /// At the instant or after it.
    pub compare: Compare,
    /// Whether it counts from what the table says it could be mistaken to count from.
    pub mistaken: bool,
}

impl From<&crate::Deadline> for Rule {
    fn from(row: &crate::Deadline) -> Rule {
        Rule {
            domain: row.domain,
            compare: row.compare,
            mistaken: false,
        }
    }
}

/// Which part of a rule is turned around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flip {
    /// Strict for inclusive, and back.
    Compare,
    /// The other clock.
    Clock,
    /// The base that the table says it could be mistaken to count from; nothing changes where it knows none.
    Base,
}

impl Compare {
    /// The first nanosecond at which a deadline counts as reached.
    fn first(self, base_ns: u64, length_ns: u64) -> u128 {
        let (base, length) = (u128::from(base_ns), u128::from(length_ns));
        match self {
            Compare::Inclusive => base + length,
            Compare::Strict => base + length + 1,
            Compare::StrictMs => (base / MS + length / MS + 1) * MS,
        }
    }
}

impl Rule {
    /// The rule with one part turned around.
    fn flipped(self, id: DeadlineId, flip: Flip) -> Rule {
        match (flip, self.compare, self.domain) {
            (Flip::Compare, Compare::Strict | Compare::StrictMs, _) => Rule {
                compare: Compare::Inclusive,
                ..self
            },
            (Flip::Compare, Compare::Inclusive, _) => Rule {
                compare: Compare::Strict,
                ..self
            },
            (Flip::Clock, _, Domain::Realtime) => Rule {
                domain: Domain::Monotonic,
                ..self
            },
            (Flip::Clock, _, Domain::Monotonic) => Rule {
                domain: Domain::Realtime,
                ..self
            },
            (Flip::Base, ..) => Rule {
                mistaken: !self.mistaken && id.row().mistaken.is_some(),
                ..self
            },
        }
    }

    fn until(self, base: Clocks, length: Span, now: Clocks) -> Span {
        let first = self.compare.first(base.raw(self.domain), length.ns);
        let wait = first.saturating_sub(u128::from(now.raw(self.domain)));
        Span::from_ns(u64::try_from(wait).unwrap_or(u64::MAX))
    }
}

/// The comparisons of a run. The default is the table of [`DEADLINES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// One for each row of the table, at the place of its id.
    rules: [Rule; DEADLINES.len()],
    /// Which flips would have made a difference, seen by all clones together.
    mattered: [Marks; 3],
}

impl Default for Rules {
    fn default() -> Self {
        let mut rules = [Rule::from(&DEADLINES[0]); DEADLINES.len()];
        for row in DEADLINES {
            rules[row.id as usize] = Rule::from(row);
        }
        Rules {
            rules,
            mattered: Default::default(),
        }
    }
}

impl Rules {
    /// The rule of a deadline. Whoever asks may do anything with it, so every flip of it counts as one that matters.
    pub fn get(&self, id: DeadlineId) -> Rule {
        self.mattered.iter().for_each(|marks| marks.set(id as usize));
        self.rule(id)
    }

    fn rule(&self, id: DeadlineId) -> Rule {
        self.rules[id as usize]
    }

    /// Replaces a rule: a quirk that is off, or a flip whose detection a test demands.
    pub fn set(&mut self, id: DeadlineId, rule: Rule) {
        self.rules[id as usize] = rule;
    }

    /// Turns one part of a rule around.
    pub fn flip(&mut self, id: DeadlineId, flip: Flip) {
        self.set(id, self.rule(id).flipped(id, flip));
    }

    /// Turns strict into inclusive and back.
    pub fn flip_compare(&mut self, id: DeadlineId) {
        self.flip(id, Flip::Compare);
    }

    /// Moves a deadline to the other clock.
    pub fn flip_domain(&mut self, id: DeadlineId) {
        self.flip(id, Flip::Clock);
    }

    /// Whether a flip could have changed any answer that these rules and their clones gave so far.
    pub fn mattered(&self, id: DeadlineId, flip: Flip) -> bool {
        self.mattered[flip as usize].has(id as usize)
    }

    fn mark<T: PartialEq>(&self, id: DeadlineId, answer: &T, of: impl Fn(Rule) -> T) {
        for flip in [Flip::Compare, Flip::Clock] {
            if of(self.rule(id).flipped(id, flip)) != *answer {
                self.mattered[flip as usize].set(id as usize);
            }
        }
    }

    /// Which of two bases a deadline counts from: the one of the table, unless a test has flipped it.
    pub fn base<T: PartialEq>(&self, id: DeadlineId, table: T, mistaken: T) -> T {
        if table != mistaken {
            self.mattered[Flip::Base as usize].set(id as usize);
        }
        if self.rule(id).mistaken { mistaken } else { table }
    }

    /// Whether the deadline `length` after `base` is reached at `now`. Both readings come from the same actor.
    pub fn reached(&self, id: DeadlineId, base: Clocks, length: Span, now: Clocks) -> bool {
        let rule = self.rule(id);
        let is_met = |compare: Compare, domain| {
            u128::from(now.raw(domain)) >= compare.first(base.raw(domain), length.ns)
        };
        let answer = is_met(rule.compare, rule.domain);
        // A master asks this for every object of an eviction round, so the flips are not made but compared.
        let flipped = rule.flipped(id, Flip::Compare).compare;
        if is_met(flipped, rule.domain) != answer {
            self.mattered[Flip::Compare as usize].set(id as usize);
        }
        if is_met(rule.compare, rule.domain.other()) != answer {
            self.mattered[Flip::Clock as usize].set(id as usize);
        }
        answer
    }

    /// How much time must pass from `now` until [`Rules::reached`] turns true; zero if it is true already.
    pub fn until(&self, id: DeadlineId, base: Clocks, length: Span, now: Clocks) -> Span {
        let until = |rule: Rule| rule.until(base, length, now);
        let answer = until(self.rule(id));
        self.mark(id, &answer, until);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MonotonicNs, RealtimeNs};

    fn at(ms: u64) -> Clocks {
        Clocks {
            realtime: RealtimeNs(ms * 1_000_000),
            monotonic: MonotonicNs(ms * 1_000_000),
        }
    }

    #[test]
    fn until_is_the_first_nanosecond_at_which_a_deadline_is_reached() {
        let rules = Rules::default();
        for row in DEADLINES {
            let wait = rules.until(row.id, at(100), Span::from_ms(30), at(105));
            let first = at(105) + wait;
            assert!(
                rules.reached(row.id, at(100), Span::from_ms(30), first),
                "{}",
                row.name
            );
            let before = first.back(Span::from_ns(1));
            assert!(
                !rules.reached(row.id, at(100), Span::from_ms(30), before),
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn each_rule_looks_at_its_own_clock_and_flips() {
        for row in DEADLINES {
            let mut rules = Rules::default();
            let now = match row.domain {
                Domain::Realtime => Clocks {
                    realtime: RealtimeNs(500_000_000),
                    monotonic: MonotonicNs(0),
                },
                Domain::Monotonic => Clocks {
                    realtime: RealtimeNs(0),
                    monotonic: MonotonicNs(500_000_000),
                },
            };
            assert!(rules.reached(row.id, at(100), Span::from_ms(30), now));
            rules.flip_domain(row.id);
            assert!(!rules.reached(row.id, at(100), Span::from_ms(30), now));
            let mut rules = Rules::default();
            let edge = at(130);
            let before = rules.reached(row.id, at(100), Span::from_ms(30), edge);
            rules.flip_compare(row.id);
            assert_ne!(rules.reached(row.id, at(100), Span::from_ms(30), edge), before);
            assert_eq!(rules.base(row.id, 1, 2), 1);
            rules.flip(row.id, Flip::Base);
            assert_eq!(rules.base(row.id, 1, 2), 1 + i32::from(row.mistaken.is_some()));
        }
    }

    #[test]
    fn a_flip_matters_only_where_it_changes_an_answer() {
        let rules = Rules::default();
        let (id, length) = (DeadlineId::Lease, Span::from_ms(30));
        let mattered =
            |rules: &Rules| [Flip::Compare, Flip::Clock, Flip::Base].map(|flip| rules.mattered(id, flip));
        rules.reached(id, at(100), length, at(129));
        rules.base(id, 1, 1);
        assert_eq!(mattered(&rules), [false; 3]);
        rules.clone().reached(id, at(100), length, at(130));
        assert_eq!(mattered(&rules), [true, false, false]);
        let ahead = Clocks {
            realtime: RealtimeNs(500_000_000),
            ..at(100)
        };
        rules.reached(id, at(100), length, ahead);
        rules.base(id, 1, 2);
        assert_eq!(mattered(&rules), [true; 3]);
        assert!(!rules.mattered(DeadlineId::Ping, Flip::Compare));
        rules.until(DeadlineId::Ping, at(100), length, at(100));
        assert!(rules.mattered(DeadlineId::Ping, Flip::Compare));
    }
}
