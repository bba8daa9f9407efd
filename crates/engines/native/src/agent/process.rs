//! One agent: its process, its calls, its end.

use super::arena::Arena;
use super::command::Command;
use super::error::AgentError;
use super::inbox::{End, Inbox, Missing, Tail};
use super::launch::{self, AgentOptions};
use super::protocol::{Hello, Numbered};
use super::reply::Reply;
use crate::process::{Client, ProcessError, spawn};
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Real time that a start may take. On an idle machine it takes some tenths of a second.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Real time that [`Agent::call`] waits.
const CALL_LIMIT: Duration = Duration::from_secs(60);
/// Real time that the agent may leave commands unread before that is an error; some thousand commands fit meanwhile.
const WRITE_LIMIT: Duration = Duration::from_secs(20);
/// Real time between the last word of a process and its end.
const END_LIMIT: Duration = Duration::from_secs(5);

/// A call that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    id: u64,
    what: String,
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
    child: Mutex<Child>,
    pid: u32,
    // A socket and no pipe, as a socket can be written to with a limit.
    commands: Mutex<UnixStream>,
    inbox: Arc<Inbox>,
    tail: Arc<Tail>,
    readers: Vec<JoinHandle<()>>,
    arena: Arc<Arena>,
    hello: Hello,
    next: AtomicU64,
}

impl Agent {
    /// Starts an agent and returns when it has said hello. No client is set up yet.
    ///
    /// # Errors
    /// [`ProcessError`] when it does not come up.
    pub fn start(client: &Client, options: &AgentOptions) -> Result<Agent, ProcessError> {
        let arena = Arena::create(options.arena_size)?;
        let command = launch::command(client, options, &arena);
        Agent::run(command, arena, &options.inherit)
    }

    /// Starts a command that speaks the protocol.
    pub(super) fn run(
        mut command: std::process::Command,
        arena: Arena,
        inherit: &[i32],
    ) -> Result<Agent, ProcessError> {
        let preparing = || ProcessError::io("prepare the process of a client");
        let (commands, theirs) = UnixStream::pair().map_err(preparing())?;
        commands
            .set_write_timeout(Some(WRITE_LIMIT))
            .map_err(preparing())?;
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut open = inherit.to_vec();
        open.push(arena.descriptor());
        let mut child = spawn::spawn(command, &open)?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let mut agent = Agent {
            pid: child.id(),
            child: Mutex::new(child),
            commands: Mutex::new(commands),
            inbox: Arc::default(),
            tail: Arc::default(),
            readers: Vec::new(),
            arena: Arc::new(arena),
            hello: Hello::default(),
            next: AtomicU64::new(1),
        };
        let (inbox, tail) = (agent.inbox.clone(), agent.tail.clone());
        if let (Some(output), Some(errors)) = (output, errors) {
            agent.read("answers", move || inbox.fill(output))?;
            agent.read("words", move || tail.fill(errors))?;
        }
        match agent.inbox.hello(START_LIMIT) {
            Ok(hello) => agent.hello = hello,
            Err(missing) => return Err(agent.not_started(missing)),
        }
        Ok(agent)
    }

    fn read(&mut self, what: &str, work: impl FnOnce() + Send + 'static) -> Result<(), ProcessError> {
        let reader = std::thread::Builder::new()
            .name(format!("moonquake-agent-{what}"))
            .spawn(work)
            .map_err(ProcessError::io("start a thread"))?;
        self.readers.push(reader);
        Ok(())
    }

    fn not_started(mut self, missing: Missing) -> ProcessError {
        let why = match missing {
            Missing::Late => format!("it said nothing within {} s of real time", START_LIMIT.as_secs()),
            Missing::Ended(End::Broken(what)) => what,
            Missing::Ended(End::Closed) => match self.final_status() {
                Some(status) => format!("it ended ({status})"),
                None => "it closed its output".to_owned(),
            },
        };
        // All that it wrote is there when it has ended.
        self.end();
        ProcessError::Agent {
            why,
            stderr_tail: self.tail.text(),
        }
    }

