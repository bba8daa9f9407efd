//! What an observer is told.

use super::harness::*;
use super::pins::pinned;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{Request, Response, Segment};

fn matching(harness: &mut Harness, regex: &str) -> Vec<String> {
    let regex = regex.to_owned();
    let found = answer!(
        harness,
        GetReplicaListByRegex {
            regex,
            tenant_id: String::new()
        }
    );
    found.unwrap().into_keys().collect()
}

/// A stored key of a tenant has the tenant before it, between two NULs; without tenants such a key is one like any other.
#[test]
fn without_tenants_a_key_is_never_cut_at_a_nul() {
    let key = "\0k\x004";
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put(key, 10);
    assert_eq!(harness.keys(), [key]);
    assert_eq!(harness.master.readable_keys(), [key]);
    assert_eq!(matching(&mut harness, "^4$"), Vec::<String>::new());
    assert_eq!(matching(&mut harness, "k"), [key]);
    harness.advance(Span::from_secs(10));
    let removed = |harness: &mut Harness, regex: &str| {
        let regex = regex.to_owned();
        answer!(
            harness,
            RemoveByRegex {
                regex,
                force: false,
                tenant_id: String::new()
            }
        )
    };
    assert_eq!(removed(&mut harness, "^4$"), Ok(0));
    assert_eq!(removed(&mut harness, "^.k.4$"), Ok(1));
}

#[test]
fn every_object_counts_and_a_pin_until_somebody_finds_it_over() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put_start("unfinished", 10).unwrap();
    harness.put_with("pinned", 10, &pinned(None));
    let counted = |harness: &Harness| {
        let view = harness.master.view();
        (view.key_count, view.soft_pinned_keys)
    };
    assert_eq!(counted(&harness), (2, 1));
    harness.advance(Span::from_secs(1_800));
    assert_eq!(counted(&harness), (2, 1), "nobody has looked");
    harness.tick(Thread::TaskCleanup);
    assert_eq!(counted(&harness), (2, 0));
    harness.remove("pinned", false).unwrap();
    assert_eq!(counted(&harness), (1, 0));
}

#[test]
fn segments_of_one_name_have_one_gauge() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    let other = Segment {
        name: "a".to_owned(),
        ..segment("c", MIB)
    };
    let mounted = answer!(
        &mut harness,
        MountSegment {
            segment: other,
            client_id: client(0)
        }
    );
    assert_eq!(mounted, Ok(()));
    harness.put_with("two", 10, &replicas(2));
    let gauges = harness.master.view().gauges;
    assert_eq!((gauges["a"], gauges["b"]), ([10, 2 * MIB], [10, MIB]));
}

#[test]
fn a_client_counts_when_it_has_remounted_until_it_expires() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let active = |harness: &Harness| harness.master.view().active_clients;
    assert_eq!(active(&harness), 0, "a mount alone makes nobody active");
    let remounted = answer!(
        &mut harness,
        ReMountSegment {
            segments: vec![segment("a", MIB)],
            client_id: client(0)
        }
    );
    assert_eq!((remounted, active(&harness)), (Ok(()), 1));
    harness.tick(Thread::ClientMonitor);
    harness.advance(Span::from_secs(10) + NS);
    harness.tick(Thread::ClientMonitor);
    assert_eq!(active(&harness), 0);
}

/// What is used is told of a name, and of all its mounts that take objects.
#[test]
fn a_mount_is_told_with_what_its_whole_name_has() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let second = Segment {
        name: "a".to_owned(),
        ..segment("b", 2 * MIB)
    };
    let mounted = answer!(
        &mut harness,
        MountSegment {
            segment: second.clone(),
            client_id: client(1)
        }
    );
    assert_eq!(mounted, Ok(()));
    harness.put("k", 10);
    let told = harness.master.mounts_told();
    assert_eq!(told.len(), 2);
    for mount in told {
        assert_eq!((mount.name.as_str(), mount.client), ("a", client(1)));
        assert_eq!((mount.used_bytes, mount.capacity_bytes), (10, 3 * MIB));
    }
    let graceful = answer!(
        &mut harness,
        GracefulUnmountSegment {
            segment_id: second.id,
            client_id: client(1),
            grace_period_ms: 1_000
        }
    );
    assert_eq!(graceful, Ok(()));
    assert!(
        harness
            .master
            .mounts_told()
            .iter()
            .all(|mount| mount.capacity_bytes == MIB)
    );
}
