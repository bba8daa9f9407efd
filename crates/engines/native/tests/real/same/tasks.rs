//! Tasks: their ids, sources, payloads, queues, counters, time-outs and history.

use super::twin::{MIB, Twin, owner};
use crate::echo::values::any_text;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{
    ReplicateConfig, Request, Response, TaskAssignment, TaskCompleteRequest, TaskStatus, Uuid,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};

const OPERATIONS: usize = 4_000;
const KEYS: usize = 8;

fn copy(key: &str, targets: &[&str]) -> Request {
    Request::CreateCopyTask {
        key: key.to_owned(),
        tenant_id: "default".to_owned(),
        targets: targets.iter().map(|target| (*target).to_owned()).collect(),
    }
}

fn r#move(key: &str, source: &str, target: &str) -> Request {
    Request::CreateMoveTask {
        key: key.to_owned(),
        tenant_id: "default".to_owned(),
        source: source.to_owned(),
        target: target.to_owned(),
    }
}

fn end(client_id: Uuid, id: Uuid, status: TaskStatus, message: &str) -> Request {
    Request::MarkTaskToComplete {
        client_id,
        request: TaskCompleteRequest {
            id,
            status,
            message: message.to_owned(),
        },
    }
}

fn id_of(response: &Response) -> Option<Uuid> {
    match response {
        Response::CreateCopyTask(Ok(id)) | Response::CreateMoveTask(Ok(id)) => Some(*id),
        _ => None,
    }
}

fn fetch(twin: &mut Twin, client_id: Uuid, batch_size: u64) -> Vec<TaskAssignment> {
    match twin.call(&Request::FetchTasks {
        client_id,
        batch_size,
    }) {
        Response::FetchTasks(Ok(tasks)) => tasks,
        other => panic!("{other:?}"),
    }
}

fn told(twin: &mut Twin, task_id: Uuid) -> (i32, Option<(TaskStatus, String)>) {
    match twin.call(&Request::QueryTask { task_id }) {
        Response::QueryTask(Ok(task)) => (0, Some((task.status, task.message))),
        other => (other.error().expect("an error").value(), None),
    }
}

