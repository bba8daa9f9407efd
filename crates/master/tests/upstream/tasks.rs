//! Tasks: copies and moves that the owner of the source is asked to make.

use crate::rig::*;
use moonquake_protocol::{
    ErrorCode, QueryTaskResponse, TaskAssignment, TaskCompleteRequest, TaskStatus, TaskType, Uuid,
};

/// Segments of an owner each, and an object on the first.
fn with_object(segments: usize) -> Rig {
    with_object_of(Rig::new(), segments)
}

fn with_object_of(rig: Rig, segments: usize) -> Rig {
    let mut rig = (0..segments).fold(rig, |rig, number| rig.node(&format!("segment_{number}")));
    rig.put("key", &on("segment_0"));
    rig
}

fn copy_task(rig: &mut Rig, key: &str, targets: &[&str]) -> Answer<Uuid> {
    let (key, tenant_id, targets) = (key.to_owned(), rig.tenant.to_owned(), owned(targets));
    ask!(
        rig,
        CreateCopyTask {
            key,
            tenant_id,
            targets
        }
    )
}

fn move_task(rig: &mut Rig, key: &str, source: &str, target: &str) -> Answer<Uuid> {
    let (key, tenant_id) = (key.to_owned(), rig.tenant.to_owned());
    let (source, target) = (source.to_owned(), target.to_owned());
    ask!(
        rig,
        CreateMoveTask {
            key,
            tenant_id,
            source,
            target
        }
    )
}

fn query(rig: &mut Rig, task_id: Uuid) -> Answer<QueryTaskResponse> {
    ask!(rig, QueryTask { task_id })
}

pub(crate) fn fetch(rig: &mut Rig, client_id: Uuid, batch_size: u64) -> Vec<TaskAssignment> {
    ask!(
        rig,
        FetchTasks {
            client_id,
            batch_size
        }
    )
    .unwrap()
}

pub(crate) fn report(rig: &mut Rig, client_id: Uuid, id: Uuid, status: TaskStatus, message: &str) -> Answer {
    let message = message.to_owned();
    let request = TaskCompleteRequest { id, status, message };
    ask!(rig, MarkTaskToComplete { client_id, request })
}

fn ids(tasks: &[TaskAssignment]) -> Vec<Uuid> {
    tasks.iter().map(|task| task.id).collect()
}

const INVALID: Answer<Uuid> = Err(ErrorCode::InvalidParams);

