//! The Rust master as a server for every client of the pinned release.

use crate::failpoints::{Effect, pass, phase_of};
use crate::freeze::Life;
use crate::runtime::{Net, NetError};
use crate::stream::{FrameStream, StreamEnd};
use moonquake_clock::{ClockSource, Thread};
use moonquake_faults::Moment;
use moonquake_master::{Master, refuse};
use moonquake_protocol::fingerprint::{Seen, releases_of};
use moonquake_protocol::frame::{
    Frame, RequestError, RequestHeader, decode_request, encode_error, encode_response,
};
use moonquake_protocol::struct_pack::peek_type_hash;
use moonquake_protocol::{Literal, Request};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

/// When the background threads of the master do their rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// By themselves, each with the real thread's period: for a clock that runs.
    ByTimer,
    /// At [`ServerHandle::tick`] only: for a clock that is stepped.
    ByCommand,
}

/// A master that is being served. Dropping it stops the server.
#[derive(Debug)]
pub struct ServerHandle {
    net: Net,
    shared: Arc<Shared>,
    address: SocketAddr,
    tasks: Vec<JoinHandle<()>>,
}

struct Shared {
    life: Life,
    clock: Arc<dyn ClockSource>,
    master: Mutex<Master>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn master(&self) -> MutexGuard<'_, Master> {
        self.master.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self, thread: Thread) {
        let mut master = self.master();
        master.tick(self.clock.now(), thread);
    }
}

/// Serves a master at `bind`; port 0 takes a free one.
///
/// # Errors
/// When nobody can listen there.
pub fn serve(
    net: &Net,
    master: Master,
    clock: Arc<dyn ClockSource>,
    bind: SocketAddr,
    rounds: Rounds,
) -> Result<ServerHandle, NetError> {
    let what = format!("serving the master at {bind}");
    let listener = net
        .step(&what, TcpListener::bind(bind))?
        .map_err(|error| NetError::io(&what, error))?;
    let address = listener
        .local_addr()
        .map_err(|error| NetError::io(&what, error))?;
    let shared = Arc::new(Shared {
        life: Life::default(),
        clock,
        master: Mutex::new(master),
    });
    let for_connections = shared.clone();
    let accept = shared
        .life
        .clone()
        .accept("master".to_owned(), listener, move |stream| {
            answer_all(for_connections.clone(), stream)
        });
    let mut tasks = vec![net.spawn(accept)];
    if rounds == Rounds::ByTimer {
        tasks.extend(Thread::ALL.map(|thread| net.spawn(run_thread(shared.clone(), thread))));
    }
    tracing::info!(%address, "master listening");
    Ok(ServerHandle {
        net: net.clone(),
        shared,
        address,
        tasks,
    })
}

impl ServerHandle {
    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// One round of a background thread, now.
    pub fn tick(&self, thread: Thread) {
        self.shared.tick(thread);
    }

    /// Looks into the master, or does something with it, between two requests.
    pub fn with_master<T>(&self, work: impl FnOnce(&mut Master) -> T) -> T {
        work(&mut self.shared.master())
    }

    /// From now on no request is read, handled or answered; what is sent waits.
    pub fn freeze(&self) {
        self.shared.life.freeze.set(true);
    }

    /// Lets the server go on.
    pub fn unfreeze(&self) {
        self.shared.life.freeze.set(false);
    }

    /// Stops the server: the listener and all connections are closed when this returns, also while it is frozen.
    ///
    /// # Errors
    /// When a task does not end in real time.
    pub fn stop(&mut self) -> Result<(), NetError> {
        self.shared.life.kill();
        for task in std::mem::take(&mut self.tasks) {
            // A task that panicked has ended as well, but somebody should hear of it.
            if let Err(error) = self.net.step("stopping the master", task)? {
                tracing::warn!("stopping the master: {error}");
            }
        }
        Ok(())
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.shared.life.kill();
    }
}

