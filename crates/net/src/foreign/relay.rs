//! What a foreign client takes for an owner of memory.

mod look;

use super::introduction::{introduce, look_up};
use super::kernel::end_of;
use super::lanes::Lanes;
use super::passage::{Passage, Stage, Stop};
use super::socket::{RECEIVE_BYTES, is_hung_up, listen};
use super::wait::{Waited, poll_until, wait_unless};
use super::{Gone, RelayEvent};
use crate::runtime::{Net, NetError};
use moonquake_protocol::datapath::{DataHeader, DataStatus};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;

/// A transfer of a foreign client. Counts from 1 in the order in which the headers arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelayTransfer(pub u64);

impl fmt::Display for RelayTransfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transfer {}", self.0)
    }
}

/// An end of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The one that begins transfers.
    Client,
    /// The one whose memory it is.
    Owner,
    /// Each of them.
    Both,
}

/// Stands between one foreign client and one owner of memory (metadata mode `P2PHANDSHAKE`).
///
/// Handshakes pass by themselves; in the owner's descriptor the data listener is replaced with the relay's. A header is
/// read when it comes; nothing else passes unless told.
#[derive(Debug)]
pub struct Relay {
    net: Net,
    owner: SocketAddr,
    endpoint: SocketAddr,
    lanes: Arc<Lanes>,
    tasks: Vec<JoinHandle<()>>,
    /// The partners at the owner of the client's data connections.
    partners: BTreeMap<u64, TcpStream>,
    passages: BTreeMap<RelayTransfer, Passage>,
    log: Vec<RelayEvent>,
}

impl Relay {
    /// Stands in for the owner whose handshake daemon is at `owner` (its `te_endpoint`).
    ///
    /// # Errors
    /// When the system gives no listeners.
    pub fn listen(net: &Net, owner: SocketAddr) -> Result<Relay, NetError> {
        let what = format!("listening for the owner at {owner}");
        let bound = net.step(&what, async { Ok::<_, io::Error>((listen()?, listen()?)) })?;
        let ((handshakes, endpoint), (data, data_address)) =
            bound.map_err(|error| NetError::io(what, error))?;
        let lanes = Arc::new(Lanes::new(data_address));
        let (life, limit) = (lanes.life.clone(), net.limit());
        let introducing = {
            let lanes = lanes.clone();
            life.accept(owner.to_string(), handshakes, move |stream| {
                introduce(lanes.clone(), owner, stream, limit)
            })
        };
        let tasks = vec![net.spawn(introducing), net.spawn(lanes.clone().accept(data))];
        Ok(Relay {
            net: net.clone(),
            owner,
            endpoint,
            lanes,
            tasks,
            partners: BTreeMap::new(),
            passages: BTreeMap::new(),
            log: Vec::new(),
        })
    }

    /// Where the client must look for the owner: the handshake port of the relay.
    pub fn endpoint(&self) -> SocketAddr {
        self.endpoint
    }

    /// The owner's handshake daemon.
    pub fn owner(&self) -> SocketAddr {
        self.owner
    }

    /// The runtime that this relay moves on.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// Takes the first transfer whose header has arrived and that `wanted` accepts, or waits for one, over all
    /// connections. All others stay.
    ///
    /// # Errors
    /// [`NetError::Missing`] at the limit, [`NetError::Gone`] when the client is gone.
    pub fn take(
        &mut self,
        what: &str,
        wanted: impl Fn(&DataHeader) -> bool,
        gone: Gone<'_>,
    ) -> Result<RelayTransfer, NetError> {
        let lanes = self.lanes.clone();
        let mut look = || first(&lanes, &wanted);
        let mut waited = wait_unless(&self.net, &lanes.changes, gone, &mut look);
        if let Waited::Gone(_) = &waited {
            self.net.step(what, lanes.settle())??;
            waited = look().map_or(waited, Waited::Found);
        }
        let (transfer, passage) = waited.or_error(what, || self.instead())?;
        Ok(self.taken(transfer, passage))
    }

