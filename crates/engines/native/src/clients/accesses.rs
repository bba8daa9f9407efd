//! From the logs of all processes to what the witness of a run tells.

use super::streams::{Opening, Place};
use super::{LIMIT, MasterSide, RealClients};
use crate::process::Direction;
use moonquake_net::foreign::{RelayTransfer, Side};
use moonquake_scenario::Verb;
use moonquake_stage::{Accessed, End, Ending, Near, PortError, PortResult, TransferSpec};
use std::time::{Duration, Instant};

/// How often it is asked whether who was to receive bytes is still there.
const GLANCE: Duration = Duration::from_millis(50);
/// The number of `epoll_wait`, as the kernel tells in which call a thread stands.
const EPOLL_WAIT: &str = "232 ";

impl<M: MasterSide> RealClients<M> {
    /// Reads the logs of all processes. Whoever finds its log full stands still, so this is done often.
    pub(super) fn look(&mut self) -> PortResult<()> {
        for (actor, client) in &mut self.clients {
            let relayed = self.transfers.data_ports(actor);
            let base = client.agent.hello().arena_base;
            for access in client.page.drain_sockets() {
                self.faults.explain(actor, &access);
                // The client may send a header before it is known of which transfer it is, and only there.
                let is_data = relayed.contains(&access.peer_port) || self.streams.knows(actor, &access);
                if is_data && self.streams.enter(actor, &access)? {
                    continue;
                }
                let write = access.direction == Direction::Received;
                for (home, from, to) in self.faults.segments_at(actor, &access) {
                    self.streams.stray(Accessed::Segment {
                        actor: actor.clone(),
                        home,
                        write,
                        from,
                        to,
                    });
                }
                let Some(offset) = access.address.checked_sub(base) else {
                    continue;
                };
                for (name, from, to) in self.buffers.touched(actor, offset, access.length_bytes) {
                    self.streams.stray(Accessed::Buffer {
                        actor: actor.clone(),
                        name,
                        write,
                        from,
                        to,
                    });
                }
            }
            if client.page.sockets_lost() > 0 && !client.closing {
                return Err(PortError(format!("lines of the log of {actor} are lost")));
            }
        }
        Ok(())
    }

    /// The client's side of a transfer is known, before the owner hears of it.
    pub(super) fn near_opens(&mut self, spec: &TransferSpec, id: RelayTransfer) -> PortResult<()> {
        let place = self.near_place(spec)?;
        self.opens(spec, id, End::Near, place)
    }

    /// A copy within one process is begun.
    pub(super) fn copy_opens(&mut self, spec: &TransferSpec) -> PortResult<()> {
        let place = self.near_place(spec)?;
        if let Place::Address(address) = place {
            self.faults.explain_copy(&spec.actor, address, spec.size);
        }
        self.faults.explain_copy(&spec.actor, spec.address, spec.size);
        Ok(())
    }

    fn near_place(&mut self, spec: &TransferSpec) -> PortResult<Place> {
        Ok(match &spec.near {
            Near::Named(name, at) => {
                let client = self.client(&spec.actor)?;
                let (base, arena) = (client.agent.hello().arena_base, client.agent.arena().clone());
                Place::Address(base + self.buffers.named(&spec.actor, &arena, name)?.offset + at)
            }
            // The real client's read or write of a session has no staged form; it is given a place of the arena.
            Near::Staging { operation, at, .. } if self.is_session_part(*operation) => {
                let base = self.client(&spec.actor)?.agent.hello().arena_base;
                let values = self
                    .operations
                    .get(operation)
                    .map(|operation| &operation.values[..]);
                let offset = values.and_then(|values| offset_in(values, *at));
                offset.map_or(Place::Unknown, |offset| Place::Address(base + offset))
            }
            Near::Staging {
                block: Some(block), ..
            } => Place::Staging(block.from),
            Near::Staging { block: None, .. } | Near::Own => Place::Unknown,
        })
    }

    /// The owner's side of a transfer is known.
    pub(super) fn far_opens(&mut self, spec: &TransferSpec, id: RelayTransfer) -> PortResult<()> {
        self.opens(spec, id, End::Far, Place::Address(spec.address))
    }

    fn is_session_part(&self, operation: u64) -> bool {
        let operation = self.operations.get(&operation);
        operation.is_some_and(|operation| matches!(operation.verb, Verb::GetRead | Verb::PutWrite))
    }

