//! The table of tasks with its queues and counters. Mirrors `task_manager.cpp:ScopedTaskWriteAccess`.

use super::{Task, is_final};
use crate::ids::{Ids, hash_of_id};
use crate::objects::order::HashOrder;
use moonquake_clock::{Clocks, DeadlineId, Rules, Span};
use moonquake_protocol::{ErrorCode, TaskStatus, TaskType, Uuid};
use std::collections::{BTreeMap, VecDeque};

/// How many tasks there may be, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Finished ones that are remembered.
    pub(crate) finished: u32,
    /// Ones that wait to be fetched.
    pub(crate) pending: u32,
    /// Ones that are fetched and not finished.
    pub(crate) processing: u32,
    /// How long one may wait; zero for ever.
    pub(crate) pending_timeout: Span,
    /// How long one may be under way; zero for ever.
    pub(crate) processing_timeout: Span,
}

/// All tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    all: BTreeMap<Uuid, Task>,
    /// The tasks of each client that wait to be fetched, oldest first.
    queues: BTreeMap<Uuid, VecDeque<Uuid>>,
    /// The clients with a queue, in the order of upstream's table. A queue that ran empty stays.
    queue_order: HashOrder<Uuid>,
    /// The tasks that each client has fetched, in the order of upstream's table.
    fetched: BTreeMap<Uuid, HashOrder<Uuid>>,
    /// The clients that ever fetched from a queue of theirs, in the order of upstream's table.
    fetch_order: HashOrder<Uuid>,
    /// Ids of finished tasks, oldest first.
    finished: VecDeque<Uuid>,
    pending: u64,
    processing: u64,
}

impl Tasks {
    /// Adds a task at the end of its client's queue.
    pub(crate) fn submit(
        &mut self,
        now: Clocks,
        limits: &Limits,
        ids: &mut Ids,
        (client, kind, payload): (Uuid, TaskType, String),
    ) -> Result<Uuid, ErrorCode> {
        if self.pending >= u64::from(limits.pending) {
            return Err(ErrorCode::TaskPendingLimitExceeded);
        }
        let id = loop {
            let id = ids.next();
            if !self.all.contains_key(&id) {
                break id;
            }
        };
        let task = Task {
            id,
            kind,
            status: TaskStatus::Pending,
            payload,
            created: now,
            changed: now,
            message: String::new(),
            client,
        };
        self.pending += 1;
        self.all.insert(id, task);
        self.queue_order.insert(hash_of_id(client), client);
        self.queues.entry(client).or_default().push_back(id);
        Ok(id)
    }

    /// A task, if it is remembered.
    pub(crate) fn get(&self, id: Uuid) -> Option<&Task> {
        self.all.get(&id)
    }

    /// Takes the oldest tasks of a client out of its queue, as many as asked for and as the limit of all clients allows.
    pub(crate) fn fetch(&mut self, now: Clocks, limits: &Limits, client: Uuid, count: u64) -> Vec<&Task> {
        let mut taken = Vec::new();
        let Some(queue) = self.queues.get_mut(&client) else {
            return Vec::new();
        };
        self.fetch_order.insert(hash_of_id(client), client);
        let fetched = self.fetched.entry(client).or_default();
        while (taken.len() as u64) < count && self.processing < u64::from(limits.processing) {
            let Some(id) = queue.pop_front() else { break };
            let Some(task) = self.all.get_mut(&id) else {
                self.pending = self.pending.saturating_sub(1);
                continue;
            };
            if task.status != TaskStatus::Pending {
                continue;
            }
            self.pending = self.pending.saturating_sub(1);
            task.become_status(TaskStatus::Processing, now);
            fetched.insert(hash_of_id(id), id);
            self.processing += 1;
            taken.push(id);
        }
        taken.iter().filter_map(|id| self.all.get(id)).collect()
    }

    /// Notes how a task ended. A task that has ended already keeps what it was told first. `leaks` is whether a task that was
    /// never fetched goes on counting as one that waits.
    pub(crate) fn complete(
        &mut self,
        now: Clocks,
        client: Uuid,
        id: Uuid,
        (status, message): (TaskStatus, &str),
        leaks: bool,
    ) -> Result<(), ErrorCode> {
        if !is_final(status) {
            return Err(ErrorCode::InvalidParams);
        }
        let task = self.all.get_mut(&id).ok_or(ErrorCode::TaskNotFound)?;
        if task.client != client {
            return Err(ErrorCode::IllegalClient);
        }
        if is_final(task.status) {
            return Ok(());
        }
        let was_waiting = task.status == TaskStatus::Pending;
        task.finish(status, message, now);
        if was_waiting && !leaks {
            self.pending = self.pending.saturating_sub(1);
        }
        if let Some(fetched) = self.fetched.get_mut(&client).filter(|_| !was_waiting) {
            fetched.remove(hash_of_id(id), &id);
            self.processing = self.processing.saturating_sub(1);
        }
        self.finished.push_back(id);
        Ok(())
    }

    /// One round of the clean-up: what has waited or worked for too long has failed, and the oldest finished tasks beyond
    /// the limit are forgotten.
    pub(crate) fn clean_up(&mut self, now: Clocks, limits: &Limits, rules: &Rules) {
        if limits.pending_timeout != Span::ZERO {
            self.time_out_waiting(now, limits.pending_timeout, rules);
        }
        if limits.processing_timeout != Span::ZERO {
            self.time_out_fetched(now, limits.processing_timeout, rules);
        }
        while self.finished.len() > limits.finished as usize {
            if let Some(oldest) = self.finished.pop_front() {
                self.all.remove(&oldest);
            }
        }
    }

    fn time_out_waiting(&mut self, now: Clocks, timeout: Span, rules: &Rules) {
        let clients: Vec<Uuid> = self.queue_order.iter().copied().collect();
        for client in clients {
            let Some(queue) = self.queues.get_mut(&client) else {
                continue;
            };
            queue.retain(|id| {
                let Some(task) = self.all.get_mut(id) else {
                    self.pending = self.pending.saturating_sub(1);
                    return false;
                };
                if task.status != TaskStatus::Pending {
                    return false;
                }
                if !rules.reached(DeadlineId::TaskPending, task.created, timeout, now) {
                    return true;
                }
                task.finish(TaskStatus::Failed, "pending timeout", now);
                self.pending = self.pending.saturating_sub(1);
                self.finished.push_back(*id);
                false
            });
        }
    }

    fn time_out_fetched(&mut self, now: Clocks, timeout: Span, rules: &Rules) {
        let clients: Vec<Uuid> = self.fetch_order.iter().copied().collect();
        for client in clients {
            let Some(fetched) = self.fetched.get_mut(&client) else {
                continue;
            };
            let ids: Vec<Uuid> = fetched.iter().copied().collect();
            for id in ids {
                // Whatever is in this set is remembered and under way: both ends of a task take it out.
                let Some(task) = self.all.get_mut(&id) else {
                    continue;
                };
                let base = rules.base(DeadlineId::TaskProcessing, task.changed, task.created);
                if rules.reached(DeadlineId::TaskProcessing, base, timeout, now) {
                    task.finish(TaskStatus::Failed, "processing timeout", now);
                    fetched.remove(hash_of_id(id), &id);
                    self.processing = self.processing.saturating_sub(1);
                    self.finished.push_back(id);
                }
            }
        }
    }
}
