//! What a stage needs from an engine whose clients are processes of their own.
//!
//! The Rust machine of the client stays on the stage, as a prediction: the real client must want the same thing next. What it
//! really sent, moved and answered is what the evidence says. An engine whose client *is* that machine needs nothing of this.

use crate::ports::{PortResult, Sight, TransferSpec};
use moonquake_client::{BufferPlace, Outcome};
use moonquake_clock::{Clocks, MonotonicNs};
use moonquake_protocol::{Request, Segment, Uuid};
use moonquake_scenario::Do;

/// A client or node that starts.
#[derive(Clone, Debug)]
pub struct ClientStart {
    /// Its name.
    pub actor: String,
    /// The name that its segment has in evidence.
    pub home: String,
    /// The bytes of its segment, if it is a node.
    pub memory: Option<u64>,
    /// The bytes of its staging memory.
    pub staging_bytes: u64,
    /// Its clocks at this instant.
    pub clocks: Clocks,
}

/// Who a client is that names itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The id that it tells the master.
    pub client_id: Uuid,
    /// The segment that it is about to mount, as it will say.
    pub segment: Option<Segment>,
}

/// An operation of a step, as its client is told to do it.
#[derive(Clone, Debug)]
pub struct Begun<'a> {
    /// Its number.
    pub id: u64,
    /// The client.
    pub actor: &'a str,
    /// The words of the step.
    pub action: &'a Do,
    /// The step, from 0.
    pub step: usize,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// The key with the repetition in place.
    pub key: String,
    /// The keys of a batch.
    pub keys: Vec<String>,
    /// The caller's buffer that it reads from or writes to, if it names one.
    pub buffer: Option<String>,
    /// How many bytes that buffer is known to have.
    pub capacity: Option<u64>,
    /// What the value of a staged write is: a pattern, and where in the value each part of it lies.
    pub value: Option<(String, Vec<BufferPlace>)>,
    /// The key whose session it reads, writes or ends.
    pub session: Option<SessionMeant>,
}

/// A session that a step means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionMeant {
    /// Its key.
    pub key: String,
    /// The bytes of its object, if it is open.
    pub size_bytes: Option<u64>,
}

/// How a call is lost that no master hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Its connection had broken while it was idle. The call fails at once.
    Broken,
    /// No connection could be made.
    Refused {
        /// Whether it was the first attempt of this call.
        begins: bool,
        /// When the client's next timer for a call that waits to connect fires, on its own clock.
        until: MonotonicNs,
        /// When a round closes idle connections, if that comes first.
        round: Option<MonotonicNs>,
    },
}

/// A call that no master hears of.
#[derive(Clone, Debug)]
pub struct LostCall<'a> {
    /// The client.
    pub actor: &'a str,
    /// The operation that makes it.
    pub operation: u64,
    /// What it would have asked.
    pub request: &'a Request,
    /// How it is lost.
    pub how: Lost,
}

/// What a client has told of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its result.
    pub outcome: Outcome,
    /// What must be known to read it.
    pub note: Option<String>,
}

/// An end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The memory of the client.
    Near,
    /// The segment of the owner.
    Far,
}

/// An access that a witness inside a process has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accessed {
    /// Bytes of the payload of a transfer were read where it begins, or written where it ends, at the place that the transfer has
    /// there. Positions count within the payload.
    Part {
        /// The transfer.
        transfer: u64,
        /// Whose memory it was.
        end: End,
        /// The first byte.
        from: u64,
        /// One past the last byte.
        to: u64,
    },
    /// Bytes of a caller's buffer were accessed by something that is no transfer.
    Buffer {
        /// The process that did it.
        actor: String,
        /// The name of the buffer.
        name: String,
        /// Written or read.
        write: bool,
        /// The first byte within the buffer.
        from: u64,
        /// One past the last byte.
        to: u64,
    },
    /// Bytes of a segment were accessed by something that is no transfer.
    Segment {
        /// The process that did it.
        actor: String,
        /// The segment.
        home: String,
        /// Written or read.
        write: bool,
        /// The first byte within the segment.
        from: u64,
        /// One past the last byte.
        to: u64,
    },
}

/// The clients of one run, where they are processes of their own. Every method stands for nothing by itself.
pub trait Clients {
    /// Whether clients are processes of their own.
    fn has_clients(&self) -> bool {
        false
    }

    /// Starts a client or node, up to the first thing that it wants of the master and nobody can answer for it.
    ///
    /// # Errors
    /// When it cannot be started, or does something else than a client that starts.
    fn start_client(&mut self, start: &ClientStart) -> PortResult<Option<Identity>> {
        let _ = start;
        Ok(None)
    }

