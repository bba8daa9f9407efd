//! Copies, moves and the tasks that ask for them.

use super::peer::Peer;
use super::values::{any_text, complete, different, id, mounted, put, replicas_of, text};
use crate::rig::START;
use moonquake_clock::Span;
use moonquake_protocol::strategies::WireStrategy;
use moonquake_protocol::{
    MoveStartResponse, QueryTaskResponse, ReplicaDescriptor, ReplicaStatus, Request, Response, Segment,
    TaskAssignment, TaskCompleteRequest, TaskStatus, TaskType, Uuid,
};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

const SEGMENTS: usize = 4;
const TASKS: usize = 80;
const COPIES: usize = 40;
/// The wall clock is drawn within these years after the start, so that times have many digits.
const INSTANT_NS_MAX: u64 = 5_000_000_000_000_000_000;

/// A task as it was asked for.
struct Created {
    id: Uuid,
    r#type: TaskType,
    payload: Value,
    at_ms: i64,
}

/// Ids, times, arguments and messages of tasks are told as they were.
pub(crate) fn tasks() {
    let mut peer = Peer::start([("max_retry_attempts", "4294967295".to_owned())]);
    let mounted = mounted(&mut peer, SEGMENTS);
    let mut waiting: BTreeMap<Uuid, VecDeque<Created>> = BTreeMap::new();
    let keys = different(&mut peer, TASKS, &text());
    for key in keys {
        let places = peer.draw(&Just(mounted.clone()).prop_shuffle());
        let (source, owner) = &places[0];
        put(&mut peer, &key, &source.name);
        let targets: Vec<String> = places[1..]
            .iter()
            .map(|(segment, _)| segment.name.clone())
            .collect();
        let created = create(&mut peer, &key, &source.name, targets);
        assert_eq!(
            query(&mut peer, created.id),
            told(&created, *owner, TaskStatus::Pending, created.at_ms, "")
        );
        waiting.entry(*owner).or_default().push_back(created);
    }
    for (owner, mut tasks) in waiting {
        while !tasks.is_empty() {
            fetch(&mut peer, owner, &mut tasks);
        }
        assert!(fetched(&mut peer, owner, u64::MAX).is_empty());
    }
}

fn now(peer: &mut Peer) -> i64 {
    let after_ns = peer.draw(&(0..INSTANT_NS_MAX));
    let clocks = START + Span::from_ns(after_ns);
    peer.master.set_clocks(clocks);
    i64::try_from(clocks.realtime.0 / 1_000_000).expect("a year that has a number")
}

fn create(peer: &mut Peer, key: &str, source: &str, mut targets: Vec<String>) -> Created {
    let (tenant_id, copies) = peer.draw(&(any_text(), any::<bool>()));
    let key = key.to_owned();
    targets.truncate(peer.draw(&(1..=targets.len())));
    let at_ms = now(peer);
    let (request, payload) = if copies {
        let payload = json!({
            "tenant_id": "default", "key": key, "source": source, "targets": targets,
            "dynamic_replication_lease_id_high": 0, "dynamic_replication_lease_id_low": 0,
            "dynamic_replication_version_epoch": 0,
        });
        (
            Request::CreateCopyTask {
                key,
                tenant_id,
                targets,
            },
            payload,
        )
    } else {
        let target = targets.remove(0);
        let payload = json!({ "tenant_id": "default", "key": key, "source": source, "target": target });
        (
            Request::CreateMoveTask {
                key,
                tenant_id,
                source: source.to_owned(),
                target,
            },
            payload,
        )
    };
    let (id, r#type) = match peer.call(&request) {
        Response::CreateCopyTask(Ok(id)) => (id, TaskType::ReplicaCopy),
        Response::CreateMoveTask(Ok(id)) => (id, TaskType::ReplicaMove),
        other => panic!("{other:?} to {request:?}"),
    };
    Created {
        id,
        r#type,
        payload,
        at_ms,
    }
}

