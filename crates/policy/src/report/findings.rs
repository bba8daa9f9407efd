//! Sentences that tables do not say by themselves: where a higher hit rate comes with a lower goodput.

use super::measure::{GOODPUT, HIT_RATE, ppm};
use super::{Case, Load, Report};
use moonquake_figures::Unit;

/// Less than this share of goodput, in millionths, is no finding.
const LEAST_LOSS_PPM: u64 = 10_000;

/// Whether two cases are compared.
type Compared = fn(&Case, &Case) -> bool;

/// Two cases of which the first has more hits and less goodput.
struct Pair<'a> {
    more_hits: &'a Case,
    more_goodput: &'a Case,
    loss_ppm: u64,
}

impl Report {
    /// For each load where it is so: the policy and the decision whose higher hit rate costs most goodput. Where it is
    /// nowhere so, this is said.
    pub fn findings(&self) -> Vec<String> {
        let mut sentences: Vec<String> = Vec::new();
        for load in &self.loads {
            let other = match load.has_several_capacities() {
                true => "by capacity",
                false => "by policy",
            };
            let kinds: [(&str, Compared); 2] = [
                ("by decision", |one, two| {
                    one.is_beside(two) && one.decision != two.decision
                }),
                (other, |one, two| {
                    !one.is_beside(two) && one.decision == two.decision
                }),
            ];
            for (by, is_compared) in kinds {
                sentences.extend(load.worst(is_compared).map(|pair| pair.sentence(load, by)));
            }
        }
        if sentences.is_empty() {
            sentences.push(
                "In these runs no higher hit rate came with a goodput that is 1 % lower or more.".to_owned(),
            );
        }
        sentences
    }
}

impl Load {
    /// Of the pairs that are compared, the one that loses most goodput; the first of equal ones.
    fn worst(&self, is_compared: Compared) -> Option<Pair<'_>> {
        let mut worst: Option<Pair<'_>> = None;
        for one in &self.cases {
            for two in self.cases.iter().filter(|two| is_compared(one, two)) {
                let pair = Pair::of(one, two);
                let most = worst.as_ref().map_or(LEAST_LOSS_PPM - 1, |worst| worst.loss_ppm);
                worst = pair.filter(|pair| pair.loss_ppm > most).or(worst);
            }
        }
        worst
    }
}

impl<'a> Pair<'a> {
    fn of(more_hits: &'a Case, more_goodput: &'a Case) -> Option<Pair<'a>> {
        let (hits, goodput) = (
            [more_hits, more_goodput].map(|case| case.spread(HIT_RATE).mean),
            [more_hits, more_goodput].map(|case| case.spread(GOODPUT).mean),
        );
        let is_so = hits[0] > hits[1] && goodput[0] < goodput[1];
        is_so.then(|| Pair {
            more_hits,
            more_goodput,
            loss_ppm: ppm((goodput[1] - goodput[0]).into(), goodput[1].into()),
        })
    }

    fn sentence(&self, load: &Load, by: &str) -> String {
        let name = |case: &Case| format!("{} with {}", load.label(case), case.decision);
        let figures = |case: &Case| {
            let rate = Unit::Ppm.show(case.spread(HIT_RATE).mean.into());
            let goodput = Unit::Milli.show(case.spread(GOODPUT).mean.into());
            format!("{rate} of tokens hit, {goodput} requests/s within the SLO")
        };
        let outcomes = self.more_hits.outcomes.iter().zip(&self.more_goodput.outcomes);
        let seeds = outcomes.len();
        let so = outcomes
            .filter(|(one, two)| HIT_RATE.of(one) > HIT_RATE.of(two) && GOODPUT.of(one) < GOODPUT.of(two))
            .count();
        let on = match seeds {
            1 => String::new(),
            seeds => format!(", on {so} of {seeds} seeds"),
        };
        format!(
            "{}, {by}: a higher hit rate with {} less goodput{on}. {}: {}. {}: {}.",
            load.workload,
            Unit::Ppm.show(self.loss_ppm.into()),
            name(self.more_hits),
            figures(self.more_hits),
            name(self.more_goodput),
            figures(self.more_goodput),
        )
    }
}
