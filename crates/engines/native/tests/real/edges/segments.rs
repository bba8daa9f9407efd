//! Edges of mounting and of clients.

use crate::Test;
use crate::pair::{Answer, OTHER, Pair, ask, on, owner};
use crate::rig::MIB;
use crate::same::twin::segment;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::fingerprint::SERVICE_VERSION;
use moonquake_protocol::{ClientStatus, ErrorCode, ReplicateConfig, Segment, SegmentStatus, Uuid};

pub(crate) const TESTS: &[Test] = &[
    ("real_edge_hosts_lose_their_ports", hosts),
    (
        "real_edge_a_segment_that_is_mounted_twice_has_one_owner",
        two_owners,
    ),
    (
        "real_edge_a_client_that_is_ok_mounts_nothing_more_by_a_remount",
        remount_of_more,
    ),
    (
        "real_edge_a_base_of_zero_fails_a_whole_remount",
        remount_of_nothing,
    ),
    (
        "real_edge_a_leaving_segment_holds_up_the_remount_of_the_others",
        remount_while_one_leaves,
    ),
    (
        "real_edge_no_ping_looks_at_a_version",
        version_at_the_connection_alone,
    ),
    ("real_edge_a_name_means_its_latest_mount", shared_name),
    (
        "real_edge_an_upsert_into_a_leaving_segment_is_lost_with_it",
        leaving,
    ),
    ("real_edge_the_earlier_of_two_grace_periods_counts", two_graces),
    (
        "real_edge_a_failing_put_strips_a_segment_that_it_cannot_use",
        stripped,
    ),
];

const GONE: Answer<SegmentStatus> = Err(ErrorCode::SegmentNotFound);

fn ping(pair: &mut Pair, client_id: Uuid) -> ClientStatus {
    ask!(pair, Ping { client_id }).unwrap().client_status
}

fn status_of(pair: &mut Pair, number: u64) -> Answer<SegmentStatus> {
    let segment_id = segment(number, 1).id;
    ask!(pair, QuerySegmentStatusById { segment_id })
}

fn status(pair: &mut Pair, name: &str) -> Answer<SegmentStatus> {
    let segment_name = name.to_owned();
    ask!(pair, QuerySegmentStatus { segment_name })
}

/// Not one of them is a sharp edge, but an IPv6 address with a scope and a port has three ways to be cut wrongly.
fn hosts() {
    let mut pair = Pair::with_segments(&[]);
    for (number, (endpoint, host)) in (0..).zip([
        ("10.0.0.1:12345", "10.0.0.1"),
        ("host-a", "host-a"),
        ("[::1]:17813", "::1"),
        ("::1", "::1"),
        ("fe80::1%eno2:15773", "fe80::1%eno2"),
        ("fe80::1%eno2", "fe80::1%eno2"),
        ("[fe80::1%eno2]:15773", "fe80::1%eno2"),
        ("[no address]:80", "[no address]"),
        ("a:b:80", "a:b"),
        ("a%b:80:81", "a%b:80"),
    ]) {
        let segment = Segment {
            te_endpoint: endpoint.to_owned(),
            ..segment(number, MIB)
        };
        pair.mount(&segment, owner(number)).unwrap();
        let client_ids = vec![owner(number)];
        let answer = ask!(pair, BatchQueryIp { client_ids }).unwrap();
        assert_eq!(answer[&owner(number)], [host], "{endpoint}");
    }
}

/// Edge 17: the second mount is accepted, but its client owns nothing and can never remount.
fn two_owners() {
    let mut pair = Pair::with_segments(&[16 * MIB]);
    let same = segment(0, 16 * MIB);
    assert_eq!(pair.mount(&same, OTHER), Ok(()));
    for _ in 0..2 {
        assert_eq!(ping(&mut pair, OTHER), ClientStatus::NeedRemount);
        assert_eq!(
            pair.remount(std::slice::from_ref(&same), OTHER),
            Err(ErrorCode::InvalidParams)
        );
        pair.pass(Span::from_secs(1));
    }
    assert_eq!(pair.remount(&[same], owner(0)), Ok(()));
}

