//! A plain client over tokio: calls with a time-out, and the client machine driven over real sockets.
//!
//! Every phase of the catalogue is passed through the failpoints. Where a client and a server of ours share a process,
//! both would pass the phases of a message; one of them should be told not to.

use crate::datapath::transfer::{self, Transfer, TransferError, TransferRequest};
use crate::failpoints::{Effect, pass, phase_of};
use crate::failure::{Answer, RpcFailure, read_answer};
use crate::runtime::Net;
use crate::stream::{FrameStream, StreamEnd};
use moonquake_client::{
    self as machine, CallPhases, Happened, Move, MoveFailure, Moved, Operation, Outcome, Want,
};
use moonquake_clock::{ClockSource, Span};
use moonquake_faults::{Moment, PhaseId};
use moonquake_master::refuse;
use moonquake_protocol::datapath::{DataOperation, DataVersion};
use moonquake_protocol::frame::{ResponseHeader, encode_request};
use moonquake_protocol::{ErrorCode, Literal, Request, checksum};
use std::collections::VecDeque;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Upstream's default of `MC_RPC_TIMEOUT_MS`, in real time.
pub const RPC_TIMEOUT: Duration = Duration::from_secs(30);

/// Calls a master over one connection, made when it is needed and given up after any failure. No call is repeated.
#[derive(Debug)]
pub struct RpcClient {
    master: SocketAddr,
    timeout: Duration,
    failpoints: bool,
    connection: Option<FrameStream<ResponseHeader>>,
    next_sequence: u32,
}

impl RpcClient {
    /// A client of the master at that address.
    pub fn new(master: SocketAddr) -> RpcClient {
        RpcClient {
            master,
            timeout: RPC_TIMEOUT,
            failpoints: true,
            connection: None,
            next_sequence: 0,
        }
    }

    /// With another time-out of a call, the connecting included.
    pub fn with_timeout(self, timeout: Duration) -> RpcClient {
        RpcClient { timeout, ..self }
    }

    /// Passes no failpoints: the server in the same process does.
    pub fn without_failpoints(self) -> RpcClient {
        RpcClient {
            failpoints: false,
            ..self
        }
    }

    /// Calls. The phases are those that the catalogue has for the method.
    ///
    /// # Errors
    /// [`RpcFailure`] when there is no answer of the function; its `code` is what upstream reports.
    pub async fn call(&mut self, request: &Request) -> Answer {
        let phase = |moment| phase_of(request.rpc(), moment);
        let phases = CallPhases {
            before: phase(Moment::Before),
            sent: phase(Moment::Sent),
            response: phase(Moment::Response),
        };
        self.call_in(request, phases).await
    }

    /// Calls with the phases of the operation that the call belongs to.
    ///
    /// # Errors
    /// [`RpcFailure`], as [`RpcClient::call`].
    pub async fn call_in(&mut self, request: &Request, phases: CallPhases) -> Answer {
        let phases = if self.failpoints {
            phases
        } else {
            CallPhases::default()
        };
        let limit = self.timeout;
        let answer = match pass(phases.before).await {
            Effect::Go => match tokio::time::timeout(limit, self.exchange(request, phases)).await {
                Ok(answer) => answer,
                Err(_) => Err(RpcFailure::TimedOut { limit }),
            },
            Effect::Answer(code) => answered(request, code),
            Effect::Drop => {
                // Nothing was sent, so nothing can be awaited: a lost request costs its whole time limit.
                tokio::time::sleep(limit).await;
                Err(RpcFailure::TimedOut { limit })
            }
            Effect::Cut => Err(cut()),
        };
        if answer.is_err() {
            self.connection = None;
        }
        answer
    }

    async fn exchange(&mut self, request: &Request, phases: CallPhases) -> Answer {
        match pass(phases.sent).await {
            Effect::Go => {}
            Effect::Answer(code) => return answered(request, code),
            Effect::Drop => return pending().await,
            Effect::Cut => return Err(cut()),
        }
        let (stream, sequence) = self.connection().await?;
        let frame = async {
            stream
                .write(&encode_request(sequence, request, Literal::With))
                .await?;
            stream.next().await
        };
        let frame = frame.await.map_err(|end: StreamEnd| RpcFailure::end(&end))?;
        match pass(phases.response).await {
            Effect::Go => read_answer(request.rpc(), sequence, &frame),
            Effect::Answer(code) => answered(request, code),
            Effect::Drop => pending().await,
            Effect::Cut => Err(cut()),
        }
    }