#[test]
fn create_copy_task_test() {
    let mut rig = with_object(3);
    let id = copy_task(&mut rig, "key", &["segment_1", "segment_2"]).unwrap();
    let task = query(&mut rig, id).unwrap();
    assert_eq!(
        (task.r#type, task.assigned_client),
        (TaskType::ReplicaCopy, owner("segment_0"))
    );
    assert_eq!(copy_task(&mut rig, "key", &[]), INVALID);
    assert_eq!(
        copy_task(&mut rig, "missing", &["segment_1"]),
        Err(ErrorCode::ObjectNotFound)
    );
    assert_eq!(copy_task(&mut rig, "key", &["not_mounted"]), INVALID);
}

#[test]
fn create_move_task_test() {
    let mut rig = with_object(3);
    let id = move_task(&mut rig, "key", "segment_0", "segment_1").unwrap();
    let task = query(&mut rig, id).unwrap();
    assert_eq!(
        (task.r#type, task.assigned_client),
        (TaskType::ReplicaMove, owner("segment_0"))
    );
    let missing = move_task(&mut rig, "missing", "segment_0", "segment_1");
    assert_eq!(missing, Err(ErrorCode::ObjectNotFound));
    for (source, target) in [
        ("segment_1", "segment_1"),
        ("segment_0", "not_mounted"),
        ("segment_2", "segment_1"),
        ("not_mounted", "segment_1"),
    ] {
        assert_eq!(
            move_task(&mut rig, "key", source, target),
            INVALID,
            "{source} to {target}"
        );
    }
}

#[test]
fn query_task_test() {
    let mut rig = with_object(3);
    let id = move_task(&mut rig, "key", "segment_0", "segment_1").unwrap();
    assert_eq!(query(&mut rig, Uuid::new(0, 0)), Err(ErrorCode::TaskNotFound));
    let task = query(&mut rig, id).unwrap();
    assert_eq!((task.id, task.r#type), (id, TaskType::ReplicaMove));
    assert_eq!(task.assigned_client, owner("segment_0"));
}

#[test]
fn fetch_tasks_empty_when_no_tasks() {
    let mut rig = with_object(1);
    assert_eq!(fetch(&mut rig, owner("segment_0"), 16), []);
}

#[test]
fn fetch_tasks_returns_assigned_tasks_only_and_drains_queue() {
    let mut rig = with_object(2);
    let copy = copy_task(&mut rig, "key", &["segment_1"]).unwrap();
    let moved = move_task(&mut rig, "key", "segment_0", "segment_1").unwrap();
    assert_eq!(ids(&fetch(&mut rig, owner("segment_0"), 16)), [copy, moved]);
    assert_eq!(fetch(&mut rig, owner("segment_1"), 16), []);
    assert_eq!(fetch(&mut rig, owner("segment_0"), 16), []);
}

#[test]
fn tenant_tasks_carry_tenant_in_payload() {
    let mut rig = Rig::with_tenants();
    rig.tenant = "tenant_for_async_task";
    let mut rig = with_object_of(rig, 2);
    copy_task(&mut rig, "key", &["segment_1"]).unwrap();
    move_task(&mut rig, "key", "segment_0", "segment_1").unwrap();
    let tasks = fetch(&mut rig, owner("segment_0"), 16);
    assert_eq!(tasks.len(), 2);
    for task in tasks {
        let says = |field: &str, value: &str| task.payload.contains(&format!("\"{field}\":\"{value}\""));
        assert!(
            says("tenant_id", "tenant_for_async_task") && says("key", "key"),
            "{}",
            task.payload
        );
    }
}

#[test]
fn fetch_tasks_respects_batch_size() {
    let mut rig = with_object(2);
    let copy = copy_task(&mut rig, "key", &["segment_1"]).unwrap();
    let moved = move_task(&mut rig, "key", "segment_0", "segment_1").unwrap();
    assert_eq!(ids(&fetch(&mut rig, owner("segment_0"), 1)), [copy]);
    assert_eq!(ids(&fetch(&mut rig, owner("segment_0"), 1)), [moved]);
    assert_eq!(fetch(&mut rig, owner("segment_0"), 1), []);
}

#[test]
fn update_task_success_flow() {
    let mut rig = with_object(2);
    let id = copy_task(&mut rig, "key", &["segment_1"]).unwrap();
    assert_eq!(ids(&fetch(&mut rig, owner("segment_0"), 16)), [id]);
    report(&mut rig, owner("segment_0"), id, TaskStatus::Success, "done").unwrap();
    let task = query(&mut rig, id).unwrap();
    assert_eq!(
        (task.id, task.status, task.message.as_str()),
        (id, TaskStatus::Success, "done")
    );
    assert_eq!(task.assigned_client, owner("segment_0"));
    assert_eq!(fetch(&mut rig, owner("segment_0"), 16), []);
}

#[test]
fn update_task_rejects_wrong_client() {
    let mut rig = with_object(2);
    let id = move_task(&mut rig, "key", "segment_0", "segment_1").unwrap();
    assert_eq!(ids(&fetch(&mut rig, owner("segment_0"), 16)), [id]);
    let refused = report(
        &mut rig,
        owner("segment_1"),
        id,
        TaskStatus::Success,
        "should_not_work",
    );
    assert_eq!(refused, Err(ErrorCode::IllegalClient));
}

#[test]
fn update_task_not_found() {
    let mut rig = with_object(1);
    let missing = report(
        &mut rig,
        owner("segment_0"),
        Uuid::new(9, 9),
        TaskStatus::Failed,
        "not_found",
    );
    assert_eq!(missing, Err(ErrorCode::TaskNotFound));
}
