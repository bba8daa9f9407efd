//! Where replicas go.

use super::harness::*;
use crate::{MasterConfig, Strategy};
use moonquake_protocol::{ErrorCode, ReplicateConfig, Request, Response, Segment};

fn preferring(names: &[&str]) -> ReplicateConfig {
    ReplicateConfig {
        preferred_segments: names.iter().map(ToString::to_string).collect(),
        ..ReplicateConfig::default()
    }
}

#[test]
fn replicas_lie_on_different_names() {
    let letters: Vec<String> = (b'a'..b'u')
        .map(|letter| char::from(letter).to_string())
        .collect();
    let segments: Vec<(&str, u64)> = letters.iter().map(|name| (name.as_str(), MIB)).collect();
    let mut harness = Harness::with_segments(&segments);
    let mut used = names(&harness.put_with("ten", 10, &replicas(10)));
    used.sort();
    used.dedup();
    assert_eq!(used.len(), 10);
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    assert_eq!(harness.put_with("three", 10, &replicas(3)).len(), 2);
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let two = ReplicateConfig {
        replica_num: 2,
        ..preferring(&["nowhere"])
    };
    assert_eq!(
        names(&harness.put_with("two", 10, &two)),
        ["a"],
        "one name: one replica, and no preference counts"
    );
}

/// Predicted with the GNU C++ library from the preload's words for seed 0: starts 1, 0, 0, 0, 1, 1 with two names and
/// 0, 0, 2, 2, 2, 0 with three, after 24 other draws.
#[test]
fn starts_are_drawn_like_the_real_process_draws_them() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    for _ in 0..12 {
        harness.master.dice.index_below(1);
    }
    let mut place = |key: &str| names(&harness.put(key, 10)).remove(0);
    let starts: Vec<String> = (0..12).map(|number| place(&format!("key_{number}"))).collect();
    assert_eq!(starts.concat(), "baaabbabbbaa");
    harness.mount("c", MIB).unwrap();
    let mut place = |key: &str| names(&harness.put(key, 10)).remove(0);
    let starts: Vec<String> = (12..18).map(|number| place(&format!("key_{number}"))).collect();
    assert_eq!(starts.concat(), "aaccca");
}

#[test]
fn one_name_draws_nothing_and_a_batch_read_draws_once() {
    let next = |harness: &mut Harness| harness.master.dice.index_below(1 << 20);
    let mut idle = Harness::with_segments(&[("a", MIB)]);
    let mut busy = Harness::with_segments(&[("a", MIB)]);
    busy.put("k", 10);
    busy.get("k").unwrap();
    assert_eq!(next(&mut idle), next(&mut busy));
    answer!(
        busy,
        BatchExistKey {
            keys: vec![],
            tenant_id: String::new()
        }
    );
    answer!(
        busy,
        BatchExistKey {
            keys: vec!["k".to_owned()],
            tenant_id: String::new()
        }
    );
    idle.master.dice.index_below(1024);
    assert_eq!(next(&mut idle), next(&mut busy));
}

#[test]
fn another_seed_places_differently() {
    let story = |placement_seed| {
        let config = MasterConfig {
            placement_seed,
            ..MasterConfig::default()
        };
        let mut harness = Harness::configured(config, &[("a", MIB), ("b", MIB), ("c", MIB)]);
        (0..20)
            .map(|number| names(&harness.put(&format!("k{number}"), 10)).concat())
            .collect::<String>()
    };
    assert_eq!(story(3), story(3));
    assert_ne!(story(3), story(4));
}

#[test]
fn preferred_names_come_first_in_their_order() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB), ("c", MIB)]);
    let two = ReplicateConfig {
        replica_num: 2,
        ..preferring(&["nowhere", "c", "c", "b"])
    };
    assert_eq!(names(&harness.put_with("k", 10, &two)), ["c", "b"]);
    let single = ReplicateConfig {
        preferred_segment: "a".to_owned(),
        ..preferring(&["c"])
    };
    assert_eq!(
        names(&harness.put_with("l", 10, &single)),
        ["a"],
        "the single name replaces the list"
    );
    let most = 3 * MIB / 4;
    assert_eq!(names(&harness.put_with("fill", most, &preferring(&["c"]))), ["c"]);
    let elsewhere = names(&harness.put_with("m", most, &preferring(&["c"])));
    assert_ne!(elsewhere, ["c"], "a full one is passed over");
}

