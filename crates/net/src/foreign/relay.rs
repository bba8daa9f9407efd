//! What a foreign client takes for an owner of memory.

use super::{Gone, RelayEvent};
use crate::runtime::{Net, NetError};
use moonquake_protocol::datapath::DataHeader;
use std::fmt;
use std::net::SocketAddr;

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
}

impl Relay {
    /// Stands in for the owner whose handshake daemon is at `owner` (its `te_endpoint`).
    ///
    /// # Errors
    /// When the system gives no listeners.
    pub fn listen(net: &Net, owner: SocketAddr) -> Result<Relay, NetError> {
        let _ = (net, owner);
        todo!()
    }

    /// Where the client must look for the owner: the handshake port of the relay, with five digits.
    pub fn endpoint(&self) -> SocketAddr {
        todo!()
    }

    /// The owner's handshake daemon.
    pub fn owner(&self) -> SocketAddr {
        todo!()
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
        let _ = (what, wanted, gone);
        todo!()
    }

    /// Transfers that nobody has taken, in the order of arrival.
    pub fn pending(&self) -> Vec<(RelayTransfer, DataHeader)> {
        todo!()
    }

    /// What a transfer asks for.
    pub fn header(&self, transfer: RelayTransfer) -> Option<DataHeader> {
        let _ = transfer;
        todo!()
    }

    /// Bytes of the payload that were passed on.
    pub fn moved(&self, transfer: RelayTransfer) -> Option<u64> {
        let _ = transfer;
        todo!()
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
        let _ = transfer;
        todo!()
    }

    /// Moves exactly `len` bytes of the payload from the sender to the receiver, and returns them when they are in the
    /// hands of the receiver's kernel; see [`Relay::settled`]. `None`: a side is gone, or the owner has refused; what
    /// came before was passed on, and [`Relay::moved`] tells how much.
    ///
    /// # Errors
    /// When the transfer is not open or fewer bytes are left, and at the limit; what was read by then is kept and goes
    /// first the next time.
    pub fn carry(&mut self, transfer: RelayTransfer, len: u64) -> Result<Option<Vec<u8>>, NetError> {
        let _ = (transfer, len);
        todo!()
    }

    /// Waits until the receiver has taken out of its kernel whatever was carried. `false`: it is gone.
    ///
    /// # Errors
    /// At the limit: the receiver does not read.
    pub fn settled(&mut self, transfer: RelayTransfer) -> Result<bool, NetError> {
        let _ = transfer;
        todo!()
    }

    /// Ends a transfer whose bytes have all moved. For a write of version 2 the owner's status is awaited and passed on.
    /// `true` if it is Ok, or none is due. The connection then waits for its next header.
    ///
    /// # Errors
    /// When bytes are left, and at the limit; after that it can be asked again.
    pub fn finish(&mut self, transfer: RelayTransfer) -> Result<bool, NetError> {
        let _ = transfer;
        todo!()
    }

    /// Closes the connection of a transfer on one side or both. A side with unread bytes sees a reset, else its end, as
    /// with the close of any process. It may have been closed already.
    ///
    /// # Errors
    /// When there is no such transfer.
    pub fn close(&mut self, transfer: RelayTransfer, side: Side) -> Result<(), NetError> {
        let _ = (transfer, side);
        todo!()
    }

    /// Waits until the client has closed the connection of the transfer, for example at a time-out of its own. Nothing
    /// that it has sent is read for that.
    ///
    /// # Errors
    /// When there is no such transfer, and at the limit.
    pub fn client_closed(&mut self, transfer: RelayTransfer) -> Result<(), NetError> {
        let _ = transfer;
        todo!()
    }

    /// The owner is dead, for the client: every connection closes on both sides, and nobody listens any more.
    ///
    /// # Errors
    /// When a connection does not end in real time.
    pub fn kill_owner_side(&mut self) -> Result<(), NetError> {
        todo!()
    }

    /// The client is dead, for the owner: every data connection closes on both sides, those included that nobody had
    /// accepted yet. Says how many the client had. New ones are accepted.
    ///
    /// # Errors
    /// When a connection does not end in real time.
    pub fn close_all_of_client(&mut self) -> Result<usize, NetError> {
        todo!()
    }

    /// What happened since the last call, in the order of the calls of this relay.
    pub fn log(&mut self) -> Vec<RelayEvent> {
        todo!()
    }

    /// What could not be passed on, since the beginning.
    pub fn problems(&self) -> Vec<String> {
        todo!()
    }
}
