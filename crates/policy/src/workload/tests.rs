//! What each kind of load is.

use super::{Ask, Shape, Workload, trace_of};
use crate::Trace;
use crate::policies::Kind;
use crate::sim::{Capacity, Config, run_kind};

fn small(workload: Workload) -> Shape {
    Shape {
        requests: 400,
        prefixes: 100,
        ..workload.shape()
    }
}

fn made(workload: Workload, seed: u64) -> Trace {
    workload.generate(seed, &small(workload)).unwrap()
}

fn asked(workload: Workload) -> Vec<Ask> {
    workload.asks(1, &small(workload)).unwrap()
}

#[test]
fn names_go_both_ways() {
    for workload in Workload::ALL {
        assert_eq!(Workload::from_name(workload.name()), Some(workload));
    }
    assert_eq!(Workload::from_name("skan"), None);
}

#[test]
fn a_seed_has_one_load_on_every_machine() {
    for workload in Workload::ALL {
        assert_eq!(made(workload, 5), made(workload, 5));
        assert_ne!(made(workload, 5), made(workload, 6));
        let trace = made(workload, 5);
        assert_eq!(trace.requests.len(), 400);
        assert!(trace.requests.is_sorted_by_key(|request| request.arrival_ns));
    }
    // Numbers of another machine; whoever changes how loads are drawn renews them.
    let last = |workload| {
        made(workload, 5)
            .requests
            .last()
            .map(|last| (last.arrival_ns, last.input_tokens))
    };
    assert_eq!(Workload::ALL.map(last), LAST.map(Some));
}

const LAST: [(u64, u64); 4] = [
    (111_912_855_074, 9_363),
    (56_161_902_037, 9_680),
    (21_632_378_248, 9_261),
    (56_161_902_037, 9_680),
];

#[test]
fn a_cyclic_scan_larger_than_the_cache_never_hits_with_lru_and_always_does_when_it_fits() {
    let shape = Shape {
        requests: 400,
        prefixes: 100,
        prefix_tokens: 512,
        suffix_tokens: 1,
        ..Workload::Scan.shape()
    };
    let trace = Workload::Scan.generate(1, &shape).unwrap();
    let hits = |capacity| {
        let config = Config {
            capacity: Capacity::Blocks(capacity),
            ..Config::default()
        };
        run_kind(Kind::Lru, &trace, &config).unwrap().hit_tokens
    };
    // A block for the prefix and one for the suffix: 200 keep each prefix until it comes again.
    assert_eq!(hits(50), 0);
    assert_eq!(hits(1_000), 300 * 512);
}

#[test]
fn a_new_version_shares_nothing_with_the_old_one() {
    let asks = asked(Workload::Switch);
    let switched = asks.iter().position(|ask| ask.namespace == 1);
    assert_eq!(switched, Some(200));
    assert!(asks[200..].iter().all(|ask| ask.namespace == 1));
    let trace = made(Workload::Switch, 1);
    let at = trace.requests[200].first as usize;
    let (old, new) = trace.references.split_at(at);
    let newest = old.iter().max().unwrap();
    assert!(new.iter().all(|block| block > newest));
    // Within a version much is shared.
    let different = new.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert!(new.len() * 2 > different * 3, "{} {different}", new.len());
}

#[test]
fn hot_spots_are_hot_and_bursts_are_for_one_prefix() {
    let most = |asks: &[Ask]| {
        let mut counts = [0; 100];
        asks.iter().for_each(|ask| counts[ask.prefix_id as usize] += 1);
        counts.into_iter().max()
    };
    // Of 100 prefixes with an exponent of 0.9 the first has 14.7 % of the requests; all alike would be 1 %.
    assert!(most(&asked(Workload::Zipf)) > Some(40));
    assert_eq!(most(&asked(Workload::Scan)), Some(4));
    let repeats = |workload| {
        let asks = asked(workload);
        asks.windows(2)
            .filter(|pair| pair[0].prefix_id == pair[1].prefix_id)
            .count()
    };
    // Of five requests of a burst four repeat the one before; without bursts some 4 % do by chance.
    assert!(repeats(Workload::Burst) > 250 && repeats(Workload::Zipf) < 50);
}

#[test]
fn gaps_are_as_long_as_they_should_be() {
    for workload in Workload::ALL {
        let shape = Shape {
            requests: 20_000,
            ..workload.shape()
        };
        let asks = workload.asks(3, &shape).unwrap();
        let mean = asks.last().unwrap().arrival_ns / 20_000;
        assert!(
            mean.abs_diff(shape.gap_ns) < shape.gap_ns / 20,
            "{}: {mean}",
            workload.name()
        );
        let suffix = asks.iter().map(|ask| ask.suffix_tokens).sum::<u64>() / 20_000;
        assert!(suffix.abs_diff(1_024) < 20, "{suffix}");
    }
}

#[test]
fn a_prefix_shares_its_full_blocks_and_no_other() {
    let ask = |namespace, prefix_id, prefix_tokens, suffix_tokens| Ask {
        arrival_ns: 0,
        namespace,
        prefix_id,
        prefix_tokens,
        suffix_tokens,
    };
    let chains = |asks: &[Ask]| -> Vec<Vec<u32>> {
        let trace = trace_of(asks, 10).unwrap();
        let chain = |request| trace.chain(request).iter().map(|block| block.0).collect();
        trace.requests.iter().map(chain).collect()
    };
    // 25 tokens of a prefix: two blocks are shared, the third one holds five of its tokens and five of the suffix.
    assert_eq!(
        chains(&[ask(0, 1, 25, 10), ask(0, 1, 25, 10)]),
        [[0, 1, 2, 3], [0, 1, 4, 5]]
    );
    // Another prefix, or the same in another namespace, shares nothing.
    assert_eq!(
        chains(&[ask(0, 1, 20, 0), ask(0, 2, 20, 0), ask(1, 1, 20, 0)]),
        [[0, 1], [2, 3], [4, 5]]
    );
    // A longer prefix begins with the shorter one.
    assert_eq!(chains(&[ask(0, 1, 10, 1), ask(0, 1, 20, 0)]), [[0, 1], [0, 2]]);
    // A prefix that ends in the middle of a block is a block of its own, for all that end there.
    assert_eq!(
        chains(&[
            ask(0, 1, 15, 0),
            ask(0, 1, 15, 0),
            ask(0, 1, 14, 0),
            ask(0, 1, 20, 0)
        ]),
        [[0, 1], [0, 1], [0, 2], [0, 3]]
    );
}
