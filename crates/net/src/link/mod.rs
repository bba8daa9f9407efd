//! A client's way to its master over real sockets, one step at a time.
//!
//! A [`Link`] is a client side and a *tap*, a proxy between the client and the master that parses every frame by
//! itself: what it writes down is the word of a second observer. Nothing moves between two calls, and each call
//! returns when its step is complete.

mod connection;
mod exchange;
mod frame_log;
mod meddle;

pub use frame_log::{Decoded, Leg, MessageId, TapFrame};

use crate::failure::{Answer, RpcFailure, read_answer};
use crate::runtime::{Net, NetError};
use crate::stream::Raw;
use connection::{Connection, Up, UpEnd};
use exchange::{Handled, Held, exchange};
use moonquake_protocol::frame::{decode_request, encode_request};
use moonquake_protocol::{Literal, Request};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::net::TcpListener;

/// What became of an answer on its last leg.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The client has it: the answer, or the failure that the client saw instead.
    Delivered(Answer),
    /// The client's connection is gone.
    Undeliverable,
}

/// Where a message is.
#[derive(Debug)]
enum Place {
    /// At the tap, on its way to the master.
    Request,
    /// At the tap, on its way back.
    Answer(Box<Handled>),
    /// Nowhere; the client still waits.
    Lost,
}

#[derive(Debug)]
struct Message {
    connection: u64,
    request: Request,
    sequence: u32,
    bytes: Vec<u8>,
    place: Place,
}

impl Message {
    fn held(&self) -> Held<'_> {
        Held {
            bytes: &self.bytes,
            rpc: self.request.rpc(),
            sequence: self.sequence,
        }
    }

    fn frame(
        &self,
        message: MessageId,
        leg: Leg,
        sequence: u32,
        bytes: Vec<u8>,
        decoded: Decoded,
    ) -> TapFrame {
        let rpc = Some(self.request.rpc());
        TapFrame {
            message: Some(message),
            connection: self.connection,
            leg,
            rpc,
            sequence,
            bytes,
            decoded,
        }
    }

    fn handled(&self, message: MessageId, leg: Leg, handled: &Handled) -> TapFrame {
        let bytes = handled.bytes.clone().unwrap_or_default();
        self.frame(
            message,
            leg,
            handled.sequence,
            bytes,
            Decoded::from(&handled.answer),
        )
    }

    /// A step of it without bytes.
    fn bare(&self, message: MessageId, leg: Leg) -> TapFrame {
        self.frame(message, leg, self.sequence, Vec::new(), Decoded::Nothing)
    }
}

/// The way of one client to the master.
#[derive(Debug)]
pub struct Link {
    net: Net,
    actor: String,
    master: SocketAddr,
    tap: TcpListener,
    connections: BTreeMap<u64, Connection>,
    messages: BTreeMap<MessageId, Message>,
    last_connection: u64,
    last_message: u64,
    alive: bool,
    log: Vec<TapFrame>,
}

impl Link {
    /// Puts a tap between `actor` and the master and opens the first connection through it.
    ///
    /// # Errors
    /// When the tap cannot listen or nobody listens at `master`.
    pub fn connect(net: &Net, actor: &str, master: SocketAddr) -> Result<Link, NetError> {
        let what = format!("connecting {actor} to the master at {master}");
        let (tap, first) = net.step(&what, async {
            let tap = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                .await
                .map_err(|error| NetError::io("listening for the tap", error))?;
            let mut first = Connection::open(&tap, master).await?;
            first.up.make().await;
            Ok::<_, NetError>((tap, first))
        })??;
        if let Up::Gone(UpEnd::Refused(why) | UpEnd::Closed(why)) = &first.up {
            return Err(NetError::Unreachable {
                what,
                why: why.clone(),
            });
        }
        Ok(Link {
            net: net.clone(),
            actor: actor.to_owned(),
            master,
            tap,
            connections: BTreeMap::from([(1, first)]),
            messages: BTreeMap::new(),
            last_connection: 1,
            last_message: 0,
            alive: true,
            log: Vec::new(),
        })
    }

    /// The client whose way this is.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// The runtime that this link moves on.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// Where the master is.
    pub fn master(&self) -> SocketAddr {
        self.master
    }

    /// What the tap saw since the last call, in order.
    pub fn frames(&mut self) -> Vec<TapFrame> {
        std::mem::take(&mut self.log)
    }

    /// Messages that the client waits for, or that are still on their way.
    pub fn outstanding(&self) -> Vec<MessageId> {
        self.messages.keys().copied().collect()
    }