    /// The connection and the next sequence number on it; numbers begin at 0 on each, as the real client's do.
    async fn connection(&mut self) -> Result<(&mut FrameStream<ResponseHeader>, u32), RpcFailure> {
        if self.connection.is_none() {
            let stream = FrameStream::connect(self.master).await;
            let refused = |error| RpcFailure::Connect {
                why: format!("{}: {error}", self.master),
            };
            self.connection = Some(stream.map_err(refused)?);
            self.next_sequence = 0;
        }
        let sequence = self.next_sequence;
        self.next_sequence = sequence.wrapping_add(1);
        match &mut self.connection {
            Some(stream) => Ok((stream, sequence)),
            None => Err(cut()),
        }
    }
}

/// A failpoint answers with a code: as the store would, or as a call that failed for the two codes that say so.
fn answered(request: &Request, code: ErrorCode) -> Answer {
    match code {
        ErrorCode::RpcFail | ErrorCode::RpcTimeout => Err(RpcFailure::Failpoint { code }),
        code => Ok(refuse(request, code)),
    }
}

fn cut() -> RpcFailure {
    RpcFailure::Closed {
        why: "cut by a failpoint".to_owned(),
    }
}

/// Which of the blocks lie in a buffer, one behind the other.
fn blocks_in(buffer: usize, blocks: &[u64], all: bool) -> Vec<bool> {
    let mut left = buffer as u64;
    let fits = |size: &u64| {
        let rest = left.checked_sub(*size);
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let fitting: Vec<bool> = blocks.iter().map(fits).collect();
    if all && fitting.contains(&false) {
        vec![false; blocks.len()]
    } else {
        fitting
    }
}

/// Drives operations of the client machine over real sockets. Unlike upstream's, no transfer outlives its operation.
pub struct Driver {
    net: Net,
    rpc: RpcClient,
    clock: Arc<dyn ClockSource>,
    /// Size of a part of the payload.
    part_bytes: usize,
    /// How long a transfer may take in real time.
    transfer_limit: Duration,
    /// How long a part may take in real time.
    progress_limit: Duration,
}

impl Driver {
    /// With upstream's limits: 60 s a transfer, 30 s without progress, parts of 64 KiB.
    pub fn new(net: &Net, rpc: RpcClient, clock: Arc<dyn ClockSource>) -> Driver {
        Driver {
            net: net.clone(),
            rpc,
            clock,
            part_bytes: 64 << 10,
            transfer_limit: Duration::from_secs(60),
            progress_limit: Duration::from_secs(30),
        }
    }

    /// With parts of that many bytes, at least one.
    pub fn with_part_bytes(self, part_bytes: usize) -> Driver {
        Driver {
            part_bytes: part_bytes.max(1),
            ..self
        }
    }

    /// The client below.
    pub fn rpc(&mut self) -> &mut RpcClient {
        &mut self.rpc
    }

    /// Runs an operation to its end. `buffer` is the caller's: the payload of a write, the target of a read.
    pub async fn run(&mut self, operation: &mut dyn Operation, buffer: &mut [u8]) -> Outcome {
        let mut want = operation.begin(self.clock.now());
        let mut sequence = Sequence::default();
        loop {
            let happened = match want {
                Want::Done(outcome) => return outcome,
                // Nothing runs any more: a transfer that failed was closed.
                Want::FenceThen(then) => {
                    want = *then;
                    continue;
                }
                // The caller's buffer is what there is.
                Want::Stage { blocks, all } => Happened::Staged(blocks_in(buffer.len(), &blocks, all)),
                Want::Sum(parts) => {
                    Happened::Summed(parts.iter().map(|part| sum_of(buffer, *part)).collect())
                }
                Want::Wait(length) => {
                    tokio::time::sleep(Duration::from_nanos(length.ns)).await;
                    Happened::Waited
                }
                Want::Call(call) => {
                    let answer = self.rpc.call_in(&call.request, call.phases).await;
                    Happened::Answered(answer.map_err(|failure| match failure.code() {
                        ErrorCode::RpcTimeout => machine::RpcFailure::Timeout,
                        _ => machine::RpcFailure::Failed,
                    }))
                }
                Want::Move(wanted) => Happened::Moved(self.move_all(&wanted, buffer).await),
                // One after the other: the buffer is one, and which of them is first is nobody's business.
                Want::Moves(wanted) => {
                    let mut all = Vec::with_capacity(wanted.len());
                    for wanted in &wanted {
                        let result = self.move_all(wanted, buffer).await;
                        let at = self.clock.now();
                        all.push(Moved { result, at });
                    }
                    Happened::MovedAll(all)
                }
                Want::Sequence { moves, look_after } => {
                    sequence = Sequence::of(moves);
                    self.go_on_with(&mut sequence, look_after, buffer).await
                }
                Want::Await(look_after) => self.go_on_with(&mut sequence, look_after, buffer).await,
            };
            want = operation.next(self.clock.now(), happened);
        }
    }

    /// Moves what is left of a sequence. Between two transfers of it the operation is told when its time is over.
    async fn go_on_with(
        &self,
        sequence: &mut Sequence,
        look_after: Option<Span>,
        buffer: &mut [u8],
    ) -> Happened {
        let until = look_after.map(|length| tokio::time::Instant::now() + Duration::from_nanos(length.ns));
        while let Some(wanted) = sequence.left.pop_front() {
            let result = self.move_all(&wanted, buffer).await;
            let at = self.clock.now();
            sequence.over.push(Moved { result, at });
            let is_over = until.is_some_and(|until| tokio::time::Instant::now() >= until);
            if is_over && !sequence.left.is_empty() {
                return Happened::Waited;
            }
        }
        Happened::MovedAll(std::mem::take(&mut sequence.over))
    }

    async fn move_all(&self, wanted: &Move, buffer: &mut [u8]) -> Result<(), MoveFailure> {
        let parts = self.move_parts(wanted, buffer);
        let moved = if wanted.limited {
            tokio::time::timeout(self.transfer_limit, parts).await
        } else {
            Ok(parts.await)
        };
        match moved {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => {
                tracing::warn!(
                    endpoint = wanted.replica.transport_endpoint,
                    "transfer failed: {why}"
                );
                Err(MoveFailure::Closed)
            }
            Err(_) => {
                tracing::warn!(
                    endpoint = wanted.replica.transport_endpoint,
                    "transfer closed at its limit"
                );
                Err(MoveFailure::Closed)
            }
        }
    }

    async fn move_parts(&self, wanted: &Move, buffer: &mut [u8]) -> Result<(), MoveError> {
        let replica = &wanted.replica;
        let from = usize::try_from(wanted.at).unwrap_or(usize::MAX);
        let length = usize::try_from(wanted.size).unwrap_or(usize::MAX);
        let place = from..from.saturating_add(length);
        let buffer = buffer.get_mut(place).ok_or(MoveError::Buffer {
            size_bytes: wanted.size,
        })?;
        let request = TransferRequest {
            endpoint: replica.transport_endpoint.clone(),
            operation: if wanted.write {
                DataOperation::Write
            } else {
                DataOperation::Read
            },
            address: replica.buffer_address.saturating_add(wanted.from),
            size_bytes: wanted.size,
            version: DataVersion::V2,
        };
        let mut transfer: Transfer = self.bounded(transfer::connect(&self.net, request)).await?;
        self.bounded(transfer.begin()).await?;
        for part in buffer.chunks_mut(self.part_bytes) {
            if wanted.write {
                self.bounded(transfer.push(part)).await?;
            } else {
                self.bounded(transfer.pull(part)).await?;
            }
            self.pass(wanted.part).await?;
        }
        self.bounded(transfer.settle()).await?;
        self.pass(wanted.done).await
    }

    /// A part of a transfer, which may not stand still for long.
    async fn bounded<T>(&self, part: impl Future<Output = Result<T, TransferError>>) -> Result<T, MoveError> {
        match tokio::time::timeout(self.progress_limit, part).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(MoveError::Stalled {
                limit: self.progress_limit,
            }),
        }
    }

    async fn pass(&self, phase: PhaseId) -> Result<(), MoveError> {
        match pass(self.rpc.failpoints.then_some(phase)).await {
            Effect::Go => Ok(()),
            _ => Err(MoveError::Failpoint { phase }),
        }
    }
}

/// The checksum of a part of a buffer; of nothing, where the buffer has no such bytes.
fn sum_of(buffer: &[u8], part: machine::BufferPart) -> u64 {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let bytes = buffer.get(place(part.at)..place(part.at.saturating_add(part.size)));
    checksum(bytes.unwrap_or_default())
}

/// Transfers one after the other: those that are left, and how the others ended.
#[derive(Default)]
struct Sequence {
    left: VecDeque<Move>,
    over: Vec<Moved>,
}

impl Sequence {
    fn of(moves: Vec<Move>) -> Sequence {
        Sequence {
            left: moves.into(),
            over: Vec::new(),
        }
    }
}

/// Why a transfer did not complete; for the log.
#[derive(Debug, thiserror::Error)]
enum MoveError {
    #[error(transparent)]
    Transfer(#[from] TransferError),
    #[error("not a byte moved within {limit:?}")]
    Stalled { limit: Duration },
    #[error("ended by a failpoint at {phase}")]
    Failpoint { phase: PhaseId },
    #[error("the transfer has {size_bytes} bytes, more than the caller's buffer")]
    Buffer { size_bytes: u64 },
}