/// Edge 18: the list of a client that is OK is not looked at.
fn remount_of_more() {
    let mut pair = Pair::with_segments(&[16 * MIB]);
    let (old, new) = (segment(0, 16 * MIB), segment(1, 16 * MIB));
    assert_eq!(pair.remount(std::slice::from_ref(&old), owner(0)), Ok(()));
    assert_eq!(ping(&mut pair, owner(0)), ClientStatus::Ok);
    assert_eq!(pair.remount(&[old, new], owner(0)), Ok(()));
    assert_eq!(status_of(&mut pair, 1), GONE, "said to be mounted, and is not");
}

/// Edge 19: a client that is not OK names both of its segments, one of which is leaving, and is refused until that has left.
/// The segment that stays could be had at once.
fn remount_while_one_leaves() {
    let client_id = owner(0);
    for names_the_leaving in [true, false] {
        let mut pair = Pair::with_segments(&[16 * MIB]);
        let (leaves, stays) = (segment(0, 16 * MIB), segment(1, 16 * MIB));
        pair.mount(&stays, client_id).unwrap();
        let (segment_id, grace_period_ms) = (leaves.id, 20_000);
        let graceful = ask!(
            pair,
            GracefulUnmountSegment {
                segment_id,
                client_id,
                grace_period_ms
            }
        );
        assert_eq!(graceful, Ok(()));
        if !names_the_leaving {
            assert_eq!(pair.remount(std::slice::from_ref(&stays), client_id), Ok(()));
            assert_eq!(ping(&mut pair, client_id), ClientStatus::Ok);
            continue;
        }
        let both = [leaves, stays];
        for _ in 0..2 {
            assert_eq!(ping(&mut pair, client_id), ClientStatus::NeedRemount);
            assert_eq!(
                pair.remount(&both, client_id),
                Err(ErrorCode::UnavailableInCurrentStatus)
            );
            pair.pass(Span::from_secs(1));
        }
        pair.pass_grace(Span::from_secs(18));
        assert_eq!(ping(&mut pair, client_id), ClientStatus::NeedRemount);
        assert_eq!(pair.remount(&both, client_id), Ok(()));
        assert_eq!(ping(&mut pair, client_id), ClientStatus::Ok);
    }
}

/// Edge 72: the version is the answer to one call, and no other request carries one. So a client that has been refused for
/// its version is served as any other.
fn version_at_the_connection_alone() {
    let mut pair = Pair::with_segments(&[]);
    assert_eq!(ping(&mut pair, OTHER), ClientStatus::NeedRemount);
    assert_eq!(pair.remount(&[segment(0, 16 * MIB)], OTHER), Ok(()));
    assert_eq!(ping(&mut pair, OTHER), ClientStatus::Ok);
    assert_eq!(ask!(pair, ServiceReady {}), Ok(SERVICE_VERSION.to_owned()));
}

/// Edge 20: meant to be skipped, it fails the call, and what was mounted before it is taken away again.
fn remount_of_nothing() {
    let mut pair = Pair::with_segments(&[]);
    let nowhere = Segment {
        base: 0,
        ..segment(1, 16 * MIB)
    };
    let list = [segment(0, 16 * MIB), nowhere];
    assert_eq!(pair.remount(&list, owner(0)), Err(ErrorCode::InternalError));
    assert_eq!(status_of(&mut pair, 0), GONE);
    assert_eq!(ping(&mut pair, owner(0)), ClientStatus::NeedRemount);
    assert_eq!(pair.remount(&list[..1], owner(0)), Ok(()));
    assert_eq!(ping(&mut pair, owner(0)), ClientStatus::Ok);
}

