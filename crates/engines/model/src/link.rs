//! The wire between the clients and the master, with its own log of frames.

use moonquake_client::RpcFailure;
use moonquake_evidence::Leg;
use moonquake_protocol::{Request, Response};
use moonquake_stage::Seen;
use std::collections::{BTreeMap, BTreeSet};

/// A message on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    pub(crate) actor: String,
    pub(crate) request: Request,
    pub(crate) fences: Vec<Option<u64>>,
    pub(crate) answer: Option<Response>,
    /// Whether the client still has its end of the connection.
    open: bool,
}

/// All messages on the wire.
#[derive(Debug, Default)]
pub(crate) struct Link {
    carried: BTreeMap<u64, Carried>,
    /// Who has a connection.
    connected: BTreeSet<String>,
}

impl Link {
    pub(crate) fn open(&mut self, actor: &str) {
        self.connected.insert(actor.to_owned());
    }

    pub(crate) fn send(
        &mut self,
        actor: &str,
        message: u64,
        request: &Request,
        fences: &[Option<u64>],
    ) -> Vec<Seen> {
        let carried = Carried {
            actor: actor.to_owned(),
            request: request.clone(),
            fences: fences.to_vec(),
            answer: None,
            open: true,
        };
        let seen = see(message, Leg::RequestSent, &carried, false);
        self.carried.insert(message, carried);
        vec![seen]
    }

    /// The message, on its way to the master.
    pub(crate) fn get(&self, message: u64) -> Option<&Carried> {
        self.carried.get(&message)
    }

    /// The master's answer is on its way back.
    pub(crate) fn handled(&mut self, message: u64, answer: Response) -> Vec<Seen> {
        let Some(carried) = self.carried.get_mut(&message) else {
            return Vec::new();
        };
        carried.answer = Some(answer);
        vec![see(message, Leg::RequestHandled, carried, true)]
    }

    /// A second answer to the same request: seen, and delivered to nobody.
    pub(crate) fn handled_again(&self, message: u64, answer: Response) -> Vec<Seen> {
        let Some(carried) = self.carried.get(&message) else {
            return Vec::new();
        };
        let again = Carried {
            answer: Some(answer),
            ..carried.clone()
        };
        vec![
            see(message, Leg::RequestHandled, &again, true),
            see(message, Leg::ResponseUndeliverable, &again, true),
        ]
    }

    /// The network answers.
    pub(crate) fn replace_answer(&mut self, message: u64, answer: Response) {
        if let Some(carried) = self.carried.get_mut(&message) {
            carried.answer = Some(answer);
        }
    }

    pub(crate) fn deliver(&mut self, message: u64) -> (Option<Result<Response, RpcFailure>>, Vec<Seen>) {
        let Some(carried) = self.carried.remove(&message) else {
            return (None, Vec::new());
        };
        if !carried.open {
            return (
                None,
                vec![see(message, Leg::ResponseUndeliverable, &carried, true)],
            );
        }
        let seen = vec![see(message, Leg::ResponseDelivered, &carried, true)];
        (Some(carried.answer.ok_or(RpcFailure::Failed)), seen)
    }

    pub(crate) fn lose(&mut self, message: u64) -> Vec<Seen> {
        let Some(carried) = self.carried.remove(&message) else {
            return Vec::new();
        };
        let leg = if carried.answer.is_some() {
            Leg::ResponseLost
        } else {
            Leg::RequestLost
        };
        let answered = carried.answer.is_some();
        vec![see(message, leg, &carried, answered)]
    }

    pub(crate) fn cut(&mut self, message: u64) -> Vec<Seen> {
        let Some(carried) = self.carried.remove(&message) else {
            return Vec::new();
        };
        vec![see(message, Leg::Closed, &carried, false)]
    }

    pub(crate) fn abandon(&mut self, message: u64) {
        if let Some(carried) = self.carried.get_mut(&message) {
            carried.open = false;
        }
    }

    /// Closes every connection of a client: those that carry a message, or its idle one, if it ever had any.
    pub(crate) fn close(&mut self, actor: &str) -> usize {
        let mine = self
            .carried
            .values_mut()
            .filter(|carried| carried.actor == actor && carried.open);
        let busy = mine.map(|carried| carried.open = false).count();
        if self.connected.remove(actor) {
            busy.max(1)
        } else {
            busy
        }
    }
}

fn see(message: u64, leg: Leg, carried: &Carried, with_answer: bool) -> Seen {
    let answer = carried.answer.clone().filter(|_| with_answer).map(Ok);
    Seen {
        message,
        leg,
        request: carried.request.clone(),
        answer,
    }
}
