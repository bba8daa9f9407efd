//! The execution of tasks, told step by step what happened.

use moonquake_client::{
    Call, ClientConfig, Happened, Move, MoveFailure, Near, Operation, Outcome, RpcFailure, RunTasks, Want,
};
use moonquake_clock::{Clocks, Span};
use moonquake_faults::{PhaseId, Quirks};
use moonquake_protocol::{
    BufferDescriptor, CopyStartResponse, DescriptorVariant, DiskDescriptor, ErrorCode, MemoryDescriptor,
    MoveStartResponse, ReplicaDescriptor, ReplicaStatus, Request, Response, TaskAssignment, TaskStatus,
    TaskType, Uuid,
};

const OWN: &str = "n1:1";

fn config() -> ClientConfig {
    ClientConfig {
        local_endpoints: vec![OWN.to_owned()],
        ..ClientConfig::new(Uuid::new(1, 1))
    }
}

fn memory(id: u64, endpoint: &str) -> ReplicaDescriptor {
    let buffer = BufferDescriptor {
        size: 64,
        buffer_address: id,
        transport_endpoint: endpoint.into(),
        ..Default::default()
    };
    ReplicaDescriptor {
        id,
        descriptor: DescriptorVariant::Memory(MemoryDescriptor { buffer }),
        status: ReplicaStatus::Complete,
    }
}

fn disk(id: u64) -> ReplicaDescriptor {
    ReplicaDescriptor {
        id,
        descriptor: DescriptorVariant::Disk(DiskDescriptor::default()),
        status: ReplicaStatus::Complete,
    }
}

fn task(number: u64, kind: TaskType, payload: &str, retries: u32) -> TaskAssignment {
    TaskAssignment {
        id: Uuid::new(7, number),
        r#type: kind,
        payload: payload.to_owned(),
        created_at_ms_epoch: 0,
        max_retry_attempts: retries,
    }
}

fn copy(number: u64) -> TaskAssignment {
    let payload = r#"{"tenant_id":"default","key":"k","source":"n1","targets":["n2","n3"]}"#;
    task(number, TaskType::ReplicaCopy, payload, 2)
}

fn moving(number: u64) -> TaskAssignment {
    let payload = r#"{"tenant_id":"default","key":"m","source":"n1","target":"n2"}"#;
    task(number, TaskType::ReplicaMove, payload, 2)
}

fn dynamic() -> TaskAssignment {
    let payload = r#"{"tenant_id":"t","key":"k","source":"n1","targets":["n2"],"dynamic_replication_lease_id_high":3,
        "dynamic_replication_lease_id_low":4,"dynamic_replication_version_epoch":5}"#;
    task(1, TaskType::ReplicaCopy, payload, 0)
}

/// A machine that has fetched these tasks, with its next want.
fn fetched(config: ClientConfig, tasks: Vec<TaskAssignment>) -> (RunTasks, Want) {
    let mut machine = RunTasks::new(config);
    let fetch = call(machine.begin(Clocks::default()));
    assert_eq!(
        fetch.request,
        Request::FetchTasks {
            client_id: Uuid::new(1, 1),
            batch_size: 16
        }
    );
    let want = answer(&mut machine, Response::FetchTasks(Ok(tasks)));
    (machine, want)
}

fn tell(machine: &mut RunTasks, happened: Happened) -> Want {
    machine.next(Clocks::default(), happened)
}

fn answer(machine: &mut RunTasks, response: Response) -> Want {
    tell(machine, Happened::Answered(Ok(response)))
}

fn call(want: Want) -> Call {
    match want {
        Want::Call(call) => call,
        other => panic!("expected a call, got {other:?}"),
    }
}

fn transfer(want: Want) -> Move {
    match want {
        Want::Move(wanted) => wanted,
        other => panic!("expected a transfer, got {other:?}"),
    }
}

fn copies(source: ReplicaDescriptor, targets: Vec<ReplicaDescriptor>) -> Response {
    Response::CopyStart(Ok(CopyStartResponse { source, targets }))
}

/// The report that a machine wants to send, and what it does after its answer.
fn report(machine: &mut RunTasks, want: Want) -> (TaskStatus, String, Want) {
    let Request::MarkTaskToComplete { client_id, request } = call(want).request else {
        panic!("expected a report")
    };
    assert_eq!(client_id, Uuid::new(1, 1));
    let next = answer(machine, Response::MarkTaskToComplete(Ok(())));
    (request.status, request.message, next)
}

