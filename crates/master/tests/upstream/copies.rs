//! Copies and moves on the data plane.

use crate::rig::*;
use moonquake_clock::Span;
use moonquake_protocol::ErrorCode;

const GONE: Answer = Err(ErrorCode::ReplicaIsGone);

fn nodes(rig: Rig, count: usize) -> Rig {
    (1..=count).fold(rig, |rig, number| rig.node(&format!("segment_{number}")))
}

/// A finished object on the first of so many segments.
fn with_object(count: usize) -> Rig {
    let mut rig = nodes(Rig::new(), count);
    rig.put("test_key", &on("segment_1"));
    rig
}

fn code<T>(answer: Answer<T>) -> Answer {
    answer.map(|_| ())
}

#[test]
fn copy_start() {
    let mut rig = nodes(Rig::configured(|config| config.lease = Span::from_ms(50)), 4);
    let both = ["segment_2", "segment_3"];
    let absent = rig.copy(WRITER, "test_key", "segment_1", &both);
    assert_eq!(code(absent), Err(ErrorCode::ObjectNotFound));
    rig.start(WRITER, "test_key", KIB, &on("segment_1")).unwrap();
    let unfinished = rig.copy(WRITER, "test_key", "segment_1", &both);
    assert_eq!(code(unfinished), Err(ErrorCode::ReplicaNotFound));
    rig.end(WRITER, "test_key").unwrap();

    let started = rig.copy(WRITER, "test_key", "segment_1", &both).unwrap();
    assert_eq!(places(&[started.source]), ["segment_1"]);
    assert_eq!(started.targets.len(), 2);
    assert_eq!(rig.remove("test_key", false), Err(ErrorCode::ReplicaIsNotReady));
    let second = rig.copy(WRITER, "test_key", "segment_1", &["segment_4"]);
    assert_eq!(code(second), Err(ErrorCode::ObjectHasReplicationTask));
    rig.copy_end(WRITER, "test_key").unwrap();
    assert_eq!(rig.get("test_key").unwrap().len(), 3);

    let from_nowhere = rig.copy(WRITER, "test_key", "nowhere", &["segment_3", "segment_4"]);
    assert_eq!(code(from_nowhere), Err(ErrorCode::ReplicaNotFound));
    let to_nowhere = rig.copy(WRITER, "test_key", "segment_1", &["segment_4", "nowhere"]);
    assert_eq!(code(to_nowhere), Err(ErrorCode::SegmentNotFound));
    let started = rig
        .copy(WRITER, "test_key", "segment_1", &["segment_3", "segment_4"])
        .unwrap();
    assert_eq!(
        places(&started.targets),
        ["segment_4"],
        "segment_3 has one already"
    );
    rig.copy_end(WRITER, "test_key").unwrap();
    assert_eq!(rig.get("test_key").unwrap().len(), 4);

    let empty = rig.copy(WRITER, "test_key", "segment_1", &["segment_4"]).unwrap();
    assert_eq!(
        (places(&[empty.source]), empty.targets.len()),
        (vec!["segment_1"], 0)
    );
    rig.pass_ms(100);
    assert_eq!(
        rig.remove("test_key", false),
        Err(ErrorCode::ObjectHasReplicationTask)
    );
    rig.copy_end(WRITER, "test_key").unwrap();
    rig.pass_ms(100);
    rig.remove("test_key", false).unwrap();
}

#[test]
fn copy_end() {
    let mut rig = with_object(3);
    assert_eq!(rig.copy_end(WRITER, "missing"), Err(ErrorCode::ObjectNotFound));
    assert_eq!(
        rig.copy_end(WRITER, "test_key"),
        Err(ErrorCode::ObjectNoReplicationTask)
    );
    rig.copy(WRITER, "test_key", "segment_1", &["segment_2"]).unwrap();
    assert_eq!(rig.copy_end(OTHER, "test_key"), Err(ErrorCode::IllegalClient));
    assert_eq!(rig.move_end(WRITER, "test_key"), Err(ErrorCode::InvalidParams));
    rig.copy_end(WRITER, "test_key").unwrap();
    assert_eq!(rig.get("test_key").unwrap().len(), 2);

    rig.copy(WRITER, "test_key", "segment_1", &["segment_3"]).unwrap();
    rig.unmount("segment_1").unwrap();
    assert_eq!(rig.copy_end(WRITER, "test_key"), GONE, "the source is gone");
    assert_eq!(
        places(&rig.get("test_key").unwrap()),
        ["segment_2"],
        "and its target with it"
    );

    rig.copy(WRITER, "test_key", "segment_2", &["segment_3"]).unwrap();
    rig.unmount("segment_3").unwrap();
    assert_eq!(rig.copy_end(WRITER, "test_key"), GONE, "the target is gone");
    assert_eq!(places(&rig.get("test_key").unwrap()), ["segment_2"]);
}

