//! Which segments stay closed because somebody may still reach the bytes of one that left, where no quirk forgets that.

use super::harness::*;
use crate::MasterConfig;
use moonquake_clock::Span;
use moonquake_faults::Quirks;
use moonquake_protocol::{ErrorCode, Request, Response, Segment, Uuid};

/// A master that `a` has left, with a reader who may trust its bytes for ten seconds.
fn after_a_left() -> Harness {
    let config = MasterConfig {
        quirks: Quirks::none(),
        ..MasterConfig::default()
    };
    let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
    harness.put("k", MIB);
    harness.get("k").unwrap();
    harness.unmount("a").unwrap();
    harness.master.settle_cleanup();
    harness
}

/// Whether a segment takes a put as soon as it is mounted.
fn opens(harness: &mut Harness, segment: &Segment) -> bool {
    let mounted = answer!(
        harness,
        MountSegment {
            segment: segment.clone(),
            client_id: client(0)
        }
    );
    assert_eq!(mounted, Ok(()));
    let started = harness.put_start_as(client(1), "probe", MIB, &on(&segment.name));
    assert!(matches!(started, Ok(_) | Err(ErrorCode::NoAvailableHandle)));
    started.is_ok()
}

#[test]
fn a_segment_is_closed_if_it_is_the_one_that_left_or_lies_on_its_memory() {
    let left = segment("a", 16 * MIB);
    let other = |base, te_endpoint: &str| Segment {
        id: Uuid::new(9, 9),
        base,
        te_endpoint: te_endpoint.to_owned(),
        ..left.clone()
    };
    let size = left.size;
    let cases = [
        ("itself", left.clone(), false),
        (
            "itself, elsewhere",
            Segment {
                id: left.id,
                ..other(left.base + 4 * size, "x:1")
            },
            false,
        ),
        ("the same memory", other(left.base, &left.te_endpoint), false),
        (
            "its last byte",
            other(left.base + size - 1, &left.te_endpoint),
            false,
        ),
        (
            "its first byte",
            other(left.base - size + 1, &left.te_endpoint),
            false,
        ),
        ("just behind it", other(left.base + size, &left.te_endpoint), true),
        ("just before it", other(left.base - size, &left.te_endpoint), true),
        ("memory of another process", other(left.base, "x:1"), true),
        ("nothing of it", segment("b", size), true),
    ];
    for (what, segment, open) in cases {
        assert_eq!(opens(&mut after_a_left(), &segment), open, "{what}");
    }
}

#[test]
fn what_left_is_remembered_while_others_come_and_forgotten_when_it_is_due() {
    let mut harness = after_a_left();
    // It has no room for the probe.
    harness.mount("b", MIB / 2).unwrap();
    assert!(!opens(&mut harness, &segment("a", 16 * MIB)));
    let mut harness = after_a_left();
    harness.at(Span::from_secs(10));
    assert!(opens(&mut harness, &segment("a", 16 * MIB)));
}
