//! The thread of the server: waits, and gives everybody with something to do a turn.

use super::peers::Peers;
use super::timers::Timers;
use super::{Rounds, Shared, State};
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// The listener. Connections have the tokens from 0 on.
const LISTENER: Token = Token(usize::MAX);
/// Whoever wakes the thread: a stop, or a pause that is released.
const WAKER: Token = Token(usize::MAX - 1);
/// How many events are taken at once.
const EVENTS: usize = 256;

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
pub(super) struct Server {
    socket: Socket,
    shared: Arc<Shared>,
    peers: Peers,
    timers: Timers,
}

impl Server {
    pub(super) fn new(socket: Socket, shared: Arc<Shared>, rounds: Rounds) -> Server {
        let peers = Peers::new(socket.waker());
        Server {
            socket,
            shared,
            peers,
            timers: Timers::new(rounds),
        }
    }

    /// Serves until somebody stops it.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        let shared = self.shared.clone();
        loop {
            if let Err(error) = self.wait(&mut events) {
                tracing::error!("the master cannot wait for its connections and stops: {error}");
                return;
            }
            let Some(mut state) = shared.awake() else {
                return;
            };
            self.turn(&events, &mut state);
        }
    }

    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let timeout = self.timers.timeout(self.peers.due());
        match self.socket.poll.poll(events, timeout) {
            // A signal; whoever has to do with it looks after it.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            result => result,
        }
    }

    /// Does what has become possible.
    fn turn(&mut self, events: &Events, state: &mut State) {
        let mut accept = self.timers.accepts_again();
        for event in events {
            match event.token() {
                LISTENER => accept = true,
                WAKER => {}
                Token(peer) => self.peers.turn(peer, event.is_read_closed(), state, &self.shared),
            }
        }
        self.peers.turn_of_waiting(state, &self.shared);
        if accept {
            self.accept();
        }
        for thread in self.timers.rounds_due() {
            state.master.tick(self.shared.clock.now(), thread);
        }
    }

    /// Takes everybody who has come.
    fn accept(&mut self) {
        loop {
            match self.socket.listener.accept() {
                Ok((stream, address)) => self.peers.add(self.socket.poll.registry(), stream, address),
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
}
