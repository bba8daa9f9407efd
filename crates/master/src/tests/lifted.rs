//! What a master does where a test has lifted one of its checks.

use super::harness::*;
use crate::MasterConfig;
use moonquake_clock::{Span, Thread};
use moonquake_faults::{Guard, Guards};
use moonquake_protocol::{ErrorCode, ReplicateConfig, Request, Response};

fn without(guard: Guard, segments: &[(&str, u64)]) -> Harness {
    let config = MasterConfig {
        guards: Guards::without(guard),
        ..MasterConfig::default()
    };
    Harness::configured(config, segments)
}

#[test]
fn one_live_replica_suffices() {
    let segments = [("a", MIB), ("b", MIB)];
    let mut harness = without(Guard::OneLiveReplicaSuffices, &segments);
    harness.put("whole", 10);
    harness.get("whole").unwrap();
    // Nothing is left of a revoked write, not even an object that has no replica.
    harness.put_start("revoked", 10).unwrap();
    harness.put_revoke("revoked").unwrap();
    harness.put_start("revoked", 10).unwrap();
    for (mut harness, left) in [(harness, false), (Harness::with_segments(&segments), true)] {
        harness.put_start_as(client(1), "k", 10, &replicas(2)).unwrap();
        harness.unmount("b").unwrap();
        harness.master.settle_cleanup();
        assert_eq!(harness.put_end("k").is_ok(), left);
    }
}

#[test]
fn removal_counts_what_went() {
    for (mut harness, told) in [
        (without(Guard::RemovalCountsWhatWent, &[("a", MIB)]), 3),
        (Harness::with_segments(&[("a", MIB)]), 1),
    ] {
        for key in ["free", "leased", "leased too"] {
            harness.put(key, 10);
        }
        harness.get("leased").unwrap();
        harness.get("leased too").unwrap();
        assert_eq!((harness.remove_all(false), harness.keys().len()), (told, 2));
    }
}

#[test]
fn arguments_checked() {
    for (mut harness, checked) in [
        (without(Guard::ArgumentsChecked, &[("a", MIB)]), false),
        (Harness::with_segments(&[("a", MIB)]), true),
    ] {
        let started = harness.put_start_as(client(1), "k", 10, &replicas(0));
        assert_eq!(started.err(), checked.then_some(ErrorCode::InvalidParams));
    }
}

#[test]
fn fewer_replicas_accepted() {
    for (mut harness, accepted) in [
        (without(Guard::FewerReplicasAccepted, &[("a", MIB)]), false),
        (Harness::with_segments(&[("a", MIB)]), true),
    ] {
        harness.put_with("one", 10, &replicas(1));
        let before = harness.allocated();
        let started = harness.put_start_as(client(1), "two", 10, &replicas(2));
        assert_eq!(started.is_ok(), accepted);
        assert_eq!(harness.allocated() > before, accepted);
    }
}

#[test]
fn eviction_only_where_it_helps() {
    for (mut harness, evicted) in [
        (without(Guard::EvictionOnlyWhereItHelps, &[("a", MIB)]), true),
        (Harness::with_segments(&[("a", MIB)]), false),
    ] {
        harness.put_with("one", 10, &replicas(1));
        harness.tick(Thread::Eviction);
        assert!(!harness.keys().is_empty(), "it got all it wanted");
        harness.put_start_as(client(1), "two", 10, &replicas(2)).unwrap();
        harness.tick(Thread::Eviction);
        assert_eq!(harness.keys().is_empty(), evicted);
    }
}

/// The copy goes with the object, so that the next one of that key can be copied.
#[test]
fn existing_key_refused() {
    let mut harness = without(Guard::ExistingKeyRefused, &[("a", MIB), ("b", MIB)]);
    for _ in 0..2 {
        harness.put_with("k", 10, &on("a"));
        super::copies::copy(&mut harness, "k", "a", &["b"]).unwrap();
    }
}

/// The replica that a copy reads from is not overwritten all the same.
#[test]
fn upsert_waits_for_copy() {
    let segments = [("a", MIB), ("b", MIB)];
    for (mut harness, code) in [
        (
            without(Guard::UpsertWaitsForCopy, &segments),
            ErrorCode::ObjectReplicaBusy,
        ),
        (
            Harness::with_segments(&segments),
            ErrorCode::ObjectHasReplicationTask,
        ),
    ] {
        harness.put_with("k", 10, &on("a"));
        super::copies::copy(&mut harness, "k", "a", &["b"]).unwrap();
        let started = harness.upsert_start("k", 10, &ReplicateConfig::default());
        assert_eq!(started, Err(code));
    }
}

#[test]
fn no_mount_while_unmounting() {
    let segments = [("a", MIB)];
    for (mut harness, mounted) in [
        (without(Guard::NoMountWhileUnmounting, &segments), Ok(())),
        (
            Harness::with_segments(&segments),
            Err(ErrorCode::UnavailableInCurrentStatus),
        ),
    ] {
        let graceful = answer!(
            harness,
            GracefulUnmountSegment {
                segment_id: segment("a", MIB).id,
                client_id: client(0),
                grace_period_ms: 1_000
            }
        );
        assert_eq!((graceful, harness.mount("a", MIB)), (Ok(()), mounted));
        let invalid = harness.mount("none", 0);
        assert_eq!(
            invalid,
            Err(ErrorCode::InvalidParams),
            "nothing else is let through"
        );
    }
}

#[test]
fn silent_client_expires() {
    let segments = [("a", MIB)];
    for (mut harness, left) in [
        (without(Guard::SilentClientExpires, &segments), 1),
        (Harness::with_segments(&segments), 0),
    ] {
        harness.tick(Thread::ClientMonitor);
        harness.advance(Span::from_secs(11));
        harness.tick(Thread::ClientMonitor);
        assert_eq!(harness.master.view().segments.len(), left);
    }
}
