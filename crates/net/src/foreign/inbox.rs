//! What has arrived from a foreign client, and the tasks that read it.

use super::probes::Probes;
use super::socket::{Wire, unread_bytes};
use super::wait::{Changes, poll_until};
use crate::freeze::{CONNECTIONS_MAX, Life};
use crate::runtime::NetError;
use crate::stream::{Raw, StreamEnd};
use moonquake_protocol::frame::{
    Frame, FrameDecoder, RequestHeader, RpcError, decode_request, encode_error, encode_request,
};
use moonquake_protocol::{Literal, Request};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

/// What is read at once.
const READ_BYTES: usize = 16 << 10;
/// A connection with so many requests without an answer is not read any more, so that what a client can make us hold is
/// bounded. The real client has one.
const UNANSWERED_MAX: usize = 64;
/// How long the listener rests after the system refused to accept.
const REST: Duration = Duration::from_millis(10);
/// How many connections may wait to be accepted.
const BACKLOG: u32 = 128;

/// A request that has no answer.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) connection: u64,
    pub(super) sequence: u32,
    pub(super) request: Request,
    pub(super) bytes: Vec<u8>,
    pub(super) lossless: bool,
    pub(super) taken: bool,
}

/// A connection that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) wire: Arc<Wire>,
    /// Set when we close it.
    pub(super) stop: watch::Sender<bool>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) open: BTreeMap<u64, Open>,
    pub(super) held: BTreeMap<u64, Held>,
    pub(super) problems: Vec<String>,
    /// Ends of the client's doing that nobody has asked for.
    pub(super) ends: usize,
    last_connection: u64,
    last_message: u64,
    /// Whether connections are refused, as by a host on which nobody listens.
    refuses: bool,
}

impl State {
    fn is_full(&self, connection: u64) -> bool {
        let of_it = self.held.values().filter(|held| held.connection == connection);
        of_it.count() >= UNANSWERED_MAX
    }
}

/// What the tasks of a link share with its calls.
#[derive(Debug)]
pub(super) struct Inbox {
    actor: String,
    address: SocketAddr,
    pub(super) changes: Changes,
    pub(super) life: Life,
    /// Whether it is to be reached.
    reachable: watch::Sender<bool>,
    probes: Probes,
    state: Mutex<State>,
}

/// Why a connection is not read any more.
enum End {
    Stream(StreamEnd),
    /// We close it.
    Ours,
}

impl Inbox {
    pub(super) fn new(actor: &str, address: SocketAddr) -> Inbox {
        Inbox {
            actor: actor.to_owned(),
            address,
            changes: Changes::new(),
            life: Life::default(),
            reachable: watch::Sender::new(true),
            probes: Probes::default(),
            state: Mutex::default(),
        }
    }

    pub(super) fn actor(&self) -> &str {
        &self.actor
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets connections in, or refuses them, and returns when that is so.
    pub(super) async fn set_reachable(&self, reachable: bool) {
        self.reachable.send_replace(reachable);
        let done = || (self.state().refuses != reachable).then_some(());
        self.changes.until(done).await;
    }

    /// Holds the port without listening, so that the system refuses whoever connects, until it is to be reached again.
    async fn refuse(&self) -> std::io::Result<TcpListener> {
        let held = TcpSocket::new_v4()?;
        held.set_reuseaddr(true)?;
        held.bind(self.address)?;
        self.state().refuses = true;
        self.changes.note();
        // An error means that the link has ended, which its owner sees as well.
        let mut reachable = self.reachable.subscribe();
        drop(reachable.wait_for(|reachable| *reachable).await);
        let listener = held.listen(BACKLOG)?;
        self.state().refuses = false;
        self.changes.note();
        Ok(listener)
    }

    /// Accepts until the link ends.
    pub(super) async fn accept(self: Arc<Self>, mut listener: TcpListener) {
        let mut reachable = self.reachable.subscribe();
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.life.killed() => return,
                () = async { drop(reachable.wait_for(|reachable| !*reachable).await) } => {
                    drop(listener);
                    let again = tokio::select! {
                        biased;
                        () = self.life.killed() => return,
                        again = self.refuse() => again,
                    };
                    match again {
                        Ok(again) => listener = again,
                        Err(error) => {
                            self.state().problems.push(format!("its port could not be held: {error}"));
                            return self.changes.note();
                        }
                    }
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.seat(stream, peer),
                Err(error) => {
                    tracing::warn!(actor = self.actor, "accepting failed: {error}");
                    // No event tells when the system has descriptors again.
                    tokio::time::sleep(REST).await;
                }
            }
            self.changes.note();
        }
    }

