//! What the transports of real clients may send: headers and statuses by themselves, and of the payload of a transfer the bytes that the
//! stage moves, when it moves them. So a transport reads its memory at the instant at which the model does.

use super::{MasterSide, RealClients};
use crate::process::MeteredBy;
use moonquake_protocol::datapath::{DATA_HEADER_BYTES, STATUS_BYTES};
use moonquake_stage::{End, PortError, PortResult};

impl<M: MasterSide> RealClients<M> {
    /// A client is about to hear of the relay before an owner: of each connection to it the first header goes out by itself.
    pub(super) fn meter_client(&mut self, actor: &str, data_port: u16) -> PortResult<()> {
        let page = &self.client(actor)?.page;
        page.meter(MeteredBy::Peer(data_port), DATA_HEADER_BYTES as u32)
            .map_err(PortError::new)
    }

    /// An owner is about to hear of a transfer: of each connection to it the first status goes out by itself.
    pub(super) fn meter_owner(&mut self, client: &str, home: &str) -> PortResult<()> {
        let pair = (client.to_owned(), home.to_owned());
        let Some(relay) = self.transfers.relays.get_mut(&pair) else {
            return Ok(());
        };
        let Some(port) = relay.owner_data_port().map_err(PortError::new)? else {
            return Ok(());
        };
        let owner = self.names.home(home).map(|mounted| mounted.actor.clone());
        let Some(owner) = owner.and_then(|owner| self.clients.get(&owner)) else {
            return Ok(());
        };
        let metered = owner.page.meter(MeteredBy::Own(port), STATUS_BYTES as u32);
        metered.map_err(PortError::new)
    }

    /// The next bytes of a payload move: its sender reads them now.
    pub(super) fn let_send(&mut self, transfer: u64, len: u64) -> PortResult<()> {
        let Some((actor, own, other)) = self.streams.sending(transfer) else {
            return Ok(());
        };
        // A process that is gone sends nothing.
        let Some(client) = self.clients.get(&actor) else {
            return Ok(());
        };
        if client.page.let_send((own, other), len) {
            return Ok(());
        }
        Err(PortError(format!(
            "{actor} has a transfer on its connection of port {own} to port {other}, and has sent nothing there"
        )))
    }

    /// A transfer is complete: its connections may carry the header and the status of the next.
    pub(super) fn let_follow(&self, transfer: u64) {
        for (end, bytes) in [(End::Near, DATA_HEADER_BYTES), (End::Far, STATUS_BYTES)] {
            let connection = self.streams.connection(transfer, end);
            if let Some((actor, own, other)) = connection
                && let Some(client) = self.clients.get(actor)
            {
                client.page.let_send((*own, *other), bytes as u64);
            }
        }
    }
}
