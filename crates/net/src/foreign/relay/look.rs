//! What a relay knows of its transfers and connections, without moving anything.

use super::{Relay, RelayTransfer, Side};
use crate::foreign::introduction::look_up;
use crate::foreign::passage::{Passage, Stage};
use crate::foreign::socket::{is_hung_up, unread_bytes};
use crate::runtime::NetError;
use moonquake_protocol::datapath::DataHeader;

impl Relay {
    /// Bytes of the payload that were not passed on.
    pub(in crate::foreign) fn missing(&self, transfer: RelayTransfer) -> u64 {
        self.passages.get(&transfer).map_or(0, Passage::missing)
    }

    /// How many bytes can be carried without waiting for the sender; 1 if it is gone, so that carrying tells it. `None`:
    /// nothing has come.
    pub(in crate::foreign) fn ready(&self, transfer: RelayTransfer) -> Option<u64> {
        let passage = self.passages.get(&transfer)?;
        let client = self.lanes.client(passage.lane);
        let sender = if passage.is_write() {
            client.as_deref()
        } else {
            self.partners.get(&passage.lane)
        };
        let Some(sender) = sender else { return Some(1) };
        match unread_bytes(sender) {
            0 => is_hung_up(sender).then_some(1),
            count => Some(count),
        }
    }

    /// Transfers that nobody has taken, in the order of arrival.
    pub fn pending(&self) -> Vec<(RelayTransfer, DataHeader)> {
        let state = self.lanes.state();
        let untaken = state.arrived.iter();
        untaken
            .map(|(id, arrived)| (RelayTransfer(*id), arrived.header()))
            .collect()
    }

    /// What a transfer asks for.
    pub fn header(&self, transfer: RelayTransfer) -> Option<DataHeader> {
        self.passages.get(&transfer).map(Passage::header)
    }

    /// The data connection of a transfer, as a side sees it: its own port and that of the relay. An owner has one once it is opened.
    pub fn ports(&self, transfer: RelayTransfer, side: Side) -> Option<(u16, u16)> {
        let lane = self.passages.get(&transfer)?.lane;
        let client = self.lanes.client(lane);
        let owner = self.partners.get(&lane).filter(|_| side == Side::Owner);
        let end = owner.or(client.as_deref().filter(|_| side == Side::Client))?;
        Some((end.peer_addr().ok()?.port(), end.local_addr().ok()?.port()))
    }

    /// Where the relay takes data connections.
    pub fn data_port(&self) -> u16 {
        self.lanes.data_address().port()
    }

    /// Whether the client has had the owner's descriptor, so that it knows where to connect.
    pub fn is_introduced(&self) -> bool {
        self.lanes.state().data.is_some()
    }

    /// The port of the owner's data listener. `None`: it cannot be asked.
    ///
    /// # Errors
    /// At the limit.
    pub fn owner_data_port(&self) -> Result<Option<u16>, NetError> {
        let known = self.lanes.state().data;
        if let Some(data) = known {
            return Ok(Some(data.port()));
        }
        let what = format!("asking the owner at {} for its data listener", self.owner);
        match self.net.step(&what, look_up(self.owner))? {
            Ok(data) => {
                self.lanes.learn(data);
                Ok(Some(data.port()))
            }
            // Whoever opens a transfer to it finds out, too, and is told.
            Err(_) => Ok(None),
        }
    }

    /// Whether a transfer is open and neither end is gone, as far as that is known.
    pub fn stands(&self, transfer: RelayTransfer) -> bool {
        let Some(passage) = self.passages.get(&transfer) else {
            return false;
        };
        let client = self.lanes.client(passage.lane);
        let (Some(client), Some(owner)) = (client, self.partners.get(&passage.lane)) else {
            return false;
        };
        passage.stage == Stage::Open && !is_hung_up(&client) && !is_hung_up(owner)
    }

    /// Bytes of the payload that were passed on.
    pub fn moved(&self, transfer: RelayTransfer) -> Option<u64> {
        self.passages.get(&transfer).map(|passage| passage.moved)
    }

    /// Data connections of the client that are open now.
    pub fn open_connections(&self) -> usize {
        self.lanes.open().len()
    }

    /// What could not be passed on, since the beginning.
    pub fn problems(&self) -> Vec<String> {
        self.lanes.state().problems.clone()
    }
}
