//! How fast traces are read and references replayed. Run with `cargo bench -p moonquake-policy`.
//!
//! On chains of its own: 4,000 requests of 24 blocks, a third of them shared. The clock is that of divan.

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use moonquake_policy::flat;
use moonquake_policy::policies::Kind;
use moonquake_policy::trace::{Reading, Trace, parse};
use std::fmt::Write;

const REQUESTS: u64 = 4_000;
const CHAIN: u64 = 24;
const SHARED: u64 = 8;

fn main() {
    divan::main();
}

/// Request `n` goes on from the beginning of an earlier one.
fn text() -> String {
    let mut text = String::new();
    for n in 0..REQUESTS {
        let like = if n < 200 { n } else { n * n % 200 };
        let ids: Vec<u64> = (0..CHAIN)
            .map(|place| {
                if place < SHARED {
                    like * CHAIN + place
                } else {
                    n * CHAIN + place
                }
            })
            .collect();
        let tokens = 512 * CHAIN;
        writeln!(
            text,
            "{{\"timestamp\": {n}, \"input_length\": {tokens}, \"output_length\": 1, \"hash_ids\": {ids:?}}}"
        )
        .unwrap();
    }
    text
}

fn trace() -> Trace {
    parse("bench", text().as_bytes(), &Reading::default()).unwrap()
}

#[divan::bench]
fn read(bencher: Bencher) {
    let text = text();
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        parse("bench", text.as_bytes(), &Reading::default())
            .unwrap()
            .requests
            .len()
    });
}

#[divan::bench(args = Kind::ALL.map(Kind::name))]
fn replay(bencher: Bencher, name: &str) {
    let trace = trace();
    let kind = Kind::from_name(name).unwrap();
    bencher
        .counter(ItemsCount::new(trace.references.len()))
        .bench(|| flat::replay_kind(kind, &trace.references, trace.blocks(), 2_000).hits);
}