    /// The client writes the request on a free connection, a new one if none is free; the tap has received the whole
    /// frame when this returns, and passes nothing on.
    ///
    /// # Errors
    /// When the client is dead, or the observer could not read the frame.
    pub fn send(&mut self, request: &Request) -> Result<MessageId, NetError> {
        let what = format!("sending {} by {}", request.rpc().name(), self.actor);
        if !self.alive {
            return Err(NetError::order(
                what,
                "the client was killed and has not reconnected",
            ));
        }
        let id = self.free_connection(&what)?;
        let Some(Connection {
            client: Some(client),
            down: Some(down),
            next_sequence,
            busy,
            ..
        }) = self.connections.get_mut(&id)
        else {
            return Err(NetError::order(what, "its connection is gone"));
        };
        let sequence = *next_sequence;
        let bytes = encode_request(sequence, request, Literal::With);
        let exchange = async { tokio::join!(client.write(&bytes), down.next()) };
        let (written, arrived) = self.net.step(&what, exchange)?;
        written.map_err(|error| NetError::io(what, error))?;
        let message = MessageId(self.last_message + 1);
        *next_sequence = sequence.wrapping_add(1);
        *busy = Some(message);
        self.last_message = message.0;
        let frame = arrived.map_err(|end| self.unreadable(end))?;
        let seen = decode_request(&frame.header, &frame.body).map_err(|error| self.unreadable(error))?;
        let held = Message {
            connection: id,
            request: seen,
            sequence: frame.header.sequence,
            bytes: frame.raw(),
            place: Place::Request,
        };
        let decoded = Decoded::Request(held.request.clone());
        self.log.push(held.frame(
            message,
            Leg::RequestArrived,
            held.sequence,
            held.bytes.clone(),
            decoded,
        ));
        self.messages.insert(message, held);
        Ok(message)
    }

    /// The tap passes the request on, reads the whole answer of the master and keeps it.
    ///
    /// # Errors
    /// When the message is not at the tap on its way to the master, or the master does not answer in real time. A
    /// master that closes or answers nonsense is an [`Answer`], not an error.
    pub fn forward(&mut self, message: MessageId) -> Result<Answer, NetError> {
        let what = self.what("forwarding", message);
        let Some(held) = self.messages.get_mut(&message) else {
            return Err(NetError::order(what, "there is no such message"));
        };
        if !matches!(held.place, Place::Request) {
            return Err(NetError::order(what, "it is not on its way to the master"));
        }
        let handled = match self.connections.get_mut(&held.connection) {
            Some(connection) => self.net.step(&what, exchange(&mut connection.up, &held.held()))?,
            None => return Err(NetError::order(what, "its connection is gone")),
        };
        self.log
            .push(held.handled(message, Leg::RequestHandled, &handled));
        let answer = handled.answer.clone();
        held.place = Place::Answer(Box::new(handled));
        Ok(answer)
    }

    /// The tap passes the answer on, and the client reads it.
    ///
    /// # Errors
    /// When the message has no answer yet, or the client does not read in real time.
    pub fn deliver(&mut self, message: MessageId) -> Result<Delivery, NetError> {
        let what = self.what("delivering the answer to", message);
        let Some(held) = self.messages.get(&message) else {
            return Err(NetError::order(what, "there is no such message"));
        };
        let Place::Answer(handled) = &held.place else {
            return Err(NetError::order(what, "there is no answer at the tap"));
        };
        let Some(bytes) = handled.bytes.clone() else {
            // The master's side ended without an answer; so does the client's.
            return self.end(message, &what);
        };
        let (leg, delivery) = match self.connections.get_mut(&held.connection) {
            Some(Connection {
                client: Some(client),
                down: Some(down),
                busy,
                ..
            }) => {
                let exchange = async { tokio::join!(down.write(&bytes), client.next()) };
                let (written, read) = self.net.step(&what, exchange)?;
                written.map_err(|error| NetError::io(what, error))?;
                *busy = None;
                let answer = match read {
                    Ok(frame) => read_answer(held.request.rpc(), held.sequence, &frame),
                    Err(end) => Err(RpcFailure::end(&end)),
                };
                (Leg::ResponseDelivered, Delivery::Delivered(answer))
            }
            _ => (Leg::ResponseUndeliverable, Delivery::Undeliverable),
        };
        self.log.push(held.frame(
            message,
            leg,
            handled.sequence,
            bytes,
            Decoded::from(&handled.answer),
        ));
        let id = held.connection;
        self.messages.remove(&message);
        if matches!(&delivery, Delivery::Delivered(Err(_))) {
            // As the real client: a call without an answer of the function costs its connection.
            self.close_client(id, &self.closing())?;
        }
        self.forget(id);
        Ok(delivery)
    }

    /// Sends, passes on and delivers, with nothing in between.
    ///
    /// # Errors
    /// Those of the three steps.
    pub fn call(&mut self, request: &Request) -> Result<Answer, NetError> {
        let message = self.send(request)?;
        // What the tap read is in its log; the caller gets what the client reads.
        self.forward(message).map(drop)?;
        match self.deliver(message)? {
            Delivery::Delivered(answer) => Ok(answer),
            Delivery::Undeliverable => Err(NetError::order(
                self.what("calling", message),
                "the client is gone",
            )),
        }
    }
}
