//! What a tap can do to messages and a client can suffer, besides the plain way there and back.

use super::connection::{Connection, Up, UpEnd};
use super::exchange::{Handled, exchange_apart};
use super::{Decoded, Delivery, Leg, Link, Message, MessageId, Place, TapFrame};
use crate::failure::{Answer, RpcFailure};
use crate::runtime::NetError;
use crate::stream::StreamEnd;
use moonquake_master::refuse;
use moonquake_protocol::frame::encode_response;
use moonquake_protocol::{ErrorCode, Literal};
use std::fmt;
use std::net::SocketAddr;

impl Link {
    /// The tap sends the same bytes a second time, on a connection of its own. The second answer goes to nobody.
    ///
    /// # Errors
    /// When there is no such message, or the master does not answer in real time.
    pub fn duplicate(&mut self, message: MessageId) -> Result<Answer, NetError> {
        let what = self.what("duplicating", message);
        let Some(held) = self.messages.get(&message) else {
            return Err(NetError::order(what, "there is no such message"));
        };
        let handled = self.net.step(&what, exchange_apart(self.master, &held.held()))?;
        self.log
            .push(held.handled(message, Leg::DuplicateHandled, &handled));
        Ok(handled.answer)
    }

    /// The request is lost on its way. The client waits on.
    ///
    /// # Errors
    /// When it is not on its way to the master.
    pub fn drop_request(&mut self, message: MessageId) -> Result<(), NetError> {
        self.lose(message, "dropping", Leg::RequestDropped, |place| {
            matches!(place, Place::Request)
        })
    }

    /// The answer is lost on its way. The client waits on.
    ///
    /// # Errors
    /// When there is no answer at the tap.
    pub fn drop_response(&mut self, message: MessageId) -> Result<(), NetError> {
        let is_answer = |place: &Place| matches!(place, Place::Answer(_));
        self.lose(message, "dropping the answer to", Leg::ResponseDropped, is_answer)
    }

    fn lose(
        &mut self,
        message: MessageId,
        verb: &str,
        leg: Leg,
        is_there: impl Fn(&Place) -> bool,
    ) -> Result<(), NetError> {
        let what = self.what(verb, message);
        match self.messages.get_mut(&message) {
            Some(held) if is_there(&held.place) => {
                held.place = Place::Lost;
                self.log.push(held.bare(message, leg));
                let id = held.connection;
                self.forget(id);
                Ok(())
            }
            Some(_) => Err(NetError::order(what, "it is not there to be dropped")),
            None => Err(NetError::order(what, "there is no such message")),
        }
    }

    /// The tap answers itself, with this error of the store; what the master may have answered is thrown away.
    ///
    /// # Errors
    /// When there is no such message or it was lost.
    pub fn answer_with(&mut self, message: MessageId, code: ErrorCode) -> Result<(), NetError> {
        let what = self.what("answering", message);
        match self.messages.get_mut(&message) {
            Some(Message {
                place: Place::Lost, ..
            }) => Err(NetError::order(what, "it was lost")),
            Some(held) => {
                let response = refuse(&held.request, code);
                let bytes = encode_response(held.sequence, &response, Literal::With);
                let handled = Handled {
                    bytes: Some(bytes),
                    sequence: held.sequence,
                    answer: Ok(response),
                };
                self.log.push(held.handled(message, Leg::AnsweredByTap, &handled));
                held.place = Place::Answer(Box::new(handled));
                Ok(())
            }
            None => Err(NetError::order(what, "there is no such message")),
        }
    }

    /// The tap closes the connection of the message on both sides. The client, if it lives, sees its call fail.
    ///
    /// # Errors
    /// When there is no such message.
    pub fn cut(&mut self, message: MessageId) -> Result<Delivery, NetError> {
        let what = self.what("cutting the connection of", message);
        self.end(message, &what)
    }

    /// Ends a message and its connection from the tap's side.
    pub(super) fn end(&mut self, message: MessageId, what: &str) -> Result<Delivery, NetError> {
        let Some(held) = self.messages.remove(&message) else {
            return Err(NetError::order(what, "there is no such message"));
        };
        self.log.push(held.bare(message, Leg::Cut));
        let Some(mut connection) = self.connections.remove(&held.connection) else {
            return Ok(Delivery::Undeliverable);
        };
        let lives = connection.down.take().is_some();
        match &mut connection.client {
            Some(client) if lives => {
                let end = self.net.step(what, client.next())?.err();
                let end = end.unwrap_or(StreamEnd::Closed { pending_bytes: 0 });
                Ok(Delivery::Delivered(Err(RpcFailure::end(&end))))
            }
            _ => Ok(Delivery::Undeliverable),
        }
    }