fn told(
    task: &Created,
    owner: Uuid,
    status: TaskStatus,
    changed_ms: i64,
    message: &str,
) -> QueryTaskResponse {
    QueryTaskResponse {
        id: task.id,
        r#type: task.r#type,
        status,
        created_at_ms_epoch: task.at_ms,
        last_updated_at_ms_epoch: changed_ms,
        assigned_client: owner,
        message: message.to_owned(),
    }
}

fn query(peer: &mut Peer, task_id: Uuid) -> QueryTaskResponse {
    match peer.call(&Request::QueryTask { task_id }) {
        Response::QueryTask(Ok(task)) => task,
        other => panic!("{other:?}"),
    }
}

fn fetched(peer: &mut Peer, client_id: Uuid, batch_size: u64) -> Vec<TaskAssignment> {
    match peer.call(&Request::FetchTasks {
        client_id,
        batch_size,
    }) {
        Response::FetchTasks(Ok(assignments)) => assignments,
        other => panic!("{other:?}"),
    }
}

/// Takes the next few and completes each.
fn fetch(peer: &mut Peer, owner: Uuid, tasks: &mut VecDeque<Created>) {
    let fetched_ms = now(peer);
    let batch_size = peer.draw(&(1_u64..8));
    let assignments = fetched(peer, owner, batch_size);
    assert_eq!(
        assignments.len(),
        usize::try_from(batch_size).expect("small").min(tasks.len())
    );
    for assignment in assignments {
        let task = tasks.pop_front().expect("not more than were created");
        let payload: Value = serde_json::from_str(&assignment.payload).expect("JSON");
        assert_eq!(payload, task.payload);
        let expected = TaskAssignment {
            id: task.id,
            r#type: task.r#type,
            payload: assignment.payload.clone(),
            created_at_ms_epoch: task.at_ms,
            max_retry_attempts: u32::MAX,
        };
        assert_eq!(assignment, expected);
        assert_eq!(
            query(peer, task.id),
            told(&task, owner, TaskStatus::Processing, fetched_ms, "")
        );
        finish(peer, owner, &task);
    }
}

fn finish(peer: &mut Peer, owner: Uuid, task: &Created) {
    let (status, message) = peer.draw(&(select(&[TaskStatus::Failed, TaskStatus::Success][..]), any_text()));
    let complete = |client_id, id, status, message: &str| Request::MarkTaskToComplete {
        client_id,
        request: TaskCompleteRequest {
            id,
            status,
            message: message.to_owned(),
        },
    };
    let (stranger, other_status) = peer.draw(&(id(), TaskStatus::strategy()));
    if stranger != owner {
        assert_eq!(peer.code(&complete(stranger, task.id, status, &message)), -601);
    }
    if ![TaskStatus::Failed, TaskStatus::Success].contains(&other_status) {
        assert_eq!(peer.code(&complete(owner, task.id, other_status, &message)), -600);
    }
    let absent = Uuid::new(task.id.first, task.id.second ^ 1);
    assert_eq!(peer.code(&complete(owner, absent, status, &message)), -1400);
    let finished_ms = now(peer);
    peer.accept(&complete(owner, task.id, status, &message));
    assert_eq!(
        query(peer, task.id),
        told(task, owner, status, finished_ms, &message)
    );
}

/// Source and targets of copies and moves are the replicas that reads tell.
pub(crate) fn copies_and_moves() {
    let mut peer = Peer::start([]);
    let mounted = mounted(&mut peer, SEGMENTS);
    let keys = different(&mut peer, 2 * COPIES, &text());
    let (copied, moved) = keys.split_at(COPIES);
    for key in copied {
        let places = peer.draw(&Just(mounted.clone()).prop_shuffle());
        let places: Vec<Segment> = places.into_iter().map(|(segment, _)| segment).collect();
        copy(&mut peer, key, &places);
    }
    for key in moved {
        let places = peer.draw(&Just(mounted.clone()).prop_shuffle());
        let places: Vec<Segment> = places.into_iter().map(|(segment, _)| segment).collect();
        r#move(&mut peer, key, &places);
    }
}

