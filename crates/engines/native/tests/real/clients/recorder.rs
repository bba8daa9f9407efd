//! A plain proxy between clients and a master that writes down what was asked and answered. It passes on every byte at once and
//! changes none.

use moonquake_protocol::frame::{
    FrameDecoder, RequestHeader, ResponseHeader, decode_request, decode_response,
};
use moonquake_protocol::{Request, Response, Rpc};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Long enough that only a defect reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) rpc: Rpc,
    pub(crate) request: Request,
    pub(crate) response: Response,
}

#[derive(Default)]
struct Book {
    exchanges: Vec<Exchange>,
    connections: Vec<TcpStream>,
    ended: bool,
}

struct Shared {
    master: Mutex<SocketAddr>,
    book: Mutex<Book>,
    grown: Condvar,
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("nobody panics with it")
    }
}

pub(crate) struct Recorder {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

impl Recorder {
    pub(crate) fn before(master: SocketAddr) -> Recorder {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            master: Mutex::new(master),
            book: Mutex::default(),
            grown: Condvar::new(),
        });
        let theirs = shared.clone();
        let acceptor = std::thread::spawn(move || accept(&listener, &theirs));
        Recorder {
            shared,
            address,
            acceptor: Some(acceptor),
        }
    }

    /// Where clients find it.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections from now on lead there; those that are open end. Says how many of clients there were.
    pub(crate) fn redirect(&self, master: SocketAddr) -> usize {
        *self.shared.master.lock().expect("nobody panics with it") = master;
        let connections = std::mem::take(&mut self.shared.book().connections);
        for connection in &connections {
            let _ = connection.shutdown(Shutdown::Both);
        }
        // One to the client and one to the master each.
        connections.len() / 2
    }

    /// All so far, in the order of the answers.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.shared.book().exchanges.clone()
    }

    /// Waits for an answer of that kind, which may have been written down already, behind the first `seen` answers. Says how many
    /// there are then.
    pub(crate) fn until(&self, seen: usize, rpc: Rpc) -> usize {
        let end = Instant::now() + PATIENCE;
        let mut book = self.shared.book();
        while !book.exchanges[seen..].iter().any(|exchange| exchange.rpc == rpc) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it never came: {:?}", book.exchanges);
            book = self.shared.grown.wait_timeout(book, left).expect("no panic").0;
        }
        book.exchanges.len()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.book().ended = true;
        for connection in self.shared.book().connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().expect("it does not panic");
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let Ok((client, _)) = listener.accept() else {
            return;
        };
        let mut book = shared.book();
        if book.ended {
            return;
        }
        let master = *shared.master.lock().expect("nobody panics with it");
        // A master that is down refuses; the client's connection ends as well, and it tries again.
        let Ok(server) = TcpStream::connect(master) else {
            continue;
        };
        let copy = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
        book.connections.extend([copy(&client), copy(&server)]);
        drop(book);
        let asked = Arc::new(Mutex::new(VecDeque::new()));
        let (from, to, questions) = (copy(&client), copy(&server), asked.clone());
        std::thread::spawn(move || requests(from, to, &questions));
        let shared = shared.clone();
        std::thread::spawn(move || responses(server, client, &asked, &shared));
    }
}

type Asked = Mutex<VecDeque<(Rpc, Request)>>;

/// A request is noted before it is passed on, so that its answer finds it.
fn requests(mut from: TcpStream, mut to: TcpStream, asked: &Asked) {
    let mut frames = FrameDecoder::<RequestHeader>::new();
    let mut part = [0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut part) {
        frames.feed(&part[..length]);
        while let Some(frame) = frames.next_frame().expect("a frame") {
            let rpc = frame.header.rpc().expect("a method of the master");
            let request = decode_request(&frame.header, &frame.body).expect("a request");
            asked.lock().expect("no panic").push_back((rpc, request));
        }
        if to.write_all(&part[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// An answer is written down before it is passed on: whoever has it finds it in the book.
fn responses(mut from: TcpStream, mut to: TcpStream, asked: &Asked, shared: &Shared) {
    let mut frames = FrameDecoder::<ResponseHeader>::new();
    let mut part = [0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut part) {
        frames.feed(&part[..length]);
        while let Some(frame) = frames.next_frame().expect("a frame") {
            let (rpc, request) = asked.lock().expect("no panic").pop_front().expect("a request");
            let response = decode_response(rpc, &frame.header, &frame.body).expect("a response");
            let response = response.unwrap_or_else(|error| panic!("{rpc:?}: {error:?}"));
            shared.book().exchanges.push(Exchange {
                rpc,
                request,
                response,
            });
            shared.grown.notify_all();
        }
        if to.write_all(&part[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
