//! Checked arithmetic that writes down every intermediate.

use crate::error::CapacityError;

/// One intermediate of a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What the number is.
    pub name: String,
    /// How it is made, with the numbers.
    pub formula: String,
    /// The number.
    pub value: u128,
    /// Its unit.
    pub unit: &'static str,
}

/// The intermediates so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) steps: Vec<Step>,
}

/// A number with the name it has in a formula.
pub(crate) type Named<'a> = (&'a str, u128);

impl Ledger {
    /// Notes a number that is given.
    pub(crate) fn given(&mut self, name: &str, value: u128, unit: &'static str) {
        self.note(name, "given".to_owned(), value, unit);
    }

    /// A product of the factors.
    pub(crate) fn product(
        &mut self,
        name: &str,
        unit: &'static str,
        factors: &[Named<'_>],
    ) -> Result<u128, CapacityError> {
        let value = factors
            .iter()
            .try_fold(1_u128, |all, (_, factor)| all.checked_mul(*factor));
        self.close(name, unit, joined(factors, " x "), value)
    }

    /// A sum of the terms.
    pub(crate) fn sum(
        &mut self,
        name: &str,
        unit: &'static str,
        terms: &[Named<'_>],
    ) -> Result<u128, CapacityError> {
        let value = terms
            .iter()
            .try_fold(0_u128, |all, (_, term)| all.checked_add(*term));
        self.close(name, unit, joined(terms, " + "), value)
    }

    /// A quotient rounded up. The divisor is never zero: flags and configs refuse it.
    pub(crate) fn quotient_up(
        &mut self,
        name: &str,
        unit: &'static str,
        of: Named<'_>,
        by: Named<'_>,
    ) -> Result<u128, CapacityError> {
        let value = of.1.checked_div(by.1).and_then(|whole| {
            let more = u128::from(!of.1.is_multiple_of(by.1));
            whole.checked_add(more)
        });
        self.close(
            name,
            unit,
            format!("{} rounded up", joined(&[of, by], " / ")),
            value,
        )
    }

    /// A quotient rounded down.
    pub(crate) fn quotient_down(
        &mut self,
        name: &str,
        unit: &'static str,
        of: Named<'_>,
        by: Named<'_>,
    ) -> Result<u128, CapacityError> {
        let value = of.1.checked_div(by.1);
        self.close(
            name,
            unit,
            format!("{} rounded down", joined(&[of, by], " / ")),
            value,
        )
    }

    /// What a quotient leaves.
    pub(crate) fn rest(
        &mut self,
        name: &str,
        unit: &'static str,
        of: Named<'_>,
        by: Named<'_>,
    ) -> Result<u128, CapacityError> {
        let value = of.1.checked_rem(by.1);
        self.close(name, unit, joined(&[of, by], " modulo "), value)
    }

    /// The smaller of two.
    pub(crate) fn smaller(
        &mut self,
        name: &str,
        unit: &'static str,
        one: Named<'_>,
        other: Named<'_>,
    ) -> u128 {
        let value = one.1.min(other.1);
        self.note(
            name,
            format!("the smaller of {}", joined(&[one, other], " and ")),
            value,
            unit,
        );
        value
    }

    fn close(
        &mut self,
        name: &str,
        unit: &'static str,
        formula: String,
        value: Option<u128>,
    ) -> Result<u128, CapacityError> {
        let Some(value) = value else {
            return Err(CapacityError::Overflow {
                name: name.to_owned(),
                formula,
            });
        };
        self.note(name, formula, value, unit);
        Ok(value)
    }

    fn note(&mut self, name: &str, formula: String, value: u128, unit: &'static str) {
        self.steps.push(Step {
            name: name.to_owned(),
            formula,
            value,
            unit,
        });
    }
}

fn joined(numbers: &[Named<'_>], by: &str) -> String {
    let words: Vec<String> = numbers
        .iter()
        .map(|(name, number)| format!("{name} {number}").trim().to_owned())
        .collect();
    words.join(by)
}
