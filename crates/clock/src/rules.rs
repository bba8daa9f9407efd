//! How deadlines are compared in one run: the table, with switches for quirks and for tests that flip a comparison.

use crate::{Clocks, Compare, DEADLINES, DeadlineId, Domain, Span};
use std::collections::BTreeMap;

/// How one deadline is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// On which clock.
    pub domain: Domain,
    /// At the instant or after it.
    pub compare: Compare,
}

/// The comparisons of a run. The default is the table of [`DEADLINES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    rules: BTreeMap<DeadlineId, Rule>,
}

impl Default for Rules {
    fn default() -> Self {
        let row = |row: &crate::Deadline| {
            (
                row.id,
                Rule {
                    domain: row.domain,
                    compare: row.compare,
                },
            )
        };
        Rules {
            rules: DEADLINES.iter().map(row).collect(),
        }
    }
}

impl Rules {
    /// The rule of a deadline.
    pub fn get(&self, id: DeadlineId) -> Rule {
        let row = id.row();
        self.rules.get(&id).copied().unwrap_or(Rule {
            domain: row.domain,
            compare: row.compare,
        })
    }

    /// Replaces a rule: a quirk that is off, or a flip whose detection a test demands.
    pub fn set(&mut self, id: DeadlineId, rule: Rule) {
        self.rules.insert(id, rule);
    }

    /// Turns strict into inclusive and back.
    pub fn flip_compare(&mut self, id: DeadlineId) {
        let rule = self.get(id);
        let compare = match rule.compare {
            Compare::Strict => Compare::Inclusive,
            Compare::Inclusive => Compare::Strict,
        };
        self.set(id, Rule { compare, ..rule });
    }

    /// Moves a deadline to the other clock.
    pub fn flip_domain(&mut self, id: DeadlineId) {
        let rule = self.get(id);
        let domain = match rule.domain {
            Domain::Realtime => Domain::Monotonic,
            Domain::Monotonic => Domain::Realtime,
        };
        self.set(id, Rule { domain, ..rule });
    }

    /// Whether the deadline `length` after `base` is reached at `now`. Both readings come from the same actor.
    pub fn reached(&self, id: DeadlineId, base: Clocks, length: Span, now: Clocks) -> bool {
        let rule = self.get(id);
        let due = u128::from(base.raw(rule.domain)) + u128::from(length.ns);
        let now = u128::from(now.raw(rule.domain));
        match rule.compare {
            Compare::Inclusive => now >= due,
            Compare::Strict => now > due,
        }
    }

    /// How much time must pass from `now` until [`Rules::reached`] turns true; zero if it is true already.
    pub fn until(&self, id: DeadlineId, base: Clocks, length: Span, now: Clocks) -> Span {
        let rule = self.get(id);
        let strict = u128::from(rule.compare == Compare::Strict);
        let due = u128::from(base.raw(rule.domain)) + u128::from(length.ns) + strict;
        let wait = due.saturating_sub(u128::from(now.raw(rule.domain)));
        Span::from_ns(u64::try_from(wait).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MonotonicNs, RealtimeNs};

    fn at(ns: u64) -> Clocks {
        Clocks {
            realtime: RealtimeNs(ns),
            monotonic: MonotonicNs(ns),
        }
    }

    #[test]
    fn until_is_the_first_nanosecond_at_which_a_deadline_is_reached() {
        let rules = Rules::default();
        for row in DEADLINES {
            let wait = rules.until(row.id, at(100), Span::from_ns(30), at(105));
            let first = at(105) + wait;
            assert!(
                rules.reached(row.id, at(100), Span::from_ns(30), first),
                "{}",
                row.name
            );
            let before = first.back(Span::from_ns(1));
            assert!(
                !rules.reached(row.id, at(100), Span::from_ns(30), before),
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
                    realtime: RealtimeNs(500),
                    monotonic: MonotonicNs(0),
                },
                Domain::Monotonic => Clocks {
                    realtime: RealtimeNs(0),
                    monotonic: MonotonicNs(500),
                },
            };
            assert!(rules.reached(row.id, at(100), Span::from_ns(30), now));
            rules.flip_domain(row.id);
            assert!(!rules.reached(row.id, at(100), Span::from_ns(30), now));
            let mut rules = Rules::default();
            let edge = at(130);
            let before = rules.reached(row.id, at(100), Span::from_ns(30), edge);
            rules.flip_compare(row.id);
            assert_ne!(rules.reached(row.id, at(100), Span::from_ns(30), edge), before);
        }
    }
}