    /// The first transfer that waits, if one does.
    pub(super) fn try_take(&mut self) -> Option<RelayTransfer> {
        let (transfer, passage) = first(&self.lanes, &|_: &DataHeader| true)?;
        Some(self.taken(transfer, passage))
    }

    fn taken(&mut self, transfer: RelayTransfer, passage: Passage) -> RelayTransfer {
        let (connection, header) = (passage.lane, passage.header());
        self.log.push(RelayEvent::Arrived {
            transfer,
            connection,
            header,
        });
        self.passages.insert(transfer, passage);
        transfer
    }

    /// Passes the header on, over a connection of its own to the owner's data listener; a client's connection keeps its
    /// partner for later transfers. For a read of version 2 the owner's status is awaited and passed on.
    ///
    /// `false`: the owner refuses, is gone or does not listen, or the client is gone. The owner of a version 2 write says
    /// its refusal later, when it likes: [`Relay::carry`] and [`Relay::finish`] tell it and pass it on.
    ///
    /// # Errors
    /// When the transfer was opened before, and at the limit; after that it can be asked again.
    pub fn open(&mut self, transfer: RelayTransfer) -> Result<bool, NetError> {
        let what = format!("opening {transfer} to the owner at {}", self.owner);
        let lane = self.in_stage(transfer, Stage::Taken, &what)?;
        let Some(client) = self.lanes.client(lane) else {
            return Ok(self.opened(transfer, Err(Stop::Client)));
        };
        if !self.partners.contains_key(&lane) {
            match self.net.step(&what, connect(&self.lanes, self.owner))? {
                Ok(stream) => drop(self.partners.insert(lane, stream)),
                Err(why) => {
                    self.lanes.problem(format!("{what}: {why}"));
                    return Ok(self.opened(transfer, Err(Stop::Owner)));
                }
            }
        }
        let (Some(owner), Some(passage)) = (self.partners.get(&lane), self.passages.get_mut(&transfer))
        else {
            return Err(NetError::order(what, "there is no such transfer"));
        };
        let said = self.net.step(&what, passage.open(&client, owner))?;
        Ok(self.opened(transfer, said))
    }

    fn opened(&mut self, transfer: RelayTransfer, said: Result<Option<DataStatus>, Stop>) -> bool {
        let accepted = match said {
            Ok(None) => None,
            Ok(Some(status)) => Some(status == DataStatus::Ok),
            Err(_) => Some(false),
        };
        self.log.push(RelayEvent::Opened { transfer, accepted });
        let goes_on = accepted != Some(false);
        if goes_on {
            if let Some(passage) = self.passages.get_mut(&transfer) {
                passage.stage = Stage::Open;
            }
        } else {
            self.end(transfer, false);
        }
        goes_on
    }

    /// Moves exactly `len` bytes of the payload from the sender to the receiver, and returns them when they are in the
    /// hands of the receiver's kernel; see [`Relay::settled`]. `None`: a side is gone, or the owner has refused; what
    /// came before was passed on, and [`Relay::moved`] tells how much.
    ///
    /// # Errors
    /// When the transfer is not open or fewer bytes are left, and at the limit; what was read by then is kept and goes
    /// first the next time.
    pub fn carry(&mut self, transfer: RelayTransfer, len: u64) -> Result<Option<Vec<u8>>, NetError> {
        let what = format!("carrying {len} bytes of {transfer}");
        let lane = self.in_stage(transfer, Stage::Open, &what)?;
        let client = self.lanes.client(lane);
        let Some(passage) = self.passages.get_mut(&transfer) else {
            return Err(NetError::order(what, "there is no such transfer"));
        };
        let missing = passage.missing();
        if len > missing {
            return Err(NetError::order(what, format!("only {missing} bytes are left")));
        }
        let (from, mut out) = (passage.moved, Vec::new());
        let carried = match (&client, self.partners.get(&lane)) {
            (None, _) => Ok(Err(Stop::Client)),
            (_, None) => Ok(Err(Stop::Owner)),
            (Some(client), Some(owner)) => {
                let carry = passage.carry(client, owner, from + len, &mut out);
                self.net.step(&what, carry)
            }
        };
        let to = passage.moved;
        if to > from {
            self.log.push(RelayEvent::Moved { transfer, from, to });
        }
        match carried? {
            Ok(()) => Ok(Some(out)),
            Err(stop) => {
                if stop == Stop::Said {
                    self.log.push(RelayEvent::Status { transfer, ok: false });
                }
                self.end(transfer, false);
                Ok(None)
            }
        }
    }

