//! Tasks and their clean-up.

use super::harness::*;
use crate::MasterConfig;
use moonquake_clock::{Span, Thread};
use moonquake_faults::Profile;
use moonquake_protocol::{
    ErrorCode, Request, Response, TaskAssignment, TaskCompleteRequest, TaskStatus, TaskType, Uuid,
};

fn copy(harness: &mut Harness, key: &str, targets: &[&str]) -> Result<Uuid, ErrorCode> {
    answer!(
        harness,
        CreateCopyTask {
            key: key.to_owned(),
            tenant_id: String::new(),
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
        }
    )
}

fn r#move(harness: &mut Harness, key: &str, source: &str, target: &str) -> Result<Uuid, ErrorCode> {
    answer!(
        harness,
        CreateMoveTask {
            key: key.to_owned(),
            tenant_id: String::new(),
            source: source.to_owned(),
            target: target.to_owned(),
        }
    )
}

fn fetch(harness: &mut Harness, client_id: Uuid, batch_size: u64) -> Vec<TaskAssignment> {
    answer!(
        harness,
        FetchTasks {
            client_id,
            batch_size
        }
    )
    .unwrap()
}

fn end(harness: &mut Harness, client_id: Uuid, id: Uuid, status: TaskStatus) -> Result<(), ErrorCode> {
    let request = TaskCompleteRequest {
        id,
        status,
        message: "said".to_owned(),
    };
    answer!(harness, MarkTaskToComplete { client_id, request })
}

fn status(harness: &mut Harness, task_id: Uuid) -> Option<(TaskStatus, String)> {
    let told = answer!(harness, QueryTask { task_id }).ok()?;
    Some((told.status, told.message))
}

/// One object on `a`, which client 0 owns; `b` and `c` are empty.
fn with_object(config: MasterConfig) -> Harness {
    let mut harness = Harness::configured(config, &[("a", 16 * MIB), ("b", 16 * MIB), ("c", 16 * MIB)]);
    harness.put_with("k", MIB, &on("a"));
    harness
}

