//! What a foreign client takes for its master.

use super::inbox::{Held, Inbox};
use super::substitution::substitute;
use super::wait::{Waited, wait_unless};
use super::{Gone, Substitution};
use crate::failure::{Answer, RpcFailure, read_answer};
use crate::link::{Decoded, Leg, MessageId, TapFrame};
use crate::runtime::{Net, NetError};
use crate::stream::Raw;
use moonquake_master::refuse;
use moonquake_protocol::frame::{Frame, Header, ResponseHeader, encode_error, encode_response};
use moonquake_protocol::{ErrorCode, Literal, Request};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

/// A request of a foreign client. Counts from 1 in the order of arrival; the same number as the `MessageId` in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForeignMessage(pub u64);

impl fmt::Display for ForeignMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {}", self.0)
    }
}

/// A request that was taken and waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// By this it is answered.
    pub message: ForeignMessage,
    /// The connection of the client, counted from 1.
    pub connection: u64,
    /// The sequence number that the client chose.
    pub sequence: u32,
    /// What is asked.
    pub request: Request,
    /// The whole frame as it came.
    pub bytes: Vec<u8>,
    /// Whether encoding `request` gives `bytes` again.
    pub lossless: bool,
}

/// The control connections of one foreign client to what it takes for its master.
///
/// Connections are accepted and requests are read by themselves; each request then waits, in the order of arrival, until
/// it is taken and answered. A frame that a real master answers in its RPC layer (an unknown function, arguments that do
/// not decode) is answered as it does, at once. A connection with other nonsense is closed; both are noted in
/// [`ForeignLink::problems`].
#[derive(Debug)]
pub struct ForeignLink {
    net: Net,
    inbox: Arc<Inbox>,
    log: Vec<TapFrame>,
}

