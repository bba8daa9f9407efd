//! Many runs at once, and the case in which hits hurt.

use crate::Outcome;
use crate::policies::Kind;
use crate::sim::{Config, Load, SimError, run_kind, sweep, where_hits_hurt};
use crate::workload::{Shape, Workload};

const SEEDS: [u64; 3] = [1, 2, 3];

fn all(workload: Workload, threads: usize) -> Vec<Outcome> {
    let shape = Shape {
        requests: 300,
        prefixes: 50,
        ..workload.shape()
    };
    let config = Config {
        capacity: crate::sim::Capacity::Blocks(400),
        ..Config::default()
    };
    let runs: Vec<_> = Kind::ALL.into_iter().map(|kind| (kind, config.clone())).collect();
    let make = |seed| workload.generate(seed, &shape);
    sweep(
        &Load {
            name: workload.name(),
            make: &make,
        },
        &runs,
        &SEEDS,
        threads,
    )
    .unwrap()
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    for workload in Workload::ALL {
        let one = all(workload, 1);
        for threads in [0, 2, 3, 64] {
            assert_eq!(
                format!("{one:?}"),
                format!("{:?}", all(workload, threads)),
                "{threads}"
            );
        }
        // A policy after the other, and for each the seeds.
        assert_eq!(one.len(), Kind::ALL.len() * SEEDS.len());
        for (at, outcome) in one.iter().enumerate() {
            assert_eq!(outcome.policy, Kind::ALL[at / SEEDS.len()].name());
            assert_eq!(
                (outcome.seed, &*outcome.workload),
                (SEEDS[at % SEEDS.len()], workload.name())
            );
        }
        assert_ne!(one[0].ttft_ns, one[1].ttft_ns);
    }
}

#[test]
fn the_first_run_that_fails_is_told() {
    let make = |seed| match seed {
        2.. => Err(SimError::Empty { request: seed }),
        _ => Workload::Zipf.generate(seed, &Workload::Zipf.shape()),
    };
    let load = Load {
        name: "zipf",
        make: &make,
    };
    for threads in [1, 2] {
        let told = sweep(&load, &[(Kind::Lru, Config::default())], &SEEDS, threads);
        assert_eq!(told, Err(SimError::Empty { request: 2 }));
        let runs = [(
            Kind::Lru,
            Config {
                servers: 0,
                ..Config::default()
            },
        )];
        assert_eq!(
            sweep(&load, &runs, &[1], threads),
            Err(SimError::Zero { field: "servers" })
        );
        assert_eq!(sweep(&load, &[], &[1], threads), Ok(Vec::new()));
        assert_eq!(sweep(&load, &runs, &[], threads), Ok(Vec::new()));
    }
}

/// Requests within the SLO, by time.
fn goodput(outcome: &Outcome) -> f64 {
    outcome.within_slo as f64 / outcome.span_ns as f64
}

#[test]
fn more_hits_can_be_worse_for_every_seed_and_the_faster_way_mends_it() {
    let case = where_hits_hurt();
    for seed in 1..=5 {
        let trace = case.workload.generate(seed, &case.shape).unwrap();
        let [few, many, mended] = [&case.few_hits, &case.many_hits, &case.mended]
            .map(|config| run_kind(Kind::Lru, &trace, config).unwrap());
        assert!(
            many.hit_tokens > 2 * few.hit_tokens,
            "{} {}",
            many.hit_tokens,
            few.hit_tokens
        );
        assert!(
            goodput(&many) < 0.7 * goodput(&few),
            "{} {}",
            goodput(&many),
            goodput(&few)
        );
        assert!(
            goodput(&mended) >= goodput(&few),
            "{} {}",
            goodput(&mended),
            goodput(&few)
        );
        assert!(mended.hit_tokens > few.hit_tokens);
    }
}

#[test]
fn the_default_loads_keep_the_servers_busy_but_not_more() {
    for workload in Workload::ALL {
        let mut all = 0;
        for seed in 1..=8 {
            let trace = workload.generate(seed, &workload.shape()).unwrap();
            let lru = run_kind(Kind::Lru, &trace, &Config::default()).unwrap();
            let permille = lru.servers_busy_ns * 1_000 / (lru.span_ns * lru.servers);
            println!(
                "{} {seed}: {permille} permille busy, queue {}",
                workload.name(),
                lru.queue_max
            );
            assert!((600..=950).contains(&permille), "{}: {permille}", workload.name());
            assert!(lru.queue_max > 1 && lru.link_busy_ns < lru.span_ns * 9 / 10);
            all += permille;
        }
        assert!(
            (700..=900).contains(&(all / 8)),
            "{}: {}",
            workload.name(),
            all / 8
        );
    }
}
