//! A stand-alone proxy: everything of a foreign client passes by itself, but for what rules say.
#![allow(
    clippy::disallowed_methods,
    reason = "a stand-alone proxy delays and limits in real time"
)]

use super::rules::{Act, At, Rule, Rules, Struck};
use super::wait::rest;
use super::{ForeignLink, ForeignMessage, Relay, RelayEvent, RelayTransfer, Side, Substitution};
use crate::link::TapFrame;
use crate::runtime::{Net, NetError};
use crate::stream::{FrameStream, StreamEnd};
use moonquake_protocol::Rpc;
use moonquake_protocol::frame::{Frame, ResponseHeader};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::time::Instant;

/// The most payload that moves at once.
const CHUNK_BYTES: u64 = 64 << 10;
/// A limited stream moves so many times a second.
const MOVES_PER_SECOND: u64 = 20;

/// Lets go of whatever a proxy holds. Cheap to clone, and of use in any thread.
#[derive(Clone, Debug, Default)]
pub struct Release(Arc<AtomicBool>);

impl Release {
    /// What is held goes on.
    pub fn release(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Until when something waits.
#[derive(Clone, Copy, Debug)]
enum Until {
    Released,
    Time(Instant),
    /// The next request of the client was handled.
    Next,
    Never,
}

/// What waits at the proxy.
#[derive(Debug)]
struct Waiting {
    message: ForeignMessage,
    until: Until,
    /// The answer, if the master has given it.
    answer: Option<Frame<ResponseHeader>>,
}

/// A transfer on its way.
#[derive(Debug)]
struct Moving {
    relay: usize,
    transfer: RelayTransfer,
}

/// What became of a turn of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Nothing has come that could move.
    Idle,
    /// It goes on later.
    Done,
    /// It is over.
    Over,
}

/// A proxy between one foreign client on one side and its master and the owners of memory on the other.
pub struct Proxy {
    net: Net,
    master: SocketAddr,
    link: ForeignLink,
    relays: Vec<Relay>,
    substitutions: Vec<Substitution>,
    rules: Rules,
    kill: Box<dyn FnMut() + Send>,
    release: Release,
    /// Connections to the master, one for each of the client's.
    ups: BTreeMap<u64, FrameStream<ResponseHeader>>,
    counts: BTreeMap<Rpc, u64>,
    /// Requests that were taken: connection, method, its how-manieth, bytes.
    taken: BTreeMap<ForeignMessage, (u64, Rpc, u64, Vec<u8>)>,
    waiting: Vec<Waiting>,
    /// One transfer, or all of them once payload is limited: then they share the rate in turns, as the streams of a slow
    /// network do, so that none stands still.
    moving: VecDeque<Moving>,
    /// Until when no payload moves.
    payload_waits: Option<Until>,
    moved: u64,
    rate: Option<u64>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("link", &self.link)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl Proxy {
    /// Listens for `actor` in the place of `master`. `kill` ends the client; rules call it.
    ///
    /// # Errors
    /// When the system gives no listener.
    pub fn listen(
        net: &Net,
        actor: &str,
        master: SocketAddr,
        rules: &[Rule],
        kill: impl FnMut() + Send + 'static,
    ) -> Result<Proxy, NetError> {
        Ok(Proxy {
            net: net.clone(),
            master,
            link: ForeignLink::listen(net, actor)?,
            relays: Vec::new(),
            substitutions: Vec::new(),
            rules: Rules::new(rules),
            kill: Box::new(kill),
            release: Release::default(),
            ups: BTreeMap::new(),
            counts: BTreeMap::new(),
            taken: BTreeMap::new(),
            waiting: Vec::new(),
            moving: VecDeque::new(),
            payload_waits: None,
            moved: 0,
            rate: None,
        })
    }

    /// Where the client must look for its master.
    pub fn addr(&self) -> SocketAddr {
        self.link.addr()
    }

    /// Puts a relay in the place of an owner of memory: the client is told the relay's endpoint instead. Returns it.
    ///
    /// # Errors
    /// When the system gives no listeners, or the endpoints are not equally long.
    pub fn stand_in_for(&mut self, owner: SocketAddr) -> Result<SocketAddr, NetError> {
        let relay = Relay::listen(&self.net, owner)?;
        let endpoint = relay.endpoint();
        let substitution = Substitution::new(owner.to_string(), endpoint.to_string())
            .map_err(|error| NetError::order(format!("standing in for {owner}"), error.to_string()))?;
        self.substitutions.push(substitution);
        self.relays.push(relay);
        Ok(endpoint)
    }

    /// What lets go of whatever a rule holds.
    pub fn release(&self) -> Release {
        self.release.clone()
    }

    /// Lets everything pass as the rules say, until `stop` says so; it is asked all the time.
    ///
    /// # Errors
    /// When a step does not end in real time, such as an answer of the master.
    pub fn run(&mut self, mut stop: impl FnMut() -> bool) -> Result<(), NetError> {
        let net = self.net.clone();
        while !stop() {
            if !self.step()? {
                // Bytes of a payload come without an event for us, so the kernel is looked at again and again.
                net.run(rest());
            }
        }
        Ok(())
    }

    /// Rules that have struck since the last call, in order.
    pub fn struck(&mut self) -> Vec<Struck> {
        std::mem::take(&mut self.rules.struck)
    }

    /// What the link saw since the last call.
    pub fn frames(&mut self) -> Vec<TapFrame> {
        self.link.frames()
    }

    /// What the relays saw since the last call, one after the other.
    pub fn transfers(&mut self) -> Vec<RelayEvent> {
        self.relays.iter_mut().flat_map(Relay::log).collect()
    }

    /// Does what can be done now; `false` if that is nothing.
    fn step(&mut self) -> Result<bool, NetError> {
        let released = self.release.0.swap(false, Ordering::SeqCst);
        let mut did = self.go_on(released)?;
        if let Some(taken) = self.link.try_take() {
            did = true;
            let (message, rpc) = (taken.message, taken.request.rpc());
            let nth = *self
                .counts
                .entry(rpc)
                .and_modify(|count| *count += 1)
                .or_insert(1);
            self.taken
                .insert(message, (taken.connection, rpc, nth, taken.bytes));
            self.at_request(message, rpc, nth)?;
            self.go_on_after_next(message)?;
        }
        Ok(self.move_payload(released)? || did)
    }

    /// What has waited long enough goes on.
    fn go_on(&mut self, released: bool) -> Result<bool, NetError> {
        let now = Instant::now();
        let is_due = |waiting: &mut Waiting| match waiting.until {
            Until::Released => released,
            Until::Time(until) => until <= now,
            Until::Next | Until::Never => false,
        };
        let due: Vec<Waiting> = self.waiting.extract_if(.., is_due).collect();
        let any = !due.is_empty();
        for waiting in due {
            self.pass(waiting)?;
        }
        Ok(any)
    }

    fn go_on_after_next(&mut self, next: ForeignMessage) -> Result<(), NetError> {
        let is_due = |waiting: &mut Waiting| matches!(waiting.until, Until::Next) && waiting.message != next;
        let due: Vec<Waiting> = self.waiting.extract_if(.., is_due).collect();
        due.into_iter().try_for_each(|waiting| self.pass(waiting))
    }

    fn pass(&mut self, waiting: Waiting) -> Result<(), NetError> {
        match waiting.answer {
            None => self.forward(waiting.message),
            Some(answer) => self.deliver(waiting.message, &answer),
        }
    }

    fn at_request(&mut self, message: ForeignMessage, rpc: Rpc, nth: u64) -> Result<(), NetError> {
        let act = self.rules.strike(At::Request { rpc, nth }, Some(message), None);
        match act {
            Some(Act::Overtaken) => {
                self.wait(message, Until::Next, None);
                Ok(())
            }
            Some(Act::Duplicate) => self.forward_twice(message),
            Some(act) => self.suffer(message, act, None),
            None => self.forward(message),
        }
    }

    fn wait(&mut self, message: ForeignMessage, until: Until, answer: Option<Frame<ResponseHeader>>) {
        self.waiting.push(Waiting {
            message,
            until,
            answer,
        });
    }

    /// What can become of a request and of an answer alike.
    fn suffer(
        &mut self,
        message: ForeignMessage,
        act: Act,
        answer: Option<Frame<ResponseHeader>>,
    ) -> Result<(), NetError> {
        match act {
            Act::Hold => self.wait(message, Until::Released, answer),
            Act::Delay(length) => self.wait(message, Until::Time(Instant::now() + length), answer),
            _ => return self.end(message, act),
        }
        Ok(())
    }

    /// The client dies, and the master sees its connections end.
    fn kill(&mut self) {
        (self.kill)();
        self.ups.clear();
    }

    /// Nothing of a message goes on.
    fn end(&mut self, message: ForeignMessage, act: Act) -> Result<(), NetError> {
        self.taken.remove(&message);
        match act {
            Act::Kill => {
                self.kill();
                self.link.discard(message)?;
            }
            Act::Cut => drop(self.link.cut(message)?),
            Act::Error(code) => drop(self.link.answer_with(message, code)?),
            // A drop; the others were dealt with before, or cannot be here.
            _ => self.link.discard(message)?,
        }
        Ok(())
    }

    /// Brings a request to the master, and its answer on.
    fn forward(&mut self, message: ForeignMessage) -> Result<(), NetError> {
        let Some((connection, rpc, nth, bytes)) = self.taken.get(&message).cloned() else {
            return Ok(());
        };
        let what = format!("asking the master at {}", self.master);
        let (up, master) = (self.ups.remove(&connection), self.master);
        let asked = self.net.step(&what, ask(up, master, &bytes))?;
        let Ok((up, answer)) = asked else {
            // As a master that is gone.
            return self.end(message, Act::Cut);
        };
        self.ups.insert(connection, up);
        let act = self.rules.strike(At::Response { rpc, nth }, Some(message), None);
        match act {
            Some(act) => self.suffer(message, act, Some(answer)),
            None => self.deliver(message, &answer),
        }
    }

    /// Forwards a request, and sends the same bytes again over a connection of its own.
    fn forward_twice(&mut self, message: ForeignMessage) -> Result<(), NetError> {
        let Some((_, _, _, bytes)) = self.taken.get(&message).cloned() else {
            return Ok(());
        };
        self.forward(message)?;
        let what = format!("asking the master at {} again", self.master);
        let sent = async {
            let mut up = FrameStream::<ResponseHeader>::connect(self.master).await?;
            up.write(&bytes).await?;
            Ok(up)
        };
        let sent: Result<_, StreamEnd> = self.net.step(&what, sent)?;
        let mut up = sent.map_err(|end| NetError::Unreachable {
            what: what.clone(),
            why: end.to_string(),
        })?;
        // What is answered the second time, or that nothing is, is nobody's business; but it is waited for, so that what comes
        // next finds both handled.
        self.net.step(&what, up.next()).map(drop)
    }

    fn deliver(&mut self, message: ForeignMessage, answer: &Frame<ResponseHeader>) -> Result<(), NetError> {
        self.taken.remove(&message);
        self.link
            .answer_frame(message, answer, &self.substitutions)
            .map(drop)
    }

    /// Moves what can be moved of the transfers: one after the other in the order in which they came, or in turns once
    /// payload is limited.
    fn move_payload(&mut self, released: bool) -> Result<bool, NetError> {
        let is_over = match self.payload_waits {
            None => true,
            Some(Until::Released) => released,
            Some(Until::Time(until)) => until <= Instant::now(),
            Some(Until::Next | Until::Never) => false,
        };
        if !is_over {
            return Ok(false);
        }
        self.payload_waits = None;
        if (self.moving.is_empty() || self.rate.is_some()) && self.begin_transfer()? {
            return Ok(true);
        }
        for _ in 0..self.moving.len() {
            let Some(moving) = self.moving.pop_front() else {
                break;
            };
            let turn = self.move_some(&moving)?;
            if turn != Turn::Over {
                self.moving.push_back(moving);
            }
            if turn != Turn::Idle {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Opens the next transfer to its owner; `false` if there is none.
    fn begin_transfer(&mut self) -> Result<bool, NetError> {
        let mut relays = self.relays.iter_mut().enumerate();
        let found = relays.find_map(|(relay, at)| Some((relay, at.try_take()?)));
        let Some((relay, transfer)) = found else {
            return Ok(false);
        };
        if self.relays[relay].open(transfer)? {
            self.moving.push_back(Moving { relay, transfer });
        } else {
            self.relays[relay].close(transfer, Side::Both)?;
        }
        Ok(true)
    }

    fn move_some(&mut self, moving: &Moving) -> Result<Turn, NetError> {
        let transfer = moving.transfer;
        let byte = self.moved;
        let act = self.rules.strike(At::Payload { byte }, None, Some(transfer));
        if let Some(act) = act {
            return self.strike_payload(moving, act);
        }
        let relay = &mut self.relays[moving.relay];
        let left = relay.missing(transfer);
        if left == 0 {
            if !relay.finish(transfer)? {
                relay.close(transfer, Side::Both)?;
            }
            return Ok(Turn::Over);
        }
        let most = self
            .rate
            .map_or(CHUNK_BYTES, |rate| (rate / MOVES_PER_SECOND).max(1));
        let room = self.rules.room(byte).min(left).min(most);
        let Some(ready) = relay.ready(transfer) else {
            return Ok(Turn::Idle);
        };
        let now = room.min(ready);
        if relay.carry(transfer, now)?.is_none() {
            relay.close(transfer, Side::Both)?;
            return Ok(Turn::Over);
        }
        self.moved += now;
        if let Some(rate) = self.rate {
            let pause = std::time::Duration::from_nanos(now.saturating_mul(1_000_000_000) / rate);
            self.payload_waits = Some(Until::Time(Instant::now() + pause));
        }
        Ok(Turn::Done)
    }

    fn strike_payload(&mut self, moving: &Moving, act: Act) -> Result<Turn, NetError> {
        // The receiver has what has moved, not only its kernel.
        self.relays[moving.relay].settled(moving.transfer)?;
        self.payload_waits = match act {
            Act::Hold => Some(Until::Released),
            Act::Delay(length) => Some(Until::Time(Instant::now() + length)),
            Act::Rate(rate) => {
                self.rate = Some(rate);
                None
            }
            Act::Cut | Act::Kill => {
                if act == Act::Kill {
                    self.kill();
                }
                self.relays[moving.relay].close(moving.transfer, Side::Both)?;
                return Ok(Turn::Over);
            }
            // A drop; the others cannot be here.
            _ => Some(Until::Never),
        };
        Ok(Turn::Done)
    }
}

/// Sends the bytes of a request over the connection, or a new one, and reads the answer.
async fn ask(
    up: Option<FrameStream<ResponseHeader>>,
    master: SocketAddr,
    bytes: &[u8],
) -> Result<(FrameStream<ResponseHeader>, Frame<ResponseHeader>), StreamEnd> {
    let mut up = match up {
        Some(up) => up,
        None => FrameStream::connect(master).await?,
    };
    up.write(bytes).await?;
    let answer = up.next().await?;
    Ok((up, answer))
}