fn mount_on(harness: &mut Harness, name: &str, host: &str) {
    let segment = Segment {
        host_id: host.to_owned(),
        ..segment(name, MIB)
    };
    answer!(
        harness,
        MountSegment {
            segment,
            client_id: client(0)
        }
    )
    .unwrap();
}

#[test]
fn a_write_can_prefer_its_own_machine() {
    let mut harness = Harness::with_segments(&[]);
    for (name, host) in [("a", "h1"), ("b", "h2"), ("c", "h3")] {
        mount_on(&mut harness, name, host);
    }
    let near = |host: &str, preferred: &[&str]| ReplicateConfig {
        prefer_alloc_in_same_node: true,
        host_id: host.to_owned(),
        ..preferring(preferred)
    };
    for number in 0..8 {
        let key = format!("k{number}");
        assert_eq!(names(&harness.put_with(&key, 10, &near("h2", &[]))), ["b"]);
        assert_eq!(
            names(&harness.put_with(&format!("{key}+"), 10, &near("h2a", &[]))),
            ["c"],
            "the next host"
        );
        assert_eq!(
            names(&harness.put_with(&format!("{key}~"), 10, &near("h9", &[]))),
            ["a"],
            "from the front again"
        );
        assert_eq!(
            names(&harness.put_with(&format!("{key}-"), 10, &near("h2", &["a"]))),
            ["a"]
        );
    }
    // The machine that a client once named is remembered; a full segment hands over to the next host.
    assert_eq!(
        names(&harness.put_with("big", 3 * MIB / 4, &near("h2", &[]))),
        ["b"]
    );
    assert_eq!(
        names(&harness.put_with("big2", 3 * MIB / 4, &near("", &[]))),
        ["c"]
    );
    let config = MasterConfig {
        strategy: Strategy::LocalFirst,
        ..MasterConfig::default()
    };
    let mut harness = Harness::new(config);
    mount_on(&mut harness, "a", "h1");
    mount_on(&mut harness, "b", "h2");
    let named = ReplicateConfig {
        host_id: "h2".to_owned(),
        ..ReplicateConfig::default()
    };
    for number in 0..8 {
        assert_eq!(names(&harness.put_with(&format!("k{number}"), 10, &named)), ["b"]);
    }
}

/// Measured on the real binary with a segment of 64 MiB.
#[test]
fn what_fits_is_decided_by_rounded_sizes() {
    let mut harness = Harness::with_segments(&[("a", 64 * MIB)]);
    harness.put("k", 61 * MIB);
    assert_eq!(
        harness.put_start("l", 1),
        Err(ErrorCode::NoAvailableHandle),
        "61 MiB took all 64"
    );
    assert_eq!(harness.allocated(), 61 * MIB, "what was asked for counts as used");
    harness.remove("k", false).unwrap();
    harness.put("byte", 1);
    assert_eq!(
        harness.put_start("k", 60 * MIB + 1),
        Err(ErrorCode::NoAvailableHandle)
    );
    harness.put("k", 60 * MIB);
}

#[test]
fn a_name_that_leaves_gives_its_place_to_the_last() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB), ("c", MIB), ("d", MIB)]);
    harness.unmount("b").unwrap();
    let names = harness.master.segments.names().iter().map(|name| &**name);
    assert!(names.eq(["a", "d", "c"]));
}

#[test]
fn a_batch_hands_an_endpoint_on_as_if_it_were_a_name() {
    let mut harness = Harness::with_segments(&[]);
    for name in ["a", "b", "c"] {
        let segment = Segment {
            te_endpoint: name.to_owned(),
            ..segment(name, MIB)
        };
        answer!(
            harness,
            MountSegment {
                segment,
                client_id: client(0)
            }
        )
        .unwrap();
    }
    let keys: Vec<String> = (0..16).map(|number| format!("k{number}")).collect();
    let config = ReplicateConfig {
        prefer_alloc_in_same_node: true,
        ..ReplicateConfig::default()
    };
    let slice_lengths = vec![10; keys.len()];
    let request = Request::BatchPutStart {
        client_id: client(1),
        keys,
        slice_lengths,
        config,
        tenant_id: String::new(),
    };
    let Response::BatchPutStart(results) = harness.send(&request) else {
        panic!("another method")
    };
    let places: Vec<String> = results
        .into_iter()
        .flat_map(|result| names(&result.unwrap()))
        .collect();
    assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
}

fn with_strategy(strategy: Strategy, segments: &[(&str, u64)]) -> Harness {
    let config = MasterConfig {
        strategy,
        ..MasterConfig::default()
    };
    Harness::configured(config, segments)
}

