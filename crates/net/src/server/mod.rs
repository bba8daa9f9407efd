//! The Rust master as a server for every client of the pinned release.
//!
//! A thread for each connection, with blocking calls: a request costs one read and one write and wakes nobody but its
//! client. Another thread accepts connections and lets the master's background threads have their rounds. A request has the
//! master for itself while it is handled; nobody has it while something is read or written.

mod acceptor;
mod answer;
mod input;
mod near;
mod peer;
mod seats;
mod standing;
mod timers;

use crate::runtime::NetError;
use acceptor::{Acceptor, Socket};
use input::Room;
use moonquake_clock::{ClockSource, Thread};
use moonquake_master::Master;
use moonquake_protocol::{Request, Response};
use seats::Seats;
use standing::{Over, Standing};
use std::fmt;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest that stopping may take, of real time: a round of a background thread with a million objects ends before.
const STOP_LIMIT: Duration = Duration::from_secs(10);

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
    shared: Arc<Shared>,
    waker: Arc<mio::Waker>,
    address: SocketAddr,
    thread: Option<(JoinHandle<()>, Receiver<()>)>,
}

/// What the threads of the server and its handle share.
struct Shared {
    master: Mutex<Master>,
    clock: Arc<dyn ClockSource>,
    standing: Standing,
    seats: Seats,
    /// For requests that are longer than others.
    room: Room,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("standing", &self.standing)
            .finish_non_exhaustive()
    }
}

/// The lock, also after a panic of somebody who had it: a defect costs one connection, not the server.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Lets the master handle a request.
    fn handle(&self, request: &Request, response: &mut Response) {
        let mut master = lock(&self.master);
        // Under the lock, so that the master never sees time go back.
        let now = self.clock.now();
        master.handle_into(now, request, &[], response);
        master.settle_cleanup();
    }

    fn tick(&self, thread: Thread) {
        let mut master = lock(&self.master);
        master.tick(self.clock.now(), thread);
    }

    /// The same when the server is not frozen, and stays so until it is over: who freezes it waits for the lock.
    fn tick_unless_frozen(&self, thread: Thread) -> Result<(), Over> {
        loop {
            let mut master = lock(&self.master);
            if !self.standing.is_special() {
                master.tick(self.clock.now(), thread);
                return Ok(());
            }
            drop(master);
            self.standing.wait()?;
        }
    }
}

/// Serves a master at `bind`; port 0 takes a free one.
///
/// # Errors
/// When nobody can listen there.
pub fn serve(
    master: Master,
    clock: Arc<dyn ClockSource>,
    bind: SocketAddr,
    rounds: Rounds,
) -> Result<ServerHandle, NetError> {
    let failed = |source| NetError::io(format!("serving the master at {bind}"), source);
    let socket = Socket::open(bind).map_err(failed)?;
    let (address, waker) = (socket.address().map_err(failed)?, socket.waker());
    let shared = Arc::new(Shared {
        master: Mutex::new(master),
        clock,
        standing: Standing::default(),
        seats: Seats::default(),
        room: Room::default(),
    });
    // Every thread of the server has one end until it is over, however that comes.
    let (ending, ended) = channel();
    let acceptor = Acceptor::new(socket, shared.clone(), rounds, ending);
    // What the thread says in the log belongs to whoever started it.
    let span = tracing::Span::current();
    let thread = std::thread::Builder::new()
        .name("moonquake-serve".to_owned())
        .spawn(move || span.in_scope(|| acceptor.run()))
        .map_err(failed)?;
    tracing::info!(%address, "master listening");
    Ok(ServerHandle {
        shared,
        waker,
        address,
        thread: Some((thread, ended)),
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
        work(&mut lock(&self.shared.master))
    }

    /// From now on no request is handled or answered; what is sent waits, as it does for a stopped process.
    pub fn freeze(&self) {
        self.shared.standing.freeze();
        // Whoever has begun ends first.
        drop(lock(&self.shared.master));
        self.shared.seats.wait_for_turns();
    }

    /// Lets the server go on.
    pub fn unfreeze(&self) {
        self.shared.standing.unfreeze();
    }

    /// Stops the server: the listener and all connections are closed when this returns, also while it is frozen.
    ///
    /// # Errors
    /// When it does not end in real time, or has ended before by a defect of ours.
    pub fn stop(&mut self) -> Result<(), NetError> {
        let Some((thread, ended)) = self.thread.take() else {
            return Ok(());
        };
        self.shared.standing.end();
        self.shared.seats.close();
        if let Err(error) = self.waker.wake() {
            tracing::warn!("waking the master to stop it: {error}");
        }
        if ended.recv_timeout(STOP_LIMIT) == Err(RecvTimeoutError::Timeout) {
            return Err(NetError::Limit {
                what: "stopping the master".to_owned(),
                limit: STOP_LIMIT,
            });
        }
        thread.join().map_err(|_| {
            let panicked = std::io::Error::other("its thread has panicked");
            NetError::io("serving the master", panicked)
        })
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            tracing::warn!("{error}");
        }
    }
}
