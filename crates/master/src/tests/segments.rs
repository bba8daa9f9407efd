//! Segments and clients.

use super::harness::*;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{ClientStatus, ErrorCode, Request, Response, Segment, SegmentStatus, Uuid};

fn ping(harness: &mut Harness, number: u64) -> ClientStatus {
    answer!(
        harness,
        Ping {
            client_id: client(number)
        }
    )
    .unwrap()
    .client_status
}

fn remount(harness: &mut Harness, number: u64, segments: &[Segment]) -> Result<(), ErrorCode> {
    answer!(
        harness,
        ReMountSegment {
            segments: segments.to_vec(),
            client_id: client(number)
        }
    )
}

fn status(harness: &mut Harness, name: &str) -> Result<SegmentStatus, ErrorCode> {
    answer!(
        harness,
        QuerySegmentStatus {
            segment_name: name.to_owned()
        }
    )
}

pub(super) fn graceful(harness: &mut Harness, name: &str, number: u64, ms: u64) -> Result<(), ErrorCode> {
    let segment_id = segment(name, 1).id;
    answer!(
        harness,
        GracefulUnmountSegment {
            segment_id,
            client_id: client(number),
            grace_period_ms: ms
        }
    )
}

#[test]
fn mounting_is_idempotent_and_checked() {
    let mut harness = Harness::with_segments(&[]);
    let mut mount = |base, size| {
        let segment = Segment {
            base,
            size,
            ..segment("a", 1)
        };
        answer!(
            harness,
            MountSegment {
                segment,
                client_id: client(0)
            }
        )
    };
    assert_eq!(mount(0, MIB), Err(ErrorCode::InvalidParams));
    assert_eq!(mount(1 << 30, 0), Err(ErrorCode::InvalidParams));
    assert_eq!(mount(1 << 30, MIB), Ok(()));
    assert_eq!(mount(1 << 31, 2 * MIB), Ok(()), "the id alone counts");
    assert_eq!(harness.master.view().capacity_bytes, MIB);
    for size in [MIB, 3 * MIB + 1] {
        assert_eq!((harness.unmount("a"), harness.unmount("a")), (Ok(()), Ok(())));
        assert_eq!(status(&mut harness, "a"), Err(ErrorCode::SegmentNotFound));
        assert_eq!(harness.mount("a", size), Ok(()));
        assert_eq!(harness.master.view().capacity_bytes, size);
    }
}

#[test]
fn an_unmount_hides_keys_before_the_cleanup() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put("k", 10);
    harness.put_start("unfinished", 10).unwrap();
    harness.get("k").unwrap();
    harness.unmount("a").unwrap();
    assert!(!harness.exist("k"));
    assert_eq!(harness.get("k"), Err(ErrorCode::ObjectNotFound));
    assert_eq!((harness.keys().len(), harness.allocated()), (0, 0));
    assert_eq!(harness.master.objects.iter().count(), 2);
    harness.master.settle_cleanup();
    assert_eq!(harness.master.objects.iter().count(), 0);
    assert_eq!(harness.remove("k", false), Err(ErrorCode::ObjectNotFound));
}

#[test]
fn the_other_replica_stays_readable() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    harness.put_with("k", 10, &replicas(2));
    harness.unmount("a").unwrap();
    harness.master.settle_cleanup();
    assert_eq!(names(&harness.get("k").unwrap()), ["b"]);
}

#[test]
fn a_client_is_ok_only_after_a_remount_and_until_it_is_silent() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    assert_eq!(ping(&mut harness, 0), ClientStatus::NeedRemount);
    assert_eq!(remount(&mut harness, 0, &[segment("a", MIB)]), Ok(()));
    assert_eq!(ping(&mut harness, 0), ClientStatus::Ok);
    harness.put("k", 10);
    harness.get("k").unwrap();
    harness.tick(Thread::ClientMonitor);
    harness.advance(Span::from_secs(10) + NS);
    harness.tick(Thread::ClientMonitor);
    assert_eq!(ping(&mut harness, 0), ClientStatus::NeedRemount);
    assert_eq!(harness.get("k"), Err(ErrorCode::ObjectNotFound), "leased or not");
    assert_eq!(remount(&mut harness, 0, &[segment("a", MIB)]), Ok(()));
    assert_eq!(
        (ping(&mut harness, 0), harness.allocated()),
        (ClientStatus::Ok, 0)
    );
    assert_eq!(
        range(&harness.put("k", 10)[0]).buffer_address,
        segment("a", MIB).base
    );
}

