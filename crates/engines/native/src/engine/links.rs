//! The links of all clients, with the tap of each as the second observer.

use moonquake_client::RpcFailure as ClientFailure;
use moonquake_evidence::Leg;
use moonquake_net::link::{Decoded, Leg as TapLeg, TapFrame};
use moonquake_net::{Delivery, Link, MessageId, Net};
use moonquake_protocol::{ErrorCode, Request, Response};
use moonquake_stage::{PortError, PortResult, Seen};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// No actor of a scenario can have this name.
const OBSERVER: &str = "the observer";

struct Carried {
    actor: String,
    id: MessageId,
    /// As the tap decoded it.
    request: Request,
    handled: bool,
}

/// All links.
pub(crate) struct Links {
    net: Net,
    links: BTreeMap<String, Link>,
    carried: BTreeMap<u64, Carried>,
}

impl Links {
    pub(crate) fn new(net: Net) -> Links {
        Links {
            net,
            links: BTreeMap::new(),
            carried: BTreeMap::new(),
        }
    }

    fn link(&mut self, message: u64) -> PortResult<(&mut Link, MessageId)> {
        let carried = self
            .carried
            .get(&message)
            .ok_or_else(|| PortError(format!("message {message} is unknown")))?;
        let link = self.links.get_mut(&carried.actor);
        link.map(|link| (link, carried.id))
            .ok_or_else(|| PortError(format!("{} has no link", carried.actor)))
    }

    /// Connects a client that has just started.
    pub(crate) fn open(&mut self, master: SocketAddr, actor: &str) -> PortResult<()> {
        match self.links.get_mut(actor) {
            Some(link) => link.connect_anew().map_err(PortError::new),
            None => {
                let link = Link::connect(&self.net, actor, master).map_err(PortError::new)?;
                self.links.insert(actor.to_owned(), link);
                Ok(())
            }
        }
    }

    /// What the tap saw since it was last asked.
    fn seen(&mut self, message: u64) -> Vec<Seen> {
        let Some(carried) = self.carried.get(&message) else {
            return Vec::new();
        };
        let Some(link) = self.links.get_mut(&carried.actor) else {
            return Vec::new();
        };
        let frames = link.frames();
        let request = carried.request.clone();
        frames
            .into_iter()
            .filter(|frame| frame.message == Some(carried.id))
            .filter_map(|frame| seen(message, &request, frame))
            .collect()
    }

    pub(crate) fn send(&mut self, actor: &str, message: u64, request: &Request) -> PortResult<Vec<Seen>> {
        let link = self.links.get_mut(actor);
        let link = link.ok_or_else(|| PortError(format!("{actor} has no link")))?;
        let id = link.send(request).map_err(PortError::new)?;
        let frames = link.frames();
        let arrived = frames.into_iter().find(|frame| frame.message == Some(id));
        let Some(TapFrame {
            decoded: Decoded::Request(request),
            ..
        }) = arrived
        else {
            return Err(PortError(format!(
                "the tap of {actor} did not see {}",
                request.rpc().name()
            )));
        };
        let carried = Carried {
            actor: actor.to_owned(),
            id,
            request: request.clone(),
            handled: false,
        };
        self.carried.insert(message, carried);
        Ok(vec![Seen {
            message,
            leg: Leg::RequestSent,
            request,
            answer: None,
        }])
    }

    /// A call that changes nothing, on a link of the observer's own.
    pub(crate) fn ask(&mut self, master: SocketAddr) -> PortResult<()> {
        if !self.links.contains_key(OBSERVER) {
            let link = Link::connect(&self.net, OBSERVER, master).map_err(PortError::new)?;
            self.links.insert(OBSERVER.to_owned(), link);
        }
        let Some(link) = self.links.get_mut(OBSERVER) else {
            return Ok(());
        };
        let _version = link.call(&Request::ServiceReady {}).map_err(PortError::new)?;
        link.frames();
        Ok(())
    }

    /// A request that belongs to no actor's evidence.
    pub(crate) fn aside(
        &mut self,
        master: SocketAddr,
        request: &Request,
    ) -> PortResult<Result<Response, ClientFailure>> {
        self.ask(master)?;
        let link = self.links.get_mut(OBSERVER);
        let link = link.ok_or_else(|| PortError("the observer has no link".to_owned()))?;
        let answer = link.call(request).map_err(PortError::new)?;
        link.frames();
        Ok(answer.map_err(|failure| client_failure(failure.code())))
    }

