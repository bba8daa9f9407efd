//! Peers for the tests: a master that does as it is told, on threads of its own.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(
    clippy::disallowed_methods,
    reason = "a peer is a process of its own, so here it has a thread"
)]

pub(crate) mod foreign;
pub(crate) mod served;

use moonquake_protocol::frame::{
    FrameDecoder, RequestHeader, RpcError, decode_request, encode_error, encode_response,
};
use moonquake_protocol::{Literal, Request, Response, Uuid};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a scripted master does with a request.
pub(crate) enum Reply {
    /// Answers.
    Say(Response),
    /// Answers in pieces of one byte.
    Slowly(Response),
    /// Sends these bytes instead of an answer and leaves the connection open.
    Bytes(Vec<u8>),
    /// Sends these bytes and closes.
    BytesThenClose(Vec<u8>),
    /// Closes without a word.
    Close,
    /// Refuses in the RPC layer.
    Refuse(RpcError),
    /// Says nothing.
    Silence,
}

/// A master that answers every request by a function and remembers all of them.
pub(crate) struct ScriptedMaster {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<(usize, u32, Request)>>>,
}

impl ScriptedMaster {
    pub(crate) fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> ScriptedMaster {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (script, log) = (Arc::new(script), seen.clone());
        std::thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let (Ok(stream), script, log) = (stream, script.clone(), log.clone()) else {
                    return;
                };
                std::thread::spawn(move || serve(stream, connection, &*script, &log));
            }
        });
        ScriptedMaster { address, seen }
    }

    /// Requests so far: connection, sequence number, request.
    pub(crate) fn seen(&self) -> Vec<(usize, u32, Request)> {
        self.seen.lock().expect("no test thread panicked").clone()
    }
}

fn serve(
    mut stream: TcpStream,
    connection: usize,
    script: &(dyn Fn(&Request) -> Reply + Send + Sync),
    log: &Mutex<Vec<(usize, u32, Request)>>,
) {
    let mut decoder = FrameDecoder::<RequestHeader>::new();
    let mut buffer = [0; 4096];
    loop {
        while let Ok(Some(frame)) = decoder.next_frame() {
            let sequence = frame.header.sequence;
            let request = decode_request(&frame.header, &frame.body).expect("a request of this release");
            log.lock()
                .expect("no test thread panicked")
                .push((connection, sequence, request.clone()));
            let whole = |response: &Response| encode_response(sequence, response, Literal::With);
            let sent = match script(&request) {
                Reply::Say(response) => stream.write_all(&whole(&response)),
                Reply::Slowly(response) => stream.set_nodelay(true).and_then(|()| {
                    whole(&response)
                        .iter()
                        .try_for_each(|byte| stream.write_all(&[*byte]))
                }),
                Reply::Bytes(bytes) => stream.write_all(&bytes),
                Reply::BytesThenClose(bytes) => {
                    let _ = stream.write_all(&bytes);
                    return;
                }
                Reply::Close => return,
                Reply::Refuse(error) => stream.write_all(&encode_error(sequence, &error, Literal::With)),
                Reply::Silence => Ok(()),
            };
            if sent.is_err() {
                return;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => decoder.feed(&buffer[..count]),
        }
    }
}

/// A peer that runs `act` on its one connection.
pub(crate) fn peer(act: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        if let Ok((stream, _)) = listener.accept() {
            act(stream);
        }
    });
    address
}

/// An address where nobody listens. The port stays taken to the end of the test, so that nobody else comes to listen there.
pub(crate) fn nobody() -> SocketAddr {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket
        .bind((Ipv4Addr::LOCALHOST, 0).into())
        .expect("a loopback port");
    let address = socket.local_addr().expect("its address");
    std::mem::forget(socket);
    address
}

pub(crate) fn exist(key: &str) -> Request {
    Request::ExistKey {
        key: key.to_owned(),
        tenant_id: "default".to_owned(),
    }
}

pub(crate) fn ping(client: u64) -> Request {
    Request::Ping {
        client_id: Uuid::new(client, client),
    }
}
