//! What an operation wants, and what it can be told.

use crate::{ClientConfig, Outcome, memory_of};
use moonquake_clock::{Clocks, Span};
use moonquake_faults::PhaseId;
use moonquake_protocol::{BufferDescriptor, ErrorCode, ReplicaDescriptor, Request, Response};

/// The phases around one call; a call that is no phase has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallPhases {
    /// Before the request is sent.
    pub before: Option<PhaseId>,
    /// While it is on its way.
    pub sent: Option<PhaseId>,
    /// When the answer has arrived.
    pub response: Option<PhaseId>,
}

impl CallPhases {
    /// Around the start of a put or upsert, single or batch.
    pub const START: CallPhases = CallPhases {
        before: Some(PhaseId::PutStartBefore),
        sent: Some(PhaseId::PutStartSent),
        response: Some(PhaseId::PutStartResponse),
    };
    /// Around its end. The phase before it is that of the last payload.
    pub const END: CallPhases = CallPhases {
        before: None,
        sent: Some(PhaseId::PutEndSent),
        response: Some(PhaseId::PutEndResponse),
    };
    /// Around its revoke.
    pub const REVOKE: CallPhases = CallPhases {
        before: Some(PhaseId::RevokeBefore),
        sent: Some(PhaseId::RevokeSent),
        response: Some(PhaseId::RevokeResponse),
    };
    /// Around the query of a get.
    pub const QUERY: CallPhases = CallPhases {
        before: Some(PhaseId::GetQueryBefore),
        sent: Some(PhaseId::GetQuerySent),
        response: Some(PhaseId::GetQueryResponse),
    };
    /// Around the start of a copy or move.
    pub const COPY_START: CallPhases = CallPhases {
        before: Some(PhaseId::CopyStartBefore),
        sent: Some(PhaseId::CopyStartSent),
        response: Some(PhaseId::CopyStartResponse),
    };
    /// Around its end. The phase before it is that of the last payload.
    pub const COPY_END: CallPhases = CallPhases {
        before: None,
        sent: Some(PhaseId::CopyEndSent),
        response: Some(PhaseId::CopyEndResponse),
    };
}

/// A request to the master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is sent.
    pub request: Request,
    /// For PutEnd and PutRevoke: the id of the first replica that this attempt was given, for each key of the request in its
    /// order. The wire does not carry them; a master without the quirk `stale-put-end` asks for them.
    pub fences: Vec<Option<u64>>,
    /// Its phases.
    pub phases: CallPhases,
}

/// Bytes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The first one, counted from the object's first.
    pub from: u64,
    /// How many they are.
    pub size: u64,
}

impl ByteRange {
    /// Whether all of it lies inside an object of that size. Mirrors `real_client.cpp:is_object_range_overflow`.
    pub(crate) fn lies_in(self, object_bytes: u64) -> bool {
        self.from
            .checked_add(self.size)
            .is_some_and(|end| end <= object_bytes)
    }
}

/// The bytes of all ranges together; none if no number can say it.
pub(crate) fn total(ranges: &[ByteRange]) -> Option<u64> {
    let mut bytes: u64 = 0;
    for range in ranges {
        bytes = bytes.checked_add(range.size)?;
    }
    Some(bytes)
}

/// Bytes of an operation's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferPart {
    /// The first one.
    pub at: u64,
    /// How many they are.
    pub size: u64,
}

/// Where the bytes of an entry or range lie in the operation's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferPlace {
    /// The first byte in the buffer.
    pub at: u64,
    /// Which bytes of the object they are.
    pub range: ByteRange,
}

/// Where the bytes of a transfer are on the client's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Near {
    /// In the operation's buffer.
    Buffer,
    /// In a replica that lies in the client's own segment; of a write only. Mirrors the source of
    /// `client_service.cpp:ExecuteReplicaTransfer`.
    Own(BufferDescriptor),
}

/// Bytes to be moved between the client's memory and a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// To the replica (a put) or from it (a get).
    pub write: bool,
    /// Where the replica lies.
    pub replica: BufferDescriptor,
    /// The id of that replica. The data path does not carry it; an owner without the quirk `descriptor-outlives-range`
    /// asks for it.
    pub replica_id: u64,
    /// The first byte of the replica that moves, counted from the replica's first.
    pub from: u64,
    /// How many bytes move.
    pub size: u64,
    /// The client's side of it.
    pub near: Near,
    /// The byte of the operation's buffer that goes with the first one that moves.
    pub at: u64,
    /// Whether the replica is the client's own, so that the bytes are copied within its process: no network is passed, and
    /// no limit is kept. Mirrors `transfer_task.cpp:LOCAL_MEMCPY`, which is the default with TCP.
    pub local: bool,
    /// Whether the client gives it up after its limit. It waits for the ranges of a session, and for those of a ranged get,
    /// until their transport has ended them. Mirrors `transfer_engine.cpp:ScatterTransferOperation`.
    pub limited: bool,
    /// The phase of each part that lands.
    pub part: PhaseId,
    /// The phase after the last one.
    pub done: PhaseId,
}