impl ForeignLink {
    /// Listens for the connections of `actor` on a port of 127.0.0.1 that the system gives.
    ///
    /// # Errors
    /// When the system gives no listener.
    pub fn listen(net: &Net, actor: &str) -> Result<ForeignLink, NetError> {
        let what = format!("listening for {actor}");
        let bound = net.step(&what, async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        })?;
        let (listener, address) = bound.map_err(|error| NetError::io(what, error))?;
        let inbox = Arc::new(Inbox::new(actor, address));
        net.spawn(inbox.clone().accept(listener));
        Ok(ForeignLink {
            net: net.clone(),
            inbox,
            log: Vec::new(),
        })
    }

    /// Where the client must look for its master.
    pub fn addr(&self) -> SocketAddr {
        self.inbox.address()
    }

    /// The client.
    pub fn actor(&self) -> &str {
        self.inbox.actor()
    }

    /// The runtime that this link moves on.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// Takes the first request that waits and that `wanted` accepts, or waits for one. All others stay.
    ///
    /// # Errors
    /// [`NetError::Missing`] at the limit; it names what waits instead.
    pub fn take(&mut self, what: &str, wanted: impl Fn(&Request) -> bool) -> Result<Taken, NetError> {
        self.take_unless(what, wanted, &mut || None)
    }

    /// The same, but gives up when `gone` says that the client is gone. What the client had sent before is looked at
    /// first.
    ///
    /// # Errors
    /// [`NetError::Missing`] at the limit, [`NetError::Gone`] when the client is gone.
    pub fn take_unless(
        &mut self,
        what: &str,
        wanted: impl Fn(&Request) -> bool,
        gone: Gone<'_>,
    ) -> Result<Taken, NetError> {
        let inbox = self.inbox.clone();
        let mut look = || first(&inbox, &wanted);
        let mut waited = wait_unless(&self.net, &inbox.changes, gone, &mut look);
        if let Waited::Gone(_) = &waited {
            self.net.step(what, inbox.settle())??;
            waited = look().map_or(waited, Waited::Found);
        }
        let taken = waited.or_error(what, || self.instead())?;
        self.note_taken(&taken);
        Ok(taken)
    }

    /// The first request that waits, if one does.
    pub(super) fn try_take(&mut self) -> Option<Taken> {
        let taken = first(&self.inbox, &|_: &Request| true)?;
        self.note_taken(&taken);
        Some(taken)
    }

    fn note_taken(&mut self, taken: &Taken) {
        let decoded = Decoded::Request(taken.request.clone());
        self.log.push(TapFrame {
            message: Some(MessageId(taken.message.0)),
            connection: taken.connection,
            leg: Leg::RequestArrived,
            rpc: Some(taken.request.rpc()),
            sequence: taken.sequence,
            bytes: taken.bytes.clone(),
            decoded,
        });
    }

    /// Waits until a request has come that `wanted` accepts, and leaves it where it is.
    ///
    /// # Errors
    /// At the limit.
    pub fn await_pending(&self, what: &str, wanted: impl Fn(&Request) -> bool) -> Result<(), NetError> {
        let has_come = || {
            let state = self.inbox.state();
            let mut untaken = state.held.values().filter(|held| !held.taken);
            untaken.any(|held| wanted(&held.request)).then_some(())
        };
        self.net.step(what, self.inbox.changes.until(has_come))
    }

    /// Requests that nobody has taken, in the order of arrival.
    pub fn pending(&self) -> Vec<(ForeignMessage, Request)> {
        let state = self.inbox.state();
        let untaken = state.held.iter().filter(|(_, held)| !held.taken);
        untaken
            .map(|(id, held)| (ForeignMessage(*id), held.request.clone()))
            .collect()
    }

    /// Requests that were taken and have no answer.
    pub fn unanswered(&self) -> Vec<ForeignMessage> {
        let state = self.inbox.state();
        let taken = state.held.iter().filter(|(_, held)| held.taken);
        taken.map(|(id, _)| ForeignMessage(*id)).collect()
    }

    /// Answers a request that was taken, after the substitutions in the body. `false`: the client's connection is gone.
    /// `true`: the answer is in the hands of the client's kernel. The log has the bytes as they were sent, next to the
    /// answer as it was before the substitutions.
    ///
    /// # Errors
    /// When there is no such message, when the answer belongs to another method or is a failure without a frame, and
    /// when the client does not read in real time; its connection is closed then.
    pub fn answer(
        &mut self,
        message: ForeignMessage,
        answer: &Answer,
        substitutions: &[Substitution],
    ) -> Result<bool, NetError> {
        let what = self.what("answering", message);
        let held = self.held(message, &what)?;
        if !held.taken {
            return Err(NetError::order(what, "it was not taken"));
        }
        let bytes = encode(&held, answer, substitutions).map_err(|why| NetError::order(&what, why))?;
        self.send(message, &held, bytes, answer, &what)
    }

    /// Answers with the frame of a master as it is, after the substitutions in the body.
    pub(super) fn answer_frame(
        &mut self,
        message: ForeignMessage,
        frame: &Frame<ResponseHeader>,
        substitutions: &[Substitution],
    ) -> Result<bool, NetError> {
        let what = self.what("answering", message);
        let held = self.held(message, &what)?;
        let answer = read_answer(held.request.rpc(), held.sequence, frame);
        let mut bytes = frame.raw();
        substitute(&mut bytes[ResponseHeader::BYTES..], substitutions);
        self.send(message, &held, bytes, &answer, &what)
    }

    fn send(
        &mut self,
        message: ForeignMessage,
        held: &Held,
        bytes: Vec<u8>,
        answer: &Answer,
        what: &str,
    ) -> Result<bool, NetError> {
        let delivered = self.write(held, &bytes, what);
        self.inbox.state().held.remove(&message.0);
        // The connection may be read again.
        self.inbox.changes.note();
        let delivered = delivered?;
        let leg = if delivered {
            Leg::ResponseDelivered
        } else {
            Leg::ResponseUndeliverable
        };
        self.note(message, held, leg, bytes, Decoded::from(answer));
        Ok(delivered)
    }

    /// Writes to the connection of a request; `false` if it is gone.
    fn write(&self, held: &Held, bytes: &[u8], what: &str) -> Result<bool, NetError> {
        let wire = {
            let state = self.inbox.state();
            state.open.get(&held.connection).map(|open| open.wire.clone())
        };
        let Some(wire) = wire.filter(|wire| !wire.is_hung_up()) else {
            return Ok(false);
        };
        match self.net.step(what, wire.write_all(bytes)) {
            Ok(written) => Ok(written.is_ok()),
            Err(error) => {
                // A part of the answer may be out, so nothing can follow it.
                drop(wire);
                self.net.step(what, self.inbox.close(&[held.connection]))?;
                Err(error)
            }
        }
    }

    /// Answers with this error of the store.
    ///
    /// # Errors
    /// As [`ForeignLink::answer`].
    pub fn answer_with(&mut self, message: ForeignMessage, code: ErrorCode) -> Result<bool, NetError> {
        let what = self.what("answering", message);
        let held = self.held(message, &what)?;
        let response = refuse(&held.request, code);
        let bytes = encode_response(held.sequence, &response, Literal::With);
        let answer = Ok(response);
        self.note(message, &held, Leg::AnsweredByTap, bytes, Decoded::from(&answer));
        self.answer(message, &answer, &[])
    }

    /// The request is lost: it is never answered, and its connection stays open.
    ///
    /// # Errors
    /// When there is no such message.
    pub fn discard(&mut self, message: ForeignMessage) -> Result<(), NetError> {
        let what = self.what("discarding", message);
        let held = self.held(message, &what)?;
        self.inbox.state().held.remove(&message.0);
        self.inbox.changes.note();
        self.note(message, &held, Leg::RequestDropped, Vec::new(), Decoded::Nothing);
        Ok(())
    }

    /// Closes the connection of the message. The client sees its end (FIN), or a reset if it has sent something that was
    /// not read, as with the close of any process. `false`: it was gone already. Other requests of the connection stay,
    /// but their answers reach nobody.
    ///
    /// # Errors
    /// When there is no such message.
    pub fn cut(&mut self, message: ForeignMessage) -> Result<bool, NetError> {
        let what = self.what("cutting the connection of", message);
        let held = self.held(message, &what)?;
        self.inbox.state().held.remove(&message.0);
        let open = self.close(&[held.connection], &what)?;
        self.note(message, &held, Leg::Cut, Vec::new(), Decoded::Nothing);
        Ok(open > 0)
    }

    /// Closes connections, and says how many of them were open.
    fn close(&self, connections: &[u64], what: &str) -> Result<usize, NetError> {
        let is_open = |id: &&u64| {
            let state = self.inbox.state();
            state.open.get(*id).is_some_and(|open| !open.wire.is_hung_up())
        };
        let open = connections.iter().filter(is_open).count();
        self.net.step(what, self.inbox.close(connections))?;
        Ok(open)
    }

    /// Closes every connection that is open, and says how many. New ones are accepted.
    ///
    /// # Errors
    /// When a connection does not end in real time.
    pub fn close_all(&mut self) -> Result<usize, NetError> {
        let what = format!("closing the connections of {}", self.actor());
        self.net.step(&what, self.inbox.settle())??;
        let all: Vec<u64> = self.inbox.state().open.keys().copied().collect();
        let connections = self.close(&all, &what)?;
        self.log.push(ended(connections));
        Ok(connections)
    }

    /// Whether the client reaches it. Otherwise every new connection is refused, as when nobody listens; those that are open stay.
    ///
    /// # Errors
    /// When the port cannot be held meanwhile.
    pub fn set_reachable(&mut self, reachable: bool) -> Result<(), NetError> {
        let what = format!("making the master of {} reachable or not", self.actor());
        self.net.step(&what, async {
            // Whoever has connected by now is connected; closing the listener would reset those that were not accepted yet.
            self.inbox.settle().await?;
            self.inbox.set_reachable(reachable).await;
            Ok(())
        })?
    }

    /// Connections that are open now, after what has come in by now was looked at.
    ///
    /// # Errors
    /// When that takes too long.
    pub fn settled_connections(&mut self) -> Result<usize, NetError> {
        let what = format!("counting the connections of {}", self.actor());
        self.net.step(&what, self.inbox.settle())??;
        Ok(self.open_connections())
    }

    /// Connections that are open now.
    pub fn open_connections(&self) -> usize {
        let state = self.inbox.state();
        state.open.values().filter(|open| !open.wire.is_hung_up()).count()
    }

    /// After the process was killed: waits until the end of each of its connections was seen, those included that
    /// nobody had accepted yet. Says how many ends of its doing were seen since the last call. What it had sent before
    /// stays pending.
    ///
    /// # Errors
    /// When one stays open to the limit.
    pub fn await_closed(&mut self) -> Result<usize, NetError> {
        let what = format!("watching the connections of {} end", self.actor());
        let inbox = &self.inbox;
        self.net.step(&what, async {
            inbox.settle().await?;
            inbox
                .changes
                .until(|| inbox.state().open.is_empty().then_some(()))
                .await;
            Ok::<_, NetError>(())
        })??;
        let connections = std::mem::take(&mut self.inbox.state().ends);
        self.log.push(ended(connections));
        Ok(connections)
    }

    /// What happened since the last call, in the form of the tap of a [`crate::Link`] and in the order of the calls of
    /// this link: a request is noted when it is taken. So the log does not depend on the race of the client's threads.
    pub fn frames(&mut self) -> Vec<TapFrame> {
        std::mem::take(&mut self.log)
    }

    /// What the client sent that could not be taken, since the beginning.
    pub fn problems(&self) -> Vec<String> {
        self.inbox.state().problems.clone()
    }

    fn held(&self, message: ForeignMessage, what: &str) -> Result<Held, NetError> {
        let held = self.inbox.state().held.get(&message.0).cloned();
        held.ok_or_else(|| NetError::order(what, "there is no such message"))
    }

    fn note(&mut self, message: ForeignMessage, held: &Held, leg: Leg, bytes: Vec<u8>, decoded: Decoded) {
        self.log.push(TapFrame {
            message: Some(MessageId(message.0)),
            connection: held.connection,
            leg,
            rpc: Some(held.request.rpc()),
            sequence: held.sequence,
            bytes,
            decoded,
        });
    }

    fn what(&self, verb: &str, message: ForeignMessage) -> String {
        match self.inbox.state().held.get(&message.0) {
            Some(held) => {
                let rpc = held.request.rpc().name();
                format!("{verb} {rpc} of {} ({message})", self.actor())
            }
            None => format!("{verb} {message} of {}", self.actor()),
        }
    }

    fn instead(&self) -> String {
        let pending = self.pending();
        let names: Vec<String> = pending
            .iter()
            .map(|(message, request)| format!("{} ({message})", request.rpc().name()))
            .collect();
        let open = self.open_connections();
        match names.as_slice() {
            [] => format!(
                "no request of {} is pending, {open} of its connections are open",
                self.actor()
            ),
            names => format!("pending instead from {}: {}", self.actor(), names.join(", ")),
        }
    }
}