    fn opens(&mut self, spec: &TransferSpec, id: RelayTransfer, end: End, place: Place) -> PortResult<()> {
        let pair = (spec.actor.clone(), spec.owner.clone());
        let Some(relay) = self.transfers.relays.get(&pair) else {
            return Ok(());
        };
        let (ports, whose) = match end {
            End::Near => (relay.ports(id, Side::Client), Some(spec.actor.clone())),
            End::Far => {
                let owner = self.names.home(&spec.owner);
                (
                    relay.ports(id, Side::Owner),
                    owner.map(|owner| owner.actor.clone()),
                )
            }
        };
        let (Some((own, other)), Some(whose), Some(header)) = (ports, whose, relay.header(id)) else {
            return Ok(());
        };
        let opening = Opening {
            transfer: spec.id,
            end,
            connection: (whose, own, other),
            header: &header,
            place,
        };
        self.streams.open(opening)
    }

    /// Waits until the logs tell of all bytes of a transfer that have moved on, and both its ends wait for more. A receiver that
    /// is gone has not taken them.
    pub(super) fn await_logs(&mut self, transfer: u64, to: u64) -> PortResult<()> {
        let end = Instant::now() + LIMIT;
        loop {
            self.look()?;
            let Some((actor, logged)) = self.streams.behind(transfer, to) else {
                break;
            };
            if self.client(&actor)?.page.await_sockets(GLANCE).is_ok() {
                continue;
            }
            if !self.transfers.stands(transfer) {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(PortError(format!(
                    "the relay has moved {to} bytes of a payload, and the transport of {actor} tells of {logged}"
                )));
            }
        }
        self.await_rest(transfer)?;
        if let Some((actor, ahead)) = self.streams.ahead(transfer, to) {
            return Err(PortError(format!(
                "the transport of {actor} has moved {ahead} bytes of a payload, of which it was let move {to}"
            )));
        }
        self.streams.moved(transfer, to);
        Ok(())
    }

    /// Waits until the log tells which thread has sent the header of a transfer, and that thread waits for its sockets.
    pub(super) fn await_begun(&mut self, transfer: u64) -> PortResult<()> {
        let end = Instant::now() + LIMIT;
        loop {
            self.look()?;
            if !self.streams.threads(transfer).is_empty() {
                return self.await_rest(transfer);
            }
            if Instant::now() > end {
                return Err(PortError(
                    "no log tells who has sent the header of a transfer".to_owned(),
                ));
            }
            std::thread::yield_now();
        }
    }

    /// A thread that has moved what it may waits for its sockets: what it does about the bytes, such as setting its timers anew, is done
    /// then. One that has logged them is past the wait that they ended.
    fn await_rest(&mut self, transfer: u64) -> PortResult<()> {
        let end = Instant::now() + LIMIT;
        for (actor, tid) in self.streams.threads(transfer) {
            let call = format!("/proc/{}/task/{tid}/syscall", self.client(&actor)?.agent.pid());
            loop {
                // A thread that is gone does nothing.
                let call = std::fs::read_to_string(&call).unwrap_or_default();
                if call.is_empty() || call.starts_with(EPOLL_WAIT) {
                    break;
                }
                if Instant::now() > end {
                    return Err(PortError(format!(
                        "the transport of {actor} does not come to rest: it stands in {call:?}"
                    )));
                }
                // Its log must not be full.
                self.look()?;
                std::thread::yield_now();
            }
        }
        self.look()
    }

    /// An operation has failed.
    pub(super) fn failed(&mut self, actor: &str) -> PortResult<()> {
        self.look()?;
        self.new_epoch(actor)?;
        self.plant_later(actor);
        Ok(())
    }

    /// Ends a transfer, also for the witness.
    pub(super) fn close_real(&mut self, transfer: u64, ending: Ending) -> PortResult<bool> {
        let place = self.transfers.place(transfer);
        let well = self.transfers.close(transfer, ending)?;
        if well {
            self.let_follow(transfer);
        }
        self.look()?;
        // Of a part that did not get through nobody has asked.
        if let Some((home, address, size)) = place.filter(|_| !well) {
            self.ask_segment_again(&home, address, size)?;
        }
        self.streams.close(transfer, well, ending != Ending::ClientGone);
        Ok(well)
    }
}

/// Where a byte of values lies that are counted one behind the other.
fn offset_in(values: &[crate::agent::Range], at: u64) -> Option<u64> {
    let mut before = 0;
    values.iter().find_map(|value| {
        let within = at.checked_sub(before)?;
        before += value.size;
        (within < value.size).then_some(value.offset + within)
    })
}