impl Move {
    /// A whole object to one of its replicas; `None` if that is no memory replica.
    pub(crate) fn to(config: &ClientConfig, replica: &ReplicaDescriptor) -> Option<Move> {
        let buffer = memory_of(replica)?;
        Some(Move {
            write: true,
            replica: buffer.clone(),
            replica_id: replica.id,
            from: 0,
            size: buffer.size,
            near: Near::Buffer,
            at: 0,
            local: config.copies_itself(buffer),
            limited: true,
            part: PhaseId::PutPayloadPart,
            done: PhaseId::PutPayloadDone,
        })
    }

    /// A whole replica in the client's own memory to another one; `None` if that is no memory replica.
    pub(crate) fn copy(
        config: &ClientConfig,
        source: &BufferDescriptor,
        target: &ReplicaDescriptor,
    ) -> Option<Move> {
        Some(Move {
            near: Near::Own(source.clone()),
            part: PhaseId::CopyPayloadPart,
            done: PhaseId::CopyPayloadDone,
            ..Move::to(config, target)?
        })
    }

    /// A whole replica into the operation's buffer, from byte `at` of it on.
    pub(crate) fn from(config: &ClientConfig, replica_id: u64, replica: &BufferDescriptor, at: u64) -> Move {
        Move {
            write: false,
            replica: replica.clone(),
            replica_id,
            from: 0,
            size: replica.size,
            near: Near::Buffer,
            at,
            local: config.copies_itself(replica),
            limited: true,
            part: PhaseId::GetPayloadPart,
            done: PhaseId::GetPayloadDone,
        }
    }

    /// Only these bytes of the replica, to or from byte `at` of the operation's buffer, without a limit of time.
    pub(crate) fn within(self, range: ByteRange, at: u64) -> Move {
        Move {
            from: range.from,
            size: range.size,
            at,
            limited: false,
            ..self
        }
    }

    /// The requests in which a write is submitted: at most `slice_bytes` each. A copy within the process is one. Mirrors
    /// `client_buffer.cpp:split_into_slices`.
    pub(crate) fn sliced(self, slice_bytes: u64) -> Vec<Move> {
        let slice_bytes = slice_bytes.max(1);
        if self.local || self.size <= slice_bytes {
            return vec![self];
        }
        let slice = |index: u64| {
            let done = index * slice_bytes;
            Move {
                from: self.from + done,
                at: self.at + done,
                size: slice_bytes.min(self.size - done),
                ..self.clone()
            }
        };
        (0..self.size.div_ceil(slice_bytes)).map(slice).collect()
    }
}

/// What an operation wants next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "one value lives at a time")]
pub enum Want {
    /// Send this request and tell the answer.
    Call(Call),
    /// Take a block of the client's staging memory for each of these sizes, and tell at once which were taken. In the order in
    /// which they were, they are the operation's buffer, one behind the other; they are given back with its result.
    Stage {
        /// Bytes of each block.
        blocks: Vec<u64>,
        /// Whether one without room leaves all of them untaken.
        all: bool,
    },
    /// Take the checksum of each of these parts of the operation's buffer, and tell at once. Mirrors
    /// `client_service.cpp:ComputeObjectChecksumForSlices`.
    Sum(Vec<BufferPart>),
    /// Move these bytes and tell when it is over.
    Move(Move),
    /// Move all of these beside each other and tell when the last one is over. Mirrors the submissions of
    /// `client_service.cpp:BatchPut` and `BatchGet`, which come before any wait, and the slices of one put.
    Moves(Vec<Move>),
    /// Move these one after the other, also past one that failed, and tell when the last one is over. Mirrors
    /// `tcp_transport.cpp:startTransferSequence`.
    Sequence {
        /// In the order in which they move.
        moves: Vec<Move>,
        /// Tell [`Happened::Waited`] after that long if they still move.
        look_after: Option<Span>,
    },
    /// Go on waiting for the moves of the sequence, and tell [`Happened::Waited`] after that long.
    Await(Option<Span>),
    /// End the running transfer for good, so that it touches nothing any more, then go on with this. Mirrors nothing
    /// upstream, whose transfers go on.
    FenceThen(Box<Want>),
    /// Nothing for that long, then be told.
    Wait(Span),
    /// The result.
    Done(Outcome),
}

