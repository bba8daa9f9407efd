//! Payload between real clients and real owners: through one relay for each pair, part by part.

use super::ended;
use super::names::Mounted;
use super::spoken::end_spoken;
use super::{MasterSide, RealClients};
use moonquake_net::Net;
use moonquake_net::datapath::Transfer;
use moonquake_net::foreign::{Relay, RelayTransfer, Side};
use moonquake_protocol::datapath::{DataHeader, DataOperation};
use moonquake_stage::{Ending, OwnerEvent, OwnerSeen, PortError, PortResult, TransferSpec};
use std::collections::BTreeMap;
use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;

/// A client and the home of a segment.
type Pair = (String, String);

/// A transfer under way.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) pair: Pair,
    pub(super) operation: Option<u64>,
    /// Its number at the relay; none if it stays within one process.
    pub(super) relay: Option<RelayTransfer>,
    /// What the harness itself moves, past all relays.
    pub(super) spoken: Option<Transfer>,
    pub(super) address: u64,
    size: u64,
    pub(super) moved: u64,
}

/// All relays and what passes through them.
pub(super) struct Transfers {
    pub(super) net: Net,
    pub(super) relays: BTreeMap<Pair, Relay>,
    /// Owners that are gone; nobody gets a relay to them any more.
    pub(super) gone: Vec<String>,
    pub(super) open: BTreeMap<u64, Open>,
    /// Those that a client has begun, and of which nothing has moved.
    taken: BTreeMap<u64, (Pair, RelayTransfer)>,
    log: Vec<OwnerSeen>,
}

impl Transfers {
    pub(super) fn new(net: Net) -> Transfers {
        Transfers {
            net,
            relays: BTreeMap::new(),
            gone: Vec::new(),
            open: BTreeMap::new(),
            taken: BTreeMap::new(),
            log: Vec::new(),
        }
    }

    /// Where a client finds an owner.
    pub(super) fn relay(&mut self, actor: &str, owner: &Mounted) -> PortResult<Option<SocketAddr>> {
        let pair = (actor.to_owned(), owner.home.clone());
        if let Some(relay) = self.relays.get(&pair) {
            return Ok(Some(relay.endpoint()));
        }
        if self.gone.contains(&owner.home) {
            return Ok(None);
        }
        let endpoint = &owner.segment.te_endpoint;
        let address: SocketAddr = endpoint.parse().map_err(|_| {
            PortError(format!(
                "{} is reached at {endpoint:?}, which is no address",
                owner.home
            ))
        })?;
        let relay = Relay::listen(&self.net, address).map_err(PortError::new)?;
        let endpoint = relay.endpoint();
        self.relays.insert(pair, relay);
        Ok(Some(endpoint))
    }

    /// The process of a client is gone: owners see its connections closing.
    pub(super) fn client_gone(&mut self, actor: &str) -> PortResult<()> {
        let mine = self.relays.iter_mut().filter(|((client, _), _)| client == actor);
        for (_, relay) in mine {
            relay.close_all_of_client().map_err(PortError::new)?;
        }
        Ok(())
    }

    /// The process of an owner is gone: clients see it.
    pub(super) fn owner_gone(&mut self, home: &str) -> PortResult<()> {
        self.gone.push(home.to_owned());
        let its = self.relays.iter_mut().filter(|((_, owner), _)| owner == home);
        for (_, relay) in its {
            relay.kill_owner_side().map_err(PortError::new)?;
        }
        Ok(())
    }

    pub(super) fn say(&mut self, transfer: u64, event: OwnerEvent) {
        self.log.push(OwnerSeen { transfer, event });
    }

    pub(super) fn drain(&mut self) -> Vec<OwnerSeen> {
        std::mem::take(&mut self.log)
    }

    /// The port at which a client's data connections to an owner are taken.
    pub(super) fn data_port(&self, actor: &str, home: &str) -> Option<u16> {
        let relay = self.relays.get(&(actor.to_owned(), home.to_owned()))?;
        Some(relay.data_port())
    }

