//! What owners and a strict master tell each other.

use super::harness::*;
use crate::MasterConfig;
use moonquake_clock::{Span, Thread};
use moonquake_faults::{Quirk, Quirks};
use moonquake_protocol::{
    DescriptorVariant, ErrorCode, ReplicaDescriptor, ReplicateConfig, Request, Response,
};

/// A master without quirks but one, with one segment; it hears its owners.
fn heard(quirk: Option<Quirk>) -> Harness {
    let config = MasterConfig {
        quirks: quirk.map_or_else(Quirks::none, Quirks::only),
        ..MasterConfig::default()
    };
    let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
    harness.master.hear_owners(0);
    harness
}

fn address(replica: &ReplicaDescriptor) -> u64 {
    match &replica.descriptor {
        DescriptorVariant::Memory(memory) => memory.buffer.buffer_address,
        other => panic!("{other:?}"),
    }
}

fn reaches(harness: &Harness, replica: &ReplicaDescriptor) -> bool {
    harness
        .master
        .may_reach(harness.now, &harness.master.held(), replica.id, address(replica))
}

#[test]
fn a_put_end_needs_bytes_that_landed() {
    for (quirk, code) in [
        (Some(Quirk::EndNeedsNoWrite), Ok(())),
        (None, Err(ErrorCode::InvalidWrite)),
    ] {
        let mut harness = heard(quirk);
        let replicas = harness.put_start("k", MIB).unwrap();
        assert_eq!(harness.put_end("k"), code);
        harness.master.write_landed(replicas[0].id);
        assert_eq!(harness.put_end("k"), Ok(()));
        assert_eq!(harness.put_end("k"), Ok(()), "a repeated End is no error");
    }
}

#[test]
fn a_master_that_hears_no_owner_believes_its_clients() {
    let config = MasterConfig {
        quirks: Quirks::none(),
        ..MasterConfig::default()
    };
    let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
    harness.put_start("k", MIB).unwrap();
    assert_eq!(harness.put_end("k"), Ok(()));
}

#[test]
fn the_next_attempt_has_to_write_again() {
    let mut harness = heard(None);
    let first = harness.put_start("k", MIB).unwrap();
    harness.master.write_landed(first[0].id);
    harness.advance(Span::from_secs(31));
    harness.put_start("k", MIB).unwrap();
    assert_eq!(harness.put_end("k"), Err(ErrorCode::InvalidWrite));
}

#[test]
fn a_descriptor_is_good_until_its_range_is_given_back() {
    let mut harness = heard(None);
    let late = harness.put_start("k", MIB).unwrap();
    assert!(reaches(&harness, &late[0]));
    harness.at(Span::from_secs(600));
    harness.tick(Thread::Eviction);
    assert!(reaches(&harness, &late[0]));
    harness.advance(Span::from_ns(1));
    harness.tick(Thread::Eviction);
    assert!(
        !reaches(&harness, &late[0]),
        "free memory is not its own any more"
    );
    let next = harness.put_start("v", MIB).unwrap();
    assert_eq!(address(&next[0]), address(&late[0]));
    assert!(reaches(&harness, &next[0]) && !reaches(&harness, &late[0]));
}

#[test]
fn a_range_in_quarantine_can_still_be_reached() {
    let mut harness = heard(None);
    let revoked = harness.put_start("k", MIB).unwrap();
    harness.put_revoke("k").unwrap();
    assert!(reaches(&harness, &revoked[0]));
}

#[test]
fn memory_that_no_master_hands_out_can_still_be_reached() {
    let mut harness = heard(None);
    let replicas = harness.put_start("k", MIB).unwrap();
    harness.unmount("a").unwrap();
    assert!(reaches(&harness, &replicas[0]));
}

#[test]
fn upstream_refuses_no_descriptor() {
    let mut harness = heard(Some(Quirk::DescriptorOutlivesRange));
    let late = harness.put_start("k", MIB).unwrap();
    harness.at(Span::from_secs(600) + Span::from_ns(1));
    harness.tick(Thread::Eviction);
    assert!(reaches(&harness, &late[0]));
}

