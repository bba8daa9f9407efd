//! Drain jobs.

use super::harness::*;
use crate::{DrainJob, DrainRequest, JobStatus, MasterConfig};
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{
    ErrorCode, Request, Response, SegmentStatus, TaskAssignment, TaskCompleteRequest, TaskStatus, Uuid,
};

fn drain(segments: &[&str], targets: &[&str], max_concurrency: u32) -> DrainRequest {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    DrainRequest {
        segments: owned(segments),
        target_segments: owned(targets),
        max_concurrency,
    }
}

/// Objects `k0` ... on `a`; `b` and `c` are empty.
fn with_objects(count: usize) -> Harness {
    let config = MasterConfig::default();
    let mut harness = Harness::configured(config, &[("a", 16 * MIB), ("b", 16 * MIB), ("c", 16 * MIB)]);
    for number in 0..count {
        harness.put_with(&format!("k{number}"), MIB, &on("a"));
    }
    harness.advance(Span::from_secs(1));
    harness
}

fn start(harness: &mut Harness, request: &DrainRequest) -> Result<Uuid, ErrorCode> {
    harness.master.create_drain_job(harness.now, request)
}

fn status_of(harness: &mut Harness, name: &str) -> SegmentStatus {
    let segment_name = name.to_owned();
    answer!(harness, QuerySegmentStatus { segment_name }).unwrap()
}

fn job(harness: &Harness, id: Uuid) -> DrainJob {
    harness.master.drain_job(id).unwrap()
}

fn fetch(harness: &mut Harness) -> Vec<TaskAssignment> {
    let (client_id, batch_size) = (client(0), 16);
    answer!(
        harness,
        FetchTasks {
            client_id,
            batch_size
        }
    )
    .unwrap()
}

fn report(harness: &mut Harness, id: Uuid, status: TaskStatus) {
    let request = TaskCompleteRequest {
        id,
        status,
        message: String::new(),
    };
    let client_id = client(0);
    answer!(harness, MarkTaskToComplete { client_id, request }).unwrap();
}

/// Executes the moves that were asked for, as their owner would.
fn execute(harness: &mut Harness) -> usize {
    let tasks = fetch(harness);
    for task in &tasks {
        let field = |name: &str| {
            let rest = task.payload.split_once(&format!("\"{name}\":\"")).unwrap().1;
            rest.split_once('"').unwrap().0.to_owned()
        };
        let (client_id, key, tenant_id) = (client(0), field("key"), String::new());
        let (src_segment, tgt_segment) = (field("source"), field("target"));
        let moved = Request::MoveStart {
            client_id,
            key: key.clone(),
            tenant_id,
            src_segment,
            tgt_segment,
        };
        assert_eq!(harness.send(&moved).error(), None, "{moved:?}");
        assert_eq!(
            harness
                .send(&Request::MoveEnd {
                    client_id,
                    key,
                    tenant_id: String::new()
                })
                .error(),
            None
        );
        report(harness, task.id, TaskStatus::Success);
    }
    tasks.len()
}

#[test]
fn requests_are_checked_in_upstreams_order() {
    use ErrorCode::{InvalidParams, SegmentNotFound, UnavailableInCurrentStatus};
    let mut harness = with_objects(0);
    for (request, code) in [
        (drain(&[], &[], 4), InvalidParams),
        (drain(&["a"], &[], 0), InvalidParams),
        (drain(&["nowhere", "nowhere"], &[], 4), InvalidParams),
        (drain(&["nowhere"], &[], 4), SegmentNotFound),
        (drain(&["a"], &["a"], 4), InvalidParams),
        (drain(&["a"], &["nowhere"], 4), SegmentNotFound),
    ] {
        assert_eq!(start(&mut harness, &request), Err(code), "{request:?}");
    }
    start(&mut harness, &drain(&["a"], &[], 4)).unwrap();
    assert_eq!(
        start(&mut harness, &drain(&["a"], &[], 4)),
        Err(UnavailableInCurrentStatus)
    );
    assert_eq!(
        start(&mut harness, &drain(&["b"], &["a"], 4)),
        Err(UnavailableInCurrentStatus)
    );
    assert_eq!(
        harness.master.drain_job(Uuid::new(1, 1)),
        Err(ErrorCode::JobNotFound)
    );
    assert_eq!(
        harness.master.cancel_drain_job(harness.now, Uuid::new(1, 1)),
        Err(ErrorCode::JobNotFound)
    );
}