/// Refusals in their order, the limit that a reported but never fetched task leaves one lower, and both time-outs to the nanosecond.
pub(crate) fn scripted() {
    let mut twin = Twin::start([("max_total_pending_tasks", "3")]);
    for number in 0..3 {
        assert_eq!(twin.mount(number, 64 * MIB, owner(number)), 0);
    }
    let near = ReplicateConfig {
        preferred_segment: "n1".to_owned(),
        ..ReplicateConfig::default()
    };
    assert_eq!(twin.put("k", MIB, &near), 0);
    assert_eq!(twin.put_start("open", MIB, &near), 0);
    for (request, code) in [
        (copy("absent", &[]), -600),
        (copy("absent", &["n0"]), -704),
        (copy("k", &["n0", "nowhere"]), -600),
        (r#move("absent", "n0", "n0"), -704),
        (r#move("k", "n0", "n0"), -600),
        (r#move("k", "n0", "n2"), -600),
        (r#move("k", "n1", "nowhere"), -600),
    ] {
        assert_eq!(twin.code(&request), code, "{request:?}");
    }
    // Also the source itself may be a target, and an object without a finished replica may be the subject.
    let first = id_of(&twin.call(&copy("k", &["n1", "n0"]))).expect("a task");
    let second = id_of(&twin.call(&copy("open", &["n0"]))).expect("a task");
    assert_eq!(twin.code(&end(owner(1), second, TaskStatus::Success, "early")), 0);
    let third = id_of(&twin.call(&r#move("k", "n1", "n2"))).expect("a task");
    assert_eq!(
        twin.code(&r#move("k", "n1", "n2")),
        -1401,
        "the ended one still counts"
    );
    assert!(
        fetch(&mut twin, owner(0), 16).is_empty(),
        "they are the owner's of the source"
    );
    assert_eq!(fetch(&mut twin, owner(1), 1).len(), 1);
    assert_eq!(
        told(&mut twin, first).1,
        Some((TaskStatus::Processing, String::new()))
    );

    twin.pass(Span::from_secs(300));
    twin.tick(Thread::TaskCleanup);
    assert_eq!(
        told(&mut twin, third).1,
        Some((TaskStatus::Pending, String::new()))
    );
    twin.pass(Span::from_secs(30));
    twin.tick(Thread::TaskCleanup);
    let timed_out = |why: &str| Some((TaskStatus::Failed, why.to_owned()));
    assert_eq!(told(&mut twin, third).1, timed_out("pending timeout"));
    assert_eq!(told(&mut twin, first).1, timed_out("processing timeout"));
    assert_eq!(
        told(&mut twin, second).1,
        Some((TaskStatus::Success, "early".to_owned()))
    );
    assert_eq!(twin.code(&end(owner(1), first, TaskStatus::Success, "late")), 0);
    assert_eq!(told(&mut twin, first).1, timed_out("processing timeout"));
    twin.compare_state();
}

/// One step of a random history; the numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    Put(usize, u64),
    Copy(usize, Vec<usize>),
    Move(usize, usize, usize),
    Fetch(u64, u64),
    End(Index, Option<u64>, TaskStatus, String),
    Query(Index),
    Unmount(u64),
    Mount(u64),
    Pass(Span),
    CleanUp,
}

fn step() -> impl Strategy<Value = Step> {
    let segment = 0..5_usize;
    let status = prop_oneof![
        8 => select(&[TaskStatus::Failed, TaskStatus::Success][..]),
        1 => select(&[TaskStatus::Pending, TaskStatus::Processing][..]),
    ];
    prop_oneof![
        3 => (0..KEYS, 1..4_u64).prop_map(|(key, replicas)| Step::Put(key, replicas)),
        8 => (0..KEYS, prop::collection::vec(segment.clone(), 0..3)).prop_map(|(key, to)| Step::Copy(key, to)),
        8 => (0..KEYS, segment.clone(), segment).prop_map(|(key, from, to)| Step::Move(key, from, to)),
        6 => (0..4_u64, 0..4_u64).prop_map(|(client, count)| Step::Fetch(client, count)),
        8 => (any::<Index>(), prop::option::weighted(0.1, 0..4_u64), status, any_text())
            .prop_map(|(task, by, status, message)| Step::End(task, by, status, message)),
        4 => any::<Index>().prop_map(Step::Query),
        1 => (0..4_u64).prop_map(Step::Unmount),
        2 => (0..4_u64).prop_map(Step::Mount),
        5 => select(&[1, 29_999_999_999, 30_000_000_000, 30_000_000_001, 60_000_000_000_u64][..])
            .prop_map(|ns| Step::Pass(Span::from_ns(ns))),
        5 => Just(Step::CleanUp),
    ]
}

/// Histories of tasks of several clients under small limits.
pub(crate) fn at_random() {
    let mut twin = Twin::start([
        ("max_total_pending_tasks", "40"),
        ("max_total_processing_tasks", "4"),
        ("max_total_finished_tasks", "5"),
        ("pending_task_timeout_sec", "90"),
        ("processing_task_timeout_sec", "60"),
        ("max_retry_attempts", "3"),
    ]);
    let keys: Vec<String> = (0..KEYS)
        .map(|number| {
            let text = twin.draw(&any_text());
            format!("{number}{text}")
        })
        .collect();
    let mut ids: Vec<(Uuid, Uuid)> = Vec::new();
    let mut created = 0;
    for _ in 0..OPERATIONS {
        let step = twin.draw(&step());
        let made = run(&mut twin, &keys, &ids, step);
        if let Some(made) = made {
            ids.push(made);
            created += 1;
            // Old ones are asked for as well, forgotten or not, but not for ever.
            if ids.len() > 12 {
                ids.remove(0);
            }
        }
    }
    assert!(created > 100, "{created} tasks in {OPERATIONS} steps");
    twin.compare_state();
}

/// Does one step on both sides; the task that came of it, with the client that may report on it.
fn run(twin: &mut Twin, keys: &[String], ids: &[(Uuid, Uuid)], step: Step) -> Option<(Uuid, Uuid)> {
    let name = |number: usize| format!("n{number}");
    let any = |index: Index| (!ids.is_empty()).then(|| *index.get(ids));
    match step {
        Step::Put(key, replica_num) => {
            let config = ReplicateConfig {
                replica_num,
                ..ReplicateConfig::default()
            };
            twin.put(&keys[key], MIB / 4, &config);
        }
        Step::Copy(key, to) => {
            let targets: Vec<String> = to.into_iter().map(name).collect();
            let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
            return created(twin, &copy(&keys[key], &targets));
        }
        Step::Move(key, from, to) => return created(twin, &r#move(&keys[key], &name(from), &name(to))),
        Step::Fetch(client, count) => {
            fetch(twin, owner(client % 3), count);
        }
        Step::End(task, by, status, message) => {
            let (id, executor) = any(task)?;
            twin.code(&end(by.map_or(executor, owner), id, status, &message));
        }
        Step::Query(task) => {
            told(twin, any(task)?.0);
        }
        Step::Unmount(number) => {
            let segment_id = Uuid::new(100, number);
            twin.code(&Request::UnmountSegment {
                segment_id,
                client_id: owner(number % 3),
            });
            twin.settle();
        }
        Step::Mount(number) => {
            twin.mount(number, 16 * MIB, owner(number % 3));
        }
        Step::Pass(span) => twin.pass(span),
        Step::CleanUp => twin.tick(Thread::TaskCleanup),
    }
    None
}

fn created(twin: &mut Twin, request: &Request) -> Option<(Uuid, Uuid)> {
    let id = id_of(&twin.call(request))?;
    match twin.call(&Request::QueryTask { task_id: id }) {
        Response::QueryTask(Ok(task)) => Some((id, task.assigned_client)),
        other => panic!("{other:?}"),
    }
}