#[test]
fn copy_revoke() {
    let mut rig = with_object(2);
    assert_eq!(rig.copy_revoke(WRITER, "missing"), Err(ErrorCode::ObjectNotFound));
    assert_eq!(
        rig.copy_revoke(WRITER, "test_key"),
        Err(ErrorCode::ObjectNoReplicationTask)
    );
    rig.copy(WRITER, "test_key", "segment_1", &["segment_2"]).unwrap();
    assert_eq!(rig.copy_revoke(OTHER, "test_key"), Err(ErrorCode::IllegalClient));
    assert_eq!(rig.move_revoke(WRITER, "test_key"), Err(ErrorCode::InvalidParams));
    rig.copy_revoke(WRITER, "test_key").unwrap();
    assert_eq!(rig.get("test_key").unwrap().len(), 1);

    rig.copy(WRITER, "test_key", "segment_1", &["segment_2"]).unwrap();
    rig.unmount("segment_1").unwrap();
    assert_eq!(rig.copy_revoke(WRITER, "test_key"), Ok(()));
    assert_eq!(rig.get("test_key"), Err(ErrorCode::ObjectNotFound));
}

#[test]
fn move_start() {
    let mut rig = nodes(Rig::configured(|config| config.lease = Span::from_ms(50)), 3);
    let absent = rig.move_to(WRITER, "test_key", "segment_1", "segment_2");
    assert_eq!(code(absent), Err(ErrorCode::ObjectNotFound));
    rig.start(WRITER, "test_key", KIB, &on("segment_1")).unwrap();
    let unfinished = rig.move_to(WRITER, "test_key", "segment_1", "segment_2");
    assert_eq!(code(unfinished), Err(ErrorCode::ReplicaNotFound));
    rig.end(WRITER, "test_key").unwrap();
    rig.copy(WRITER, "test_key", "segment_1", &["segment_3"]).unwrap();
    rig.copy_end(WRITER, "test_key").unwrap();

    let onto_itself = rig.move_to(WRITER, "test_key", "segment_1", "segment_1");
    assert_eq!(code(onto_itself), Err(ErrorCode::InvalidParams));
    let started = rig.move_to(WRITER, "test_key", "segment_1", "segment_2").unwrap();
    assert_eq!(
        places(&[started.source, started.target.unwrap()]),
        ["segment_1", "segment_2"]
    );
    assert_eq!(rig.remove("test_key", false), Err(ErrorCode::ReplicaIsNotReady));
    let second = rig.move_to(WRITER, "test_key", "segment_1", "segment_3");
    assert_eq!(code(second), Err(ErrorCode::ObjectHasReplicationTask));
    rig.move_end(WRITER, "test_key").unwrap();
    assert_eq!(rig.get("test_key").unwrap().len(), 2);

    let from_nowhere = rig.move_to(WRITER, "test_key", "nowhere", "segment_1");
    assert_eq!(code(from_nowhere), Err(ErrorCode::ReplicaNotFound));
    let to_nowhere = rig.move_to(WRITER, "test_key", "segment_2", "nowhere");
    assert_eq!(code(to_nowhere), Err(ErrorCode::SegmentNotFound));

    let already_there = rig.move_to(WRITER, "test_key", "segment_2", "segment_3").unwrap();
    assert_eq!(
        (places(&[already_there.source]), already_there.target),
        (vec!["segment_2"], None)
    );
    rig.pass_ms(100);
    assert_eq!(
        rig.remove("test_key", false),
        Err(ErrorCode::ObjectHasReplicationTask)
    );
    rig.move_end(WRITER, "test_key").unwrap();
    assert_eq!(
        places(&rig.get("test_key").unwrap()),
        ["segment_3"],
        "the source goes all the same"
    );
    rig.pass_ms(100);
    rig.remove("test_key", false).unwrap();
}