/// A report of failure.
fn failed(machine: &mut RunTasks, want: Want, message: &str) -> Want {
    let (status, told, next) = report(machine, want);
    assert_eq!((status, told.as_str()), (TaskStatus::Failed, message));
    next
}

fn succeeded(machine: &mut RunTasks, want: Want) -> Want {
    let (status, told, next) = report(machine, want);
    assert_eq!(
        (status, told.as_str()),
        (TaskStatus::Success, "Task completed successfully")
    );
    next
}

#[test]
fn a_copy_goes_from_own_memory_to_each_target_and_is_reported() {
    let (mut machine, want) = fetched(config(), vec![copy(1)]);
    let start = call(want);
    let Request::CopyStart {
        key,
        src_segment,
        tgt_segments,
        ..
    } = &start.request
    else {
        panic!("{start:?}")
    };
    assert_eq!((key.as_str(), src_segment.as_str()), ("k", "n1"));
    assert_eq!(tgt_segments, &["n2", "n3"]);
    assert_eq!(start.phases.response, Some(PhaseId::CopyStartResponse));
    let granted = copies(memory(9, OWN), vec![memory(20, "n2:1"), memory(30, "n3:1")]);
    let first = transfer(answer(&mut machine, granted));
    let Near::Own(source) = &first.near else {
        panic!("{first:?}")
    };
    assert_eq!(
        (source.buffer_address, first.replica.buffer_address, first.write),
        (9, 20, true)
    );
    assert_eq!(
        (first.part, first.done, first.local),
        (PhaseId::CopyPayloadPart, PhaseId::CopyPayloadDone, false)
    );
    let second = transfer(tell(&mut machine, Happened::Moved(Ok(()))));
    assert_eq!(second.replica.buffer_address, 30);
    let end = call(tell(&mut machine, Happened::Moved(Ok(()))));
    assert!(matches!(end.request, Request::CopyEnd { .. }));
    assert_eq!(end.phases.sent, Some(PhaseId::CopyEndSent));
    let done = answer(&mut machine, Response::CopyEnd(Ok(())));
    assert_eq!(succeeded(&mut machine, done), Want::Done(Outcome::Count(1)));
}

#[test]
fn a_move_without_a_target_is_ended_at_once_and_never_revoked() {
    for (end, code) in [
        (Ok(()), None),
        (Err(ErrorCode::ReplicaIsGone), Some(ErrorCode::ReplicaIsGone)),
    ] {
        let (mut machine, want) = fetched(config(), vec![moving(1)]);
        let Request::MoveStart { tgt_segment, .. } = call(want).request else {
            panic!("no start")
        };
        assert_eq!(tgt_segment, "n2");
        // The source may lie anywhere then.
        let granted = MoveStartResponse {
            source: memory(9, "elsewhere:1"),
            target: None,
        };
        let end_call = call(answer(&mut machine, Response::MoveStart(Ok(granted))));
        assert!(matches!(end_call.request, Request::MoveEnd { .. }));
        let reported = answer(&mut machine, Response::MoveEnd(end));
        let next = match code {
            None => succeeded(&mut machine, reported),
            Some(_) => failed(&mut machine, reported, "REPLICA_IS_GONE (max retries reached: 2)"),
        };
        let expected = code.map_or(Outcome::Count(1), Outcome::Error);
        assert_eq!(next, Want::Done(expected));
    }
}

#[test]
fn a_move_writes_its_target() {
    let (mut machine, _) = fetched(config(), vec![moving(1)]);
    let granted = MoveStartResponse {
        source: memory(9, OWN),
        target: Some(memory(20, "n2:1")),
    };
    let wanted = transfer(answer(&mut machine, Response::MoveStart(Ok(granted))));
    assert_eq!(wanted.replica_id, 20);
    let end = call(tell(&mut machine, Happened::Moved(Ok(()))));
    assert!(matches!(end.request, Request::MoveEnd { .. }));
}