#[test]
fn a_draining_segment_takes_nothing_and_stays_readable() {
    let mut harness = with_objects(1);
    let id = start(&mut harness, &drain(&["a"], &[], 4)).unwrap();
    assert_eq!(status_of(&mut harness, "a"), SegmentStatus::Draining);
    assert_eq!(job(&harness, id).status, JobStatus::Created);
    assert_eq!(harness.get("k0").unwrap().len(), 1);
    for number in 0..10 {
        let replicas = harness.put_with(&format!("new{number}"), MIB, &on("a"));
        assert_ne!(names(&replicas), ["a"]);
    }
}

#[test]
fn objects_are_moved_to_the_emptiest_until_the_segment_is_drained() {
    let mut harness = with_objects(5);
    harness.put_with("full", 2 * MIB, &on("b"));
    let id = start(&mut harness, &drain(&["a"], &[], 2)).unwrap();
    harness.advance(Span::from_secs(1));
    harness.tick(Thread::JobDispatch);
    let running = job(&harness, id);
    assert_eq!(
        (running.status, running.active_units, running.blocked_units),
        (JobStatus::Running, 2, 0)
    );
    assert_eq!(execute(&mut harness), 2);
    // Two went to the empty one, and now both are equal.
    assert_eq!(
        harness
            .master
            .view()
            .keys
            .values()
            .filter(|places| places[0].segment == "c")
            .count(),
        2
    );
    for _ in 0..2 {
        harness.tick(Thread::JobDispatch);
        execute(&mut harness);
    }
    harness.tick(Thread::JobDispatch);
    let ended = job(&harness, id);
    assert_eq!(
        (
            ended.status,
            ended.succeeded_units,
            ended.migrated_bytes,
            ended.active_units
        ),
        (JobStatus::Succeeded, 5, 5 * MIB, 0)
    );
    assert_eq!(ended.message, "Drain job finished successfully");
    assert_eq!(status_of(&mut harness, "a"), SegmentStatus::Drained);
    assert_eq!(
        harness.master.cancel_drain_job(harness.now, id),
        Err(ErrorCode::UnavailableInCurrentStatus)
    );
}

#[test]
fn what_may_not_be_moved_blocks_and_what_is_under_way_cannot_be_cancelled() {
    let mut harness = with_objects(2);
    harness.put_start_as(client(1), "open", MIB, &on("a")).unwrap();
    harness.exist("k0");
    let id = start(&mut harness, &drain(&["a"], &["b"], 4)).unwrap();
    harness.tick(Thread::JobDispatch);
    assert_eq!(
        (job(&harness, id).active_units, job(&harness, id).blocked_units),
        (1, 2)
    );
    assert_eq!(
        harness.master.cancel_drain_job(harness.now, id),
        Err(ErrorCode::UnavailableInCurrentStatus)
    );
    let task = fetch(&mut harness).remove(0);
    report(&mut harness, task.id, TaskStatus::Failed);
    assert_eq!(
        harness.master.cancel_drain_job(harness.now, id),
        Err(ErrorCode::UnavailableInCurrentStatus),
        "only a round hears of the report"
    );
    harness.tick(Thread::ClientMonitor);
    let before = job(&harness, id);
    assert_eq!((before.failed_units, before.active_units), (0, 1));
}

#[test]
fn a_cancelled_job_gives_its_segments_back() {
    let mut harness = with_objects(0);
    let id = start(&mut harness, &drain(&["a", "b"], &[], 4)).unwrap();
    harness.master.cancel_drain_job(harness.now, id).unwrap();
    assert_eq!(job(&harness, id).status, JobStatus::Canceled);
    assert_eq!(status_of(&mut harness, "a"), SegmentStatus::Ok);
    let replicas = harness.put_with("k", MIB, &on("a"));
    assert_eq!(names(&replicas), ["a"]);
    harness.tick(Thread::JobDispatch);
    assert_eq!(status_of(&mut harness, "b"), SegmentStatus::Ok);
}

#[test]
fn after_three_failed_moves_an_object_is_given_up_and_the_job_fails() {
    let mut harness = with_objects(1);
    let id = start(&mut harness, &drain(&["a"], &[], 4)).unwrap();
    for round in 1..=3 {
        harness.tick(Thread::JobDispatch);
        let task = fetch(&mut harness).remove(0);
        report(&mut harness, task.id, TaskStatus::Failed);
        assert_eq!(job(&harness, id).failed_units, round - 1);
    }
    harness.tick(Thread::JobDispatch);
    let failed = job(&harness, id);
    assert_eq!((failed.status, failed.failed_units), (JobStatus::Failed, 3));
    assert_eq!(failed.message, "Drain job failed: unrecoverable units remain");
    assert_eq!(status_of(&mut harness, "a"), SegmentStatus::Ok);
}