fn copy(peer: &mut Peer, key: &str, places: &[Segment]) {
    let source = put(peer, key, &places[0].name);
    let (client_id, stranger) = peer.draw(&(id(), id()));
    let count = peer.draw(&(0..places.len()));
    // The source's own segment is one that needs no copy.
    let targets = &places[..=count];
    let (key, tenant_id) = (key.to_owned(), peer.draw(&any_text()));
    let start = Request::CopyStart {
        client_id,
        key: key.clone(),
        tenant_id: tenant_id.clone(),
        src_segment: places[0].name.clone(),
        tgt_segments: targets.iter().map(|segment| segment.name.clone()).collect(),
    };
    let copies = match peer.call(&start) {
        Response::CopyStart(Ok(started)) => {
            assert_eq!(started.source, source);
            assert_eq!(started.targets.len(), count);
            for (target, segment) in started.targets.iter().zip(&targets[1..]) {
                promised(target, &source, segment);
            }
            started.targets
        }
        other => panic!("{other:?} to {start:?}"),
    };
    let end = |client_id| Request::CopyEnd {
        client_id,
        key: key.clone(),
        tenant_id: tenant_id.clone(),
    };
    if stranger != client_id {
        assert_eq!(peer.code(&end(stranger)), -601);
    }
    let mut expected = vec![source];
    if peer.draw(&any::<bool>()) {
        peer.accept(&end(client_id));
        expected.extend(copies.into_iter().map(complete));
    } else {
        let (key, tenant_id) = (key.clone(), tenant_id.clone());
        peer.accept(&Request::CopyRevoke {
            client_id,
            key,
            tenant_id,
        });
    }
    assert_eq!(replicas_of(peer, &key), expected);
    assert_eq!(peer.code(&end(client_id)), -709);
}

fn promised(target: &ReplicaDescriptor, source: &ReplicaDescriptor, segment: &Segment) {
    let (from, to) = (
        source.memory_buffer().expect("in memory"),
        target.memory_buffer().expect("in memory"),
    );
    assert_eq!((target.status, to.size), (ReplicaStatus::Processing, from.size));
    assert_eq!(to.transport_endpoint, segment.te_endpoint);
    assert!(target.id > source.id && to.buffer_address >= segment.base);
}

/// With a target that holds a copy already, every second time.
fn r#move(peer: &mut Peer, key: &str, places: &[Segment]) {
    let source = put(peer, key, &places[0].name);
    let (client_id, tenant_id, has_copy) = peer.draw(&(id(), any_text(), any::<bool>()));
    let key = key.to_owned();
    let mut replicas = vec![source.clone()];
    if has_copy {
        let (key, tenant_id) = (key.clone(), tenant_id.clone());
        let start = Request::CopyStart {
            client_id,
            key: key.clone(),
            tenant_id: tenant_id.clone(),
            src_segment: places[0].name.clone(),
            tgt_segments: vec![places[1].name.clone()],
        };
        match peer.call(&start) {
            Response::CopyStart(Ok(started)) => replicas.extend(started.targets.into_iter().map(complete)),
            other => panic!("{other:?}"),
        }
        peer.accept(&Request::CopyEnd {
            client_id,
            key,
            tenant_id,
        });
    }
    let start = Request::MoveStart {
        client_id,
        key: key.clone(),
        tenant_id: tenant_id.clone(),
        src_segment: places[0].name.clone(),
        tgt_segment: places[1].name.clone(),
    };
    let target = match peer.call(&start) {
        Response::MoveStart(Ok(MoveStartResponse { source: from, target })) => {
            assert_eq!(from, source);
            target
        }
        other => panic!("{other:?} to {start:?}"),
    };
    assert_eq!(target.is_none(), has_copy);
    if let Some(target) = &target {
        promised(target, &source, &places[1]);
    }
    if peer.draw(&any::<bool>()) {
        peer.accept(&Request::MoveEnd {
            client_id,
            key: key.clone(),
            tenant_id,
        });
        replicas.remove(0);
        replicas.extend(target.map(complete));
    } else {
        peer.accept(&Request::MoveRevoke {
            client_id,
            key: key.clone(),
            tenant_id,
        });
    }
    assert_eq!(replicas_of(peer, &key), replicas);
}