#[test]
fn a_failed_transfer_leaves_the_other_targets_and_is_revoked() {
    let strict = ClientConfig {
        quirks: Quirks::none(),
        ..config()
    };
    let cases = [
        (config(), MoveFailure::Limit, false),
        (strict.clone(), MoveFailure::Limit, true),
        (strict, MoveFailure::Closed, false),
    ];
    for (config, failure, fences) in cases {
        let (mut machine, _) = fetched(config, vec![copy(1)]);
        let granted = copies(memory(9, OWN), vec![memory(20, "n2:1"), memory(30, "n3:1")]);
        transfer(answer(&mut machine, granted));
        let revoke = match tell(&mut machine, Happened::Moved(Err(failure))) {
            Want::FenceThen(then) if fences => call(*then),
            other => call(other),
        };
        assert!(matches!(revoke.request, Request::CopyRevoke { .. }));
        // What becomes of the revoke changes nothing.
        let refused = Response::CopyRevoke(Err(ErrorCode::ObjectNotFound));
        let reported = answer(&mut machine, refused);
        let next = failed(&mut machine, reported, "TRANSFER_FAIL (max retries reached: 2)");
        assert_eq!(next, Want::Done(Outcome::Error(ErrorCode::TransferFail)));
    }
}

#[test]
fn a_source_that_is_not_in_own_memory_is_revoked() {
    let cases = [
        (
            memory(9, "n4:1"),
            "REPLICA_NOT_IN_LOCAL_MEMORY",
            ErrorCode::ReplicaNotInLocalMemory,
        ),
        (disk(9), "INVALID_PARAMS", ErrorCode::InvalidParams),
    ];
    for (source, name, code) in cases {
        let (mut machine, _) = fetched(config(), vec![copy(1)]);
        let revoke = call(answer(&mut machine, copies(source, vec![memory(20, "n2:1")])));
        assert!(matches!(revoke.request, Request::CopyRevoke { .. }));
        let reported = tell(&mut machine, Happened::Answered(Err(RpcFailure::Timeout)));
        let next = failed(
            &mut machine,
            reported,
            &format!("{name} (max retries reached: 2)"),
        );
        assert_eq!(next, Want::Done(Outcome::Error(code)));
    }
}

#[test]
fn a_target_that_is_no_memory_fails_the_transfer() {
    let (mut machine, _) = fetched(config(), vec![copy(1)]);
    let revoke = call(answer(&mut machine, copies(memory(9, OWN), vec![disk(20)])));
    assert!(matches!(revoke.request, Request::CopyRevoke { .. }));
    let reported = answer(&mut machine, Response::CopyRevoke(Ok(())));
    failed(&mut machine, reported, "TRANSFER_FAIL (max retries reached: 2)");
}

#[test]
fn a_start_without_room_is_tried_again_behind_the_others() {
    let full = || Response::CopyStart(Err(ErrorCode::NoAvailableHandle));
    let (mut machine, _) = fetched(config(), vec![copy(1), moving(2)]);
    assert_eq!(answer(&mut machine, full()), Want::Wait(Span::from_ms(50)));
    // The move comes first now.
    let start = call(tell(&mut machine, Happened::Waited));
    assert!(matches!(start.request, Request::MoveStart { .. }));
    let gone = Response::MoveStart(Err(ErrorCode::ObjectNotFound));
    let reported = answer(&mut machine, gone);
    let again = failed(
        &mut machine,
        reported,
        "OBJECT_NOT_FOUND (max retries reached: 2)",
    );
    assert!(matches!(call(again).request, Request::CopyStart { .. }));
    assert_eq!(answer(&mut machine, full()), Want::Wait(Span::from_ms(100)));
    let again = call(tell(&mut machine, Happened::Waited));
    assert!(matches!(again.request, Request::CopyStart { .. }));
    // Two retries were allowed.
    let reported = answer(&mut machine, full());
    let done = failed(
        &mut machine,
        reported,
        "NO_AVAILABLE_HANDLE (max retries reached: 2)",
    );
    // The first failure is the one of the move.
    assert_eq!(done, Want::Done(Outcome::Error(ErrorCode::ObjectNotFound)));
}