#[test]
fn move_end() {
    let mut rig = with_object(2);
    assert_eq!(rig.move_end(WRITER, "missing"), Err(ErrorCode::ObjectNotFound));
    assert_eq!(
        rig.move_end(WRITER, "test_key"),
        Err(ErrorCode::ObjectNoReplicationTask)
    );
    rig.move_to(WRITER, "test_key", "segment_1", "segment_2").unwrap();
    assert_eq!(rig.move_end(OTHER, "test_key"), Err(ErrorCode::IllegalClient));
    assert_eq!(rig.copy_end(WRITER, "test_key"), Err(ErrorCode::InvalidParams));
    rig.move_end(WRITER, "test_key").unwrap();
    assert_eq!(rig.get("test_key").unwrap().len(), 1);

    rig.move_to(WRITER, "test_key", "segment_2", "segment_1").unwrap();
    rig.unmount("segment_2").unwrap();
    assert_eq!(rig.move_end(WRITER, "test_key"), GONE, "the source is gone");

    let mut rig = rig.node("segment_2");
    rig.put("target_gone_key", &on("segment_1"));
    rig.move_to(WRITER, "target_gone_key", "segment_1", "segment_2")
        .unwrap();
    rig.unmount("segment_2").unwrap();
    assert_eq!(
        rig.move_end(WRITER, "target_gone_key"),
        GONE,
        "the target is gone"
    );
    // Nobody reads the source any more: an upsert would be refused otherwise.
    rig.upsert(WRITER, "target_gone_key", KIB, &on("segment_1"))
        .unwrap();
    assert_eq!(
        rig.move_revoke(WRITER, "target_gone_key"),
        Err(ErrorCode::ObjectNoReplicationTask)
    );
    rig.upsert_revoke(WRITER, "target_gone_key").unwrap();
}

#[test]
fn move_revoke() {
    let mut rig = with_object(2);
    assert_eq!(rig.move_revoke(WRITER, "missing"), Err(ErrorCode::ObjectNotFound));
    assert_eq!(
        rig.move_revoke(WRITER, "test_key"),
        Err(ErrorCode::ObjectNoReplicationTask)
    );
    rig.move_to(WRITER, "test_key", "segment_1", "segment_2").unwrap();
    assert_eq!(rig.move_revoke(OTHER, "test_key"), Err(ErrorCode::IllegalClient));
    assert_eq!(rig.copy_revoke(WRITER, "test_key"), Err(ErrorCode::InvalidParams));
    rig.move_revoke(WRITER, "test_key").unwrap();
    assert_eq!(places(&rig.get("test_key").unwrap()), ["segment_1"]);

    rig.move_to(WRITER, "test_key", "segment_1", "segment_2").unwrap();
    rig.unmount("segment_1").unwrap();
    assert_eq!(rig.move_revoke(WRITER, "test_key"), Ok(()));
    assert_eq!(rig.get("test_key"), Err(ErrorCode::ObjectNotFound));
}

/// One object is being copied and one moved between two segments of 16 MiB.
fn with_tasks(rig: Rig) -> Rig {
    let mut rig = nodes(rig, 2);
    for key in ["copy_key", "move_key"] {
        rig.try_put(key, MIB, &on("segment_1")).unwrap();
    }
    rig.copy(WRITER, "copy_key", "segment_1", &["segment_2"]).unwrap();
    rig.move_to(WRITER, "move_key", "segment_1", "segment_2").unwrap();
    rig
}

/// Puts of 1 MiB, many times what fits; after each that fails 50 ms pass and the eviction thread makes a round.
fn press(rig: &mut Rig) {
    let mut refused = 0;
    for number in 0..128 * 32 {
        if rig.try_put(&format!("test_key_{number}"), MIB, &plain()).is_err() {
            refused += 1;
            rig.pass_ms(50);
            rig.evict();
        }
    }
    assert!(refused > 100, "the pool was full over and over again");
}

#[test]
fn protect_copy_move_source_from_eviction() {
    let mut rig = with_tasks(Rig::configured(|config| {
        config.lease = Span::from_ms(100);
        config.client_ttl = Span::from_secs(600);
    }));
    press(&mut rig);
    rig.pass_ms(200);
    assert!(rig.remove_all(false) > 0);
    assert_eq!(rig.keys(), ["copy_key", "move_key"]);
    assert_eq!(rig.copy_end(WRITER, "copy_key"), Ok(()));
    assert_eq!(rig.move_end(WRITER, "move_key"), Ok(()));
}

#[test]
fn discard_timeout_copy_move() {
    let mut rig = with_tasks(Rig::configured(|config| {
        config.lease = Span::from_ms(100);
        config.client_ttl = Span::from_secs(600);
        config.discard = Span::from_secs(1);
        config.release = Span::from_secs(2);
    }));
    rig.pass(Span::from_secs(2));
    press(&mut rig);
    assert_eq!(rig.copy_end(WRITER, "copy_key"), Err(ErrorCode::ObjectNotFound));
    assert_eq!(rig.move_end(WRITER, "move_key"), Err(ErrorCode::ObjectNotFound));
}