impl Drop for ForeignLink {
    fn drop(&mut self) {
        self.inbox.life.kill();
    }
}

/// Takes the first request that is wanted.
fn first(inbox: &Inbox, wanted: &impl Fn(&Request) -> bool) -> Option<Taken> {
    let mut state = inbox.state();
    let mut untaken = state.held.iter_mut().filter(|(_, held)| !held.taken);
    let (id, held) = untaken.find(|(_, held)| wanted(&held.request))?;
    held.taken = true;
    Some(Taken {
        message: ForeignMessage(*id),
        connection: held.connection,
        sequence: held.sequence,
        request: held.request.clone(),
        bytes: held.bytes.clone(),
        lossless: held.lossless,
    })
}

fn encode(held: &Held, answer: &Answer, substitutions: &[Substitution]) -> Result<Vec<u8>, String> {
    match answer {
        Ok(response) if response.rpc() != held.request.rpc() => {
            Err(format!("the answer is one to {}", response.rpc().name()))
        }
        Ok(response) => {
            let mut bytes = encode_response(held.sequence, response, Literal::With);
            substitute(&mut bytes[ResponseHeader::BYTES..], substitutions);
            Ok(bytes)
        }
        Err(RpcFailure::Rpc(error)) => Ok(encode_error(held.sequence, error, Literal::With)),
        Err(failure) => Err(format!(
            "{failure}: there is no frame for it; discard or cut instead"
        )),
    }
}

fn ended(connections: usize) -> TapFrame {
    TapFrame {
        message: None,
        connection: 0,
        leg: Leg::Closed { connections },
        rpc: None,
        sequence: 0,
        bytes: Vec::new(),
        decoded: Decoded::Nothing,
    }
}
