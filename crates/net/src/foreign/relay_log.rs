//! What a relay saw and did.

use super::{RelayTransfer, Side};
use moonquake_protocol::datapath::DataHeader;

/// One observation of a relay. Connections count from 1 in the order in which they were accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayEvent {
    /// A transfer was taken: its header had arrived.
    Arrived {
        /// The transfer.
        transfer: RelayTransfer,
        /// The client's connection.
        connection: u64,
        /// What is asked.
        header: DataHeader,
    },
    /// The header was passed on to the owner.
    Opened {
        /// The transfer.
        transfer: RelayTransfer,
        /// Whether the owner takes it; a version 1 owner and the owner of a write say nothing yet: `None`.
        accepted: Option<bool>,
    },
    /// Bytes of the payload were passed on.
    Moved {
        /// The transfer.
        transfer: RelayTransfer,
        /// First byte, relative to the start of the request.
        from: u64,
        /// One past the last byte.
        to: u64,
    },
    /// The owner's word after a write, or instead of one, was passed on.
    Status {
        /// The transfer.
        transfer: RelayTransfer,
        /// Whether all bytes are stored.
        ok: bool,
    },
    /// A side of the connection is gone.
    Closed {
        /// The client's connection.
        connection: u64,
        /// Which side.
        side: Side,
        /// Whether the relay closed it, and not the side itself.
        by_relay: bool,
        /// Bytes of its last transfer that had moved.
        moved: u64,
        /// Bytes of its last transfer that never did.
        missing: u64,
    },
}
