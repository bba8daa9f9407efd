//! Graceful unmounts. Upstream's cases sleep past the deadlines; here both clocks move.

use crate::rig::*;
use moonquake_protocol::{ErrorCode, Segment, SegmentStatus, Uuid};

const LEAVING: Answer<SegmentStatus> = Ok(SegmentStatus::GracefullyUnmounting);
const GONE: Answer<SegmentStatus> = Err(ErrorCode::SegmentNotFound);

fn mounted(name: &str) -> (Rig, Uuid) {
    let mut rig = Rig::new();
    let segment = segment(name, 16 * MIB);
    rig.mount(&segment, WRITER).unwrap();
    (rig, segment.id)
}

#[test]
fn graceful_unmount_segment_sets_correct_status() {
    let (mut rig, id) = mounted("graceful_test_segment");
    assert_eq!(rig.status("graceful_test_segment"), Ok(SegmentStatus::Ok));
    rig.graceful(id, WRITER, 1_000).unwrap();
    assert_eq!(rig.status("graceful_test_segment"), LEAVING);
}

#[test]
fn graceful_unmount_segment_reject_wrong_client() {
    let (mut rig, id) = mounted("graceful_owner_segment");
    assert_eq!(rig.graceful(id, OTHER, 1_000), Err(ErrorCode::SegmentNotFound));
    assert_eq!(rig.graceful(id, WRITER, 1_000), Ok(()));
}

#[test]
fn graceful_unmount_segment_idempotent() {
    let (mut rig, id) = mounted("graceful_idempotent_segment");
    assert_eq!(rig.graceful(id, WRITER, 1_000), Ok(()));
    assert_eq!(rig.graceful(id, WRITER, 1_000), Ok(()));
    assert_eq!(rig.status("graceful_idempotent_segment"), LEAVING);
}

#[test]
fn graceful_unmount_segment_timer_expires_and_unmounts() {
    let (mut rig, id) = mounted("graceful_timer_segment");
    rig.graceful(id, WRITER, 50).unwrap();
    assert_eq!(rig.status("graceful_timer_segment"), LEAVING);
    rig.pass_ms(300);
    assert_eq!(rig.status("graceful_timer_segment"), GONE);
}

#[test]
fn graceful_unmount_segment_query_status_by_id_with_reused_name() {
    let (mut rig, old) = mounted("graceful_reused_name_segment");
    let new = Segment {
        id: Uuid::new(0x4E3, 1),
        base: 0x4_0000_0000,
        ..segment("graceful_reused_name_segment", 16 * MIB)
    };
    rig.graceful(old, WRITER, 50).unwrap();
    rig.mount(&new, WRITER).unwrap();
    assert_eq!(rig.status_of(old), LEAVING);
    assert_eq!(rig.status_of(new.id), Ok(SegmentStatus::Ok));
    rig.pass_ms(300);
    assert_eq!(rig.status_of(old), GONE);
    assert_eq!(rig.status_of(new.id), Ok(SegmentStatus::Ok));
    assert_eq!(rig.status(&new.name), Ok(SegmentStatus::Ok));
}

#[test]
fn graceful_unmount_segment_earlier_timer_preempts_wait() {
    let (mut rig, long) = mounted("graceful_long_timer_segment");
    let short = segment("graceful_short_timer_segment", 16 * MIB);
    rig.mount(&short, WRITER).unwrap();
    rig.graceful(long, WRITER, 1_000).unwrap();
    rig.pass_ms(20);
    rig.graceful(short.id, WRITER, 50).unwrap();
    rig.pass_ms(300);
    assert_eq!(rig.status(&short.name), GONE);
    assert_eq!(rig.status("graceful_long_timer_segment"), LEAVING);
}

#[test]
fn graceful_unmount_segment_prevent_allocation() {
    let (mut rig, first) = mounted("graceful_seg1");
    rig.mount(&segment("graceful_seg2", 16 * MIB), WRITER).unwrap();
    rig.put("test_key_prevent_alloc", &on("graceful_seg1"));
    rig.graceful(first, WRITER, 1_000).unwrap();
    assert_eq!(rig.status("graceful_seg1"), LEAVING);
    assert_eq!(
        places(&rig.get("test_key_prevent_alloc").unwrap()),
        ["graceful_seg1"]
    );
    assert_eq!(rig.status("graceful_seg2"), Ok(SegmentStatus::Ok));
    let replicas = rig
        .start(WRITER, "test_key_after_graceful", KIB, &plain())
        .unwrap();
    assert_eq!(places(&replicas), ["graceful_seg2"]);
}
