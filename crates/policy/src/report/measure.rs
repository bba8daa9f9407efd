//! The figures of one run, each a whole number with its unit in its name.

use crate::Outcome;
use moonquake_figures::Unit;

/// A figure of a run.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// In JSON, with the unit.
    pub key: &'static str,
    /// For people.
    pub title: &'static str,
    /// What it counts.
    pub unit: Unit,
    of: fn(&Outcome) -> u64,
}

impl PartialEq for Measure {
    fn eq(&self, other: &Measure) -> bool {
        self.key == other.key
    }
}

impl Measure {
    /// Of this run.
    pub fn of(&self, outcome: &Outcome) -> u64 {
        (self.of)(outcome)
    }
}

const fn measure(key: &'static str, title: &'static str, unit: Unit, of: fn(&Outcome) -> u64) -> Measure {
    Measure { key, title, unit, of }
}

pub(super) const HIT_RATE: Measure = measure("hit_rate_ppm", "hit rate", Unit::Ppm, |run| {
    ppm(run.hit_tokens.into(), run.input_tokens.into())
});
pub(super) const FETCHED: Measure = measure("fetched_bytes", "fetched", Unit::Bytes, |run| run.fetched_bytes);
pub(super) const P50: Measure = measure("ttft_p50_ns", "TTFT P50", Unit::Nanoseconds, |run| rank(run, 50));
pub(super) const P95: Measure = measure("ttft_p95_ns", "P95", Unit::Nanoseconds, |run| rank(run, 95));
pub(super) const P99: Measure = measure("ttft_p99_ns", "P99", Unit::Nanoseconds, |run| rank(run, 99));
pub(super) const GOODPUT: Measure = measure("goodput_mrps", "goodput/s", Unit::Milli, |run| {
    let thousandths = u128::from(run.within_slo) * 1_000_000_000_000;
    rounded(thousandths, run.span_ns.into())
});

/// What the cache did.
pub(super) const CACHE: [Measure; 7] = [
    HIT_RATE,
    measure("hit_tokens", "hit tokens", Unit::Count, |run| run.hit_tokens),
    measure("computed_tokens", "computed", Unit::Count, |run| {
        run.computed_tokens
    }),
    measure("input_tokens", "of tokens", Unit::Count, |run| run.input_tokens),
    measure("passed_by_tokens", "passed by", Unit::Count, |run| {
        run.passed_by_tokens
    }),
    FETCHED,
    measure("stored_bytes", "stored", Unit::Bytes, |run| run.stored_bytes),
];

/// What requests got.
pub(super) const TIME: [Measure; 9] = [
    P50,
    P95,
    P99,
    measure("within_slo_ppm", "in SLO", Unit::Ppm, |run| {
        ppm(run.within_slo.into(), run.requests.into())
    }),
    GOODPUT,
    measure("queue_max", "queue max", Unit::Count, |run| run.queue_max),
    measure("queue_mean_milli", "queue mean", Unit::Milli, |run| {
        rounded(run.queue_request_ns.saturating_mul(1_000), run.span_ns.into())
    }),
    measure("server_busy_ppm", "servers busy", Unit::Ppm, |run| {
        let time = u128::from(run.span_ns) * u128::from(run.servers);
        ppm(run.servers_busy_ns.into(), time)
    }),
    measure("link_busy_ppm", "link busy", Unit::Ppm, |run| {
        ppm(run.link_busy_ns.into(), run.span_ns.into())
    }),
];

/// What the run was, for machines.
const RUN: [Measure; 3] = [
    measure("requests", "requests", Unit::Count, |run| run.requests),
    measure("within_slo_requests", "requests in SLO", Unit::Count, |run| {
        run.within_slo
    }),
    measure("span_ns", "span", Unit::Nanoseconds, |run| run.span_ns),
];

/// All figures of a run.
pub const MEASURES: [Measure; 19] = {
    let mut all = [HIT_RATE; 19];
    let mut place = 0;
    while place < all.len() {
        all[place] = match place {
            0..3 => RUN[place],
            3..10 => CACHE[place - 3],
            _ => TIME[place - 10],
        };
        place += 1;
    }
    all
};

/// Half up; by zero it is zero.
pub(super) fn rounded(value: u128, by: u128) -> u64 {
    let whole = match by {
        0 => 0,
        by => value / by + u128::from(value % by >= by.div_ceil(2)),
    };
    u64::try_from(whole).unwrap_or(u64::MAX)
}

/// A share in millionths, rounded half up.
pub(super) fn ppm(part: u128, whole: u128) -> u64 {
    rounded(part.saturating_mul(1_000_000), whole)
}

/// The percentile of numbers in ascending order by nearest rank: the one at place `ceil(percent / 100 * n)`, counted from 1.
/// None of no numbers.
pub fn nearest_rank(ascending: &[u64], percent: u64) -> Option<u64> {
    let place = (ascending.len() as u128 * u128::from(percent)).div_ceil(100);
    let index = usize::try_from(place.max(1) - 1).ok()?;
    ascending.get(index).or(ascending.last()).copied()
}

fn rank(run: &Outcome, percent: u64) -> u64 {
    nearest_rank(&run.ttft_ns, percent).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(
            [50, 95, 99, 100].map(|p| nearest_rank(&hundred, p)),
            [50, 95, 99, 100].map(Some)
        );
        // The example of the definition: five numbers.
        let five = [15, 20, 35, 40, 50];
        assert_eq!(
            [5, 30, 40, 50, 100].map(|p| nearest_rank(&five, p)),
            [15, 20, 20, 35, 50].map(Some)
        );
        assert_eq!(nearest_rank(&[7], 99), Some(7));
        assert_eq!(nearest_rank(&[], 99), None);
    }

    #[test]
    fn figures_are_those_of_the_run() {
        let run = Outcome {
            requests: 4,
            input_tokens: 3_000,
            hit_tokens: 1_000,
            span_ns: 2_000_000_000,
            servers: 2,
            servers_busy_ns: 1_000_000_000,
            link_busy_ns: 500_000_000,
            queue_request_ns: 3_000_000_000,
            ttft_ns: vec![1, 2, 3, 4],
            within_slo: 3,
            ..Outcome::default()
        };
        let of = |key: &str| MEASURES.iter().find(|one| one.key == key).unwrap().of(&run);
        assert_eq!(of("hit_rate_ppm"), 333_333);
        assert_eq!(of("server_busy_ppm"), 250_000);
        assert_eq!(of("link_busy_ppm"), 250_000);
        assert_eq!(of("queue_mean_milli"), 1_500);
        assert_eq!(of("within_slo_ppm"), 750_000);
        assert_eq!(of("goodput_mrps"), 1_500);
        assert_eq!(of("ttft_p50_ns"), 2);
        // A run of nothing is zero and not a fault.
        for one in MEASURES {
            assert_eq!(one.of(&Outcome::default()), 0, "{}", one.key);
        }
    }

    #[test]
    fn no_two_figures_have_one_name() {
        for (place, one) in MEASURES.iter().enumerate() {
            assert!(MEASURES[..place].iter().all(|other| other != one), "{}", one.key);
        }
    }
}