    pub(crate) fn handle(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        let (link, id) = self.link(message)?;
        let _answer = link.forward(id).map_err(PortError::new)?;
        if let Some(carried) = self.carried.get_mut(&message) {
            carried.handled = true;
        }
        Ok(self.seen(message))
    }

    pub(crate) fn repeat(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        let (link, id) = self.link(message)?;
        let _answer = link.duplicate(id).map_err(PortError::new)?;
        let mut seen = self.seen(message);
        // The second answer goes to nobody.
        seen.extend(seen.last().cloned().map(|last| Seen {
            leg: Leg::ResponseUndeliverable,
            ..last
        }));
        Ok(seen)
    }

    pub(crate) fn deliver(&mut self, message: u64) -> PortResult<moonquake_stage::Delivery> {
        let (link, id) = self.link(message)?;
        let answer = match link.deliver(id).map_err(PortError::new)? {
            Delivery::Undeliverable => None,
            Delivery::Delivered(Ok(response)) => Some(Ok(response)),
            Delivery::Delivered(Err(failure)) => Some(Err(client_failure(failure.code()))),
        };
        let seen = self.seen(message);
        self.carried.remove(&message);
        Ok(moonquake_stage::Delivery { answer, seen })
    }

    pub(crate) fn answer_with(&mut self, message: u64, code: ErrorCode) -> PortResult<()> {
        let (link, id) = self.link(message)?;
        link.answer_with(id, code).map_err(PortError::new)
    }

    pub(crate) fn lose(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        let handled = self.carried.get(&message).is_some_and(|carried| carried.handled);
        let (link, id) = self.link(message)?;
        let lost = if handled {
            link.drop_response(id)
        } else {
            link.drop_request(id)
        };
        lost.map_err(PortError::new)?;
        Ok(self.seen(message))
    }

    pub(crate) fn cut(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        if !self.carried.contains_key(&message) {
            return Ok(Vec::new());
        }
        let (link, id) = self.link(message)?;
        let _delivery = link.cut(id).map_err(PortError::new)?;
        let seen = self.seen(message);
        self.carried.remove(&message);
        Ok(seen)
    }

    pub(crate) fn abandon(&mut self, message: u64) -> PortResult<()> {
        let (link, id) = self.link(message)?;
        link.abandon(id).map_err(PortError::new)
    }

    /// A client's connections close; says how many the tap saw closing. A restarted client opens new ones.
    pub(crate) fn close(&mut self, actor: &str) -> PortResult<usize> {
        let Some(link) = self.links.get_mut(actor) else {
            return Ok(0);
        };
        let closed = link.kill().map_err(PortError::new)?;
        link.reconnect(None).map_err(PortError::new)?;
        Ok(closed)
    }

    /// The master is a new process.
    pub(crate) fn reconnect(&mut self, master: SocketAddr) -> PortResult<()> {
        self.links
            .values_mut()
            .try_for_each(|link| link.reconnect(Some(master)).map_err(PortError::new))
    }
}

fn client_failure(code: ErrorCode) -> ClientFailure {
    if code == ErrorCode::RpcTimeout {
        ClientFailure::Timeout
    } else {
        ClientFailure::Failed
    }
}

fn seen(message: u64, request: &Request, frame: TapFrame) -> Option<Seen> {
    let leg = match frame.leg {
        TapLeg::RequestArrived => Leg::RequestSent,
        TapLeg::RequestHandled | TapLeg::DuplicateHandled => Leg::RequestHandled,
        TapLeg::ResponseDelivered => Leg::ResponseDelivered,
        TapLeg::ResponseUndeliverable => Leg::ResponseUndeliverable,
        TapLeg::RequestDropped => Leg::RequestLost,
        TapLeg::ResponseDropped => Leg::ResponseLost,
        TapLeg::Cut => Leg::Closed,
        TapLeg::AnsweredByTap | TapLeg::Closed { .. } => return None,
    };
    let answer: Option<Result<Response, String>> = match frame.decoded {
        Decoded::Response(response) => Some(Ok(response)),
        Decoded::Failure(failure) => Some(Err(failure.to_string())),
        Decoded::Request(_) | Decoded::Nothing => None,
    };
    Some(Seen {
        message,
        leg,
        request: request.clone(),
        answer,
    })
}
