//! Groups: one route, one lease and one fate in eviction for all members.

use crate::rig::*;
use moonquake_clock::Span;
use moonquake_protocol::{ErrorCode, ReplicateConfig};

#[test]
fn grouped_object_routes_key_level_lookup_and_remove() {
    let mut rig = Rig::new().node("test_segment");
    rig.put("grouped_route_key", &in_group("group"));
    assert!(rig.exist("grouped_route_key"));
    rig.get("grouped_route_key").unwrap();
    rig.remove("grouped_route_key", true).unwrap();
    assert!(!rig.exist("grouped_route_key"));
}

/// Sixteen threads race upstream; here the sixteen calls come one after the other, as they do there behind the lock of
/// the key.
fn one_of_sixteen_wins(configs: [ReplicateConfig; 2]) {
    for first in 0..2 {
        let mut rig = Rig::new().node("test_segment");
        for call in 0..16 {
            let started = rig.start(WRITER, "key", KIB, &configs[(first + call) % 2]);
            assert_eq!(
                started.err(),
                (call > 0).then_some(ErrorCode::ObjectAlreadyExists)
            );
        }
        rig.end(WRITER, "key").unwrap();
        assert_eq!(rig.keys(), ["key"]);
        rig.get("key").unwrap();
        assert_eq!(rig.allocated(), KIB);
    }
}

#[test]
fn concurrent_grouped_and_ungrouped_first_create_does_not_duplicate_metadata() {
    one_of_sixteen_wins([in_group("group"), plain()]);
}

#[test]
fn concurrent_different_grouped_first_create_does_not_duplicate_metadata() {
    one_of_sixteen_wins([in_group("group"), in_group("other_group")]);
}

#[test]
fn expired_grouped_put_can_be_replaced_by_ungrouped_put() {
    let mut rig = Rig::configured(|config| {
        config.discard = Span::ZERO;
        config.release = Span::from_secs(1);
    })
    .node("test_segment");
    rig.start(WRITER, "key", KIB, &in_group("group")).unwrap();
    assert_eq!(
        rig.start(WRITER, "key", KIB, &plain()),
        Err(ErrorCode::ObjectAlreadyExists)
    );
    rig.pass_ms(2);
    rig.start(WRITER, "key", KIB, &plain()).unwrap();
    rig.end(WRITER, "key").unwrap();
    assert!(rig.exist("key"));
}

#[test]
fn batch_remove_unregisters_grouped_route() {
    let mut rig = Rig::new().node("test_segment");
    rig.put("key", &in_group("group"));
    assert_eq!(rig.batch_remove(&["key"], true), [Ok(())]);
    rig.put("key", &plain());
    rig.get("key").unwrap();
}

#[test]
fn remove_by_regex_unregisters_grouped_route() {
    let mut rig = Rig::new().node("test_segment");
    rig.put("regex_remove_grouped_route", &in_group("group"));
    assert_eq!(rig.remove_by_regex("^regex_remove_grouped_route$", true), 1);
    rig.put("regex_remove_grouped_route", &plain());
    rig.get("regex_remove_grouped_route").unwrap();
}

#[test]
fn grouped_lease_refresh_near_expiry_protects_current_members() {
    let mut rig = Rig::with_lease(200);
    rig.put("lease_group_key_a", &in_group("group"));
    rig.put("lease_group_key_b", &in_group("group"));
    assert!(rig.exist("lease_group_key_a"));
    rig.pass_ms(120);
    assert!(rig.exist("lease_group_key_a"));
    rig.pass_ms(100);
    assert_eq!(
        rig.remove("lease_group_key_b", false),
        Err(ErrorCode::ObjectHasLease)
    );
    rig.remove("lease_group_key_a", true).unwrap();
    rig.remove("lease_group_key_b", true).unwrap();
}

