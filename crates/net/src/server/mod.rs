//! The Rust master as a server for every client of the pinned release.
//!
//! One thread does everything: it waits for all connections at once, reads, lets the master answer, and writes. The master
//! answers in less time than handing a request to another thread and waking it would take. Nothing in it blocks but the
//! wait itself; a message that a failpoint holds is put aside until it may go on.

mod answer;
mod peer;
mod peers;
mod run;
mod timers;

use crate::runtime::NetError;
use moonquake_clock::{ClockSource, Thread};
use moonquake_master::Master;
use moonquake_protocol::Response;
use run::Server;
use std::fmt;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
    address: SocketAddr,
    thread: Option<(JoinHandle<()>, Receiver<()>)>,
}

/// What the thread of the server and its handle share.
struct Shared {
    state: Mutex<State>,
    /// Told when the server is thawed or dies.
    changed: Condvar,
    waker: Arc<mio::Waker>,
    clock: Arc<dyn ClockSource>,
}

/// The master, and whether it is served now. The thread of the server holds the lock while it handles what has arrived, so
/// that nothing is on its way when somebody else has it.
struct State {
    master: Master,
    /// An answer that was written; its memory serves for the next.
    spare: Response,
    frozen: bool,
    dead: bool,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Shared")
            .field("frozen", &state.frozen)
            .field("dead", &state.dead)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state when the server is not frozen; `None` when it is dead.
    fn awake(&self) -> Option<MutexGuard<'_, State>> {
        let stands = |state: &mut State| state.frozen && !state.dead;
        let state = self
            .changed
            .wait_while(self.state(), stands)
            .unwrap_or_else(PoisonError::into_inner);
        (!state.dead).then_some(state)
    }

    fn kill(&self) {
        self.state().dead = true;
        self.changed.notify_all();
        if let Err(error) = self.waker.wake() {
            tracing::warn!("waking the master to stop it: {error}");
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
    let socket = run::Socket::open(bind).map_err(failed)?;
    let address = socket.address().map_err(failed)?;
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            master,
            spare: answer::NO_ANSWER,
            frozen: false,
            dead: false,
        }),
        changed: Condvar::new(),
        waker: socket.waker(),
        clock,
    });
    let server = Server::new(socket, shared.clone(), rounds);
    // What the thread says in the log belongs to whoever started it.
    let span = tracing::Span::current();
    let (ending, ended) = channel();
    let thread = std::thread::Builder::new()
        .name("moonquake-serve".to_owned())
        .spawn(move || {
            // Dropped when everything of the server is gone, however that came.
            let _ending = ending;
            let _span = span.enter();
            server.run();
        })
        .map_err(failed)?;
    tracing::info!(%address, "master listening");
    Ok(ServerHandle {
        shared,
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
        self.shared.state().master.tick(self.shared.clock.now(), thread);
    }

    /// Looks into the master, or does something with it, between two requests.
    pub fn with_master<T>(&self, work: impl FnOnce(&mut Master) -> T) -> T {
        work(&mut self.shared.state().master)
    }

    /// From now on no request is read, handled or answered; what is sent waits.
    pub fn freeze(&self) {
        self.shared.state().frozen = true;
    }

    /// Lets the server go on.
    pub fn unfreeze(&self) {
        self.shared.state().frozen = false;
        self.shared.changed.notify_all();
    }

    /// Stops the server: the listener and all connections are closed when this returns, also while it is frozen.
    ///
    /// # Errors
    /// When it does not end in real time, or has ended before by a defect of ours.
    pub fn stop(&mut self) -> Result<(), NetError> {
        let Some((thread, ended)) = self.thread.take() else {
            return Ok(());
        };
        self.shared.kill();
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