/// Why a call has no answer of the master. Mirrors `master_client.cpp`, which maps every failure to one of two codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RpcFailure {
    /// No answer in time: RPC_TIMEOUT.
    Timeout,
    /// Anything else: RPC_FAIL.
    Failed,
}

/// Why a transfer did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveFailure {
    /// The client's limit is over and the transfer is still running. Mirrors `transfer_task.cpp:wait_for_completion`.
    Limit,
    /// The transport has closed it; it touches nothing any more.
    Closed,
    /// It was never handed to the transport: the client has not met the owner of the segment before, and nobody is there any more
    /// to say where its bytes can be reached. Mirrors `transfer_engine_impl.cpp:openSegment`, which keeps every answer.
    Unopened,
}

impl MoveFailure {
    /// What a range is told whose transfer failed so. Mirrors `client_service.cpp:ScatterFragmentError`, which takes a segment
    /// that cannot be opened for a bad argument of its caller.
    pub(crate) fn of_a_range(self) -> ErrorCode {
        match self {
            MoveFailure::Unopened => ErrorCode::InvalidParams,
            MoveFailure::Limit | MoveFailure::Closed => ErrorCode::TransferFail,
        }
    }
}

/// How one of several transfers ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// As of a single one.
    pub result: Result<(), MoveFailure>,
    /// The client's clocks at that moment.
    pub at: Clocks,
}

impl Moved {
    /// How all of them ended together: one that still runs counts more than one that was never begun, and that more than one
    /// that is closed, which is told later.
    pub(crate) fn together(all: &[Moved]) -> Result<(), MoveFailure> {
        let failed = |failure: &MoveFailure| all.iter().any(|moved| moved.result == Err(*failure));
        let by_weight = [MoveFailure::Limit, MoveFailure::Unopened, MoveFailure::Closed];
        by_weight.into_iter().find(failed).map_or(Ok(()), Err)
    }
}

/// What an operation is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "one value lives at a time")]
pub enum Happened {
    /// Which of the blocks of staging memory were taken. Without all of them wanted as a whole, none was.
    Staged(Vec<bool>),
    /// The checksums of the parts, in the order in which they were wanted.
    Summed(Vec<u64>),
    /// The call was answered, or failed.
    Answered(Result<Response, RpcFailure>),
    /// The transfer ended, or was given up.
    Moved(Result<(), MoveFailure>),
    /// All transfers of a batch ended or were given up, in the order in which they were wanted.
    MovedAll(Vec<Moved>),
    /// The time to wait is over.
    Waited,
}

/// A state machine of the client.
pub trait Operation {
    /// The first want. `now` are the client's own clocks.
    fn begin(&mut self, now: Clocks) -> Want;

    /// The next want, after what happened.
    fn next(&mut self, now: Clocks, happened: Happened) -> Want;

    /// Descriptors that this operation was given for writing, in the master's order: of a put, an upsert, a copy or a move.
    fn granted(&self) -> &[ReplicaDescriptor] {
        &[]
    }

    /// The attempts to write that this operation was granted: each key with its replicas.
    fn attempts(&self) -> Vec<(String, Vec<moonquake_protocol::ReplicaDescriptor>)> {
        Vec::new()
    }

    /// Where in the operation's buffer the bytes of each entry of a batch read, or of each range, lie. None for one that
    /// brought none.
    fn places(&self) -> Vec<Option<BufferPlace>> {
        Vec::new()
    }

    /// How many pings in a row have failed, after a round of the heartbeat.
    fn failed_pings(&self) -> u32 {
        0
    }

    /// A segment that this call has mounted (`true`), or unmounted at once or with grace (`false`): the list that the client
    /// remounts follows it.
    fn mounted(&self) -> Option<(moonquake_protocol::Uuid, bool)> {
        None
    }

    /// The task that this operation created, to be named by later steps.
    fn task(&self) -> Option<moonquake_protocol::Uuid> {
        None
    }

    /// Tasks that this operation has fetched, or given up for now, and that wait for a worker once it is over.
    fn tasks_left(&self) -> Vec<crate::QueuedTask> {
        Vec::new()
    }

    /// A get session that this operation opened, to be kept for later reads.
    fn opened(&self) -> Option<crate::GetSession> {
        None
    }
}
