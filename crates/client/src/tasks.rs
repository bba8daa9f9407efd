//! What a client does for the master: it fetches tasks and copies or moves replicas out of its own memory. Mirrors
//! `client_service.cpp:PollAndDispatchTasks`, `ExecuteTask`, `Copy`, `Move` and `ExecuteReplicaTransfer`.

mod job;

use crate::{
    Call, CallPhases, ClientConfig, Happened, Move, MoveFailure, Moved, Operation, Outcome, RpcFailure, Want,
    memory_of,
};
use job::{Job, Started};
use moonquake_clock::{Clocks, Span};
use moonquake_faults::Guard;
use moonquake_protocol::{
    BufferDescriptor, ErrorCode, ReplicaDescriptor, Request, Response, TaskAssignment, TaskCompleteRequest,
    TaskStatus,
};
use std::collections::VecDeque;

/// The most tasks that one poll fetches. Mirrors `client_service.h:kTaskBatchSize`.
const BATCH: u64 = 16;
/// The first retry waits that long in milliseconds, each further one so much longer. Mirrors
/// `client_service.cpp:ExecuteTask`.
const RETRY_STEP_MS: u64 = 50;

/// How many tasks a client executes beside each other. Mirrors `task_thread_pool_` of `client_service.cpp`.
pub const TASK_WORKERS: usize = 4;

/// A task that waits for its turn.
#[derive(Clone, Debug)]
pub struct QueuedTask {
    assignment: TaskAssignment,
    retries: u32,
}

/// How much of the work an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// It polls, and executes all that it was given.
    All,
    /// It polls.
    Poll,
    /// It executes one task.
    One,
}

/// The task at work.
#[derive(Clone, Debug)]
struct AtWork {
    task: QueuedTask,
    job: Job,
    source: BufferDescriptor,
    targets: VecDeque<ReplicaDescriptor>,
    /// Whether there was a target to write.
    writes: bool,
    /// Whether a transfer was given up that still runs.
    unfenced: bool,
}

#[derive(Clone, Debug)]
enum State {
    Fetching,
    Starting(QueuedTask, Job),
    Writing(AtWork),
    Ending(AtWork),
    Revoking(QueuedTask, ErrorCode),
    /// It is tried again once the wait is over, behind all others. Mirrors `task_thread_pool_.enqueue`.
    Resting(QueuedTask),
    Reporting,
    Over,
}

/// A poll for tasks, the execution of one, or both: one poll and the execution of all that it brings, one task after the
/// other. Upstream polls every second and has four workers, each of which takes the task that waits longest.
///
/// The result of a poll is the number of tasks that it brought. The result of executing is the number of tasks if all went well, and the first failure otherwise. That a report on a task failed is
/// nobody's failure: upstream only logs it.
#[derive(Clone, Debug)]
pub struct RunTasks {
    config: ClientConfig,
    part: Part,
    waiting: VecDeque<QueuedTask>,
    state: State,
    done: i64,
    failed: Option<ErrorCode>,
}

fn call(request: Request, phases: CallPhases) -> Want {
    Want::Call(Call {
        request,
        fences: Vec::new(),
        phases,
    })
}

impl RunTasks {
    /// A poll of the client with that configuration, and all that follows from it.
    pub fn new(config: ClientConfig) -> RunTasks {
        RunTasks::of(config, Part::All, None)
    }

    /// A poll alone: the tasks are left to be executed one by one. Mirrors `PollAndDispatchTasks`.
    pub fn poll(config: ClientConfig) -> RunTasks {
        RunTasks::of(config, Part::Poll, None)
    }

    /// The execution of one task by a free worker; without a task, nothing. Mirrors `ExecuteTask`: a task for which there was
    /// no room rests, and is left to be executed again behind all others.
    pub fn one(config: ClientConfig, task: Option<QueuedTask>) -> RunTasks {
        RunTasks::of(config, Part::One, task)
    }

    fn of(config: ClientConfig, part: Part, task: Option<QueuedTask>) -> RunTasks {
        RunTasks {
            config,
            part,
            waiting: task.into_iter().collect(),
            state: State::Fetching,
            done: 0,
            failed: None,
        }
    }

    fn fetched(&mut self, answer: Result<Response, RpcFailure>) -> Want {
        match answer {
            Ok(Response::FetchTasks(Ok(assignments))) => {
                let waiting = |assignment| QueuedTask {
                    assignment,
                    retries: 0,
                };
                self.waiting = assignments.into_iter().map(waiting).collect();
                if self.part == Part::Poll {
                    return Want::Done(Outcome::Count(self.waiting.len() as i64));
                }
                self.next_task()
            }
            Ok(Response::FetchTasks(Err(code))) => Want::Done(Outcome::Error(code)),
            Ok(_) => Want::Done(Outcome::Error(ErrorCode::RpcFail)),
            Err(failure) => Want::Done(failure.into()),
        }
    }

    fn next_task(&mut self) -> Want {
        let Some(task) = self.waiting.pop_front() else {
            self.state = State::Over;
            return Want::Done(self.failed.map_or(Outcome::Count(self.done), Outcome::Error));
        };
        match Job::of(&task.assignment) {
            Err(code) => self.conclude(task, Err(code)),
            Ok(job) => {
                let start = job.start(self.config.client_id);
                self.state = State::Starting(task, job);
                call(start, CallPhases::COPY_START)
            }
        }
    }