#[test]
fn a_task_goes_to_the_owner_of_its_source_and_says_what_to_do() {
    let mut harness = with_object(MasterConfig::default());
    harness.advance(Span::from_secs(1));
    let id = copy(&mut harness, "k", &["b", "c"]).unwrap();
    assert!(fetch(&mut harness, client(1), 16).is_empty());
    let moved = r#move(&mut harness, "k", "a", "b").unwrap();
    let tasks = fetch(&mut harness, client(0), 16);
    assert_eq!(
        tasks
            .iter()
            .map(|task| (task.id, task.r#type))
            .collect::<Vec<_>>(),
        [(id, TaskType::ReplicaCopy), (moved, TaskType::ReplicaMove)]
    );
    assert_eq!(
        tasks[0].payload,
        concat!(
            r#"{"tenant_id":"default","key":"k","source":"a","targets":["b","c"],"dynamic_replication_lease_id_high":0,"#,
            r#""dynamic_replication_lease_id_low":0,"dynamic_replication_version_epoch":0}"#
        )
    );
    assert_eq!(
        tasks[1].payload,
        r#"{"tenant_id":"default","key":"k","source":"a","target":"b"}"#
    );
    assert_eq!(tasks[0].created_at_ms_epoch, 1_700_000_001_000);
    assert_eq!(tasks[0].max_retry_attempts, 10);
    assert!(
        fetch(&mut harness, client(0), 16).is_empty(),
        "each is handed out once"
    );
}

#[test]
fn wrong_requests_are_refused_in_upstreams_order() {
    let mut harness = with_object(MasterConfig::default());
    use ErrorCode::{InvalidParams, ObjectNotFound};
    assert_eq!(copy(&mut harness, "none", &[]), Err(InvalidParams));
    assert_eq!(copy(&mut harness, "none", &["b"]), Err(ObjectNotFound));
    assert_eq!(copy(&mut harness, "k", &["b", "nowhere"]), Err(InvalidParams));
    assert_eq!(r#move(&mut harness, "none", "a", "a"), Err(ObjectNotFound));
    assert_eq!(r#move(&mut harness, "k", "a", "a"), Err(InvalidParams));
    assert_eq!(r#move(&mut harness, "k", "a", "nowhere"), Err(InvalidParams));
    assert_eq!(r#move(&mut harness, "k", "b", "c"), Err(InvalidParams));
    assert_eq!(
        end(&mut harness, client(0), Uuid::new(1, 1), TaskStatus::Pending),
        Err(InvalidParams)
    );
    assert_eq!(
        end(&mut harness, client(0), Uuid::new(1, 1), TaskStatus::Success),
        Err(ErrorCode::TaskNotFound)
    );
    let id = copy(&mut harness, "k", &["b"]).unwrap();
    assert_eq!(
        end(&mut harness, client(1), id, TaskStatus::Success),
        Err(ErrorCode::IllegalClient)
    );
}

#[test]
fn the_first_report_counts() {
    let mut harness = with_object(MasterConfig::default());
    let id = copy(&mut harness, "k", &["b"]).unwrap();
    fetch(&mut harness, client(0), 1);
    assert_eq!(end(&mut harness, client(0), id, TaskStatus::Failed), Ok(()));
    assert_eq!(end(&mut harness, client(0), id, TaskStatus::Success), Ok(()));
    assert_eq!(
        status(&mut harness, id),
        Some((TaskStatus::Failed, "said".to_owned()))
    );
}

#[test]
fn both_time_outs_are_strict_and_zero_is_none() {
    for (pending, processing) in [(90, 60), (0, 60), (90, 0)] {
        let mut harness = with_object(MasterConfig {
            pending_task_timeout: Span::from_secs(pending),
            processing_task_timeout: Span::from_secs(processing),
            ..MasterConfig::default()
        });
        let fetched = copy(&mut harness, "k", &["b"]).unwrap();
        harness.advance(Span::from_secs(10));
        fetch(&mut harness, client(0), 1);
        let waiting = copy(&mut harness, "k", &["b"]).unwrap();
        let mut see = |since: Span| {
            harness.at(since);
            harness.tick(Thread::TaskCleanup);
            (
                status(&mut harness, fetched).unwrap(),
                status(&mut harness, waiting).unwrap(),
            )
        };
        let (open, waits) = (
            (TaskStatus::Processing, String::new()),
            (TaskStatus::Pending, String::new()),
        );
        let late = |what: &str, limit: u64, else_: &(TaskStatus, String)| {
            if limit == 0 {
                else_.clone()
            } else {
                (TaskStatus::Failed, format!("{what} timeout"))
            }
        };
        assert_eq!(see(Span::from_secs(70)), (open.clone(), waits.clone()));
        let over = late("processing", processing, &open);
        assert_eq!(see(Span::from_secs(70) + NS), (over.clone(), waits.clone()));
        assert_eq!(see(Span::from_secs(100)), (over.clone(), waits.clone()));
        assert_eq!(
            see(Span::from_secs(100) + NS),
            (over, late("pending", pending, &waits))
        );
    }
}

#[test]
fn a_report_on_a_task_that_waits_leaves_its_place_taken_for_ever_upstream() {
    for (profile, second) in [
        (Profile::Upstream, Err(ErrorCode::TaskPendingLimitExceeded)),
        (Profile::Strict, Ok(())),
    ] {
        let mut harness = with_object(MasterConfig {
            max_total_pending_tasks: 1,
            quirks: profile.quirks(),
            ..MasterConfig::default()
        });
        let id = copy(&mut harness, "k", &["b"]).unwrap();
        assert_eq!(
            copy(&mut harness, "k", &["b"]),
            Err(ErrorCode::TaskPendingLimitExceeded)
        );
        end(&mut harness, client(0), id, TaskStatus::Success).unwrap();
        assert!(fetch(&mut harness, client(0), 16).is_empty());
        harness.advance(Span::from_secs(1_000));
        harness.tick(Thread::TaskCleanup);
        assert_eq!(copy(&mut harness, "k", &["b"]).map(drop), second, "{profile:?}");
    }
}

#[test]
fn limits_hold_back_fetches_and_forget_the_oldest() {
    let mut harness = with_object(MasterConfig {
        max_total_processing_tasks: 2,
        max_total_finished_tasks: 1,
        ..MasterConfig::default()
    });
    let ids: Vec<Uuid> = (0..3).map(|_| copy(&mut harness, "k", &["b"]).unwrap()).collect();
    assert_eq!(fetch(&mut harness, client(0), 16).len(), 2);
    assert_eq!(fetch(&mut harness, client(0), 16).len(), 0);
    end(&mut harness, client(0), ids[1], TaskStatus::Success).unwrap();
    end(&mut harness, client(0), ids[0], TaskStatus::Success).unwrap();
    assert_eq!(fetch(&mut harness, client(0), 16)[0].id, ids[2]);
    harness.tick(Thread::TaskCleanup);
    assert_eq!(status(&mut harness, ids[1]), None, "it finished first");
    assert!(status(&mut harness, ids[0]).is_some());
}

#[test]
fn a_copy_is_drawn_from_all_replicas_and_a_lost_source_is_no_source() {
    let mut harness = Harness::configured(
        MasterConfig::default(),
        &[("a", 16 * MIB), ("b", 16 * MIB), ("c", 16 * MIB)],
    );
    harness.put_with("k", MIB, &replicas(2));
    let mut sources = std::collections::BTreeSet::new();
    for _ in 0..20 {
        copy(&mut harness, "k", &["c"]).unwrap();
        let task = fetch(&mut harness, client(0), 1).remove(0);
        sources.insert(task.payload);
    }
    assert_eq!(sources.len(), 2, "{sources:?}");
}

#[test]
fn text_is_escaped_as_upstream_escapes_it() {
    let mut harness = with_object(MasterConfig::default());
    let key = "\"\\/\u{1}\u{8}\n\u{c}\r\t\u{7f}\u{e9}\u{4e16}\u{1f600}";
    harness.put_with(key, MIB, &on("a"));
    r#move(&mut harness, key, "a", "b").unwrap();
    let payload = fetch(&mut harness, client(0), 1).remove(0).payload;
    assert!(
        payload.contains("\"key\":\"\\\"\\\\/\\u0001\\b\\n\\f\\r\\t\u{7f}\\u00E9\\u4E16\\uD83D\\uDE00\""),
        "{payload}"
    );
}

/// A master that stands for a process which has made ids before goes on with the next one.
#[test]
fn ids_are_counted_and_can_go_on_from_any_number() {
    let made = |after: u64| {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        harness.master.continue_ids_after(after);
        let request = crate::DrainRequest {
            segments: vec!["a".to_owned()],
            target_segments: vec![],
            max_concurrency: 1,
        };
        let ids: Vec<_> = (0..3)
            .map(|_| {
                let id = harness.master.create_drain_job(harness.now, &request).unwrap();
                harness.master.cancel_drain_job(harness.now, id).unwrap();
                id
            })
            .collect();
        (ids, harness.master.ids_made())
    };
    let (first, count) = made(0);
    assert_eq!(count, 3);
    let (later, count) = made(2);
    assert_eq!((later[0], count), (first[2], 5));
}
