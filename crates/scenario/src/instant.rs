//! From a symbolic instant to a time of the timeline.

use crate::{Base, Instant, Length, Term, Timeouts};
use moonquake_clock::Span;

/// The time since `start` of an instant. `lookup` knows when a base came to be.
///
/// `None` if the base never came to be, or if the instant lies before `start` or beyond what a [`Span`] holds.
pub fn resolve(
    instant: &Instant,
    timeouts: &Timeouts,
    lookup: impl Fn(&Base) -> Option<Span>,
) -> Option<Span> {
    let base = match instant.base {
        Base::Start => Span::ZERO,
        _ => lookup(&instant.base)?,
    };
    let ns = i128::from(base.ns).checked_add(offset_ns(&instant.terms, timeouts)?)?;
    u64::try_from(ns).ok().map(Span::from_ns)
}

/// The sum of the terms in nanoseconds. `None` if a deadline has no such name or the sum does not fit.
pub fn offset_ns(terms: &[Term], timeouts: &Timeouts) -> Option<i128> {
    terms.iter().try_fold(0_i128, |sum, term| {
        let ns = match &term.length {
            Length::Span(span) => i128::from(span.ns),
            Length::Deadline(name, factor) => {
                i128::from(timeouts.get(name)?.ns).checked_mul(i128::from(*factor))?
            }
        };
        if term.minus {
            sum.checked_sub(ns)
        } else {
            sum.checked_add(ns)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moment;

    fn instant(base: Base, terms: &[(bool, Length)]) -> Instant {
        let terms = terms.iter().map(|(minus, length)| Term {
            minus: *minus,
            length: length.clone(),
        });
        Instant {
            base,
            terms: terms.collect(),
            text: String::new(),
        }
    }

    #[test]
    fn terms_add_up_exactly_and_out_of_range_is_none() {
        let lease = |factor| Length::Deadline("lease".to_owned(), factor);
        let ns = |ns| Length::Span(Span::from_ns(ns));
        let lookup = |base: &Base| match base {
            Base::Step(0, Moment::Handled) => Some(Span::from_secs(5)),
            _ => None,
        };
        let resolved = |base, terms: &[_]| resolve(&instant(base, terms), &Timeouts::default(), lookup);
        let p1 = Base::Step(0, Moment::Handled);
        assert_eq!(
            resolved(p1.clone(), &[(false, lease(2)), (true, ns(1))]),
            Some(Span::from_ns(24_999_999_999))
        );
        assert_eq!(resolved(Base::Start, &[]), Some(Span::ZERO));
        assert_eq!(resolved(Base::Start, &[(true, ns(1))]), None);
        assert_eq!(resolved(Base::Fault, &[]), None);
        assert_eq!(resolved(p1.clone(), &[(false, lease(u64::MAX))]), None);
        let huge: Vec<_> = (0..40).map(|_| (true, lease(u64::MAX))).collect();
        assert_eq!(resolved(p1, &huge), None);
    }
}