#[test]
fn an_emptied_segment_is_drained_while_the_job_goes_on() {
    let mut harness = with_objects(1);
    let id = start(&mut harness, &drain(&["a", "b"], &[], 4)).unwrap();
    harness.exist("k0");
    harness.tick(Thread::JobDispatch);
    assert_eq!(status_of(&mut harness, "b"), SegmentStatus::Drained);
    assert_eq!(status_of(&mut harness, "a"), SegmentStatus::Draining);
    assert_eq!(job(&harness, id).status, JobStatus::Running);
    let refused = answer!(
        harness,
        GracefulUnmountSegment {
            segment_id: segment("b", 1).id,
            client_id: client(0),
            grace_period_ms: 1_000
        }
    );
    assert_eq!(refused, Err(ErrorCode::UnavailableInCurrentStatus));
    let taken = answer!(
        harness,
        GracefulUnmountSegment {
            segment_id: segment("a", 1).id,
            client_id: client(0),
            grace_period_ms: 1_000
        }
    );
    assert_eq!(taken, Ok(()));
    assert_eq!(status_of(&mut harness, "a"), SegmentStatus::GracefullyUnmounting);
}

#[test]
fn an_object_that_is_moved_was_moved_or_was_given_up_is_not_asked_for_again() {
    let mut harness = with_objects(2);
    let id = start(&mut harness, &drain(&["a"], &["b"], 4)).unwrap();
    for _ in 0..3 {
        harness.exist("k1");
        harness.tick(Thread::JobDispatch);
        harness.tick(Thread::JobDispatch);
        let told = job(&harness, id);
        assert_eq!((told.active_units, told.blocked_units), (1, 1));
        let tasks = fetch(&mut harness);
        assert_eq!(tasks.len(), 1, "under way");
        report(&mut harness, tasks[0].id, TaskStatus::Failed);
    }
    harness.tick(Thread::JobDispatch);
    let told = job(&harness, id);
    assert_eq!((told.status, told.failed_units), (JobStatus::Running, 3));
    assert!(fetch(&mut harness).is_empty(), "given up");
    // Its owner says that it was moved, and it was not.
    harness.advance(Span::from_secs(10));
    harness.tick(Thread::JobDispatch);
    let tasks = fetch(&mut harness);
    report(&mut harness, tasks[0].id, TaskStatus::Success);
    for _ in 0..2 {
        harness.tick(Thread::JobDispatch);
        let told = job(&harness, id);
        assert_eq!(
            (told.status, told.succeeded_units, told.migrated_bytes),
            (JobStatus::Running, 1, MIB)
        );
        assert!(fetch(&mut harness).is_empty(), "moved");
    }
}

#[test]
fn an_object_whose_task_is_forgotten_is_given_up_at_once() {
    let mut harness = with_objects(1);
    harness.master.config.max_total_finished_tasks = 0;
    let id = start(&mut harness, &drain(&["a"], &[], 4)).unwrap();
    harness.tick(Thread::JobDispatch);
    let task = fetch(&mut harness).remove(0);
    report(&mut harness, task.id, TaskStatus::Success);
    harness.tick(Thread::TaskCleanup);
    harness.tick(Thread::JobDispatch);
    let told = job(&harness, id);
    assert_eq!(
        (told.status, told.failed_units, told.succeeded_units),
        (JobStatus::Failed, 1, 0)
    );
}

#[test]
fn of_the_targets_that_hold_no_replica_the_emptiest_is_taken_and_of_equals_the_first() {
    for (targets, on_c, expected) in [
        (["b", "c"], 0, "b"),
        (["c", "b"], 0, "c"),
        (["b", "c"], 2 * MIB, "b"),
        (["c", "b"], 2 * MIB, "b"),
    ] {
        let mut harness = with_objects(1);
        if on_c > 0 {
            harness.put_with("full", on_c, &on("c"));
        }
        start(&mut harness, &drain(&["a"], &targets, 4)).unwrap();
        harness.tick(Thread::JobDispatch);
        execute(&mut harness);
        assert_eq!(
            names(&harness.get("k0").unwrap()),
            [expected],
            "{targets:?} {on_c}"
        );
    }
    // Where one holds a replica already, it is no target, however empty it is.
    let mut harness = with_objects(1);
    super::copies::copy(&mut harness, "k0", "a", &["b"]).unwrap();
    let (client_id, key, tenant_id) = (client(1), "k0".to_owned(), String::new());
    let copied = Request::CopyEnd {
        client_id,
        key,
        tenant_id,
    };
    assert_eq!(harness.send(&copied), Response::CopyEnd(Ok(())));
    harness.put_with("full", 2 * MIB, &on("c"));
    start(&mut harness, &drain(&["a"], &["b", "c"], 4)).unwrap();
    harness.tick(Thread::JobDispatch);
    execute(&mut harness);
    let mut left = names(&harness.get("k0").unwrap());
    left.sort();
    assert_eq!(left, ["b", "c"]);
}