#[test]
fn a_failed_end_is_revoked_and_its_own_code_is_reported() {
    let answers = [
        (
            Ok(Response::CopyEnd(Err(ErrorCode::ReplicaIsGone))),
            "REPLICA_IS_GONE",
        ),
        (Err(RpcFailure::Timeout), "RPC_TIMEOUT"),
        (Ok(Response::MoveEnd(Ok(()))), "RPC_FAIL"),
    ];
    for (end, name) in answers {
        let (mut machine, _) = fetched(config(), vec![copy(1)]);
        let granted = copies(memory(9, OWN), vec![memory(20, "n2:1")]);
        transfer(answer(&mut machine, granted));
        tell(&mut machine, Happened::Moved(Ok(())));
        let revoke = call(tell(&mut machine, Happened::Answered(end)));
        assert!(matches!(revoke.request, Request::CopyRevoke { .. }));
        let reported = answer(&mut machine, Response::CopyRevoke(Ok(())));
        failed(
            &mut machine,
            reported,
            &format!("{name} (max retries reached: 2)"),
        );
    }
}

#[test]
fn a_start_that_is_not_answered_or_answered_wrongly_is_reported() {
    let answers = [
        (Err(RpcFailure::Timeout), "RPC_TIMEOUT"),
        (Err(RpcFailure::Failed), "RPC_FAIL"),
        (Ok(Response::CopyEnd(Ok(()))), "RPC_FAIL"),
    ];
    for (start, name) in answers {
        let (mut machine, _) = fetched(config(), vec![copy(1)]);
        let reported = tell(&mut machine, Happened::Answered(start));
        failed(
            &mut machine,
            reported,
            &format!("{name} (max retries reached: 2)"),
        );
    }
}

#[test]
fn a_proposed_copy_carries_its_lease_and_may_be_done_already() {
    let (mut machine, want) = fetched(config(), vec![dynamic()]);
    let Request::DynamicReplicaCopyStart {
        dynamic_replication_lease_id,
        dynamic_replication_version_epoch,
        ..
    } = call(want).request
    else {
        panic!("no start")
    };
    assert_eq!(
        (dynamic_replication_lease_id, dynamic_replication_version_epoch),
        (Uuid::new(3, 4), 5)
    );
    let granted = CopyStartResponse {
        source: memory(9, OWN),
        targets: vec![memory(20, "n2:1")],
    };
    transfer(answer(
        &mut machine,
        Response::DynamicReplicaCopyStart(Ok(granted)),
    ));
    let end = call(tell(&mut machine, Happened::Moved(Ok(()))));
    assert!(matches!(end.request, Request::DynamicReplicaCopyEnd { .. }));
    let refused = Response::DynamicReplicaCopyEnd(Err(ErrorCode::InvalidVersion));
    let revoke = call(answer(&mut machine, refused));
    assert!(matches!(revoke.request, Request::DynamicReplicaCopyRevoke { .. }));

    let exists = ErrorCode::ObjectAlreadyExists;
    let (mut machine, _) = fetched(config(), vec![dynamic()]);
    let reported = answer(&mut machine, Response::DynamicReplicaCopyStart(Err(exists)));
    assert_eq!(succeeded(&mut machine, reported), Want::Done(Outcome::Count(1)));
    let (mut machine, _) = fetched(config(), vec![copy(1)]);
    let reported = answer(&mut machine, Response::CopyStart(Err(exists)));
    failed(
        &mut machine,
        reported,
        "OBJECT_ALREADY_EXISTS (max retries reached: 2)",
    );
}