#[test]
fn replica_ids_of_a_later_master_begin_above_those_of_the_first() {
    for (instance, expected) in [(0, 1), (3, (3 << 32) + 1)] {
        let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
        harness.master.hear_owners(instance);
        assert_eq!(harness.put_start("k", MIB).unwrap()[0].id, expected);
    }
}

#[test]
fn an_end_that_names_the_present_attempt_needs_the_bytes_of_every_replica() {
    let config = MasterConfig {
        quirks: Quirks::none(),
        ..MasterConfig::default()
    };
    let mut harness = Harness::configured(config, &[("a", 16 * MIB), ("b", 16 * MIB)]);
    harness.master.hear_owners(0);
    let written = harness
        .put_start_as(client(1), "k", MIB, &super::harness::replicas(2))
        .unwrap();
    let fence = Some(written[0].id);
    harness.master.write_landed(written[0].id);
    assert_eq!(
        harness.put_end_fenced(client(1), "k", fence),
        Err(ErrorCode::InvalidWrite)
    );
    harness.master.write_landed(written[1].id);
    assert_eq!(harness.put_end_fenced(client(1), "k", fence), Ok(()));
}

#[test]
fn a_stale_end_speaks_for_its_own_bytes() {
    for (landed, code) in [(false, Err(ErrorCode::InvalidWrite)), (true, Ok(()))] {
        let mut harness = heard(Some(Quirk::StalePutEnd));
        let first = harness.put_start("k", MIB).unwrap();
        if landed {
            harness.master.write_landed(first[0].id);
        }
        harness.advance(Span::from_secs(31));
        harness.put_start("k", MIB).unwrap();
        assert_eq!(
            harness.put_end_fenced(client(1), "k", Some(first[0].id)),
            code,
            "{landed}"
        );
    }
}

#[test]
fn the_first_byte_behind_a_segment_is_not_its_own() {
    let harness = heard(None);
    let segment = segment("a", 16 * MIB);
    let reach = |address| {
        let master = &harness.master;
        master.may_reach(harness.now, &master.held(), 99, address)
    };
    assert!(!reach(segment.base) && !reach(segment.base + segment.size - 1));
    assert!(reach(segment.base - 1) && reach(segment.base + segment.size));
}

#[test]
fn a_segment_that_is_closed_lets_its_old_readers_in_until_it_opens() {
    let mut harness = heard(None);
    let old = harness.put_start("k", MIB).unwrap();
    harness.master.write_landed(old[0].id);
    harness.put_end("k").unwrap();
    harness.get("k").unwrap();
    harness.unmount("a").unwrap();
    harness.mount("a", 16 * MIB).unwrap();
    assert!(reaches(&harness, &old[0]), "the lease is not over");
    harness.advance(Span::from_secs(600));
    assert!(!reaches(&harness, &old[0]));
}

/// What the owner of a disk has not finished is not the writer's to have written.
#[test]
fn an_end_needs_the_bytes_of_what_it_publishes_alone() {
    let mut harness = heard(Some(Quirk::UpsertDropsOldValue));
    let written = harness.put_start("k", MIB).unwrap();
    harness.master.write_landed(written[0].id);
    harness.put_end("k").unwrap();
    let (segments, client_id) = (vec![], client(9));
    answer!(harness, ReMountSegment { segments, client_id }).unwrap();
    super::disks::report(&mut harness, client(9), "k", 100).unwrap();
    let reopened = harness
        .upsert_start("k", MIB, &ReplicateConfig::default())
        .unwrap();
    assert_eq!(reopened.len(), 2, "in memory and on the disk");
    assert_eq!(harness.upsert_end("k"), Err(ErrorCode::InvalidWrite));
    harness.master.write_landed(reopened[0].id);
    assert_eq!(harness.upsert_end("k"), Ok(()));
    assert_eq!(
        harness.get("k").unwrap().len(),
        1,
        "the disk is its owner's to end"
    );
}