    /// Waits until the receiver has taken out of its kernel whatever was carried. `false`: it is gone.
    ///
    /// # Errors
    /// When there is no such transfer, and at the limit: the receiver does not read.
    pub fn settled(&mut self, transfer: RelayTransfer) -> Result<bool, NetError> {
        let what = format!("waiting until the receiver of {transfer} has read");
        let passage = self.passage(transfer, &what)?;
        let client = self.lanes.client(passage.lane);
        let receiver = if passage.is_write() {
            self.partners.get(&passage.lane)
        } else {
            client.as_deref()
        };
        let ends = receiver.and_then(|stream| Some((stream.local_addr().ok()?, stream.peer_addr().ok()?)));
        let Some((own, other)) = ends else {
            return Ok(false);
        };
        self.net.step(&what, async {
            // First nothing is on its way, then nothing is unread: in one look something could pass from one to the other.
            let is_sent = || match end_of(own, other) {
                Some(end) if end.unsent_bytes > 0 => None,
                end => Some(end.is_some()),
            };
            let is_read = || match end_of(other, own) {
                Some(end) if end.is_closed() => Some(false),
                Some(end) => (end.unread_bytes == 0).then_some(true),
                None => Some(false),
            };
            poll_until(is_sent).await && poll_until(is_read).await
        })
    }

    /// Ends a transfer whose bytes have all moved; for a write of version 2 the owner's status is awaited and passed on. `true`
    /// if it is Ok, or none is due. The connection then waits for its next header.
    ///
    /// # Errors
    /// When bytes are left, and at the limit; after that it can be asked again.
    pub fn finish(&mut self, transfer: RelayTransfer) -> Result<bool, NetError> {
        let what = format!("finishing {transfer}");
        let lane = self.in_stage(transfer, Stage::Open, &what)?;
        let client = self.lanes.client(lane);
        let Some(passage) = self.passages.get_mut(&transfer) else {
            return Err(NetError::order(what, "there is no such transfer"));
        };
        if passage.missing() > 0 {
            let why = format!("{} bytes are left", passage.missing());
            return Err(NetError::order(what, why));
        }
        if !(passage.is_write() && passage.has_status()) {
            self.end(transfer, true);
            return Ok(true);
        }
        let said = match (&client, self.partners.get(&lane)) {
            (Some(client), Some(owner)) => self.net.step(&what, passage.pass_status(client, owner))?,
            (None, _) => Err(Stop::Client),
            (_, None) => Err(Stop::Owner),
        };
        let ok = said == Ok(DataStatus::Ok);
        if said.is_ok() || said == Err(Stop::Said) {
            self.log.push(RelayEvent::Status { transfer, ok });
        }
        self.end(transfer, ok);
        Ok(ok)
    }

    /// A transfer is over; the connection goes on with the next if all went well. If not, it waits to be closed.
    fn end(&mut self, transfer: RelayTransfer, well: bool) {
        let Some(passage) = self.passages.get_mut(&transfer) else {
            return;
        };
        passage.stage = Stage::Over(well);
        if well {
            self.lanes.release(passage.lane);
        }
    }