#[test]
fn a_task_that_cannot_be_understood_is_reported_without_a_call() {
    let cases = [
        (task(1, TaskType::ReplicaCopy, "{", 0), "INTERNAL_ERROR"),
        (
            task(1, TaskType::ReplicaMove, r#"{"key":1}"#, 0),
            "INTERNAL_ERROR",
        ),
        (task(1, TaskType::Unknown(9), "{}", 0), "INVALID_PARAMS"),
    ];
    for (assignment, name) in cases {
        let (mut machine, want) = fetched(config(), vec![assignment]);
        failed(&mut machine, want, &format!("{name} (max retries reached: 0)"));
    }
}

#[test]
fn a_poll_that_brings_nothing_or_fails_says_so() {
    let (_, want) = fetched(config(), Vec::new());
    assert_eq!(want, Want::Done(Outcome::Count(0)));
    let code = ErrorCode::InternalError;
    let answers = [
        (Ok(Response::FetchTasks(Err(code))), code),
        (Ok(Response::CopyEnd(Ok(()))), ErrorCode::RpcFail),
        (Err(RpcFailure::Timeout), ErrorCode::RpcTimeout),
    ];
    for (answer, code) in answers {
        let mut machine = RunTasks::new(config());
        machine.begin(Clocks::default());
        let want = tell(&mut machine, Happened::Answered(answer));
        assert_eq!(want, Want::Done(Outcome::Error(code)));
    }
}

#[test]
fn a_report_that_is_refused_is_nobodys_failure() {
    let (mut machine, _) = fetched(config(), vec![moving(1), moving(2)]);
    let nothing_to_move = || {
        Response::MoveStart(Ok(MoveStartResponse {
            source: memory(9, OWN),
            target: None,
        }))
    };
    answer(&mut machine, nothing_to_move());
    answer(&mut machine, Response::MoveEnd(Ok(())));
    let refused = Response::MarkTaskToComplete(Err(ErrorCode::TaskNotFound));
    let next = call(answer(&mut machine, refused));
    assert!(matches!(next.request, Request::MoveStart { .. }));
    answer(&mut machine, nothing_to_move());
    answer(&mut machine, Response::MoveEnd(Ok(())));
    let lost = tell(&mut machine, Happened::Answered(Err(RpcFailure::Failed)));
    assert_eq!(lost, Want::Done(Outcome::Count(2)));
}

#[test]
fn a_poll_alone_leaves_its_tasks_to_the_workers() {
    let mut machine = RunTasks::poll(config());
    call(machine.begin(Clocks::default()));
    let tasks = Response::FetchTasks(Ok(vec![copy(1), moving(2)]));
    assert_eq!(answer(&mut machine, tasks), Want::Done(Outcome::Count(2)));
    let mut left = machine.tasks_left().into_iter();
    let mut worker = RunTasks::one(config(), left.next());
    let start = call(worker.begin(Clocks::default())).request;
    assert!(matches!(start, Request::CopyStart { key, .. } if key == "k"));
    let mut other = RunTasks::one(config(), left.next());
    let start = call(other.begin(Clocks::default())).request;
    assert!(
        matches!(start, Request::MoveStart { key, .. } if key == "m"),
        "beside the first"
    );
}

#[test]
fn a_worker_executes_one_task_and_without_one_nothing() {
    let mut idle = RunTasks::one(config(), None);
    assert_eq!(idle.begin(Clocks::default()), Want::Done(Outcome::Count(0)));
    let mut polled = RunTasks::poll(config());
    polled.begin(Clocks::default());
    answer(&mut polled, Response::FetchTasks(Ok(vec![copy(1)])));
    let mut worker = RunTasks::one(config(), polled.tasks_left().pop());
    worker.begin(Clocks::default());
    let refused = Response::CopyStart(Err(ErrorCode::ObjectNotFound));
    let want = answer(&mut worker, refused);
    let done = failed(&mut worker, want, "OBJECT_NOT_FOUND (max retries reached: 2)");
    assert_eq!(done, Want::Done(Outcome::Error(ErrorCode::ObjectNotFound)));
    assert!(worker.tasks_left().is_empty());
}

#[test]
fn a_worker_without_room_rests_and_puts_its_task_behind_the_others() {
    let mut polled = RunTasks::poll(config());
    polled.begin(Clocks::default());
    answer(&mut polled, Response::FetchTasks(Ok(vec![copy(1)])));
    let mut task = polled.tasks_left().pop();
    for rest in [50, 100] {
        let mut worker = RunTasks::one(config(), task);
        worker.begin(Clocks::default());
        let full = Response::CopyStart(Err(ErrorCode::NoAvailableHandle));
        assert_eq!(answer(&mut worker, full), Want::Wait(Span::from_ms(rest)));
        assert!(worker.tasks_left().is_empty(), "it rests first");
        let full = Want::Done(Outcome::Error(ErrorCode::NoAvailableHandle));
        assert_eq!(tell(&mut worker, Happened::Waited), full);
        task = worker.tasks_left().pop();
        assert!(task.is_some());
    }
    let mut worker = RunTasks::one(config(), task);
    worker.begin(Clocks::default());
    let want = answer(
        &mut worker,
        Response::CopyStart(Err(ErrorCode::NoAvailableHandle)),
    );
    failed(&mut worker, want, "NO_AVAILABLE_HANDLE (max retries reached: 2)");
    assert!(worker.tasks_left().is_empty());
}
