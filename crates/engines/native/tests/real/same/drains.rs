//! Drain jobs: asked for on the real master's admin server, and of the Rust master by its methods.

use super::twin::{MIB, Twin, owner, segment};
use moonquake_clock::{Span, Thread};
use moonquake_master::{DrainRequest, JobStatus};
use moonquake_protocol::{
    ErrorCode, ReplicateConfig, Request, Response, TaskAssignment, TaskCompleteRequest, TaskStatus, TaskType,
    Uuid,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

const OPERATIONS: usize = 3_000;
const KEYS: usize = 10;
const SEGMENTS: u64 = 5;

impl Twin {
    fn error_of(answer: &str) -> i32 {
        let answer: Value = serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
        let code = answer["error_code"]
            .as_i64()
            .unwrap_or_else(|| panic!("{answer}"));
        i32::try_from(code).expect("an error number")
    }

    /// Asks both for a job; its id, or the error number that both give.
    fn drain(&mut self, request: &DrainRequest) -> Result<Uuid, i32> {
        let body = json!({
            "segments": request.segments, "target_segments": request.target_segments,
            "max_concurrency": request.max_concurrency,
        });
        let (status, answer) = self.http("POST", "/api/v1/drain_jobs", &body.to_string());
        let real = if status == 200 {
            let answer: Value = serde_json::from_str(&answer).expect("JSON");
            assert_eq!(answer["status"], "CREATED");
            Ok(answer["job_id"].as_str().expect("an id").parse().expect("an id"))
        } else {
            Err(Twin::error_of(&answer))
        };
        let ours = self.ours.create_drain_job(self.now, request);
        let ours = ours.map_err(|code| code.value());
        assert_eq!(ours, real, "ours, then the real one's, to {request:?}");
        real
    }

    /// What both say of a job.
    fn job(&mut self, id: Uuid) -> Result<JobStatus, i32> {
        let (status, answer) = self.http("GET", &format!("/api/v1/drain_jobs/query?job_id={id}"), "");
        let ours = self.ours.drain_job(id);
        if status != 200 {
            assert_eq!(
                ours.clone().err().map(|code| code.value()),
                Some(Twin::error_of(&answer))
            );
            return Err(Twin::error_of(&answer));
        }
        let ours = ours.unwrap_or_else(|code| panic!("{code:?} where the real one says {answer}"));
        let real: Value = serde_json::from_str(&answer).expect("JSON");
        let told = json!({
            "job_id": ours.id.to_string(), "status": ours.status as i32,
            "created_at_ms_epoch": ours.created_at_ms_epoch, "last_updated_at_ms_epoch": ours.last_updated_at_ms_epoch,
            "segments": ours.segments, "succeeded_units": ours.succeeded_units, "failed_units": ours.failed_units,
            "blocked_units": ours.blocked_units, "active_units": ours.active_units,
            "migrated_bytes": ours.migrated_bytes, "message": ours.message,
        });
        for (field, value) in told.as_object().expect("an object") {
            assert_eq!(*value, real[field], "ours, then the real one's {field}: {real}");
        }
        Ok(ours.status)
    }

    fn cancel(&mut self, id: Uuid) -> i32 {
        let (status, answer) = self.http("POST", &format!("/api/v1/drain_jobs/cancel?job_id={id}"), "");
        let real = if status == 200 { 0 } else { Twin::error_of(&answer) };
        let ours = self.ours.cancel_drain_job(self.now, id);
        assert_eq!(ours.map_or_else(|code| code.value(), |()| 0), real, "{answer}");
        real
    }

    fn status_of(&mut self, number: u64) {
        let segment_name = format!("n{number}");
        self.call(&Request::QuerySegmentStatus { segment_name });
    }

    fn report(&mut self, client_id: Uuid, id: Uuid, status: TaskStatus) {
        let request = TaskCompleteRequest {
            id,
            status,
            message: String::new(),
        };
        self.code(&Request::MarkTaskToComplete { client_id, request });
    }

    /// Executes a move as its owner would.
    fn execute(&mut self, client_id: Uuid, task: &TaskAssignment) {
        assert_eq!(task.r#type, TaskType::ReplicaMove);
        let payload: Value = serde_json::from_str(&task.payload).expect("JSON");
        let field = |name: &str| payload[name].as_str().expect("text").to_owned();
        let (key, tenant_id) = (field("key"), field("tenant_id"));
        let started = self.code(&Request::MoveStart {
            client_id,
            key: key.clone(),
            tenant_id: tenant_id.clone(),
            src_segment: field("source"),
            tgt_segment: field("target"),
        });
        let ended = if started == 0 {
            self.code(&Request::MoveEnd {
                client_id,
                key,
                tenant_id,
            })
        } else {
            started
        };
        let status = if ended == 0 {
            TaskStatus::Success
        } else {
            TaskStatus::Failed
        };
        self.report(client_id, task.id, status);
    }

    fn fetched(&mut self, client_id: Uuid, batch_size: u64) -> Vec<TaskAssignment> {
        match self.call(&Request::FetchTasks {
            client_id,
            batch_size,
        }) {
            Response::FetchTasks(Ok(tasks)) => tasks,
            other => panic!("{other:?}"),
        }
    }
}

fn drain(segments: &[u64], targets: &[u64], max_concurrency: u32) -> DrainRequest {
    let names = |numbers: &[u64]| numbers.iter().map(|number| format!("n{number}")).collect();
    DrainRequest {
        segments: names(segments),
        target_segments: names(targets),
        max_concurrency,
    }
}

fn on(number: u64) -> ReplicateConfig {
    ReplicateConfig {
        preferred_segment: format!("n{number}"),
        ..ReplicateConfig::default()
    }
}

/// A job that empties a segment, one that is cancelled, and one that gives up.
pub(crate) fn scripted() {
    let mut twin = Twin::start([]);
    for number in 0..3 {
        assert_eq!(twin.mount(number, 64 * MIB, owner(number)), 0);
    }
    for number in 0..6 {
        assert_eq!(twin.put(&format!("k{number}"), MIB, &on(0)), 0);
    }
    for (request, code) in [
        (drain(&[], &[], 4), -600),
        (drain(&[0], &[], 0), -600),
        (drain(&[9, 9], &[], 4), -600),
        (drain(&[9], &[], 4), -101),
        (drain(&[0], &[0], 4), -600),
        (drain(&[0], &[9], 4), -101),
    ] {
        assert_eq!(twin.drain(&request), Err(code), "{request:?}");
    }
    assert_eq!(twin.job(Uuid::new(1, 1)), Err(-1402));
    assert_eq!(twin.cancel(Uuid::new(1, 1)), -1402);
    let cancelled = twin.drain(&drain(&[1], &[], 4)).expect("a job");
    twin.status_of(1);
    assert_eq!(twin.cancel(cancelled), 0);
    assert_eq!(twin.job(cancelled), Ok(JobStatus::Canceled));
    twin.status_of(1);
    let id = twin.drain(&drain(&[0], &[], 2)).expect("a job");
    assert_eq!(
        twin.drain(&drain(&[0], &[], 2)),
        Err(ErrorCode::UnavailableInCurrentStatus.value())
    );
    for _ in 0..4 {
        assert_ne!(twin.job(id), Ok(JobStatus::Succeeded));
        twin.pass(Span::from_ms(500));
        twin.tick(Thread::JobDispatch);
        for task in twin.fetched(owner(0), 16) {
            twin.execute(owner(0), &task);
        }
    }
    assert_eq!(twin.job(id), Ok(JobStatus::Succeeded));
    twin.status_of(0);
    assert_eq!(twin.put("stays", MIB, &on(1)), 0);
    let failing = twin.drain(&drain(&[1], &[2], 1)).expect("a job");
    for _ in 0..40 {
        twin.tick(Thread::JobDispatch);
        for task in twin.fetched(owner(1), 16) {
            twin.report(owner(1), task.id, TaskStatus::Failed);
        }
    }
    assert_eq!(twin.job(failing), Ok(JobStatus::Failed));
    twin.status_of(1);
    let stuck = twin.drain(&drain(&[1, 2], &[], 1)).expect("a job");
    for _ in 0..40 {
        twin.tick(Thread::JobDispatch);
        for owners in [1, 2] {
            for task in twin.fetched(owner(owners), 16) {
                twin.report(owner(owners), task.id, TaskStatus::Failed);
            }
        }
    }
    // Both sources and the drained segment are out of placement, so nothing can go anywhere.
    assert_eq!(twin.job(stuck), Ok(JobStatus::Running));
    assert_eq!(twin.cancel(stuck), 0);
    twin.compare_state();
}

#[derive(Clone, Debug)]
enum Step {
    Put(usize, u64, u64, bool),
    PutStart(usize, u64),
    Read(usize),
    Remove(usize),
    Drain(Vec<u64>, Vec<u64>, u32),
    Cancel(Index),
    Ask(Index),
    Status(u64),
    Round,
    Work(u64, u64, bool),
    CleanUp,
    Mount(u64),
    Unmount(u64),
    Graceful(u64),
    Pass(Span),
}

fn step() -> impl Strategy<Value = Step> {
    let numbers = |most| prop::collection::vec(0..SEGMENTS + 1, 0..most);
    prop_oneof![
        10 => (0..KEYS, 1..8_u64, 1..3_u64, prop::bool::weighted(0.1))
            .prop_map(|(key, size, replicas, pinned)| Step::Put(key, size, replicas, pinned)),
        1 => (0..KEYS, 1..8_u64).prop_map(|(key, size)| Step::PutStart(key, size)),
        1 => (0..KEYS).prop_map(Step::Read),
        2 => (0..KEYS).prop_map(Step::Remove),
        4 => (numbers(3), numbers(3), 0..4_u32).prop_map(|(from, to, most)| Step::Drain(from, to, most)),
        2 => any::<Index>().prop_map(Step::Cancel),
        4 => any::<Index>().prop_map(Step::Ask),
        2 => (0..SEGMENTS).prop_map(Step::Status),
        10 => Just(Step::Round),
        12 => (0..3_u64, 1..4_u64, prop::bool::weighted(0.5)).prop_map(|(client, most, well)| Step::Work(client, most, well)),
        1 => Just(Step::CleanUp),
        3 => (0..SEGMENTS).prop_map(Step::Mount),
        2 => (0..SEGMENTS).prop_map(Step::Unmount),
        1 => (0..SEGMENTS).prop_map(Step::Graceful),
        4 => select(&[1, 500_000_000, 10_000_000_000, 31_000_000_000_u64][..])
            .prop_map(|ns| Step::Pass(Span::from_ns(ns))),
    ]
}

/// Jobs beside each other, over segments that come and go.
pub(crate) fn at_random() {
    let mut twin = Twin::start([
        ("pending_task_timeout_sec", "60"),
        ("max_total_finished_tasks", "20"),
    ]);
    for number in 0..SEGMENTS {
        assert_eq!(twin.mount(number, 16 * MIB, owner(number % 3)), 0);
    }
    let mut jobs = Vec::new();
    let mut ended = std::collections::BTreeMap::new();
    for _ in 0..OPERATIONS {
        let step = twin.draw(&step());
        run(&mut twin, &mut jobs, step);
    }
    twin.compare_state();
    for id in &jobs {
        if let Ok(status) = twin.job(*id) {
            *ended.entry(status as i32).or_insert(0) += 1;
        }
    }
    for status in [JobStatus::Succeeded, JobStatus::Canceled] {
        assert!(
            ended.get(&(status as i32)).is_some_and(|count| *count > 0),
            "{status:?}: {ended:?}"
        );
    }
    twin.compare_state();
}

fn run(twin: &mut Twin, jobs: &mut Vec<Uuid>, step: Step) {
    let key = |number: usize| format!("k{number}");
    let any = |index: Index, jobs: &[Uuid]| (!jobs.is_empty()).then(|| *index.get(jobs));
    match step {
        Step::Put(number, size, replica_num, with_hard_pin) => {
            let config = ReplicateConfig {
                replica_num,
                with_hard_pin,
                ..ReplicateConfig::default()
            };
            twin.put(&key(number), size * MIB / 8, &config);
        }
        Step::PutStart(number, size) => {
            twin.put_start(&key(number), size * MIB / 8, &ReplicateConfig::default());
        }
        Step::Read(number) => {
            twin.code(&Request::GetReplicaList {
                key: key(number),
                tenant_id: String::new(),
            });
        }
        Step::Remove(number) => {
            twin.code(&Request::Remove {
                key: key(number),
                force: true,
                tenant_id: String::new(),
            });
        }
        Step::Drain(from, to, most) => {
            if let Ok(id) = twin.drain(&drain(&from, &to, most)) {
                jobs.push(id);
            }
        }
        Step::Cancel(index) => {
            any(index, jobs).map(|id| twin.cancel(id));
        }
        Step::Ask(index) => {
            any(index, jobs).map(|id| twin.job(id));
        }
        Step::Status(number) => twin.status_of(number),
        Step::Round => twin.tick(Thread::JobDispatch),
        Step::Work(client, most, well) => {
            for task in twin.fetched(owner(client), most) {
                if well {
                    twin.execute(owner(client), &task);
                } else {
                    twin.report(owner(client), task.id, TaskStatus::Failed);
                }
            }
        }
        Step::CleanUp => twin.tick(Thread::TaskCleanup),
        Step::Mount(_) | Step::Unmount(_) | Step::Graceful(_) => mount_or_leave(twin, &step),
        Step::Pass(span) => {
            twin.pass(span);
            twin.run_timers();
        }
    }
}

/// A segment comes or goes.
fn mount_or_leave(twin: &mut Twin, step: &Step) {
    match *step {
        Step::Mount(number) => {
            twin.mount(number, 16 * MIB, owner(number % 3));
        }
        Step::Unmount(number) => {
            let segment_id = segment(number, 1).id;
            twin.code(&Request::UnmountSegment {
                segment_id,
                client_id: owner(number % 3),
            });
            twin.settle();
        }
        Step::Graceful(number) => {
            let (segment_id, client_id) = (segment(number, 1).id, owner(number % 3));
            twin.code(&Request::GracefulUnmountSegment {
                segment_id,
                client_id,
                grace_period_ms: 3_000,
            });
        }
        _ => {}
    }
}
