//! What a foreign client takes for its master.

use super::{Gone, Substitution};
use crate::failure::Answer;
use crate::link::TapFrame;
use crate::runtime::{Net, NetError};
use moonquake_protocol::{ErrorCode, Request};
use std::fmt;
use std::net::SocketAddr;

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
}

impl ForeignLink {
    /// Listens for the connections of `actor` on a port of 127.0.0.1 that the system gives.
    ///
    /// # Errors
    /// When the system gives no listener.
    pub fn listen(net: &Net, actor: &str) -> Result<ForeignLink, NetError> {
        let _ = (net, actor);
        todo!()
    }

    /// Where the client must look for its master.
    pub fn addr(&self) -> SocketAddr {
        todo!()
    }

    /// The client.
    pub fn actor(&self) -> &str {
        todo!()
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

    /// The same, but gives up when `gone` says that the client is gone. What had arrived before is looked at first.
    ///
    /// # Errors
    /// [`NetError::Missing`] at the limit, [`NetError::Gone`] when the client is gone.
    pub fn take_unless(
        &mut self,
        what: &str,
        wanted: impl Fn(&Request) -> bool,
        gone: Gone<'_>,
    ) -> Result<Taken, NetError> {
        let _ = (what, wanted, gone);
        todo!()
    }

    /// Requests that nobody has taken, in the order of arrival.
    pub fn pending(&self) -> Vec<(ForeignMessage, Request)> {
        todo!()
    }

    /// Requests that were taken and have no answer.
    pub fn unanswered(&self) -> Vec<ForeignMessage> {
        todo!()
    }

    /// Answers a request that was taken, after the substitutions in the body. `false`: the client's connection is gone.
    /// `true`: the answer is in the hands of the client's kernel.
    ///
    /// # Errors
    /// When there is no such message, when the answer belongs to another method or is a failure without a frame, and
    /// when the client does not read in real time.
    pub fn answer(
        &mut self,
        message: ForeignMessage,
        answer: &Answer,
        substitutions: &[Substitution],
    ) -> Result<bool, NetError> {
        let _ = (message, answer, substitutions);
        todo!()
    }

    /// Answers with this error of the store.
    ///
    /// # Errors
    /// As [`ForeignLink::answer`].
    pub fn answer_with(&mut self, message: ForeignMessage, code: ErrorCode) -> Result<bool, NetError> {
        let _ = (message, code);
        todo!()
    }

    /// The request is lost: it is never answered, and its connection stays open.
    ///
    /// # Errors
    /// When there is no such message.
    pub fn discard(&mut self, message: ForeignMessage) -> Result<(), NetError> {
        let _ = message;
        todo!()
    }

    /// Closes the connection of the message. The client sees its end (FIN), or a reset if it has sent something that was
    /// not read, as with the close of any process. `false`: it was gone already. Other requests of the connection cannot
    /// be answered any more.
    ///
    /// # Errors
    /// When there is no such message.
    pub fn cut(&mut self, message: ForeignMessage) -> Result<bool, NetError> {
        let _ = message;
        todo!()
    }

    /// Closes every connection that is open, and says how many. New ones are accepted.
    ///
    /// # Errors
    /// When a connection does not end in real time.
    pub fn close_all(&mut self) -> Result<usize, NetError> {
        todo!()
    }

    /// Connections that are open now.
    pub fn open_connections(&self) -> usize {
        todo!()
    }

    /// After the process was killed: waits until the end of each of its connections was seen, those included that
    /// nobody had accepted yet. Says how many ends of its doing were seen since the last call.
    ///
    /// # Errors
    /// When one stays open to the limit.
    pub fn await_closed(&mut self) -> Result<usize, NetError> {
        todo!()
    }

    /// What happened since the last call, in the form of the tap of a [`crate::Link`] and in the order of the calls of
    /// this link: a request is noted when it is taken. So the log does not depend on the race of the client's threads.
    pub fn frames(&mut self) -> Vec<TapFrame> {
        todo!()
    }

    /// What the client sent that could not be taken, since the beginning.
    pub fn problems(&self) -> Vec<String> {
        todo!()
    }
}