#[test]
fn the_ttl_counts_from_the_round_that_read_the_ping() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.at(Span::from_secs(100));
    harness.tick(Thread::ClientMonitor);
    harness.at(Span::from_secs(110));
    harness.tick(Thread::ClientMonitor);
    assert_eq!(harness.master.view().segments.len(), 1);
    // A ping that is queued when the round begins counts, however late it is.
    harness.at(Span::from_secs(500));
    ping(&mut harness, 0);
    harness.tick(Thread::ClientMonitor);
    assert_eq!(harness.master.view().segments.len(), 1);
}

#[test]
fn a_remount_is_validated_before_anything_is_mounted() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    assert_eq!(
        remount(&mut harness, 5, &[segment("b", MIB), segment("a", MIB)]),
        Err(ErrorCode::InvalidParams)
    );
    assert_eq!(
        remount(&mut harness, 0, &[segment("a", 2 * MIB)]),
        Err(ErrorCode::InvalidParams)
    );
    let invalid = Segment {
        base: 0,
        ..segment("c", MIB)
    };
    assert_eq!(
        remount(&mut harness, 0, &[segment("b", MIB), invalid]),
        Err(ErrorCode::InternalError)
    );
    assert_eq!(
        harness.master.view().segments.len(),
        1,
        "what was newly mounted is gone again"
    );
    assert_eq!(ping(&mut harness, 0), ClientStatus::NeedRemount);
    assert_eq!(remount(&mut harness, 9, &[]), Ok(()));
    assert_eq!(ping(&mut harness, 9), ClientStatus::Ok);
    assert_eq!(remount(&mut harness, 9, &[segment("d", MIB)]), Ok(()));
    assert_eq!(
        status(&mut harness, "d"),
        Err(ErrorCode::SegmentNotFound),
        "an OK client mounts nothing this way"
    );
}

#[test]
fn anybody_can_unmount_anything() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let segment_id = segment("a", 1).id;
    assert_eq!(
        answer!(
            harness,
            UnmountSegment {
                segment_id,
                client_id: client(77)
            }
        ),
        Ok(())
    );
    assert_eq!(
        answer!(harness, QuerySegmentStatusById { segment_id }),
        Err(ErrorCode::SegmentNotFound)
    );
    // The owner's list still has the id: when the owner expires, whoever mounted it since loses it.
    let again = segment("a", MIB);
    assert_eq!(
        answer!(
            harness,
            MountSegment {
                segment: again,
                client_id: client(77)
            }
        ),
        Ok(())
    );
    harness.tick(Thread::ClientMonitor);
    harness.advance(Span::from_secs(11));
    answer!(
        harness,
        Ping {
            client_id: client(77)
        }
    )
    .unwrap();
    harness.tick(Thread::ClientMonitor);
    assert_eq!(status(&mut harness, "a"), Err(ErrorCode::SegmentNotFound));
}

#[test]
fn graceful_unmount_keeps_data_readable_until_its_end() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    let on_a = moonquake_protocol::ReplicateConfig {
        preferred_segment: "a".to_owned(),
        ..moonquake_protocol::ReplicateConfig::default()
    };
    harness.put_with("k", 10, &on_a);
    assert_eq!(
        graceful(&mut harness, "a", 5, 4_000),
        Err(ErrorCode::SegmentNotFound)
    );
    assert_eq!(
        graceful(&mut harness, "c", 0, 4_000),
        Err(ErrorCode::InvalidParams)
    );
    assert_eq!(graceful(&mut harness, "a", 0, 4_000), Ok(()));
    assert_eq!(status(&mut harness, "a"), Ok(SegmentStatus::GracefullyUnmounting));
    assert_eq!(names(&harness.put_with("l", 10, &on_a)), ["b"]);
    let not_yet = remount(&mut harness, 0, &[segment("a", MIB)]);
    assert_eq!(not_yet, Err(ErrorCode::UnavailableInCurrentStatus));
    harness.at(Span::from_secs(4) - NS);
    assert!(harness.exist("k"));
    harness.at(Span::from_secs(4));
    assert!(!harness.exist("k"));
    assert_eq!(status(&mut harness, "a"), Err(ErrorCode::SegmentNotFound));
}

