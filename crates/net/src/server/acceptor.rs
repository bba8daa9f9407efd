//! The thread that accepts connections and lets the master's background threads have their rounds.

use super::peer::{Peer, answer_all};
use super::seats::Seat;
use super::timers::Timers;
use super::{Rounds, Shared};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;

const LISTENER: Token = Token(0);
/// Whoever stops the server.
const WAKER: Token = Token(1);
/// How many events are taken at once.
const EVENTS: usize = 4;

/// The listening socket and what the thread waits with.
pub(super) struct Socket {
    poll: Poll,
    listener: TcpListener,
    waker: Arc<Waker>,
}

impl Socket {
    pub(super) fn open(bind: SocketAddr) -> io::Result<Socket> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(bind)?;
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        Ok(Socket {
            poll,
            listener,
            waker,
        })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub(super) fn waker(&self) -> Arc<Waker> {
        self.waker.clone()
    }
}

/// Everything that the thread owns.
pub(super) struct Acceptor {
    socket: Socket,
    shared: Arc<Shared>,
    timers: Timers,
    /// Tells by its end that a thread is over; each has one.
    ending: Sender<()>,
}

impl Acceptor {
    pub(super) fn new(socket: Socket, shared: Arc<Shared>, rounds: Rounds, ending: Sender<()>) -> Acceptor {
        Acceptor {
            socket,
            shared,
            timers: Timers::new(rounds),
            ending,
        }
    }

    /// Accepts until somebody stops the server.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            if let Err(error) = self.wait(&mut events) {
                tracing::error!("the master cannot wait for connections and takes no more: {error}");
                return;
            }
            if self.shared.standing.wait().is_err() {
                return;
            }
            if self.timers.accepts_again() || events.iter().any(|event| event.token() == LISTENER) {
                self.accept();
            }
            for thread in self.timers.rounds_due() {
                if self.shared.tick_unless_frozen(thread).is_err() {
                    return;
                }
            }
        }
    }

    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        match self.socket.poll.poll(events, self.timers.timeout()) {
            // A signal; whoever has to do with it looks after it.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            result => result,
        }
    }

    /// Takes everybody who has come.
    fn accept(&mut self) {
        loop {
            match self.socket.listener.accept() {
                Ok((stream, address)) => {
                    if let Err(error) = self.seat(stream, address) {
                        tracing::warn!(peer = %address, "connection turned away: {error}");
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.timers.accepting_works();
                    return;
                }
                // Whoever has given up while waiting.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    if self.timers.accepting_failed() {
                        tracing::warn!("accepting failed, trying again and again: {error}");
                    }
                    return;
                }
            }
        }
    }

    /// Gives a connection its thread.
    fn seat(&self, stream: TcpStream, address: SocketAddr) -> io::Result<()> {
        let stream = std::net::TcpStream::from(stream);
        stream.set_nonblocking(false)?;
        // Frames are whole messages: waiting to fill a packet only delays them. A socket that cannot do it still works.
        let _ = stream.set_nodelay(true);
        let seat = Arc::new(Seat::new(stream));
        let (shared, ending) = (self.shared.clone(), self.ending.clone());
        let span = tracing::Span::current();
        std::thread::Builder::new()
            .name("moonquake-peer".to_owned())
            .spawn(move || span.in_scope(|| answer_one(ending, shared, seat, address)))?;
        Ok(())
    }
}

/// What the thread of a connection does. Arguments are dropped from the last to the first: that the thread is over is told
/// when its socket is closed.
#[allow(clippy::needless_pass_by_value, reason = "the thread owns them")]
fn answer_one(_ending: Sender<()>, shared: Arc<Shared>, seat: Arc<Seat>, address: SocketAddr) {
    let Some(number) = shared.seats.take(&seat, std::thread::current()) else {
        return;
    };
    answer_all(Peer::new(&shared, &seat, address));
    shared.seats.leave(number);
}