    fn started(&mut self, task: QueuedTask, job: Job, answer: Started) -> Want {
        let (source, targets) = match answer {
            Ok(granted) => granted,
            Err(code) if job.is_done_already(code) => return self.conclude(task, Ok(())),
            Err(code) => return self.conclude(task, Err(code)),
        };
        let source = memory_of(&source).cloned();
        // Without a target nothing is read, and nobody looks where the source is.
        let refused = match &source {
            _ if targets.is_empty() => None,
            None => Some(ErrorCode::InvalidParams),
            Some(source) if !self.config.owns(source) => Some(ErrorCode::ReplicaNotInLocalMemory),
            Some(_) => None,
        };
        let work = AtWork {
            task,
            job,
            source: source.unwrap_or_default(),
            writes: !targets.is_empty(),
            targets: targets.into(),
            unfenced: false,
        };
        match refused {
            Some(code) => self.revoke(work, code),
            None => self.write_on(work),
        }
    }

    /// The next target, or the end.
    fn write_on(&mut self, mut work: AtWork) -> Want {
        let Some(target) = work.targets.pop_front() else {
            let end = work.job.end(self.config.client_id);
            self.state = State::Ending(work);
            return call(end, CallPhases::COPY_END);
        };
        match Move::copy(&self.config, &work.source, &target) {
            None => self.revoke(work, ErrorCode::TransferFail),
            Some(wanted) => {
                self.state = State::Writing(work);
                self.config.write(wanted)
            }
        }
    }

    fn moved(&mut self, mut work: AtWork, result: Result<(), MoveFailure>) -> Want {
        match result {
            Ok(()) => self.write_on(work),
            Err(failure) => {
                work.unfenced = failure == MoveFailure::Limit && self.config.fences();
                self.revoke(work, ErrorCode::TransferFail)
            }
        }
    }

    fn revoke(&mut self, work: AtWork, because: ErrorCode) -> Want {
        if !self.config.guarded(Guard::FailedCopyIsRevoked) {
            return self.conclude(work.task, Err(because));
        }
        let revoke = call(work.job.revoke(self.config.client_id), CallPhases::default());
        self.state = State::Revoking(work.task, because);
        if work.unfenced {
            Want::FenceThen(Box::new(revoke))
        } else {
            revoke
        }
    }

    fn ended(&mut self, work: AtWork, result: Result<(), ErrorCode>) -> Want {
        match result {
            Err(code) if work.writes => self.revoke(work, code),
            result => self.conclude(work.task, result),
        }
    }

    /// A task has its result: it rests and is tried again, or is reported on.
    fn conclude(&mut self, task: QueuedTask, result: Result<(), ErrorCode>) -> Want {
        let most = task.assignment.max_retry_attempts;
        let full = result == Err(ErrorCode::NoAvailableHandle) && task.retries < most;
        if full && self.config.guarded(Guard::CopyWaitsForRoom) {
            let rest = Span::from_ms(RETRY_STEP_MS * (u64::from(task.retries) + 1));
            self.state = State::Resting(task);
            return Want::Wait(rest);
        }
        self.done += 1;
        let (status, message) = match result {
            Ok(()) => (TaskStatus::Success, "Task completed successfully".to_owned()),
            Err(code) => {
                self.failed.get_or_insert(code);
                let message = format!("{code} (max retries reached: {most})");
                (TaskStatus::Failed, message)
            }
        };
        self.state = State::Reporting;
        let request = Request::MarkTaskToComplete {
            client_id: self.config.client_id,
            request: TaskCompleteRequest {
                id: task.assignment.id,
                status,
                message,
            },
        };
        call(request, CallPhases::default())
    }
}

impl Operation for RunTasks {
    fn begin(&mut self, _now: Clocks) -> Want {
        if self.part == Part::One {
            return self.next_task();
        }
        let request = Request::FetchTasks {
            client_id: self.config.client_id,
            batch_size: BATCH,
        };
        call(request, CallPhases::default())
    }

    fn next(&mut self, _now: Clocks, happened: Happened) -> Want {
        match (std::mem::replace(&mut self.state, State::Over), happened) {
            (State::Fetching, Happened::Answered(answer)) => self.fetched(answer),
            (State::Starting(task, job), Happened::Answered(answer)) => {
                let answer = answer
                    .map_err(RpcFailure::code)
                    .and_then(|answer| job.started(answer));
                self.started(task, job, answer)
            }
            (State::Writing(work), Happened::Moved(result)) => self.moved(work, result),
            (State::Writing(work), Happened::MovedAll(slices)) => self.moved(work, Moved::together(&slices)),
            (State::Ending(work), Happened::Answered(answer)) => {
                let result = answer
                    .map_err(RpcFailure::code)
                    .and_then(|answer| work.job.ended(&answer));
                self.ended(work, result)
            }
            // What the master says of a revoke is only logged.
            (State::Revoking(task, because), Happened::Answered(_)) => self.conclude(task, Err(because)),
            (State::Resting(task), Happened::Waited) => {
                self.waiting.push_back(QueuedTask {
                    retries: task.retries.saturating_add(1),
                    ..task
                });
                if self.part == Part::One {
                    return Want::Done(Outcome::Error(ErrorCode::NoAvailableHandle));
                }
                self.next_task()
            }
            (State::Reporting, Happened::Answered(_)) => self.next_task(),
            _ => Want::Done(Outcome::Error(ErrorCode::RpcFail)),
        }
    }

    fn tasks_left(&self) -> Vec<QueuedTask> {
        self.waiting.iter().cloned().collect()
    }
}
