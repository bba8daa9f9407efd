//! One agent: its process, its calls, its end.

use super::arena::Arena;
use super::command::Command;
use super::error::AgentError;
use super::launch::AgentOptions;
use super::protocol::Hello;
use super::reply::Reply;
use crate::process::{Client, ProcessError};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

/// A call that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    id: u64,
    what: &'static str,
}

impl Ticket {
    /// The number by which the call is known.
    pub fn id(&self) -> u64 {
        self.id
    }
}

/// A running agent. Dropping it kills the process.
#[derive(Debug)]
pub struct Agent {
    arena: Arc<Arena>,
    hello: Hello,
}

impl Agent {
    /// Starts an agent and returns when it has said hello. No client is set up yet.
    ///
    /// # Errors
    /// [`ProcessError`] when it does not come up.
    pub fn start(_client: &Client, _options: &AgentOptions) -> Result<Agent, ProcessError> {
        todo!()
    }

    /// What it said first.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Memory that it shares with us.
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Id of the process.
    pub fn pid(&self) -> u32 {
        todo!()
    }

    /// Begins a call.
    ///
    /// # Errors
    /// [`AgentError::Gone`] when the process has ended.
    pub fn submit(&self, _command: &Command) -> Result<Ticket, AgentError> {
        todo!()
    }

    /// Waits for the answer, at most `limit` of real time.
    ///
    /// # Errors
    /// [`AgentError::Gone`] as soon as the process has ended without answering, [`AgentError::Limit`] after the limit.
    pub fn wait(&self, _ticket: &Ticket, _limit: Duration) -> Result<Reply, AgentError> {
        todo!()
    }

    /// The answer if it has come.
    ///
    /// # Errors
    /// [`AgentError::Gone`] when the process has ended without answering.
    pub fn try_wait(&self, _ticket: &Ticket) -> Result<Option<Reply>, AgentError> {
        todo!()
    }

    /// [`Agent::submit`] and [`Agent::wait`], at most 60 s.
    ///
    /// # Errors
    /// As those.
    pub fn call(&self, _command: &Command) -> Result<Reply, AgentError> {
        todo!()
    }

    /// Ends the process at once; nothing in it is cleaned up. Returns how it ended, when it has.
    ///
    /// # Errors
    /// [`AgentError::Io`] when the system does not let us.
    pub fn kill(&self) -> Result<ExitStatus, AgentError> {
        todo!()
    }

    /// Stops all its threads and returns when they stand.
    ///
    /// # Errors
    /// [`AgentError::Gone`] when it has ended.
    pub fn freeze(&self) -> Result<(), AgentError> {
        todo!()
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// [`AgentError::Gone`] when it has ended.
    pub fn resume(&self) -> Result<(), AgentError> {
        todo!()
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// [`AgentError::Io`] when the system does not say.
    pub fn exit_status(&self) -> Result<Option<ExitStatus>, AgentError> {
        todo!()
    }

    /// The end of what it and the client's own log have written.
    pub fn stderr_tail(&self) -> String {
        todo!()
    }
}