    /// Closes the connection of a transfer on one side or both. A side with unread bytes, or an owner with more to send, sees a reset, else its end, as
    /// with the close of any process. It may have been closed already.
    ///
    /// # Errors
    /// When there is no such transfer.
    pub fn close(&mut self, transfer: RelayTransfer, side: Side) -> Result<(), NetError> {
        let what = format!("closing the connection of {transfer}");
        let lane = self.passage(transfer, &what)?.lane;
        self.close_lane(lane, side, &what)
    }

    fn close_lane(&mut self, lane: u64, side: Side, what: &str) -> Result<(), NetError> {
        let partner = if side == Side::Client {
            None
        } else {
            self.partners.remove(&lane)
        };
        let owner = partner.is_some();
        if let Some(partner) = partner.filter(|_| self.is_sent_to(lane)) {
            // Its reader is gone, as with one that has unread bytes: an owner that sends is told, and not only one that listens.
            let _ = partner.set_zero_linger();
        }
        let client = side != Side::Owner && self.lanes.client(lane).is_some();
        if client {
            self.net.step(what, self.lanes.close(&[lane]))?;
        }
        for (side, closed) in [(Side::Owner, owner), (Side::Client, client)] {
            if closed {
                self.note_closed(lane, side, true);
            }
        }
        Ok(())
    }

    /// Whether the owner has bytes to send on a connection.
    fn is_sent_to(&self, lane: u64) -> bool {
        let mut of_it = self
            .passages
            .values()
            .rev()
            .filter(|passage| passage.lane == lane);
        let last = of_it.next();
        last.is_some_and(|passage| !passage.is_write() && passage.missing() > 0)
    }

    fn note_closed(&mut self, connection: u64, side: Side, by_relay: bool) {
        let mut of_it = self
            .passages
            .values()
            .rev()
            .filter(|passage| passage.lane == connection);
        let (moved, missing) = of_it
            .next()
            .map_or((0, 0), |passage| (passage.moved, passage.missing()));
        self.log.push(RelayEvent::Closed {
            connection,
            side,
            by_relay,
            moved,
            missing,
        });
    }

    /// Waits until the client has closed the connection of the transfer, for example at a time-out of its own; the
    /// relay closes its end then, and leaves the owner's side. Nothing that the client has sent is read for that.
    ///
    /// # Errors
    /// When there is no such transfer, and at the limit.
    pub fn client_closed(&mut self, transfer: RelayTransfer) -> Result<(), NetError> {
        let what = format!("waiting until the client closes the connection of {transfer}");
        let lane = self.passage(transfer, &what)?.lane;
        let Some(client) = self.lanes.client(lane) else {
            return Ok(());
        };
        let ends = client.local_addr().and_then(|own| Ok((own, client.peer_addr()?)));
        self.net.step(&what, async {
            poll_until(|| {
                // Its end may lie behind bytes that have no room here; the kernel knows of it all the same.
                let closed = match &ends {
                    Ok((own, other)) => end_of(*other, *own).is_none_or(|end| end.is_closed()),
                    Err(_) => true,
                };
                (closed || is_hung_up(&client)).then_some(())
            })
            .await;
        })?;
        drop(client);
        self.net.step(&what, self.lanes.close(&[lane]))?;
        self.note_closed(lane, Side::Client, false);
        Ok(())
    }

    /// The owner is dead, for the client: every connection closes on both sides, and nobody listens any more.
    ///
    /// # Errors
    /// When a connection does not end in real time.
    pub fn kill_owner_side(&mut self) -> Result<(), NetError> {
        let what = format!("closing everything of the owner at {}", self.owner);
        self.close_all(&what)?;
        self.lanes.life.kill();
        let lanes = &self.lanes;
        // Whoever came in between.
        let is_empty = || lanes.state().lanes.is_empty().then_some(());
        self.net.step(&what, lanes.changes.until(is_empty))?;
        for task in std::mem::take(&mut self.tasks) {
            // A task that panicked has ended as well, but somebody should hear of it.
            if let Err(error) = self.net.step(&what, task)? {
                tracing::warn!("{what}: {error}");
            }
        }
        Ok(())
    }

