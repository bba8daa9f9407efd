//! What a probe promises about the next call. Edge 85: its lease keeps an object from being removed and evicted, and from nothing
//! else.

use crate::Test;
use crate::pair::{OTHER, Pair};
use crate::rig::MIB;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{ErrorCode, ReplicateConfig};

pub(crate) const TESTS: &[Test] = &[
    ("real_edge_a_probe_protects_against_removal_and_eviction", kept),
    ("real_edge_a_probe_does_not_protect_against_an_upsert", upserted),
    ("real_edge_a_probe_does_not_protect_against_an_unmount", unmounted),
    ("real_edge_a_probe_does_not_protect_against_an_expiry", expired),
];

/// A pool that is nearly full of one object, eight seconds after its owner was last heard of, and a probe of it.
fn probed() -> Pair {
    let mut pair = Pair::with_segments(&[16 * MIB]);
    pair.tick(Thread::ClientMonitor);
    pair.put("k", 15 * MIB, &ReplicateConfig::default());
    pair.pass(Span::from_secs(8));
    assert!(pair.exist("k"));
    pair.pass(Span::from_secs(4));
    pair
}

fn kept() {
    let mut pair = probed();
    assert_eq!(pair.remove("k"), Err(ErrorCode::ObjectHasLease));
    pair.tick(Thread::Eviction);
    assert_eq!(pair.keys(), ["k"]);
    // Without a lease the same round evicts it.
    pair.pass(Span::from_secs(11));
    pair.tick(Thread::Eviction);
    assert_eq!(pair.get("k"), Err(ErrorCode::ObjectNotFound));
}

fn upserted() {
    let mut pair = probed();
    let started = pair.upsert(OTHER, "k", 15 * MIB, &ReplicateConfig::default());
    assert_eq!(started.map(|all| all.len()), Ok(1));
    assert_eq!(pair.get("k"), Err(ErrorCode::ReplicaIsNotReady));
}

fn unmounted() {
    let mut pair = probed();
    assert_eq!(pair.unmount(0), Ok(()));
    assert_eq!(pair.get("k"), Err(ErrorCode::ObjectNotFound));
}

fn expired() {
    let mut pair = probed();
    pair.tick(Thread::ClientMonitor);
    assert_eq!(pair.get("k"), Err(ErrorCode::ObjectNotFound));
}
