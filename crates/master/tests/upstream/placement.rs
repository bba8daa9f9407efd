//! Where replicas are put.

use crate::rig::*;
use moonquake_master::{MasterConfig, Strategy};
use moonquake_protocol::{ReplicaStatus, ReplicateConfig};
use std::collections::{BTreeMap, BTreeSet};

fn three_segments() -> Rig {
    Rig::new().node("segment_0").node("segment_1").node("segment_2")
}

/// Two hosts of one segment each, under a strategy.
fn hosts(strategy: &str, hosts: [(&str, u64); 2]) -> Rig {
    let mut rig = Rig::configured(|config| config.apply_flag("allocation_strategy", strategy).unwrap());
    for (host, size) in hosts {
        rig = rig.node_on(&format!("segment_{host}"), size, host);
    }
    rig
}

fn from_host(host: &str) -> ReplicateConfig {
    ReplicateConfig {
        host_id: host.to_owned(),
        ..plain()
    }
}

#[test]
fn put_with_preferred_segment() {
    let mut rig = three_segments();
    let replicas = rig.start(WRITER, "test_key", KIB, &on("segment_1")).unwrap();
    assert_eq!(places(&replicas), ["segment_1"]);
    assert!(all_are(&replicas, ReplicaStatus::Processing));
    rig.end(WRITER, "test_key").unwrap();
}

#[test]
fn put_with_preferred_segments() {
    let mut rig = three_segments();
    let config = ReplicateConfig {
        preferred_segments: owned(&["segment_0", "segment_1"]),
        ..replicas(2)
    };
    let started = rig.start(WRITER, "test_key", KIB, &config).unwrap();
    assert!(all_are(&started, ReplicaStatus::Processing));
    let names: BTreeSet<&str> = places(&started).into_iter().collect();
    assert_eq!(names, BTreeSet::from(["segment_0", "segment_1"]));
    rig.end(WRITER, "test_key").unwrap();
}

#[test]
fn master_config_parses_local_first_strategy() {
    let flags = BTreeMap::from([("allocation_strategy".to_owned(), "local_first".to_owned())]);
    let config = MasterConfig::default().with_flags(&flags).unwrap();
    assert_eq!(config.strategy, Strategy::LocalFirst);
    assert_eq!(MasterConfig::default().strategy, Strategy::Random);
}

#[test]
fn local_first_put_prefers_writer_host() {
    let mut rig = hosts("local_first", [("host0", 16 * MIB), ("host1", 16 * MIB)]);
    let replicas = rig
        .start(WRITER, "local_first_key", KIB, &from_host("host1"))
        .unwrap();
    assert_eq!(places(&replicas), ["segment_host1"]);
}

#[test]
fn prefer_same_node_uses_host_aware_local_first_placement() {
    let mut rig = hosts("random", [("host0", 16 * MIB), ("host1", 16 * MIB)]);
    let config = ReplicateConfig {
        prefer_alloc_in_same_node: true,
        ..from_host("host1")
    };
    let replicas = rig.start(WRITER, "prefer_same_node_key", KIB, &config).unwrap();
    assert_eq!(places(&replicas), ["segment_host1"]);
}

#[test]
fn local_first_put_falls_back_to_next_ordered_host() {
    let mut rig = hosts("local_first", [("host0", 16 * MIB), ("host2", 16 * MIB)]);
    let replicas = rig
        .start(WRITER, "ordered_fallback_key", KIB, &from_host("host1"))
        .unwrap();
    assert_eq!(places(&replicas), ["segment_host2"]);
}

#[test]
fn local_first_put_falls_back_when_local_segment_is_full() {
    let mut rig = hosts("local_first", [("host1", KIB), ("host2", 16 * MIB)]);
    let filled = rig
        .try_put("fill_local_segment", KIB, &from_host("host1"))
        .unwrap();
    assert_eq!(places(&filled), ["segment_host1"]);
    let next = rig
        .start(WRITER, "fallback_after_local_full", 1, &from_host("host1"))
        .unwrap();
    assert_eq!(places(&next), ["segment_host2"]);
}

#[test]
fn explicit_preferred_segment_overrides_local_first() {
    let mut rig = hosts("local_first", [("host0", 16 * MIB), ("host1", 16 * MIB)]);
    let config = ReplicateConfig {
        preferred_segment: "segment_host0".to_owned(),
        ..from_host("host1")
    };
    let replicas = rig.start(WRITER, "explicit_preferred_key", KIB, &config).unwrap();
    assert_eq!(places(&replicas), ["segment_host0"]);
}

#[test]
fn explicit_preferred_segment_falls_back_to_local_first() {
    let mut rig = hosts("local_first", [("host0", KIB), ("host1", 16 * MIB)]);
    let config = ReplicateConfig {
        preferred_segment: "segment_host0".to_owned(),
        ..from_host("host1")
    };
    let filled = rig.try_put("fill_preferred", KIB, &config).unwrap();
    assert_eq!(places(&filled), ["segment_host0"]);
    let next = rig
        .start(WRITER, "fallback_after_preferred_full", 1, &config)
        .unwrap();
    assert_eq!(places(&next), ["segment_host1"]);
}

#[test]
fn replica_segments_are_unique() {
    let mut rig = Rig::new();
    for number in 0..20 {
        rig = rig.node(&format!("segment_{number}"));
    }
    let size = MIB - 16;
    let started = rig
        .try_put("replica_uniqueness_test_key", size, &replicas(10))
        .unwrap();
    assert_eq!(started.len(), 10);
    assert!(started.iter().all(|replica| range(replica).size == size));
    let names: BTreeSet<&str> = places(&started).into_iter().collect();
    assert_eq!(names.len(), 10);
}

#[test]
fn replication_factor_two_with_single_segment() {
    let mut rig = Rig::new().node("single_segment");
    let started = rig.start(WRITER, "k", KIB, &replicas(2)).unwrap();
    assert_eq!(places(&started), ["single_segment"]);
    assert_eq!(range(&started[0]).size, KIB);
}

/// The case also reads a counter of partial allocations, which this master does not keep.
#[test]
fn put_start_partial_allocation_is_observable() {
    let mut rig = Rig::new()
        .node_of("segment1", 64 * MIB)
        .node_of("segment2", 64 * MIB);
    assert_eq!(
        rig.start(WRITER, "partial_alloc_key", KIB, &replicas(3))
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        rig.start(WRITER, "full_alloc_key", KIB, &replicas(2))
            .unwrap()
            .len(),
        2
    );
}