    /// The ports at which relays take data connections of a client.
    pub(super) fn data_ports(&self, actor: &str) -> Vec<u16> {
        let mine = self.relays.iter().filter(|((client, _), _)| client == actor);
        mine.map(|(_, relay)| relay.data_port()).collect()
    }

    /// Whether both ends of a transfer are there, so that bytes can move.
    pub(super) fn stands(&self, transfer: u64) -> bool {
        let stands = |open: &Open| Some(self.relays.get(&open.pair)?.stands(open.relay?));
        self.open.get(&transfer).and_then(stands).unwrap_or(false)
    }

    /// The transfers of a client that are open.
    pub(super) fn of(&self, actor: &str) -> Vec<u64> {
        let mine = self.open.iter().filter(|(_, open)| open.pair.0 == actor);
        mine.map(|(id, _)| *id).collect()
    }

    fn at(&mut self, transfer: u64) -> Option<(&mut Relay, RelayTransfer)> {
        let open = self.open.get(&transfer)?;
        let relay = self.relays.get_mut(&open.pair)?;
        Some((relay, open.relay?))
    }

    /// Moves `len` bytes on, and says how many have moved by then; none if a side is gone.
    fn carry(&mut self, transfer: u64, len: u64) -> PortResult<Option<(Vec<u8>, u64)>> {
        let Some((relay, id)) = self.at(transfer) else {
            return Ok(None);
        };
        let Some(bytes) = relay.carry(id, len).map_err(PortError::new)? else {
            return Ok(None);
        };
        Ok(self.moved(transfer, len).map(|to| (bytes, to)))
    }

    pub(super) fn moved(&mut self, transfer: u64, len: u64) -> Option<u64> {
        let open = self.open.get_mut(&transfer)?;
        let from = open.moved;
        open.moved += len;
        let to = open.moved;
        self.say(transfer, OwnerEvent::Moved { from, to });
        Some(to)
    }

    /// Where a transfer between two processes has its bytes in a segment.
    pub(super) fn place(&self, transfer: u64) -> Option<(String, u64, u64)> {
        let open = self.open.get(&transfer).filter(|open| open.relay.is_some())?;
        Some((open.pair.1.clone(), open.address, open.size))
    }

    /// The operation that a transfer is of.
    pub(super) fn operation_of(&self, transfer: u64) -> Option<u64> {
        self.open.get(&transfer)?.operation
    }

    /// Ends a transfer. False if it is complete and was not acknowledged.
    pub(super) fn close(&mut self, transfer: u64, ending: Ending) -> PortResult<bool> {
        let Some(open) = self.open.get(&transfer) else {
            if let Some((pair, id)) = self.taken.remove(&transfer)
                && let Some(relay) = self.relays.get_mut(&pair)
            {
                end(relay, id, ending).map_err(PortError::new)?;
            }
            return Ok(ending.is_complete());
        };
        let mut ending = ending;
        if let (Some(id), Some(relay)) = (open.relay, self.relays.get_mut(&open.pair)) {
            if ending.is_complete() && !relay.finish(id).map_err(PortError::new)? {
                ending = Ending::NotAcknowledged;
            }
            end(relay, id, ending).map_err(PortError::new)?;
        }
        let spoken = self.open.remove(&transfer).and_then(|open| open.spoken);
        if let Some(spoken) = spoken
            && !end_spoken(spoken, ending)?
        {
            ending = Ending::NotAcknowledged;
        }
        let how = ending.words().to_owned();
        self.say(transfer, OwnerEvent::Closed { how });
        Ok(ending.is_complete())
    }
}