/// A background thread: rounds with its period. The period is real time, what a round does is decided by the clock.
async fn run_thread(shared: Arc<Shared>, thread: Thread) {
    let mut interval = tokio::time::interval(Duration::from_nanos(thread.period().ns));
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = shared.life.killed() => return,
            _ = interval.tick() => {}
        }
        shared.life.freeze.thawed().await;
        shared.tick(thread);
    }
}

/// Answers one connection's requests one after the other, until either side ends it.
async fn answer_all(shared: Arc<Shared>, stream: TcpStream) {
    let peer = stream
        .peer_addr()
        .map_or_else(|_| "?".to_owned(), |peer| peer.to_string());
    let mut stream = FrameStream::new(stream);
    let end = tokio::select! {
        biased;
        () = shared.life.killed() => return,
        end = answer_until_end(&shared, &mut stream, &peer) => end,
    };
    match end {
        Some(StreamEnd::Frame(error)) => tracing::warn!(peer, "connection closed: {error}"),
        Some(StreamEnd::Closed { pending_bytes: 0 }) => {}
        Some(end) => tracing::debug!(peer, "{end}"),
        None => tracing::warn!(peer, "connection cut by a failpoint"),
    }
}

/// `None`: a failpoint cut the connection.
async fn answer_until_end(
    shared: &Shared,
    stream: &mut FrameStream<RequestHeader>,
    peer: &str,
) -> Option<StreamEnd> {
    loop {
        shared.life.freeze.thawed().await;
        let frame = match stream.next().await {
            Ok(frame) => frame,
            Err(end) => return Some(end),
        };
        shared.life.freeze.thawed().await;
        let sequence = frame.header.sequence;
        let answer = match decode_request(&frame.header, &frame.body) {
            Ok(request) => match answer(shared, sequence, &request).await {
                Verdict::Send(answer) => answer,
                Verdict::Nothing => continue,
                Verdict::Cut => return None,
            },
            Err(error) => {
                log_refusal(&frame, &error, peer);
                encode_error(sequence, &error.rpc_error(), Literal::With)
            }
        };
        shared.life.freeze.thawed().await;
        if let Err(error) = stream.write(&answer).await {
            return Some(error.into());
        }
    }
}

/// What goes back to the client.
enum Verdict {
    Send(Vec<u8>),
    Nothing,
    Cut,
}

/// Handles a request, with the phases of its way there and back. As the real one, the answer carries the type literal.
async fn answer(shared: &Shared, sequence: u32, request: &Request) -> Verdict {
    let rpc = request.rpc();
    let encode = |response| Verdict::Send(encode_response(sequence, &response, Literal::With));
    match pass(phase_of(rpc, Moment::Sent)).await {
        Effect::Go => {}
        Effect::Answer(code) => return encode(refuse(request, code)),
        Effect::Drop => return Verdict::Nothing,
        Effect::Cut => return Verdict::Cut,
    }
    let response = {
        let mut master = shared.master();
        let response = master.handle(shared.clock.now(), request, &[]);
        master.settle_cleanup();
        response
    };
    match pass(phase_of(rpc, Moment::Response)).await {
        Effect::Go => encode(response),
        Effect::Answer(code) => encode(refuse(request, code)),
        Effect::Drop => Verdict::Nothing,
        Effect::Cut => Verdict::Cut,
    }
}

/// A peer of another release gives itself away by the hashes of its requests.
fn log_refusal(frame: &Frame<RequestHeader>, error: &RequestError, peer: &str) {
    let releases = match (error, peek_type_hash(&frame.body)) {
        (RequestError::InvalidArguments { rpc, .. }, Some(hash))
            if rpc.request_type().is_some_and(|ours| ours.hash() != hash) =>
        {
            releases_of(&[Seen::Request(*rpc, hash)])
        }
        _ => Vec::new(),
    };
    if releases.is_empty() {
        tracing::warn!(peer, "request refused: {error}");
    } else {
        let names: Vec<&str> = releases.iter().map(|release| release.name).collect();
        tracing::warn!(
            peer,
            "request refused: {error}; the peer is of release {}",
            names.join(" or ")
        );
    }
}