    /// The client gives up waiting and closes the connection of the message, as the real one does after a time-out.
    /// What is on its way to the master stays on its way.
    ///
    /// # Errors
    /// When the client does not wait for the message.
    pub fn abandon(&mut self, message: MessageId) -> Result<(), NetError> {
        let what = self.what("giving up", message);
        let Some(held) = self.messages.get(&message) else {
            return Err(NetError::order(what, "there is no such message"));
        };
        let (id, lost) = (held.connection, matches!(held.place, Place::Lost));
        self.close_client(id, &what)?;
        if lost {
            self.messages.remove(&message);
        }
        self.forget(id);
        Ok(())
    }

    /// The client dies: all its sockets are closed at once, and the tap sees the end of each. Requests that had left
    /// the client can still be forwarded; their answers are undeliverable. Returns how many connections ended.
    ///
    /// # Errors
    /// When the tap does not see an end in real time.
    pub fn kill(&mut self) -> Result<usize, NetError> {
        self.alive = false;
        let what = format!("watching the connections of {} end", self.actor);
        let mut ended = 0;
        for connection in self.connections.values_mut() {
            connection.client = None;
        }
        for connection in self.connections.values_mut() {
            if let Some(mut down) = connection.down.take() {
                self.net.step(&what, down.gone())?;
                ended += 1;
            }
        }
        self.log.push(closed(0, ended));
        self.messages.retain(|_, held| !matches!(held.place, Place::Lost));
        let ids: Vec<u64> = self.connections.keys().copied().collect();
        ids.into_iter().for_each(|id| self.forget(id));
        Ok(ended)
    }

    /// A client that was restarted begins anew: its sockets, if it has any, are closed, and the next request opens a
    /// connection. With an address the master is a new one there, and whatever was on its way to the old is lost with
    /// its connections.
    ///
    /// # Errors
    /// When the tap does not see an end in real time.
    pub fn reconnect(&mut self, master: Option<SocketAddr>) -> Result<(), NetError> {
        if self
            .connections
            .values()
            .any(|connection| connection.down.is_some())
        {
            self.kill()?;
        }
        if let Some(master) = master {
            self.master = master;
            for connection in self.connections.values_mut() {
                connection.up = Up::Gone(UpEnd::Closed("the master is gone".to_owned()));
            }
        }
        self.alive = true;
        Ok(())
    }

    /// Closes the client's end of one connection and lets the tap see it.
    pub(super) fn close_client(&mut self, id: u64, what: &str) -> Result<(), NetError> {
        let Some(connection) = self.connections.get_mut(&id) else {
            return Ok(());
        };
        connection.client = None;
        connection.busy = None;
        if let Some(mut down) = connection.down.take() {
            self.net.step(what, down.gone())?;
            self.log.push(closed(id, 1));
        }
        Ok(())
    }

    /// Lets go of a connection without a client unless a message still needs its way to the master.
    pub(super) fn forget(&mut self, id: u64) {
        let dead = self
            .connections
            .get(&id)
            .is_some_and(|connection| connection.client.is_none());
        if dead && !self.messages.values().any(|held| held.connection == id) {
            self.connections.remove(&id);
        }
    }

    /// A client that starts again connects before it has anything to say.
    ///
    /// # Errors
    /// When the tap does not accept.
    pub fn connect_anew(&mut self) -> Result<(), NetError> {
        let what = format!("connecting {} again", self.actor);
        self.free_connection(&what).map(drop)
    }

    /// The lowest connection that the client may use; a new one if there is none.
    pub(super) fn free_connection(&mut self, what: &str) -> Result<u64, NetError> {
        let free = self
            .connections
            .iter()
            .find(|(_, connection)| connection.is_free());
        if let Some((&id, _)) = free {
            return Ok(id);
        }
        let connection = self.net.step(what, Connection::open(&self.tap, self.master))??;
        self.last_connection += 1;
        self.connections.insert(self.last_connection, connection);
        Ok(self.last_connection)
    }

    pub(super) fn what(&self, verb: &str, message: MessageId) -> String {
        match self.messages.get(&message) {
            Some(held) => format!(
                "{verb} {} of {} ({message})",
                held.request.rpc().name(),
                self.actor
            ),
            None => format!("{verb} {message} of {}", self.actor),
        }
    }

    pub(super) fn closing(&self) -> String {
        format!("watching a connection of {} end", self.actor)
    }

    pub(super) fn unreadable(&self, why: impl fmt::Display) -> NetError {
        NetError::Observer {
            actor: self.actor.clone(),
            why: why.to_string(),
        }
    }
}

fn closed(connection: u64, connections: usize) -> TapFrame {
    TapFrame {
        message: None,
        connection,
        leg: Leg::Closed { connections },
        rpc: None,
        sequence: 0,
        bytes: Vec::new(),
        decoded: Decoded::Nothing,
    }
}
