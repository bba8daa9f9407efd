//! How fast the simulation is. Run with `cargo bench -p moonquake-policy --bench sim`.

use divan::{Bencher, black_box};
use moonquake_policy::Trace;
use moonquake_policy::policies::Kind;
use moonquake_policy::sim::{Config, Decision, Discipline, run_kind};
use moonquake_policy::workload::{Shape, Workload};

fn main() {
    divan::main();
}

/// As many requests as the public conversation trace has, and about as many references.
fn load() -> Trace {
    let shape = Shape {
        requests: 12_031,
        prefix_tokens: 11_000,
        ..Workload::Zipf.shape()
    };
    Workload::Zipf
        .generate(1, &shape)
        .expect("the defaults make a load")
}

#[divan::bench(args = Kind::ALL)]
fn zipf(bencher: Bencher, kind: &Kind) {
    let (trace, config) = (load(), Config::default());
    bencher.bench_local(|| run_kind(*kind, black_box(&trace), &config));
}

#[divan::bench]
fn zipf_on_a_shared_link_by_what_is_faster(bencher: Bencher) {
    let config = Config {
        link: Discipline::Shared,
        decision: Decision::Faster,
        ..Config::default()
    };
    let trace = load();
    bencher.bench_local(|| run_kind(Kind::Lru, black_box(&trace), &config));
}

#[divan::bench]
fn generate(bencher: Bencher) {
    bencher.bench_local(load);
}