/// Closes whatever an end of that kind closes.
fn end(relay: &mut Relay, id: RelayTransfer, ending: Ending) -> Result<(), moonquake_net::NetError> {
    match ending {
        Ending::Complete | Ending::NoConnection => Ok(()),
        // The client's own transport does it; nothing else would show that it has.
        Ending::NoProgress | Ending::ClientClosed => {
            relay.client_closed(id)?;
            relay.close(id, Side::Both)
        }
        _ => relay.close(id, Side::Both),
    }
}

impl<M: MasterSide> RealClients<M> {
    /// The transfer that was predicted, as the client begins it.
    pub(super) fn open_real(&mut self, spec: &TransferSpec) -> PortResult<bool> {
        let base = self
            .names
            .home(&spec.owner)
            .map_or(0, |mounted| mounted.segment.base);
        let opened = OwnerEvent::Opened {
            write: spec.write,
            offset: spec.address.saturating_sub(base),
            size: spec.size,
        };
        let mut open = Open {
            pair: (spec.actor.clone(), spec.owner.clone()),
            operation: spec.operation,
            relay: None,
            spoken: None,
            address: spec.address,
            size: spec.size,
            moved: 0,
        };
        if self.speaks(spec.operation) {
            let Some(spoken) = self.open_spoken(spec)? else {
                return Ok(false);
            };
            open.spoken = Some(spoken);
        } else if !spec.local {
            let Some((id, accepted)) = self.open_at_relay(spec)? else {
                return Ok(false);
            };
            open.relay = Some(id);
            self.moves(spec.operation);
            if !accepted {
                return Ok(false);
            }
        } else {
            self.copy_opens(spec)?;
        }
        self.transfers.open.insert(spec.id, open);
        self.transfers.say(spec.id, opened);
        Ok(true)
    }

    /// A client begins a transfer of which nothing moves yet: its header comes, and its thread waits for its sockets with the timers
    /// that it has set. Before that no clock may move, and no client be closed.
    pub(super) fn begin_transfer(&mut self, spec: &TransferSpec, frozen: bool) -> PortResult<()> {
        let pair = (spec.actor.clone(), spec.owner.clone());
        if self.speaks(spec.operation) || self.transfers.gone.contains(&spec.owner) {
            return Ok(());
        }
        let relay = self.transfers.relays.get(&pair);
        if frozen && relay.is_some_and(|relay| !relay.is_introduced()) {
            return Err(PortError(format!(
                "{} has never met {}, which stands still: the release asks it for its descriptor and waits 60 s of real time, which no clock \
                 of a run can move; let {} read from {} or write to it before that is frozen",
                spec.actor, spec.owner, spec.actor, spec.owner
            )));
        }
        let id = self.take_at_relay(spec)?;
        self.transfers.taken.insert(spec.id, (pair, id));
        self.moves(spec.operation);
        self.await_begun(spec.id)
    }

    fn open_at_relay(&mut self, spec: &TransferSpec) -> PortResult<Option<(RelayTransfer, bool)>> {
        let pair = (spec.actor.clone(), spec.owner.clone());
        if self.transfers.gone.contains(&spec.owner) {
            return Ok(None);
        }
        let id = match self.transfers.taken.remove(&spec.id) {
            Some((_, id)) => id,
            None => self.take_at_relay(spec)?,
        };
        self.meter_owner(&spec.actor, &spec.owner)?;
        let accepted = match self.transfers.relays.get_mut(&pair) {
            Some(relay) => relay.open(id).map_err(PortError::new)?,
            None => false,
        };
        if accepted {
            self.far_opens(spec, id)?;
        } else {
            self.look()?;
            self.streams.close(spec.id, false, true);
        }
        Ok(Some((id, accepted)))
    }

