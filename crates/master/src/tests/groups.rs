//! Groups: shared leases and routing.

use super::harness::*;
use crate::objects::hash::hash_of;
use crate::objects::order::HashOrder;
use moonquake_clock::Span;
use moonquake_protocol::{ErrorCode, ReplicateConfig};

fn pair() -> Harness {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put_with("x", 10, &in_group("g"));
    harness.put_with("y", 10, &in_group("g"));
    harness
}

fn removable(harness: &mut Harness, key: &str) -> bool {
    harness.remove(key, false) != Err(ErrorCode::ObjectHasLease)
}

#[test]
fn a_touch_leases_all_members() {
    let mut harness = pair();
    harness.get("x").unwrap();
    assert!(!removable(&mut harness, "y"));
    harness.advance(Span::from_secs(10));
    assert!(removable(&mut harness, "y"));
}

/// A second read is told a full lease and extends nothing before half of the first is over.
#[test]
fn a_lease_is_refreshed_only_when_half_of_it_is_over() {
    for (second_read, extended) in [(Span::from_secs(5) - NS, false), (Span::from_secs(5), true)] {
        let mut harness = pair();
        harness.get("x").unwrap();
        harness.at(second_read);
        harness.get("x").unwrap();
        harness.at(Span::from_secs(10));
        assert_eq!(!removable(&mut harness, "y"), extended);
    }
}

#[test]
fn a_member_that_joins_makes_the_next_touch_refresh() {
    let mut harness = pair();
    harness.get("x").unwrap();
    harness.at(Span::from_secs(1));
    harness.put_with("z", 10, &in_group("g"));
    harness.get("x").unwrap();
    harness.at(Span::from_secs(11) - NS);
    assert!(!removable(&mut harness, "z") && !removable(&mut harness, "y"));
}

#[test]
fn members_are_found_and_removed_one_by_one() {
    let mut harness = pair();
    assert_eq!(
        harness.master.objects.shard_of("x"),
        harness.master.objects.shard_of("y")
    );
    assert_eq!(harness.put_start("x", 10), Err(ErrorCode::ObjectAlreadyExists));
    harness.remove("x", false).unwrap();
    assert!(harness.exist("y"));
    harness.put("x", 10);
    harness.advance(Span::from_secs(20));
    harness.get("y").unwrap();
    assert!(
        removable(&mut harness, "x"),
        "put again without a group it is no member"
    );
}

#[test]
fn a_preempting_put_leaves_the_group() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put_start_as(client(1), "k", 10, &in_group("g")).unwrap();
    harness.advance(Span::from_secs(31));
    harness.put("k", 10);
    assert!(harness.master.objects.members("g").is_empty());
}

#[test]
fn an_upsert_keeps_the_group_and_cannot_change_it() {
    let mut harness = pair();
    for config in [in_group("h"), in_group("")] {
        assert_eq!(
            harness.upsert_start("x", 10, &config),
            Err(ErrorCode::InvalidParams)
        );
    }
    for (size, config) in [
        (10, ReplicateConfig::default()),
        (20, in_group("g")),
        (30, ReplicateConfig::default()),
    ] {
        harness.upsert_start("x", size, &config).unwrap();
        harness.upsert_end("x").unwrap();
        assert_eq!(harness.master.objects.members("g").len(), 2);
    }
    harness.put("plain", 10);
    assert_eq!(
        harness.upsert_start("plain", 10, &in_group("g")),
        Err(ErrorCode::InvalidParams)
    );
    assert!(harness.exist("plain"));
}

#[test]
fn an_unfinished_grouped_upsert_can_become_ungrouped() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.upsert_start("k", 10, &in_group("g")).unwrap();
    harness
        .upsert_start("k", 10, &ReplicateConfig::default())
        .unwrap();
    harness.upsert_end("k").unwrap();
    assert!(harness.master.objects.members("g").is_empty());
}

/// A round that leaves few objects in a large shard makes its table smaller, which the order of those that come later shows.
#[test]
fn the_table_of_an_evicted_shard_shrinks() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    let hard = ReplicateConfig {
        with_hard_pin: true,
        ..in_group("g")
    };
    let mut order = HashOrder::<usize>::default();
    let key = |number: usize| format!("k{number}");
    for number in 0..1_100 {
        let config = if number < 100 { &hard } else { &in_group("g") };
        harness.put_with(&key(number), 1024, config);
        order.insert(hash_of(key(number).as_bytes()), number);
    }
    harness.advance(NS);
    harness.master.evict_batch(harness.now, 1.0, 1.0);
    assert_eq!(harness.keys().len(), 100);
    (100..1_100).for_each(|number| order.remove(hash_of(key(number).as_bytes()), number));
    order.shrink();
    for number in 2_000..2_050 {
        harness.put_with(&key(number), 1024, &in_group("g"));
        order.insert(hash_of(key(number).as_bytes()), number);
    }
    let expected: Vec<String> = order.iter().map(key).collect();
    assert_eq!(harness.master.readable_keys(), expected);
}

/// A write that is under way already is one write, and those of a shard come in the library's order.
#[test]
fn each_unfinished_write_of_a_shard_is_there_once_and_in_its_order() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let mut order = HashOrder::<usize>::default();
    let key = |number: usize| format!("k{number}");
    let hash = |number: usize| hash_of(key(number).as_bytes());
    for number in 0..40 {
        harness.put_with(&key(number), 10, &in_group("g"));
    }
    let objects = &mut harness.master.objects;
    for number in (0..40).rev().chain(0..40) {
        objects.set_writing(&key(number), true);
        order.insert(hash(number), number);
    }
    for number in (0..40).step_by(3) {
        objects.set_writing(&key(number), false);
        order.remove(hash(number), number);
    }
    let writing = objects.writing_in_shard(objects.shard_of("k0"));
    let writing: Vec<&str> = writing.into_iter().map(|id| objects.key_of(id)).collect();
    assert_eq!(writing, order.iter().map(key).collect::<Vec<String>>());
}
