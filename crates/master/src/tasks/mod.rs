//! The tasks that ask clients for copies and moves: who has which, for how long, and what became of them. Mirrors
//! `task_manager.cpp`. What a request may ask for is in [`requests`], what a client is told in [`payload`].

mod payload;
mod requests;
mod table;

pub(crate) use table::{Limits, Tasks};

use moonquake_clock::Clocks;
use moonquake_protocol::{QueryTaskResponse, TaskAssignment, TaskStatus, TaskType, Uuid};

/// A task. Mirrors `task_manager.h:Task`.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// Its id.
    pub(crate) id: Uuid,
    /// Copy or move.
    pub(crate) kind: TaskType,
    /// How far it is.
    pub(crate) status: TaskStatus,
    /// What to do, as JSON text.
    pub(crate) payload: String,
    /// When it was created.
    pub(crate) created: Clocks,
    /// When its status changed last.
    pub(crate) changed: Clocks,
    /// What its executor or the clean-up said.
    pub(crate) message: String,
    /// Who executes it.
    pub(crate) client: Uuid,
}

/// Whether a status is one that a task ends in.
pub(crate) fn is_final(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Failed | TaskStatus::Success)
}

/// Wall time in ms since 1970, which is how clients are told instants.
pub(crate) fn wall_ms(instant: Clocks) -> i64 {
    i64::try_from(instant.realtime.0 / 1_000_000).unwrap_or(i64::MAX)
}

impl Task {
    fn become_status(&mut self, status: TaskStatus, now: Clocks) {
        self.status = status;
        self.changed = now;
    }

    fn finish(&mut self, status: TaskStatus, message: &str, now: Clocks) {
        self.become_status(status, now);
        message.clone_into(&mut self.message);
    }

    /// What QueryTask tells.
    pub(crate) fn told(&self) -> QueryTaskResponse {
        QueryTaskResponse {
            id: self.id,
            r#type: self.kind,
            status: self.status,
            created_at_ms_epoch: wall_ms(self.created),
            last_updated_at_ms_epoch: wall_ms(self.changed),
            assigned_client: self.client,
            message: self.message.clone(),
        }
    }

    /// What FetchTasks hands out.
    pub(crate) fn assignment(&self, max_retry_attempts: u32) -> TaskAssignment {
        TaskAssignment {
            id: self.id,
            r#type: self.kind,
            payload: self.payload.clone(),
            created_at_ms_epoch: wall_ms(self.created),
            max_retry_attempts,
        }
    }
}
