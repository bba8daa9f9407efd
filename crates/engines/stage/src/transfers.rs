//! Bytes on their way between a client and the owner of a segment, part by part.

use crate::lanes::Lane;
use crate::memory::BufferKey;
use crate::ports::{Ending, Near as NearSide, Ports, TransferSpec};
use crate::state::{Stage, Staged};
use crate::underway::{Stand, Transfer};
use moonquake_client::{Move, MoveFailure, Near};
use moonquake_clock::Span;
use moonquake_evidence::{Block, Range};

/// How long `bytes` take at `rate` bytes per second, rounded up to the nanosecond.
pub(crate) fn duration(bytes: u64, rate: u64) -> Span {
    let ns = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate.max(1)));
    Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

fn spec_of(transfer: &Transfer) -> TransferSpec {
    TransferSpec {
        id: transfer.id,
        actor: transfer.actor.clone(),
        operation: transfer.waiter,
        owner: transfer.owner.clone(),
        write: transfer.write,
        replica_id: transfer.replica_id,
        address: transfer.address,
        size: transfer.size,
        within: transfer.within,
        local: transfer.local,
        near: match &transfer.buffer {
            BufferKey::Named(name) => NearSide::Named(name.clone(), transfer.buffer_at),
            BufferKey::Staging(operation) => NearSide::Staging {
                operation: *operation,
                at: transfer.buffer_at,
                block: transfer.block,
            },
            BufferKey::Own(_) => NearSide::Own,
        },
    }
}

