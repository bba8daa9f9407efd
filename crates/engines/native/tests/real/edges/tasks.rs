//! Edges of tasks.

use crate::Test;
use crate::pair::{Answer, OTHER, Pair, WRITER, ask, on, owner};
use crate::rig::{MIB, tenant};
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{ErrorCode, ReplicateConfig, TaskCompleteRequest, TaskStatus, Uuid};

pub(crate) const TESTS: &[Test] = &[
    ("real_edge_a_task_that_ends_unfetched_keeps_its_place", place_kept),
    ("real_edge_a_dead_executor_locks_its_object", executor_dies),
    ("real_edge_an_unfinished_object_can_be_given_a_task", unfinished),
];

fn copy_task(pair: &mut Pair) -> Answer<Uuid> {
    let (key, tenant_id, targets) = ("k".to_owned(), tenant(), vec!["n1".to_owned()]);
    ask!(
        pair,
        CreateCopyTask {
            key,
            tenant_id,
            targets
        }
    )
}

fn fetch(pair: &mut Pair) -> usize {
    let client_id = owner(0);
    ask!(
        pair,
        FetchTasks {
            client_id,
            batch_size: 16
        }
    )
    .unwrap()
    .len()
}

fn status(pair: &mut Pair, task_id: Uuid) -> (TaskStatus, String) {
    let told = ask!(pair, QueryTask { task_id }).unwrap();
    (told.status, told.message)
}

/// Edge 58: after as many such reports as there are places no task can be created any more.
fn place_kept() {
    let mut pair = Pair::flagged([("max_total_pending_tasks", "2")], &[16 * MIB, 16 * MIB]);
    pair.put("k", MIB, &on("n0"));
    for _ in 0..2 {
        let id = copy_task(&mut pair).unwrap();
        let (status, message) = (TaskStatus::Success, "done".to_owned());
        let request = TaskCompleteRequest { id, status, message };
        let client_id = owner(0);
        ask!(pair, MarkTaskToComplete { client_id, request }).unwrap();
    }
    assert_eq!(fetch(&mut pair), 0, "nothing waits");
    let full = Err(ErrorCode::TaskPendingLimitExceeded);
    assert_eq!(copy_task(&mut pair), full);
    pair.pass(Span::from_secs(3_600));
    pair.tick(Thread::TaskCleanup);
    assert_eq!(copy_task(&mut pair), full, "and no clean-up mends it");
}

/// Edge 59: the task fails after 300 s, and its copy is in the way for 600 s.
fn executor_dies() {
    let mut pair = Pair::with_segments(&[16 * MIB, 16 * MIB]);
    pair.put("k", MIB, &on("n0"));
    let id = copy_task(&mut pair).unwrap();
    assert_eq!(fetch(&mut pair), 1);
    pair.copy("k", "n0", &["n1"]).unwrap();
    pair.pass(Span::from_secs(300));
    pair.tick(Thread::TaskCleanup);
    assert_eq!(
        status(&mut pair, id).0,
        TaskStatus::Processing,
        "to the instant it may go on"
    );
    pair.pass(Span::from_secs(30));
    pair.tick(Thread::TaskCleanup);
    assert_eq!(
        status(&mut pair, id),
        (TaskStatus::Failed, "processing timeout".to_owned())
    );
    assert_eq!(pair.remove("k"), Err(ErrorCode::ReplicaIsNotReady));
    let upsert = pair.upsert(OTHER, "k", MIB, &ReplicateConfig::default());
    assert_eq!(upsert, Err(ErrorCode::ObjectHasReplicationTask));
    pair.pass(Span::from_secs(271));
    pair.tick(Thread::Eviction);
    assert_eq!(pair.remove("k"), Ok(()));
    assert_eq!(pair.allocated(), 0);
}

/// Edge 60: nobody looks at its status, and its executor finds nothing to copy.
fn unfinished() {
    let mut pair = Pair::with_segments(&[16 * MIB, 16 * MIB]);
    pair.start("k", MIB, &on("n0")).unwrap();
    assert!(copy_task(&mut pair).is_ok());
    assert_eq!(fetch(&mut pair), 1);
    let copied = pair.copy("k", "n0", &["n1"]).map(|_| ());
    assert_eq!(copied, Err(ErrorCode::ReplicaNotFound));
    assert_eq!(pair.end(WRITER, "k"), Ok(()));
}
