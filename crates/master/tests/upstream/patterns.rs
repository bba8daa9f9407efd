//! Queries and removals by pattern.

use crate::rig::*;

/// The keys of the two longer cases.
const KEYS: [&str; 13] = [
    "test_key_01",
    "test_key_02",
    "test_key_10",
    "prod_key_alpha",
    "prod_key_beta",
    "data_part_1_chunk_a",
    "data_part_2_chunk_b",
    "config/user/settings.json",
    "logs/app-2025-08-13.log",
    "short",
    "a_very_very_very_long_key_that_tests_length_limits",
    "test-key-extra",
    "another_key",
];

/// A master with these keys, each read once, and the leases over.
fn with_keys(keys: &[&str]) -> Rig {
    let mut rig = Rig::with_lease(100);
    for key in keys {
        rig.put(key, &plain());
        assert!(rig.exist(key));
    }
    rig.pass_ms(100);
    rig
}

const TEN: [&str; 10] = [
    "test_key0",
    "test_key1",
    "test_key2",
    "test_key3",
    "test_key4",
    "test_key5",
    "test_key6",
    "test_key7",
    "test_key8",
    "test_key9",
];

#[test]
fn get_replica_list_by_regex() {
    let as_a_key = Rig::new().get(".*non_existent.*");
    assert_eq!(as_a_key, Err(moonquake_protocol::ErrorCode::ObjectNotFound));
    assert_eq!(with_keys(&TEN).matches("^test_key"), TEN);
}

#[test]
fn get_replica_list_by_regex_complex() {
    let mut rig = with_keys(&KEYS);
    for (regex, count) in [
        ("^test_key_", 3),
        ("^test_key_\\d+$", 3),
        ("^data_part_\\d_chunk_.$", 2),
        ("key", 8),
        ("^prod|\\.json$", 3),
        ("^non_existent_prefix_", 0),
        (".*absolutely_non_existent.*", 0),
    ] {
        assert_eq!(rig.matches(regex).len(), count, "{regex}");
    }
    assert_eq!(rig.matches("\\.log$"), ["logs/app-2025-08-13.log"]);
    assert_eq!(rig.matches("^short$"), ["short"]);
}

#[test]
fn remove_by_regex() {
    let mut rig = with_keys(&TEN);
    assert_eq!(rig.remove_by_regex("^test_key", false), 10);
    assert!(TEN.iter().all(|key| !rig.exist(key)));
}

#[test]
fn remove_by_regex_complex() {
    for (regex, count) in [
        ("^test_key_", 3),
        (".*", 13),
        ("^nonexistent-pattern-", 0),
        ("/|\\d$", 5),
        ("chunk|config", 3),
    ] {
        let mut rig = with_keys(&KEYS);
        let matching = rig.matches(regex);
        rig.pass_ms(100);
        assert_eq!(rig.remove_by_regex(regex, false), count, "{regex}");
        let left = rig.keys();
        assert_eq!(left.len(), 13 - matching.len(), "{regex}");
        assert!(matching.iter().all(|key| !left.contains(key)), "{regex}");
    }
    let mut rig = with_keys(&KEYS);
    rig.remove_by_regex("chunk|config", false);
    assert!(!rig.exist("data_part_1_chunk_a") && !rig.exist("config/user/settings.json"));
    assert!(rig.exist("prod_key_alpha"));
}