    /// The client has mounted its segment and must be ready for its first operation now.
    ///
    /// # Errors
    /// When it is not.
    fn client_ready(&mut self, actor: &str) -> PortResult<()> {
        let _ = actor;
        Ok(())
    }

    /// Stops the process of a client where it stands, or lets it go on.
    ///
    /// # Errors
    /// When it has no such process any more.
    fn freeze_client(&mut self, actor: &str, frozen: bool) -> PortResult<()> {
        let _ = (actor, frozen);
        Ok(())
    }

    /// Sets the clocks of a client, and lets its timers that are due fire.
    ///
    /// # Errors
    /// When it does not hear of it.
    fn set_client_clocks(&mut self, actor: &str, now: Clocks) -> PortResult<()> {
        let _ = (actor, now);
        Ok(())
    }

    /// The clocks that the client itself reads now; none if the stage's own count.
    ///
    /// # Errors
    /// When it does not answer.
    fn read_client_clocks(&mut self, actor: &str) -> PortResult<Option<Clocks>> {
        let _ = actor;
        Ok(None)
    }

    /// A client begins an operation.
    ///
    /// # Errors
    /// When it cannot be told.
    fn begin_operation(&mut self, begun: &Begun<'_>) -> PortResult<()> {
        let _ = begun;
        Ok(())
    }

    /// A process that has ended though this run has not ended it, told with what to do about it. Whatever failed, that is why.
    fn ended(&mut self) -> Option<String> {
        None
    }

    /// A client has been told something that ends its process: waits until it is gone by itself.
    ///
    /// # Errors
    /// When it lives on.
    fn await_exit(&mut self, actor: &str) -> PortResult<()> {
        let _ = actor;
        Ok(())
    }

    /// The machine says that an operation is over: what does the client say? None if the machine is the client.
    ///
    /// # Errors
    /// When it does not say that it is over.
    fn end_operation(&mut self, id: u64, predicted: &Outcome) -> PortResult<Option<Told>> {
        let _ = (id, predicted);
        Ok(None)
    }

    /// A call of a client goes to no master. Comes back when the client has seen that.
    ///
    /// # Errors
    /// When the client does something else.
    fn lose_call(&mut self, lost: &LostCall<'_>) -> PortResult<()> {
        let _ = lost;
        Ok(())
    }

    /// A client has begun a transfer of which nothing moves yet, perhaps because its owner stands still (`frozen`). Comes back when the
    /// client waits for it.
    ///
    /// # Errors
    /// When the client does something else, or cannot get there.
    fn begin_early(&mut self, spec: &TransferSpec, frozen: bool) -> PortResult<()> {
        let _ = (spec, frozen);
        Ok(())
    }

    /// The wait that an operation wanted is over.
    ///
    /// # Errors
    /// When the client does not wait.
    fn wait_over(&mut self, operation: u64) -> PortResult<()> {
        let _ = operation;
        Ok(())
    }

    /// A round of a client's heartbeat has failed. Comes back when the client rests until the next.
    ///
    /// # Errors
    /// When it does not.
    fn ping_failed(&mut self, actor: &str) -> PortResult<()> {
        let _ = actor;
        Ok(())
    }

    /// How many connections to the master a client has; none if its machine is the client.
    ///
    /// # Errors
    /// When they cannot be counted.
    fn connections(&mut self, actor: &str) -> PortResult<Option<usize>> {
        let _ = actor;
        Ok(None)
    }

    /// A name is watched from now on: what is seen of it? None if what the engine sees of anything counts.
    ///
    /// # Errors
    /// When it cannot be watched for a reason that no sight could tell.
    fn watch(&mut self, name: &str) -> PortResult<Option<Sight>> {
        let _ = name;
        Ok(None)
    }

    /// What witnesses inside the processes have seen since the last call. None if the stage's own transfers count, because their
    /// bytes move in its own hands.
    ///
    /// # Errors
    /// When a process has touched other memory than its transfers say, or a witness has broken down.
    fn accesses(&mut self) -> PortResult<Option<Vec<Accessed>>> {
        Ok(None)
    }

    /// The caller writes into its buffer.
    ///
    /// # Errors
    /// When it has no such memory.
    fn fill_buffer(&mut self, actor: &str, name: &str, at: u64, bytes: &[u8]) -> PortResult<()> {
        let _ = (actor, name, at, bytes);
        Ok(())
    }

    /// Bytes of a caller's buffer; none if the stage's own count.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read_buffer(&mut self, name: &str, from: u64, len: u64) -> PortResult<Option<Vec<u8>>> {
        let _ = (name, from, len);
        Ok(None)
    }

    /// Bytes of what a staged read has handed to its caller; none if the stage's own count.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read_value(&mut self, id: u64, from: u64, len: u64) -> PortResult<Option<Vec<u8>>> {
        let _ = (id, from, len);
        Ok(None)
    }
}