#[test]
fn grouped_lease_refresh_after_membership_change_does_not_wait_for_trigger_expiry() {
    let mut rig = Rig::with_lease(500);
    rig.put("lease_group_dirty_key_a", &in_group("group"));
    assert!(rig.exist("lease_group_dirty_key_a"));
    rig.put("lease_group_dirty_key_b", &in_group("group"));
    rig.pass_ms(150);
    assert!(rig.exist("lease_group_dirty_key_a"));
    rig.pass_ms(390);
    assert_eq!(
        rig.remove("lease_group_dirty_key_b", false),
        Err(ErrorCode::ObjectHasLease)
    );
    rig.remove("lease_group_dirty_key_a", true).unwrap();
    rig.remove("lease_group_dirty_key_b", true).unwrap();
}

#[test]
fn remove_grouped_member_preserves_other_members() {
    let mut rig = Rig::new().node("test_segment");
    rig.put("key_a", &in_group("group"));
    rig.put("key_b", &in_group("group"));
    rig.remove("key_a", true).unwrap();
    assert!(!rig.exist("key_a"));
    rig.get("key_b").unwrap();
    rig.remove("key_b", true).unwrap();
    assert!(!rig.exist("key_b"));
}

#[test]
fn upsert_preserves_group_membership() {
    let mut rig = Rig::with_lease(200);
    rig.put("key", &in_group("group"));
    rig.put("peer", &in_group("group"));
    rig.upsert(WRITER, "key", KIB, &plain()).unwrap();
    rig.upsert_end(WRITER, "key").unwrap();
    rig.get("key").unwrap();
    assert_eq!(
        rig.remove("peer", false),
        Err(ErrorCode::ObjectHasLease),
        "still one group"
    );
    for other in [in_group("other_group"), in_group("")] {
        assert_eq!(
            rig.upsert(WRITER, "key", KIB, &other),
            Err(ErrorCode::InvalidParams)
        );
    }
}

#[test]
fn incomplete_grouped_upsert_can_become_ungrouped() {
    let mut rig = Rig::new().node("test_segment");
    rig.start(WRITER, "key", KIB, &in_group("group")).unwrap();
    rig.pass_ms(2);
    rig.upsert(WRITER, "key", KIB, &plain()).unwrap();
    rig.upsert_end(WRITER, "key").unwrap();
    assert!(rig.exist("key"));
    rig.put("peer", &in_group("group"));
    assert_eq!(rig.remove("peer", false), Ok(()), "no longer in that group");
}

#[test]
fn upsert_rejects_existing_ungrouped_to_grouped() {
    let mut rig = Rig::new().node("test_segment");
    rig.put("key", &plain());
    assert_eq!(
        rig.upsert(WRITER, "key", 2 * KIB, &in_group("group")),
        Err(ErrorCode::InvalidParams)
    );
    rig.get("key").unwrap();
}

/// Two members of 2 MiB fill 4 MiB; a put that fails asks for a round.
fn full_of(members: [ReplicateConfig; 2]) -> Rig {
    let mut rig = Rig::configured(|config| config.lease = Span::from_ms(1_000)).node_of("segment", 4 * MIB);
    for (key, config) in ["key_a", "key_b"].into_iter().zip(&members) {
        rig.try_put(key, 2 * MIB, config).unwrap();
    }
    rig
}

fn ask_for_room(rig: &mut Rig) {
    let refused = rig.start(WRITER, "trigger", 2 * MIB, &plain());
    assert_eq!(refused, Err(ErrorCode::NoAvailableHandle));
    rig.pass_ms(200);
    rig.evict();
}

#[test]
fn grouped_eviction_expands_safe_members_and_skips_leased_group() {
    let mut rig = full_of([in_group("group"), in_group("group")]);
    ask_for_room(&mut rig);
    assert!(!rig.exist("key_a") && !rig.exist("key_b"));
    let mut rig = full_of([in_group("group"), in_group("group")]);
    assert!(rig.exist("key_a"));
    ask_for_room(&mut rig);
    rig.get("key_a").unwrap();
    rig.get("key_b").unwrap();
}

#[test]
fn grouped_eviction_skips_unsafe_members_and_evicts_safe_peers() {
    let hard = ReplicateConfig {
        with_hard_pin: true,
        ..in_group("group")
    };
    let mut rig = full_of([in_group("group"), hard]);
    ask_for_room(&mut rig);
    assert!(!rig.exist("key_a"));
    rig.get("key_b").unwrap();
    rig.remove("key_b", true).unwrap();
}
