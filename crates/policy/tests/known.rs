//! Block hits of the public conversation trace, as other simulators count them.

mod conversation;

use conversation::conversation;
use moonquake_policy::flat;
use moonquake_policy::policies::Kind;
use moonquake_policy::trace::{self, MOONCAKE_BLOCK_TOKENS, Reading, References, Ticks};

fn references() -> Option<References> {
    Some(trace::read_references(&conversation()?, MOONCAKE_BLOCK_TOKENS).unwrap())
}

#[test]
fn conversation_trace_at_ten_thousand_blocks() {
    let Some(read) = references() else { return };
    assert_eq!((read.references.len(), read.blocks), (288_500, 182_790));
    assert!(read.notes.is_empty());
    let hits = |kind| flat::replay_kind(kind, &read.references, read.blocks, 10_000).hits;
    assert_eq!(hits(Kind::Lru), 60_921);
    assert_eq!(hits(Kind::Fifo), 53_812);
    assert_eq!(hits(Kind::Sieve), 38_013);
    assert_eq!(hits(Kind::Belady), 105_710);
    assert_eq!(flat::infinite(&read.references, read.blocks).hits, 105_710);
    assert!(hits(Kind::TinyLfu) <= 105_710 && hits(Kind::TimeSaved) <= 105_710);
}

/// libcachesim 0.3.5 from PyPI on the same references: capacity, then LRU, FIFO, Sieve.
const ELSEWHERE: &[(usize, u64, u64, u64)] = &[
    (1, 0, 0, 0),
    (2, 1_356, 1_212, 1_356),
    (7, 3_783, 3_439, 12_027),
    (100, 11_645, 9_918, 12_031),
    (1_000, 12_831, 12_559, 13_871),
    (5_000, 31_840, 30_780, 26_626),
    (20_000, 82_939, 76_718, 60_553),
    (50_000, 102_290, 98_096, 99_189),
];

/// The same for the references that [`skewed`] makes.
const ELSEWHERE_SKEWED: &[(usize, u64, u64, u64)] = &[
    (1, 641, 641, 641),
    (2, 1_202, 1_204, 1_204),
    (7, 4_036, 3_997, 5_470),
    (100, 46_830, 40_858, 63_175),
    (1_000, 91_991, 88_442, 93_474),
    (5_000, 96_087, 96_087, 96_087),
    (20_000, 96_087, 96_087, 96_087),
];

/// 100,000 references, a few blocks much more often than others, as a table of one id a line.
fn skewed() -> String {
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let ids = (0..100_000).map(|_| 20_000 / (1 + random() % 20_000) * 50 + random() % 50);
    ids.map(|id| format!("{id}\n")).collect()
}

fn same(read: &References, elsewhere: &[(usize, u64, u64, u64)]) {
    for &(capacity, lru, fifo, sieve) in elsewhere {
        let hits = |kind| flat::replay_kind(kind, &read.references, read.blocks, capacity).hits;
        let found = (hits(Kind::Lru), hits(Kind::Fifo), hits(Kind::Sieve));
        assert_eq!(found, (lru, fifo, sieve), "capacity {capacity}");
    }
}

#[test]
fn skewed_references_at_many_capacities() {
    let read = trace::parse_references("skewed", skewed().as_bytes(), MOONCAKE_BLOCK_TOKENS).unwrap();
    assert_eq!(read.blocks, 3_913);
    same(&read, ELSEWHERE_SKEWED);
}

#[test]
fn conversation_trace_at_other_capacities() {
    let Some(read) = references() else { return };
    same(&read, ELSEWHERE);
}

#[test]
fn conversation_trace_as_requests() {
    let Some(path) = conversation() else { return };
    let raw = trace::read(&path, &Reading::default()).unwrap();
    let ticks = Ticks::Spread { seed: 7 };
    let spread = trace::read(
        &path,
        &Reading {
            ticks,
            ..Reading::default()
        },
    )
    .unwrap();
    assert_eq!(
        (raw.requests.len(), raw.references.len(), raw.blocks()),
        (12_031, 288_500, 182_790)
    );
    assert!(
        raw.notes[0].contains("1180 instants, 3000 ms apart"),
        "{:?}",
        raw.notes
    );
    assert!(spread.notes[0].contains("seed 7"), "{:?}", spread.notes);
    let moved = raw.requests.iter().zip(&spread.requests);
    let late = moved.map(|(raw, spread)| spread.arrival_ns.checked_sub(raw.arrival_ns).unwrap());
    let late: Vec<u64> = late.collect();
    assert!(late.iter().all(|late| *late <= 3_000_000_000));
    let mean = late.iter().sum::<u64>() / late.len() as u64;
    assert!((1_450_000_000..1_550_000_000).contains(&mean), "{mean}");
    assert!(spread.requests.is_sorted_by_key(|request| request.arrival_ns));
}