#[test]
fn graceful_unmount_ends_at_the_earlier_of_two_deadlines() {
    for (first, second) in [(9_000, 3_000), (3_000, 9_000)] {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        assert_eq!(graceful(&mut harness, "a", 0, first), Ok(()));
        assert_eq!(graceful(&mut harness, "a", 0, second), Ok(()));
        harness.at(Span::from_secs(3));
        harness.tick(Thread::JobDispatch);
        assert_eq!(status(&mut harness, "a"), Err(ErrorCode::SegmentNotFound));
        // The later deadline finds the segment of the same id that has come since, and takes that too.
        harness.mount("a", MIB).unwrap();
        harness.at(Span::from_secs(9));
        assert_eq!(status(&mut harness, "a"), Err(ErrorCode::SegmentNotFound));
    }
}

/// Both are due before anybody asks. The list of the client whose was due first forgets the segment; the other's keeps it.
#[test]
fn of_two_graceful_unmounts_the_one_that_was_due_first_happens() {
    for (owners, others) in [(9_000, 3_000), (3_000, 9_000)] {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        let (segment, client_id) = (segment("a", MIB), client(5));
        let segment_id = segment.id;
        assert_eq!(graceful(&mut harness, "a", 0, owners), Ok(()));
        answer!(
            harness,
            UnmountSegment {
                segment_id,
                client_id
            }
        )
        .unwrap();
        answer!(harness, MountSegment { segment, client_id }).unwrap();
        assert_eq!(graceful(&mut harness, "a", 5, others), Ok(()));
        harness.at(Span::from_secs(9));
        let (first, second) = if owners < others { (0, 5) } else { (5, 0) };
        let asked_again = [first, second].map(|number| graceful(&mut harness, "a", number, 1_000));
        assert_eq!(
            asked_again,
            [Err(ErrorCode::SegmentNotFound), Err(ErrorCode::InvalidParams)]
        );
    }
}

#[test]
fn a_grace_period_that_no_clock_can_hold_ends_at_once() {
    // The harness begins at some second; what wraps around to shortly after now ends then.
    let (just_fits, wraps_to_448_us) = (9_000_000_000_000, 18_446_744_073_710);
    for (ms, kept, kept_later) in [
        (u64::MAX, false, false),
        (u64::MAX >> 1, false, false),
        (9_223_372_036_855, false, false),
        (just_fits, true, true),
        (wraps_to_448_us, true, false),
    ] {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        assert_eq!(graceful(&mut harness, "a", 0, ms), Ok(()));
        harness.tick(Thread::JobDispatch);
        assert_eq!(status(&mut harness, "a").is_ok(), kept, "{ms}");
        harness.at(Span::from_ms(1));
        assert_eq!(status(&mut harness, "a").is_ok(), kept_later, "{ms}");
    }
}

#[test]
fn a_name_means_its_latest_mount() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let later = Segment {
        id: Uuid::new(1, 2),
        base: 1 << 40,
        ..segment("a", MIB)
    };
    let (segment_id, client_id) = (later.id, client(3));
    answer!(
        harness,
        MountSegment {
            segment: later,
            client_id
        }
    )
    .unwrap();
    assert_eq!(harness.master.view().segments["a"], 2 * MIB);
    answer!(
        harness,
        UnmountSegment {
            segment_id,
            client_id
        }
    )
    .unwrap();
    assert_eq!(
        status(&mut harness, "a"),
        Err(ErrorCode::SegmentNotFound),
        "although the first is mounted"
    );
    assert_eq!(harness.put("k", 10).len(), 1, "and used");
}

#[test]
fn hosts_of_clients() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    let nameless = Segment {
        te_endpoint: String::new(),
        ..segment("c", MIB)
    };
    answer!(
        harness,
        MountSegment {
            segment: nameless,
            client_id: client(1)
        }
    )
    .unwrap();
    let ips = answer!(
        harness,
        BatchQueryIp {
            client_ids: vec![client(0), client(1), client(9)]
        }
    )
    .unwrap();
    assert_eq!(ips.len(), 2);
    // In the order of upstream's set.
    assert_eq!(ips[&client(0)], ["b", "a"]);
    assert!(ips[&client(1)].is_empty());
}