    /// The transfer that was predicted, once its header has come.
    fn take_at_relay(&mut self, spec: &TransferSpec) -> PortResult<RelayTransfer> {
        let pair = (spec.actor.clone(), spec.owner.clone());
        let Some(relay) = self.transfers.relays.get_mut(&pair) else {
            return Err(PortError(format!(
                "{} was never told of {}",
                spec.actor, spec.owner
            )));
        };
        let operation = if spec.write {
            DataOperation::Write
        } else {
            DataOperation::Read
        };
        let wanted = |header: &DataHeader| {
            (header.operation, header.address, header.size_bytes) == (operation, spec.address, spec.size)
        };
        let agent = self.clients.get(&spec.actor).map(|client| &client.agent);
        let (clients, master) = (&self.clients, &self.master);
        let mut gone = || {
            let clients = clients.iter().map(|(name, client)| (name.as_str(), client));
            ended::of_clients(clients).or_else(|| master.ended())
        };
        let word = if spec.write { "write" } else { "read" };
        let what = format!("a {word} of {} bytes at {}", spec.size, spec.owner);
        let id = relay.take(&what, wanted, &mut gone).map_err(|error| {
            let words = agent.map(|agent| agent.stderr_tail()).unwrap_or_default();
            PortError(format!(
                "the unmodified client {} parts from its model, which wants {what} next: {error}\n{words}",
                spec.actor
            ))
        })?;
        self.near_opens(spec, id)?;
        Ok(id)
    }

    /// A part of a transfer within one process: the client has moved it by itself.
    fn local_part(&mut self, transfer: u64, len: u64) -> PortResult<Option<Vec<u8>>> {
        let Some(open) = self
            .transfers
            .open
            .get(&transfer)
            .filter(|open| open.relay.is_none())
        else {
            return Ok(None);
        };
        let (home, at) = (open.pair.1.clone(), open.address + open.moved);
        let base = self.names.home(&home).map_or(0, |mounted| mounted.segment.base);
        let bytes = self.peek_real(&home, at.saturating_sub(base), len)?;
        if let Some(to) = self.transfers.moved(transfer, len) {
            self.streams.copied(transfer, to - len, to);
        }
        Ok(Some(bytes))
    }

    /// Moves the next part of a transfer, in the direction that it has.
    pub(super) fn part(&mut self, transfer: u64, len: u64) -> PortResult<Option<Vec<u8>>> {
        match self.transfers.open.get(&transfer) {
            Some(open) if open.spoken.is_some() => {
                Err(PortError("the harness reads nothing for a client".to_owned()))
            }
            Some(open) if open.relay.is_none() => self.local_part(transfer, len),
            Some(_) => {
                if self.transfers.stands(transfer) {
                    self.let_send(transfer, len)?;
                }
                let Some((bytes, to)) = self.transfers.carry(transfer, len)? else {
                    return Ok(None);
                };
                self.await_logs(transfer, to)?;
                self.part_touched(transfer, to - len, len)?;
                Ok(Some(bytes))
            }
            None => Ok(None),
        }
    }

    /// A part has moved; its pages in the segment are asked again.
    fn part_touched(&mut self, transfer: u64, from: u64, len: u64) -> PortResult<()> {
        match self.transfers.place(transfer) {
            Some((home, address, _)) => self.ask_segment_again(&home, address + from, len),
            None => Ok(()),
        }
    }

    /// Bytes of a segment, out of the memory of its process.
    pub(super) fn peek_real(&self, home: &str, offset: u64, len: u64) -> PortResult<Vec<u8>> {
        let mounted = self
            .names
            .home(home)
            .ok_or_else(|| PortError(format!("{home} has no memory")))?;
        let pid = self
            .clients
            .get(&mounted.actor)
            .map(|client| client.agent.pid())
            .ok_or_else(|| PortError(format!("{home} has no process")))?;
        let mut bytes = vec![0; usize::try_from(len).map_err(PortError::new)?];
        if self.peek_shared(home, offset, &mut bytes)?.is_some() {
            return Ok(bytes);
        }
        let memory = File::open(format!("/proc/{pid}/mem")).map_err(PortError::new)?;
        memory
            .read_exact_at(&mut bytes, mounted.segment.base + offset)
            .map_err(PortError::new)?;
        Ok(bytes)
    }
}