    /// What it said first.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Memory that it shares with us.
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Where in the arena an address of the agent's lies, as an offset in bytes; none if it lies elsewhere.
    pub fn place_of(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.hello.arena_base)?;
        (offset < self.hello.arena_size).then_some(offset)
    }

    /// Id of the process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Begins a call.
    ///
    /// # Errors
    /// [`AgentError::Gone`] when the process has ended, [`AgentError::Io`] when it leaves too many commands unread.
    pub fn submit(&self, command: &Command) -> Result<Ticket, AgentError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let writing = |source| AgentError::io("give the client a command", source);
        let value = serde_json::to_value(Numbered { id, command }).map_err(|error| writing(error.into()))?;
        let what = value.get("op").and_then(|op| op.as_str()).unwrap_or_default();
        let ticket = Ticket {
            id,
            what: what.to_owned(),
        };
        let mut line = value.to_string();
        line.push('\n');
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        match commands.write_all(line.as_bytes()) {
            Ok(()) => Ok(ticket),
            Err(error) => {
                // A line of which a part was written cannot be taken back.
                let _ = commands.shutdown(Shutdown::Both);
                drop(commands);
                let gone = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
                if gone.contains(&error.kind()) {
                    Err(self.gone())
                } else {
                    Err(writing(error))
                }
            }
        }
    }

    /// Waits for the answer, at most `limit` of real time. An answer can be taken once.
    ///
    /// # Errors
    /// [`AgentError::Gone`] as soon as the process has ended without answering, [`AgentError::Limit`] after the limit.
    pub fn wait(&self, ticket: &Ticket, limit: Duration) -> Result<Reply, AgentError> {
        match self.inbox.outcome(ticket.id, limit) {
            Ok(outcome) => Ok(Reply {
                id: ticket.id,
                outcome,
            }),
            Err(Missing::Ended(End::Closed)) => Err(self.gone()),
            Err(Missing::Ended(End::Broken(what))) => Err(AgentError::Protocol {
                what,
                stderr_tail: self.stderr_tail(),
            }),
            Err(Missing::Late) => Err(AgentError::Limit {
                what: ticket.what.clone(),
                limit,
                stderr_tail: self.stderr_tail(),
            }),
        }
    }

    /// The answer if it has come.
    ///
    /// # Errors
    /// [`AgentError::Gone`] when the process has ended without answering.
    pub fn try_wait(&self, ticket: &Ticket) -> Result<Option<Reply>, AgentError> {
        match self.wait(ticket, Duration::ZERO) {
            Ok(reply) => Ok(Some(reply)),
            Err(AgentError::Limit { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// [`Agent::submit`] and [`Agent::wait`], at most 60 s.
    ///
    /// # Errors
    /// As those.
    pub fn call(&self, command: &Command) -> Result<Reply, AgentError> {
        let ticket = self.submit(command)?;
        self.wait(&ticket, CALL_LIMIT)
    }

    /// Ends the process at once; nothing in it is cleaned up. Returns how it ended, when it has.
    ///
    /// # Errors
    /// [`AgentError::Io`] when the system does not let us.
    pub fn kill(&self) -> Result<ExitStatus, AgentError> {
        let killing = |source| AgentError::io("kill the client", source);
        let mut child = self.child();
        child.kill().map_err(killing)?;
        child.wait().map_err(killing)
    }

    /// Stops all its threads and returns when they stand.
    ///
    /// # Errors
    /// [`AgentError::Gone`] when it has ended.
    pub fn freeze(&self) -> Result<(), AgentError> {
        let child = self.living()?;
        spawn::freeze(&child).map_err(|source| AgentError::io("freeze the client", source))
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// [`AgentError::Gone`] when it has ended.
    pub fn resume(&self) -> Result<(), AgentError> {
        spawn::resume(&*self.living()?);
        Ok(())
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// [`AgentError::Io`] when the system does not say.
    pub fn exit_status(&self) -> Result<Option<ExitStatus>, AgentError> {
        let looking = |source| AgentError::io("look after the client", source);
        self.child().try_wait().map_err(looking)
    }

    /// Waits for its end, at most `limit` of real time; none if it still runs.
    ///
    /// # Errors
    /// [`AgentError::Io`] when the system does not say.
    pub fn wait_for_end(&self, limit: Duration) -> Result<Option<ExitStatus>, AgentError> {
        if let Some(status) = self.exit_status()? {
            return Ok(Some(status));
        }
        spawn::wait_for_end(&self.child(), limit);
        self.exit_status()
    }

    /// Waits until something is found in the whole lines of what it has written, at most `limit` of real time.
    pub fn await_words<T>(&self, limit: Duration, look: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.tail.find(limit, look)
    }

    /// The end of what it and the client's own log have written.
    pub fn stderr_tail(&self) -> String {
        self.tail.text()
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn living(&self) -> Result<MutexGuard<'_, Child>, AgentError> {
        if self.exit_status()?.is_some() {
            return Err(self.gone());
        }
        Ok(self.child())
    }

    /// The status of a process that has said its last word.
    fn final_status(&self) -> Option<ExitStatus> {
        self.wait_for_end(END_LIMIT).ok().flatten()
    }

    fn gone(&self) -> AgentError {
        let status = self.final_status();
        AgentError::Gone {
            status,
            stderr_tail: self.tail.whole(END_LIMIT),
        }
    }

    /// Kills it and waits until nothing of it is left, the threads that listened to it included.
    fn end(&mut self) {
        let mut child = self.child();
        // One that has ended and been waited for is not sent anything.
        let _ = child.kill();
        let _ = child.wait();
        drop(child);
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.end();
    }
}