#[test]
fn the_list_of_a_client_forgets_the_segment_that_left() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB), ("c", MIB)]);
    harness.unmount("b").unwrap();
    let left = ["a", "c"].map(|name| segment(name, MIB).id);
    assert_eq!(harness.master.segments.of_client(client(0)), Some(&left[..]));
}

#[test]
fn the_used_share_of_a_name_counts_all_its_mounts() {
    let mut harness = Harness::with_segments(&[("a", 16 * MIB)]);
    assert_eq!(harness.master.segments.used_share("a"), Some(0.0));
    harness.put("k", 4 * MIB);
    harness.put("l", 2 * MIB);
    assert_eq!(harness.master.segments.used_share("a"), Some(0.375));
    let twin = Segment {
        id: Uuid::new(0x5E6, 1),
        base: 0x10,
        ..segment("a", 8 * MIB)
    };
    answer!(
        harness,
        MountSegment {
            segment: twin,
            client_id: client(0)
        }
    )
    .unwrap();
    assert_eq!(harness.master.segments.used_share("a"), Some(0.25));
    assert_eq!(harness.master.segments.used_share("b"), None);
}

/// The first segment that names a machine says where its client is.
#[test]
fn a_remount_tells_the_machine_of_its_client() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    let on_host = |name: &str, host: &str| Segment {
        host_id: host.to_owned(),
        ..segment(name, MIB)
    };
    let segments = [on_host("x", ""), on_host("y", "here"), on_host("z", "there")];
    assert_eq!(remount(&mut harness, 1, &segments), Ok(()));
    let near = moonquake_protocol::ReplicateConfig {
        prefer_alloc_in_same_node: true,
        ..moonquake_protocol::ReplicateConfig::default()
    };
    for number in 0..8 {
        let replicas = harness.put_with(&format!("k{number}"), 10, &near);
        assert_eq!(names(&replicas), ["y"]);
    }
}

#[test]
fn only_a_mounted_segment_of_its_own_leaves_gracefully_at_a_clients_wish() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    let foreign = segment("c", MIB);
    answer!(
        harness,
        MountSegment {
            segment: foreign,
            client_id: client(5)
        }
    )
    .unwrap();
    assert_eq!(
        graceful(&mut harness, "a", 5, 1_000),
        Err(ErrorCode::InvalidParams)
    );
    assert_eq!(status(&mut harness, "a"), Ok(SegmentStatus::Ok));
    // Somebody else took it away, so that the owner's list has it still.
    answer!(
        harness,
        UnmountSegment {
            segment_id: segment("b", MIB).id,
            client_id: client(5)
        }
    )
    .unwrap();
    assert_eq!(
        graceful(&mut harness, "b", 0, 1_000),
        Err(ErrorCode::InvalidParams)
    );
}

#[test]
fn a_round_of_the_monitor_in_which_nobody_expires_cleans_nothing() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    harness.put_with("k", 10, &on("a"));
    harness.unmount("a").unwrap();
    harness.tick(Thread::ClientMonitor);
    assert_eq!(harness.master.objects.len(), 1);
    harness.advance(Span::from_secs(11));
    harness.tick(Thread::ClientMonitor);
    assert_eq!(harness.master.objects.len(), 0);
}

/// With a client go the timers of its graceful unmounts, and nobody else's.
#[test]
fn a_graceful_unmount_is_forgotten_with_the_client_that_asked_for_it() {
    for expires in [true, false] {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        harness.tick(Thread::ClientMonitor);
        answer!(
            harness,
            MountSegment {
                segment: segment("b", MIB),
                client_id: client(5)
            }
        )
        .unwrap();
        assert_eq!(graceful(&mut harness, "a", 0, 60_000), Ok(()));
        harness.at(Span::from_secs(11));
        if !expires {
            ping(&mut harness, 0);
        }
        harness.tick(Thread::ClientMonitor);
        if expires {
            assert_eq!(harness.mount("a", MIB), Ok(()));
        }
        harness.at(Span::from_secs(60));
        assert_eq!(status(&mut harness, "a").is_ok(), expires);
    }
}