    fn seat(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        if self.probes.take(&peer) {
            return;
        }
        let mut state = self.state();
        if state.open.len() >= CONNECTIONS_MAX {
            let problem = format!("{peer} turned away: {CONNECTIONS_MAX} connections are open");
            return state.problems.push(problem);
        }
        state.last_connection += 1;
        let connection = state.last_connection;
        let wire = Arc::new(Wire::new(stream));
        let (stop, stopped) = watch::channel(false);
        let reading = self.clone().read(connection, wire.clone(), stopped);
        state.open.insert(connection, Open { wire, stop });
        tokio::spawn(reading);
    }

    async fn read(self: Arc<Self>, connection: u64, wire: Arc<Wire>, mut stopped: watch::Receiver<bool>) {
        let end = tokio::select! {
            biased;
            () = self.life.killed() => End::Ours,
            // An error means that the connection was let go of.
            _ = stopped.wait_for(|stopped| *stopped) => End::Ours,
            end = self.read_all(connection, &wire) => End::Stream(end),
        };
        drop(wire);
        self.leave(connection, end);
        self.changes.note();
    }

    /// Whoever finds the connection missing finds it closed and its end noted.
    fn leave(&self, connection: u64, end: End) {
        let mut state = self.state();
        state.open.remove(&connection);
        match end {
            End::Ours => {}
            End::Stream(StreamEnd::Frame(error)) => {
                let problem = format!("connection {connection} closed: {error}");
                tracing::warn!(actor = self.actor, "{problem}");
                state.problems.push(problem);
            }
            End::Stream(end) => {
                state.ends += 1;
                if !matches!(end, StreamEnd::Closed { pending_bytes: 0 } | StreamEnd::Io(_)) {
                    state.problems.push(format!("connection {connection}: {end}"));
                }
            }
        }
    }

    async fn read_all(&self, connection: u64, wire: &Wire) -> StreamEnd {
        let mut decoder = FrameDecoder::new();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            self.changes
                .until(|| (!self.state().is_full(connection)).then_some(()))
                .await;
            if let Err(error) = wire.stream.readable().await {
                return error.into();
            }
            let refusals = match self.pull(connection, wire, &mut decoder, &mut buffer) {
                Ok(refusals) => refusals,
                Err(end) => return end,
            };
            for bytes in refusals {
                if let Err(error) = wire.write_all(&bytes).await {
                    return error.into();
                }
            }
        }
    }

    /// Takes what lies in the kernel. All under one lock: what is not in the kernel any more can be found in the state.
    fn pull(
        &self,
        connection: u64,
        wire: &Wire,
        decoder: &mut FrameDecoder<RequestHeader>,
        buffer: &mut [u8],
    ) -> Result<Vec<Vec<u8>>, StreamEnd> {
        let mut state = self.state();
        match wire.stream.try_read(buffer) {
            Ok(0) => {
                let pending_bytes = decoder.pending_bytes();
                return Err(StreamEnd::Closed { pending_bytes });
            }
            Ok(count) => decoder.feed(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let mut refusals = Vec::new();
        while let Some(frame) = decoder.next_frame()? {
            if let Err(refusal) = hold(&mut state, connection, &frame) {
                refusals.push(encode_error(frame.header.sequence, &refusal, Literal::With));
            }
        }
        drop(state);
        self.changes.note();
        Ok(refusals)
    }

    /// Returns when all that the client had sent or begun before this call was accepted and read.
    pub(super) async fn settle(&self) -> Result<(), NetError> {
        if self.state().refuses {
            return Ok(());
        }
        self.probes.queue(self.address, &self.changes).await?;
        poll_until(|| {
            let state = self.state();
            let mut open = state.open.iter();
            let rests =
                |(id, open): (&u64, &Open)| state.is_full(*id) || unread_bytes(&open.wire.stream) == 0;
            open.all(rests).then_some(())
        })
        .await;
        Ok(())
    }

    /// Ends the connections and returns when they are closed.
    pub(super) async fn close(&self, connections: &[u64]) {
        for connection in connections {
            if let Some(open) = self.state().open.get(connection) {
                open.stop.send_replace(true);
            }
        }
        let is_closed = || {
            let state = self.state();
            connections.iter().all(|id| !state.open.contains_key(id))
        };
        self.changes.until(|| is_closed().then_some(())).await;
    }
}

/// Keeps a request, or says what the RPC layer answers instead.
fn hold(state: &mut State, connection: u64, frame: &Frame<RequestHeader>) -> Result<(), RpcError> {
    let sequence = frame.header.sequence;
    let request = decode_request(&frame.header, &frame.body).map_err(|error| {
        let problem = format!("connection {connection}, sequence number {sequence}: {error}");
        state.problems.push(problem);
        error.rpc_error()
    })?;
    let bytes = frame.raw();
    let lossless = encode_request(sequence, &request, Literal::With) == bytes;
    state.last_message += 1;
    let message = state.last_message;
    let taken = false;
    let held = Held {
        connection,
        sequence,
        request,
        bytes,
        lossless,
        taken,
    };
    state.held.insert(message, held);
    Ok(())
}