impl<P: Ports> Stage<'_, P> {
    /// Submits a transfer for an operation. It fails at once if its range lies in no segment of this world, or its owner was
    /// never met and is gone.
    pub(crate) fn submit(&mut self, running: u64, wanted: &Move) -> Staged<Result<u64, MoveFailure>> {
        let Some(range) = self.range_of(&wanted.replica) else {
            return Ok(Err(MoveFailure::Closed));
        };
        let Some(buffer) = self.near_side(running, wanted) else {
            return Ok(Err(MoveFailure::Closed));
        };
        let client = self
            .running
            .get(&running)
            .map(|operation| operation.actor.clone());
        if let Some(client) = client.filter(|_| !wanted.local)
            && !self.meet(&(client, range.segment.clone()))
        {
            return Ok(Err(MoveFailure::Unopened));
        }
        let block = self.make_room(running, wanted, &buffer);
        let Some(operation) = self.running.get_mut(&running) else {
            return Ok(Err(MoveFailure::Closed));
        };
        let (actor, op) = (operation.actor.clone(), operation.op);
        // A rate is one of a link.
        let rate = operation.rate.filter(|_| !wanted.local);
        if !wanted.write {
            operation.size = wanted.at + wanted.size;
        }
        let now = self.clocks(&actor);
        let (id, order) = (self.number(), self.enqueue());
        let mut transfer = Transfer {
            id,
            op,
            waiter: Some(running),
            write: wanted.write,
            replica_id: wanted.replica_id,
            address: wanted.replica.buffer_address.saturating_add(wanted.from),
            within: (wanted.from, range.size),
            offset: range.offset + wanted.from,
            size: wanted.size,
            buffer,
            block,
            buffer_at: wanted.at,
            local: wanted.local,
            limited: wanted.limited,
            part: wanted.part,
            done: wanted.done,
            opened: false,
            moved: 0,
            held: false,
            rate,
            next_at: self.now,
            submitted_at: now,
            progress_at: now,
            stand: Stand::new(if wanted.local { Lane::Local } else { Lane::Waits }, order),
            actor,
            owner: range.segment,
        };
        transfer.next_at = self.next_at(&transfer);
        let pair = (transfer.actor.clone(), transfer.owner.clone());
        self.transfers.insert(transfer);
        self.admit(&pair, Some(id));
        // Nothing of it moves while its owner stands still, but its client has begun it and counts from then.
        if self
            .transfers
            .get(id)
            .is_some_and(|transfer| self.owner_is_frozen(transfer))
        {
            self.begin_early(id)?;
        }
        Ok(Ok(id))
    }

    /// A client has begun a transfer of which nothing has moved yet.
    pub(crate) fn begin_early(&mut self, id: u64) -> Staged<()> {
        let Some(transfer) = self.transfers.get(id) else {
            return Ok(());
        };
        let waits = !transfer.local && !transfer.opened && matches!(transfer.lane(), Lane::On(_));
        if !waits || !self.acts(&transfer.actor) {
            return Ok(());
        }
        let (spec, frozen) = (spec_of(transfer), self.owner_is_frozen(transfer));
        Ok(self.ports.begin_early(&spec, frozen)?)
    }

    /// When the next part of a transfer can move that has just begun or got a connection.
    pub(crate) fn next_at(&self, transfer: &Transfer) -> Span {
        let chunk = self.plan.world.chunk_bytes;
        let pace = transfer
            .rate
            .map(|rate| duration(transfer.next_part(chunk), rate));
        self.now + pace.unwrap_or(Span::ZERO)
    }

    /// The client's side of a transfer.
    fn near_side(&self, running: u64, wanted: &Move) -> Option<BufferKey> {
        match &wanted.near {
            Near::Buffer => Some(self.running.get(&running)?.buffer.clone()),
            Near::Own(source) => self.range_of(source).map(|source| {
                BufferKey::Own(Range {
                    offset: source.offset + wanted.from,
                    size: wanted.size,
                    ..source
                })
            }),
        }
    }

    /// Makes room for a transfer in the caller's buffer, or says where in staging memory its bytes lie.
    fn make_room(&mut self, running: u64, wanted: &Move, buffer: &BufferKey) -> Option<Block> {
        let (from, to) = (wanted.at, wanted.at + wanted.size);
        match buffer {
            BufferKey::Named(name) => {
                self.buffers.grow(name, to);
                let (actor, op) = self
                    .running
                    .get(&running)
                    .map(|operation| (operation.actor.clone(), operation.op))?;
                self.note_reuse(&actor, op, name, (from, to));
                None
            }
            BufferKey::Own(_) => None,
            BufferKey::Staging(operation) => self.buffers.staging.place(*operation, from, to),
        }
    }

    /// Whether bytes of a transfer can move now.
    pub(crate) fn transfer_ready(&self, transfer: &Transfer) -> bool {
        let due = !transfer.opened || transfer.next_at <= self.now;
        due && self.transfer_is_free(transfer)
    }

    /// Whether nothing holds a transfer and both its ends run.
    pub(crate) fn transfer_is_free(&self, transfer: &Transfer) -> bool {
        if transfer.held || !transfer.lane().is_ready() {
            return false;
        }
        !self.owner_is_frozen(transfer) && !self.is_frozen(&transfer.actor)
    }

    fn is_frozen(&self, name: &str) -> bool {
        self.actors.get(name).is_some_and(|actor| actor.frozen)
    }

    /// The memory of an instance that is gone does not stand still: it refuses.
    fn owner_is_frozen(&self, transfer: &Transfer) -> bool {
        let owner = self.places.iter().find(|place| place.segment == transfer.owner);
        self.is_there(&transfer.owner) && owner.is_some_and(|place| self.is_frozen(&place.node))
    }

    /// Whether the instance of a node that has this segment lives, and serves it.
    pub(crate) fn is_there(&self, segment: &str) -> bool {
        let lives = |node: &str| {
            self.actors
                .get(node)
                .is_some_and(|actor| actor.alive && !actor.closed && actor.home == segment)
        };
        self.places
            .iter()
            .any(|place| place.segment == segment && lives(&place.node))
    }

    /// The next step of a transfer: open, a part, or the acknowledgement.
    pub(crate) fn move_transfer(&mut self, id: u64) -> Staged<()> {
        let order = self.enqueue();
        let chunk = self.plan.world.chunk_bytes;
        self.transfers.set_order(id, order);
        let Some(transfer) = self.transfers.get_mut(id) else {
            return Ok(());
        };
        if !transfer.opened {
            return self.open(id);
        }
        if transfer.moved == transfer.size {
            return self.complete(id);
        }
        let (from, len) = (transfer.moved, transfer.next_part(chunk));
        let (write, buffer, owner) = (transfer.write, transfer.buffer.clone(), transfer.owner.clone());
        let at = transfer.buffer_at;
        let there = if write {
            let bytes = match &buffer {
                BufferKey::Own(source) => self.ports.peek(&source.segment, source.offset + from, len)?,
                _ => self.buffers.read(&buffer, at + from, len),
            };
            self.ports.write_part(id, &bytes)?
        } else {
            match self.ports.read_part(id, len)? {
                Some(bytes) => self.buffers.write(&buffer, at + from, &bytes),
                None => false,
            }
        };
        if !there {
            let ending = if self.is_there(&owner) {
                Ending::Refused
            } else {
                Ending::OwnerGone
            };
            return self.end_transfer(id, ending, Err(MoveFailure::Closed));
        }
        self.landed(id, len, chunk)
    }

    fn open(&mut self, id: u64) -> Staged<()> {
        let Some(transfer) = self.transfers.get_mut(id) else {
            return Ok(());
        };
        transfer.opened = true;
        let refused = transfer.lane() == Lane::Refused;
        let spec = spec_of(transfer);
        if refused && self.is_there(&spec.owner) {
            return self.end_transfer(id, Ending::NoConnection, Err(MoveFailure::Closed));
        }
        let accepted = self.ports.open_transfer(&spec)?;
        self.log_owners()?;
        if accepted {
            return Ok(());
        }
        self.end_transfer(id, Ending::Refused, Err(MoveFailure::Closed))
    }

    fn landed(&mut self, id: u64, len: u64, chunk: u64) -> Staged<()> {
        let now = self.now;
        let Some(actor) = self.transfers.get(id).map(|transfer| transfer.actor.clone()) else {
            return Ok(());
        };
        let clocks = self.clocks(&actor);
        let Some(transfer) = self.transfers.get_mut(id) else {
            return Ok(());
        };
        transfer.moved += len;
        transfer.progress_at = clocks;
        if let Some(rate) = transfer.rate {
            transfer.next_at = now + duration(transfer.next_part(chunk), rate);
        }
        let (phase, op, local) = (transfer.part, transfer.op, transfer.local);
        self.log_owners()?;
        if !local {
            self.network_phase(phase, &actor, op, None, Some(id))?;
        }
        self.actor_phase(phase, &actor, op, None, Some(id))
    }

    fn complete(&mut self, id: u64) -> Staged<()> {
        let Some(transfer) = self.transfers.get(id) else {
            return Ok(());
        };
        let (actor, op, phase) = (transfer.actor.clone(), transfer.op, transfer.done);
        let local = transfer.local;
        let acknowledged = self.ports.close_transfer(id, Ending::Complete)?;
        self.log_owners()?;
        if !acknowledged {
            return self.end_transfer(id, Ending::NotAcknowledged, Err(MoveFailure::Closed));
        }
        // It is over before anything strikes at this phase; what strikes finds the operation, not the transfer.
        let waiter = self.retire(id, true);
        if !local {
            self.network_phase(phase, &actor, op, None, Some(id))?;
        }
        self.actor_phase(phase, &actor, op, None, Some(id))?;
        waiter.map_or(Ok(()), |running| self.moved(running, id, Ok(())))
    }

    /// Ends a transfer where it is and tells its operation.
    pub(crate) fn end_transfer(
        &mut self,
        id: u64,
        ending: Ending,
        result: Result<(), MoveFailure>,
    ) -> Staged<()> {
        self.ports.close_transfer(id, ending)?;
        self.log_owners()?;
        self.forget_transfer(id, result)
    }

    /// A transfer, also one that is over for its client.
    pub(crate) fn transfer(&self, id: u64) -> Option<&Transfer> {
        self.transfers.get(id).or_else(|| self.past_transfers.get(&id))
    }

    /// The transfer is over for its client, and its connection is usable still if that is `clean`: any end but a complete one
    /// breaks it. Says which operation waited.
    fn retire(&mut self, id: u64, clean: bool) -> Option<u64> {
        let transfer = self.transfers.remove(id)?;
        self.leave_lane(&transfer, clean);
        let waiter = transfer.waiter;
        self.past_transfers.insert(id, transfer);
        waiter
    }

    fn forget_transfer(&mut self, id: u64, result: Result<(), MoveFailure>) -> Staged<()> {
        let Some(running) = self.retire(id, false) else {
            return Ok(());
        };
        self.moved(running, id, result)
    }

    /// The client's limit for a transfer is over: the operation goes on without it, the transfer does not stop.
    pub(crate) fn give_up_transfer(&mut self, running: u64, id: u64) -> Staged<()> {
        if let Some(transfer) = self.transfers.get_mut(id) {
            transfer.waiter = None;
        }
        if let Some(operation) = self.running.get_mut(&running) {
            operation.given_up.push(id);
        }
        self.moved(running, id, Err(MoveFailure::Limit))
    }

    /// Ends every transfer of a client that is gone.
    pub(crate) fn close_transfers_of(&mut self, actor: &str) -> Staged<()> {
        for id in self.transfers.of(actor) {
            self.ports.close_transfer(id, Ending::ClientGone)?;
            self.log_owners()?;
            self.retire(id, false);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn a_rate_gives_exact_times() {
        assert_eq!(duration(1 << 20, 50 << 10).ns, 20_480_000_000);
        assert_eq!(duration(1 << 20, 100 << 10).ns, 10_240_000_000);
        assert_eq!(duration(1, 3).ns, 333_333_334);
    }
}