#[test]
fn free_ratio_first_fills_the_emptiest_by_share_and_not_by_bytes() {
    let mut harness = with_strategy(Strategy::FreeRatioFirst, &[("a", 16 * MIB), ("b", 64 * MIB)]);
    harness.put_with("first", 2 * MIB, &preferring(&["a"]));
    harness.put_with("second", 4 * MIB, &preferring(&["b"]));
    // An eighth of a is taken and a sixteenth of b, although b has more bytes taken.
    assert_eq!(names(&harness.put("third", 2 * MIB)), ["b"]);
    harness.put_with("fourth", 8 * MIB, &preferring(&["b"]));
    assert_eq!(names(&harness.put("fifth", MIB)), ["a"]);
}

#[test]
fn without_offload_all_disks_count_as_empty() {
    let mut harness = with_strategy(Strategy::SsdFreeRatioFirst, &[("a", 64 * MIB), ("b", 64 * MIB)]);
    let used: std::collections::BTreeSet<String> = (0..20)
        .flat_map(|number| names(&harness.put(&format!("k{number}"), MIB)))
        .collect();
    assert_eq!(used.len(), 2);
}

#[test]
fn cxl_knows_the_first_preferred_segment_and_no_other() {
    let mut harness = with_strategy(Strategy::Cxl, &[("a", 16 * MIB), ("b", 16 * MIB)]);
    assert_eq!(harness.put_start("k", MIB), Err(ErrorCode::InvalidParams));
    let config = ReplicateConfig {
        replica_num: 2,
        ..preferring(&["a", "b"])
    };
    let replicas = harness.put_with("k", MIB, &config);
    let range = range(&replicas[0]);
    assert_eq!(replicas.len(), 1);
    assert_eq!(
        (range.protocol.as_str(), range.transport_endpoint.as_str()),
        ("cxl", "a")
    );
    let base = segment("a", MIB).base;
    assert_eq!(range.buffer_address, base - 0x1_0000_0000);
    assert_eq!(
        harness.put_start_as(client(1), "none", MIB, &preferring(&["nowhere", "a"])),
        Err(ErrorCode::NoAvailableHandle)
    );
    let copied = answer!(
        harness,
        CopyStart {
            client_id: client(0),
            key: "k".to_owned(),
            tenant_id: String::new(),
            src_segment: "a".to_owned(),
            tgt_segments: vec!["b".to_owned()],
        }
    );
    assert_eq!(
        copied.map(|started| started.targets.len()),
        Err(ErrorCode::NoAvailableHandle)
    );
}

/// Upstream makes room for as many replicas as a request wants, but only where there is a segment.
#[test]
fn more_replicas_than_any_memory_holds_are_an_internal_error_where_there_is_a_segment() {
    for (wanted, segments, code) in [
        (1 << 32, 1, ErrorCode::InternalError),
        (1 << 33, 1, ErrorCode::InternalError),
        (1 << 32, 0, ErrorCode::NoAvailableHandle),
    ] {
        let mut harness = Harness::with_segments(&[("a", MIB)][..segments]);
        let started = harness.put_start_as(client(1), "k", 10, &replicas(wanted));
        assert_eq!(started, Err(code), "{wanted} on {segments}");
    }
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let started = harness.put_start_as(client(1), "k", 10, &replicas((1 << 32) - 1));
    assert_eq!(started.map(|replicas| replicas.len()), Ok(1));
}

#[test]
fn names_are_preferred_once_and_empty_ones_not_at_all() {
    let harness = Harness::with_segments(&[]);
    let write = crate::writes::Write {
        client: client(1),
        key: "k",
        size_bytes: 10,
        config: &preferring(&["b", "", "b", "a"]),
    };
    assert_eq!(harness.master.preferred_names(&write), ["b", "a"]);
}

#[test]
fn the_own_machine_is_preferred_for_a_single_replica_only() {
    let mut harness = Harness::with_segments(&[]);
    for (name, host) in [("a", "h1"), ("b", "h2"), ("c", "h3")] {
        mount_on(&mut harness, name, host);
    }
    let write = |config| crate::writes::Write {
        client: client(1),
        key: "k",
        size_bytes: 10,
        config,
    };
    let near = |replica_num| ReplicateConfig {
        prefer_alloc_in_same_node: true,
        host_id: "h2".to_owned(),
        ..replicas(replica_num)
    };
    let (one, two) = (near(1), near(2));
    assert_eq!(harness.master.preferred_names(&write(&one))[0], "b");
    assert!(harness.master.preferred_names(&write(&two)).is_empty());
}
