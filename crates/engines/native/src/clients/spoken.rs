//! Payload that the harness writes under the name of a client.
//!
//! A step such as `copy_start` is one RPC, which the harness speaks. What that hands out no call of the client's API writes, so a `put_write`
//! of it is spoken, too: over a data connection of the harness to the real owner, in the release's own data path. Who receives is the
//! unmodified owner, and what it wrote to its segment is in its log of socket calls as ever.

use super::streams::{Opening, Place};
use super::{MasterSide, RealClients};
use moonquake_net::datapath::{Transfer, TransferError, TransferRequest};
use moonquake_protocol::datapath::{DataHeader, DataOperation, DataVersion};
use moonquake_stage::{End, Ending, PortError, PortResult, TransferSpec};

/// What an error of a transfer means for the store: the client sees a failure, or the harness is at fault.
fn seen_by_client(error: TransferError) -> PortResult<()> {
    match error {
        TransferError::Net(error) => Err(PortError::new(error)),
        _ => Ok(()),
    }
}

/// Ends a transfer of the harness. False if it is complete and was not acknowledged.
pub(super) fn end_spoken(transfer: Transfer, ending: Ending) -> PortResult<bool> {
    let (ended, acknowledged) = if ending.is_complete() {
        (transfer.finish(), false)
    } else {
        (transfer.close(), true)
    };
    ended.map_or_else(
        |error| seen_by_client(error).map(|()| acknowledged),
        |()| Ok(true),
    )
}

impl<M: MasterSide> RealClients<M> {
    /// Whether the harness speaks an operation.
    pub(super) fn speaks(&self, operation: Option<u64>) -> bool {
        let operation = operation.and_then(|id| self.operations.get(&id));
        operation.is_some_and(super::Operation::is_spoken)
    }

    /// Opens a write to the real owner; none if that is gone or refuses it.
    pub(super) fn open_spoken(&mut self, spec: &TransferSpec) -> PortResult<Option<Transfer>> {
        let owner = self.names.home(&spec.owner).cloned();
        let gone = self.transfers.gone.contains(&spec.owner);
        let Some(owner) = owner.filter(|_| spec.write && !gone) else {
            return Ok(None);
        };
        // Lines of the owner's log that are older belong to other connections.
        self.look()?;
        let request = TransferRequest {
            endpoint: owner.segment.te_endpoint.clone(),
            operation: DataOperation::Write,
            address: spec.address,
            size_bytes: spec.size,
            version: DataVersion::V2,
        };
        let transfer = match Transfer::open(&self.transfers.net, request) {
            Ok(transfer) => transfer,
            Err(error) => return seen_by_client(error).map(|()| None),
        };
        let Some((own, others)) = transfer.ports() else {
            return Ok(None);
        };
        let header = DataHeader {
            size_bytes: spec.size,
            address: spec.address,
            operation: DataOperation::Write,
            version: transfer.version(),
        };
        self.streams.open(Opening {
            transfer: spec.id,
            end: End::Far,
            connection: (owner.actor, others, own),
            header: &header,
            place: Place::Address(spec.address),
        })?;
        Ok(Some(transfer))
    }

    /// Writes the next bytes of a transfer that the harness speaks, and waits until the owner has them. False if the owner is gone; none
    /// if the harness does not speak it.
    pub(super) fn speak_part(&mut self, transfer: u64, bytes: &[u8]) -> PortResult<Option<bool>> {
        let spoken = self.transfers.open.get_mut(&transfer);
        let Some(spoken) = spoken.and_then(|open| open.spoken.as_mut()) else {
            return Ok(None);
        };
        if let Err(error) = spoken.write_part(bytes) {
            return seen_by_client(error).map(|()| Some(false));
        }
        if let Some(to) = self.transfers.moved(transfer, bytes.len() as u64) {
            self.await_logs(transfer, to)?;
        }
        Ok(Some(true))
    }
}
