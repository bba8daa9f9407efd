//! What draws from the engine that places replicas, how often, and what becomes of what was drawn.

use super::harness::*;
use crate::objects::hash::hash_of;
use crate::placement::host_order;
use crate::{MasterConfig, Strategy};
use moonquake_protocol::{ReplicateConfig, Request, Response, Segment, Uuid};

fn with_strategy(strategy: Strategy, segments: &[(&str, u64)]) -> Harness {
    let config = MasterConfig {
        strategy,
        ..MasterConfig::default()
    };
    Harness::configured(config, segments)
}

/// How many numbers were drawn by what is done.
fn draws(harness: &mut Harness, act: impl FnOnce(&mut Harness)) -> usize {
    let mut engine = harness.master.dice.clone();
    act(harness);
    let [after, _] = harness.master.engine_images();
    (0..10)
        .position(|_| {
            let same = engine.image() == after;
            engine.index_below(1);
            same
        })
        .unwrap()
}

fn mount(harness: &mut Harness, segment: Segment) {
    let client_id = client(0);
    answer!(harness, MountSegment { segment, client_id }).unwrap();
}

#[test]
fn a_put_draws_where_it_has_a_choice() {
    let two = [("a", MIB), ("b", MIB)];
    let put = |config: ReplicateConfig| move |harness: &mut Harness| drop(harness.put_with("k", 10, &config));
    let mut harness = Harness::with_segments(&two[..1]);
    assert_eq!(draws(&mut harness, put(replicas(1))), 0, "one name");
    let mut harness = Harness::with_segments(&two);
    assert_eq!(draws(&mut harness, put(on("a"))), 0, "all on preferred names");
    let mut harness = Harness::with_segments(&two);
    assert_eq!(
        draws(&mut harness, put(replicas(2))),
        1,
        "one start for all replicas"
    );
    for strategy in [Strategy::FreeRatioFirst, Strategy::SsdFreeRatioFirst] {
        let mut harness = with_strategy(strategy, &two[..1]);
        assert_eq!(
            draws(&mut harness, put(replicas(1))),
            1,
            "a start, even of one name"
        );
        let mut harness = with_strategy(strategy, &two);
        assert_eq!(
            draws(&mut harness, put(replicas(2))),
            1,
            "nothing is left to the lot"
        );
    }
}

/// Two segments of one name, so that a put draws which of them is tried first.
fn twins(placement_seed: u64) -> Harness {
    let config = MasterConfig {
        placement_seed,
        ..MasterConfig::default()
    };
    let mut harness = Harness::configured(config, &[("a", MIB)]);
    let twin = Segment {
        id: Uuid::new(1, 1),
        base: 1 << 40,
        ..segment("a", MIB)
    };
    mount(&mut harness, twin);
    harness
}

#[test]
fn segments_of_one_name_are_tried_from_a_drawn_one_on() {
    let mut first = std::collections::BTreeSet::new();
    for seed in 0..16 {
        let mut harness = twins(seed);
        let mut start = harness.master.dice.clone();
        let expected = [segment("a", MIB).base, 1 << 40][start.index_below(2)];
        let mut place = |key: &str| range(&harness.put(key, MIB)[0]).buffer_address;
        let (one, other) = (place("k"), place("l"));
        assert_eq!(one, expected);
        assert_ne!(one, other, "the other has room");
        first.insert(one);
    }
    assert_eq!(first.len(), 2);
}

fn on_host(name: &str, host: &str) -> Segment {
    Segment {
        host_id: host.to_owned(),
        ..segment(name, MIB)
    }
}

/// The own machine, then those behind it and round; within each the key says where to begin.
#[test]
fn machines_come_in_their_order_and_their_segments_from_where_the_key_says() {
    let mut harness = Harness::with_segments(&[]);
    for (name, host) in [
        ("a", "h1"),
        ("b", "h1"),
        ("c", "h2"),
        ("d", "h2"),
        ("e", "h2"),
        ("f", "h3"),
    ] {
        mount(&mut harness, on_host(name, host));
    }
    for number in 0..12 {
        let key = format!("k{number}");
        let hash = hash_of(key.as_bytes()) as usize;
        let turned = |names: &[&str]| {
            let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
            let start = hash % names.len();
            names.rotate_left(start);
            names
        };
        let expected = [turned(&["c", "d", "e"]), turned(&["f"]), turned(&["a", "b"])].concat();
        assert_eq!(host_order(&harness.master.segments, "h2", &key), expected);
    }
}

#[test]
fn who_has_named_no_machine_prefers_none() {
    let mut harness = Harness::with_segments(&[]);
    mount(&mut harness, on_host("a", "h1"));
    mount(&mut harness, on_host("b", "h2"));
    let near = ReplicateConfig {
        prefer_alloc_in_same_node: true,
        ..ReplicateConfig::default()
    };
    assert_eq!(
        draws(&mut harness, |harness| drop(harness.put_with("k", 10, &near))),
        1
    );
    let near = ReplicateConfig {
        host_id: "h2".to_owned(),
        ..near
    };
    let drawn = draws(&mut harness, |harness| {
        assert_eq!(names(&harness.put_with("l", 10, &near)), ["b"]);
    });
    assert_eq!(drawn, 0);
}

/// Twelve segments, the later the fuller, but for one that is preferred and the fullest.
fn ever_fuller() -> Harness {
    let letters: Vec<String> = (b'a'..=b'l')
        .map(|letter| char::from(letter).to_string())
        .collect();
    let segments: Vec<(&str, u64)> = letters.iter().map(|name| (name.as_str(), MIB)).collect();
    let mut harness = with_strategy(Strategy::FreeRatioFirst, &segments);
    for (number, name) in letters.iter().enumerate() {
        harness.put_with(&format!("fill {name}"), 1024 * (1 + number as u64), &on(name));
    }
    harness
}

/// Six names are looked at for each replica that is still wanted, from a drawn one on.
#[test]
fn a_sample_is_as_large_as_what_preferred_names_have_left_open() {
    let mut harness = ever_fuller();
    for number in 0..8 {
        let mut dice = harness.master.dice.clone();
        let all = harness.master.segments.names();
        let start = dice.index_below(all.len());
        let sample = (0..6).map(|step| all[(start + step) % all.len()].to_string());
        let best = sample.filter(|name| name != "l").min().unwrap();
        let two = ReplicateConfig {
            replica_num: 2,
            ..on("l")
        };
        let placed = harness.put_with(&format!("k{number}"), 1, &two);
        assert_eq!(names(&placed), ["l".to_owned(), best]);
    }
}

/// Where nothing of the sample has room, the lot finds what has.
#[test]
fn beyond_a_full_sample_names_are_tried_by_lot() {
    let mut harness = ever_fuller();
    let all: Vec<String> = harness
        .master
        .segments
        .names()
        .iter()
        .map(ToString::to_string)
        .collect();
    let start = harness.master.dice.clone().index_below(all.len());
    let free = all[(start + 8) % all.len()].clone();
    for name in all.iter().filter(|name| **name != free) {
        harness
            .put_start_as(client(1), &format!("full {name}"), MIB / 2 + 1, &on(name))
            .unwrap();
    }
    let mut placed = Vec::new();
    let drawn = draws(&mut harness, |harness| placed = harness.put("k", MIB / 2 + 1));
    assert_eq!((names(&placed), drawn), (vec![free], 2));
}
