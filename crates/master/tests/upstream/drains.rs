//! Drain jobs. Where a case waits for the dispatch thread, it makes rounds of 500 ms here.

use crate::rig::*;
use crate::tasks::{fetch, report};
use moonquake_clock::{Span, Thread};
use moonquake_master::{DrainJob, DrainRequest, JobStatus};
use moonquake_protocol::{ErrorCode, SegmentStatus, TaskStatus, Uuid};

/// Two segments, perhaps an object on the first, and a job that drains it into the second.
fn draining(with_object: bool) -> (Rig, Uuid) {
    let mut rig = Rig::configured(|config| config.lease = Span::ZERO)
        .node("segment_0")
        .node("segment_1");
    if with_object {
        rig.put("key", &on("segment_0"));
    }
    let request = DrainRequest {
        segments: owned(&["segment_0"]),
        target_segments: owned(&["segment_1"]),
        max_concurrency: 1,
    };
    let job = rig.create_drain_job(&request).unwrap();
    assert_eq!(rig.status("segment_0"), Ok(SegmentStatus::Draining));
    (rig, job)
}

fn round(rig: &mut Rig) {
    rig.pass_ms(500);
    rig.tick(Thread::JobDispatch);
}

/// Rounds until something comes of it; a case gives up after four seconds, so does this.
fn wait<T>(rig: &mut Rig, mut look: impl FnMut(&mut Rig) -> Option<T>) -> T {
    for _ in 0..8 {
        round(rig);
        if let Some(found) = look(rig) {
            return found;
        }
    }
    panic!("nothing came of it in eight rounds");
}

/// Waits until the owner of the first segment is handed a move, and returns its task.
fn wait_for_a_move(rig: &mut Rig) -> Uuid {
    wait(rig, |rig| {
        fetch(rig, owner("segment_0"), 16).first().map(|task| task.id)
    })
}

fn wait_for(rig: &mut Rig, job: Uuid, status: JobStatus) -> DrainJob {
    wait(rig, |rig| {
        let told = rig.drain_job(job).unwrap();
        (told.status == status).then_some(told)
    })
}

#[test]
fn create_drain_job_marks_segment_draining_and_skips_allocation() {
    let (mut rig, _) = draining(false);
    let replicas = rig.start(WRITER, "key", KIB, &on("segment_0")).unwrap();
    assert_eq!(places(&replicas), ["segment_1"]);
    rig.end(WRITER, "key").unwrap();
}

#[test]
fn drain_job_schedules_move_task_and_converges_to_drained() {
    let (mut rig, job) = draining(true);
    let task = wait_for_a_move(&mut rig);
    let who = owner("segment_0");
    rig.move_to(who, "key", "segment_0", "segment_1").unwrap();
    rig.move_end(who, "key").unwrap();
    report(&mut rig, who, task, TaskStatus::Success, "move_done").unwrap();
    let told = wait_for(&mut rig, job, JobStatus::Succeeded);
    assert_eq!(told.active_units, 0);
    assert!(told.succeeded_units >= 1);
    assert_eq!(rig.status("segment_0"), Ok(SegmentStatus::Drained));
    assert_eq!(places(&rig.get("key").unwrap()), ["segment_1"]);
}

#[test]
fn cancel_drain_job_restores_segment_status() {
    let (mut rig, job) = draining(false);
    rig.cancel_drain_job(job).unwrap();
    assert_eq!(rig.drain_job(job).unwrap().status, JobStatus::Canceled);
    assert_eq!(rig.status("segment_0"), Ok(SegmentStatus::Ok));
}

#[test]
fn cancel_drain_job_rejects_active_move_tasks() {
    let (mut rig, job) = draining(true);
    wait_for_a_move(&mut rig);
    assert_eq!(
        rig.cancel_drain_job(job),
        Err(ErrorCode::UnavailableInCurrentStatus)
    );
}

#[test]
fn drain_job_fails_after_retry_budget_exhausted() {
    let (mut rig, job) = draining(true);
    for _ in 0..3 {
        let task = wait_for_a_move(&mut rig);
        report(
            &mut rig,
            owner("segment_0"),
            task,
            TaskStatus::Failed,
            "move_failed",
        )
        .unwrap();
    }
    let told = wait_for(&mut rig, job, JobStatus::Failed);
    assert_eq!(told.active_units, 0);
    assert!(told.failed_units >= 3);
    assert_eq!(rig.status("segment_0"), Ok(SegmentStatus::Ok));
}
