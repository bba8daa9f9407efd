//! Queues whose mean waiting time is known exactly.

use super::{Config, Oldest, Witness, ask, cut};
use crate::sim::{Observer, Prefill, Story, run_seen};
use crate::workload::Dice;

const SEEDS: u64 = 24;
const REQUESTS: u32 = 40_000;
const SERVICE_NS: u64 = 800_000;

/// Sums up waiting times, without those of the beginning.
#[derive(Default)]
struct Waits {
    sum: u64,
    count: u64,
}

impl Observer for Waits {
    fn ended(&mut self, story: &Story) {
        if story.request >= REQUESTS / 20 {
            self.sum += story.start_ns - story.ready_ns;
            self.count += 1;
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Service {
    Exponential,
    Constant,
}

/// The mean waiting time over several seeds in units of the mean service time, and half of its 99.9 % confidence interval.
/// `load` is that of each server, in hundredths. Each request has one block of its own: nothing is shared.
fn waits(service: Service, servers: u64, load: u64) -> (f64, f64) {
    let config = Config {
        block_tokens: 1 << 40,
        bytes_per_token: 1,
        lookup_ns: 0,
        servers,
        prefill: Prefill::Linear {
            request_ns: 0,
            token_ps: 1_000,
        },
        ..Config::default()
    };
    let means: Vec<f64> = (0..SEEDS)
        .map(|seed| {
            let (mut dice, mut now) = (Dice::new(seed), 0);
            let asks: Vec<_> = (0..REQUESTS)
                .map(|_| {
                    now += dice.exponential(SERVICE_NS * 100 / load / servers);
                    let tokens = match service {
                        Service::Exponential => 1 + dice.exponential(SERVICE_NS),
                        Service::Constant => SERVICE_NS,
                    };
                    ask(now, 0, 0, tokens)
                })
                .collect();
            let mut waits = Waits::default();
            run_seen::<Oldest, _>(&cut(&asks, &config), &config, &mut waits).unwrap();
            waits.sum as f64 / waits.count as f64 / SERVICE_NS as f64
        })
        .collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // Student's t with 23 degrees of freedom, two-sided.
    (mean, 3.768 * (variance / n).sqrt())
}

/// Whether the exact value is in the interval, which must be narrow enough to say something.
fn is((mean, half): (f64, f64), exact: f64) -> bool {
    assert!(half < 0.08 * mean, "this says little: {mean} +- {half}");
    (mean - exact).abs() < half
}

/// The mean number of service times that a request waits with exponential service (Erlang C).
fn erlang(servers: u64, load: f64) -> f64 {
    let offered = load * servers as f64;
    let blocked = (1..=servers).fold(1.0, |blocked, k| {
        offered * blocked / (k as f64 + offered * blocked)
    });
    let waits = blocked / (1.0 - load * (1.0 - blocked));
    waits / (servers as f64 * (1.0 - load))
}

#[test]
fn the_formulas_are_those_of_the_books() {
    assert!((erlang(1, 0.8) - 4.0).abs() < 1e-9);
    // Two servers at 0.5: 1/3 waits, for 1 / (2 * 0.5).
    assert!((erlang(2, 0.5) - 1.0 / 3.0).abs() < 1e-9);
}

#[test]
fn one_server_with_exponential_service_waits_as_long_as_it_must() {
    let seen = waits(Service::Exponential, 1, 70);
    assert!(is(seen, erlang(1, 0.7)), "{seen:?}");
    // It is not the wait of a load that is a tenth off, nor of constant service.
    assert!(
        !is(seen, erlang(1, 0.77)) && !is(seen, erlang(1, 0.63)),
        "{seen:?}"
    );
    assert!(!is(seen, erlang(1, 0.7) / 2.0 * 1.5), "{seen:?}");
}

#[test]
fn one_server_with_constant_service_waits_half_as_long() {
    // Pollaczek and Khinchine: load / (2 * (1 - load)).
    let seen = waits(Service::Constant, 1, 70);
    assert!(is(seen, 0.7 / 0.6), "{seen:?}");
    assert!(!is(seen, 0.77 / 0.46) && !is(seen, 0.63 / 0.74), "{seen:?}");
}

#[test]
fn four_servers_wait_by_erlangs_formula() {
    let seen = waits(Service::Exponential, 4, 80);
    assert!(is(seen, erlang(4, 0.8)), "{seen:?}");
    // It is neither one server that is four times as fast, nor five or three of them.
    assert!(!is(seen, erlang(1, 0.8) / 4.0), "{seen:?}");
    assert!(!is(seen, erlang(5, 0.64)), "{seen:?}");
}

#[test]
fn the_audit_of_a_queue_is_littles_law() {
    let config = Config {
        block_tokens: 10,
        lookup_ns: 0,
        servers: 3,
        ..Config::default()
    };
    let mut dice = Dice::new(3);
    let mut now = 0;
    let asks: Vec<_> = (0..2_000)
        .map(|_| {
            now += dice.exponential(100_000_000);
            ask(now, 0, 0, dice.around(2_800))
        })
        .collect();
    let mut witness = Witness::default();
    let outcome = run_seen::<Oldest, _>(&cut(&asks, &config), &config, &mut witness).unwrap();
    let sum: u128 = witness
        .stories
        .iter()
        .map(|story| u128::from(story.start_ns - story.ready_ns))
        .sum();
    assert!(sum > 0);
    assert_eq!(outcome.queue_request_ns, sum);
}