/// Edge 61: with the later of two segments of one name unmounted, the name is unknown, although the first one is in use.
fn shared_name() {
    let mut pair = Pair::with_segments(&[16 * MIB, 16 * MIB]);
    let twin = Segment {
        name: "n0".to_owned(),
        ..segment(2, 16 * MIB)
    };
    pair.mount(&twin, owner(2)).unwrap();
    pair.put("k", MIB, &on("n1"));
    assert_eq!(status(&mut pair, "n0"), Ok(SegmentStatus::Ok));
    assert_eq!(pair.unmount(2), Ok(()));
    assert_eq!(status(&mut pair, "n0"), GONE);
    assert_eq!(status_of(&mut pair, 0), Ok(SegmentStatus::Ok));
    let copied = pair.copy("k", "n1", &["n0"]).map(|_| ());
    assert_eq!(copied, Err(ErrorCode::SegmentNotFound), "as a target");
    pair.put("m", MIB, &on("n0"));
    let places = pair.get("m").unwrap();
    assert_eq!(crate::pair::endpoints(&places), ["h0:1"], "for a put it is there");
}

/// Edge 63: the new value is written to where it cannot stay.
fn leaving() {
    let mut pair = Pair::with_segments(&[16 * MIB, 16 * MIB]);
    let old = pair.put("k", MIB, &on("n0"));
    assert_eq!(pair.graceful(0, 5_000), Ok(()));
    assert_eq!(status_of(&mut pair, 0), Ok(SegmentStatus::GracefullyUnmounting));
    let new = pair.upsert(OTHER, "k", MIB, &ReplicateConfig::default()).unwrap();
    assert_eq!(new[0].memory_buffer(), old[0].memory_buffer(), "in place");
    pair.end(OTHER, "k").unwrap();
    assert_eq!(pair.get("k").map(|list| list.len()), Ok(1));
    pair.pass_grace(Span::from_secs(5));
    assert_eq!(pair.get("k"), Err(ErrorCode::ObjectNotFound));
    assert_eq!(pair.allocated(), 0);
}

/// Edge 62: a longer period that is asked for later extends nothing.
fn two_graces() {
    let mut pair = Pair::with_segments(&[16 * MIB]);
    assert_eq!(
        (pair.graceful(0, 5_000), pair.graceful(0, 60_000)),
        (Ok(()), Ok(()))
    );
    pair.pass_grace(Span::from_ns(4_999_999_999));
    assert_eq!(status_of(&mut pair, 0), Ok(SegmentStatus::GracefullyUnmounting));
    pair.pass_grace(Span::from_ns(1));
    assert_eq!(status_of(&mut pair, 0), GONE);
    // One whose end no clock can hold is the earliest of all; the last wraps around to 448,384 ns.
    for (period_ms, lasts_ns) in [
        (u64::MAX, 0),
        (u64::MAX >> 1, 0),
        (9_223_372_036_855, 0),
        (18_446_744_073_710, 448_384),
    ] {
        pair.mount(&segment(0, 16 * MIB), owner(0)).unwrap();
        assert_eq!(pair.graceful(0, period_ms), Ok(()));
        pair.pass_grace(Span::from_ns(lasts_ns));
        assert_eq!(status_of(&mut pair, 0), GONE, "{period_ms}");
    }
}

/// Edge 83: the one segment that could be used is full of what may not go, so every failing put costs an object on the
/// other one, which is leaving and takes nothing.
fn stripped() {
    let mut pair = Pair::with_segments(&[16 * MIB, 16 * MIB]);
    let hard = ReplicateConfig {
        with_hard_pin: true,
        ..on("n0")
    };
    pair.put("full", 16 * MIB, &hard);
    for key in ["a", "b", "c"] {
        pair.pass(Span::from_ms(1));
        pair.put(key, MIB, &on("n1"));
    }
    assert_eq!(pair.graceful(1, 3_600_000), Ok(()));
    for left in [&["b", "c", "full"][..], &["c", "full"], &["full"]] {
        let refused = pair.start("new", MIB, &ReplicateConfig::default());
        assert_eq!(refused, Err(ErrorCode::NoAvailableHandle));
        pair.tick(Thread::Eviction);
        assert_eq!(pair.keys(), left);
    }
    let refused = pair.start("new", MIB, &ReplicateConfig::default());
    assert_eq!(
        refused,
        Err(ErrorCode::NoAvailableHandle),
        "and it never succeeds"
    );
}