    /// The client is dead, for the owner: every data connection closes on both sides, those included that nobody had
    /// accepted yet. Says how many the client had, with those that it has closed itself since the last call. New ones
    /// are accepted.
    ///
    /// # Errors
    /// When a connection does not end in real time.
    pub fn close_all_of_client(&mut self) -> Result<usize, NetError> {
        let what = format!("closing everything of a client of the owner at {}", self.owner);
        self.close_all(&what)
    }

    fn close_all(&mut self, what: &str) -> Result<usize, NetError> {
        if !self.tasks.is_empty() {
            self.net.step(what, self.lanes.settle())??;
        }
        let (open, ended): (Vec<u64>, usize) = {
            let state = self.lanes.state();
            (state.lanes.keys().copied().collect(), state.ends)
        };
        for lane in &open {
            self.close_lane(*lane, Side::Both, what)?;
        }
        let partners: Vec<u64> = self.partners.keys().copied().collect();
        for lane in partners {
            self.close_lane(lane, Side::Owner, what)?;
        }
        self.lanes.state().ends = 0;
        Ok(open.len() + ended)
    }

    /// What happened since the last call, in the order of the calls of this relay.
    pub fn log(&mut self) -> Vec<RelayEvent> {
        std::mem::take(&mut self.log)
    }

    fn passage(&self, transfer: RelayTransfer, what: &str) -> Result<&Passage, NetError> {
        let passage = self.passages.get(&transfer);
        passage.ok_or_else(|| NetError::order(what, "there is no such transfer"))
    }

    /// The connection of a transfer that is so far.
    fn in_stage(&self, transfer: RelayTransfer, stage: Stage, what: &str) -> Result<u64, NetError> {
        let passage = self.passage(transfer, what)?;
        if passage.stage == stage {
            return Ok(passage.lane);
        }
        let why = match passage.stage {
            Stage::Taken => "it was not opened",
            Stage::Open => "it was opened before",
            Stage::Over(true) => "it is finished",
            Stage::Over(false) => "it has failed",
        };
        Err(NetError::order(what, why))
    }

    fn instead(&self) -> String {
        let pending = self.pending();
        let words: Vec<String> = pending
            .iter()
            .map(|(transfer, header)| {
                let DataHeader {
                    operation,
                    size_bytes,
                    address,
                    ..
                } = header;
                format!("{transfer} ({operation:?} of {size_bytes} bytes at {address:#x})")
            })
            .collect();
        let open = self.open_connections();
        match words.as_slice() {
            [] => format!(
                "no transfer to {} is pending, {open} data connections are open",
                self.owner
            ),
            words => format!("pending instead to {}: {}", self.owner, words.join(", ")),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.lanes.life.kill();
    }
}

/// Takes the first transfer that is wanted.
fn first(lanes: &Lanes, wanted: &impl Fn(&DataHeader) -> bool) -> Option<(RelayTransfer, Passage)> {
    let mut state = lanes.state();
    let mut arrived = state.arrived.iter();
    let (id, arrived) = arrived.find(|(_, arrived)| wanted(&arrived.header()))?;
    let (id, passage) = (*id, Passage::new(arrived.lane, arrived.raw));
    state.arrived.remove(&id);
    Some((RelayTransfer(id), passage))
}

/// Connects to the owner's data listener.
async fn connect(lanes: &Lanes, owner: SocketAddr) -> Result<TcpStream, String> {
    let known = lanes.state().data;
    let data = match known {
        Some(data) => data,
        None => look_up(owner).await?,
    };
    lanes.learn(data);
    let failed = |error: io::Error| format!("{data}: {error}");
    let socket = if data.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    };
    let socket = socket.map_err(failed)?;
    socket.set_recv_buffer_size(RECEIVE_BYTES).map_err(failed)?;
    let stream = socket.connect(data).await.map_err(failed)?;
    // A socket that cannot do it still works.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}
