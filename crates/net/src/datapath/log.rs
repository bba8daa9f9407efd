//! What an owner of memory saw: the second observer of every transfer.

use moonquake_protocol::datapath::DataVersion;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How a data connection ended, as its owner saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClosedHow {
    /// The initiator closed between two requests.
    Complete,
    /// The initiator closed before the request was through.
    Early,
    /// The connection was reset.
    Reset,
    /// The owner refused the range and closed.
    Refused,
    /// The owner itself was killed.
    Killed,
}

/// One observation of an owner. Connections count from 1 in the order in which they were accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerEvent {
    /// A header arrived.
    Opened {
        /// The connection.
        connection: u64,
        /// Whether this process opened the connection through a `Transfer`.
        own: bool,
        /// A write to the owner's memory, or a read from it.
        write: bool,
        /// Absolute address of the first byte.
        address: u64,
        /// Length in bytes.
        size: u64,
        /// Framing of the transfer.
        version: DataVersion,
        /// Whether the range lies in the owner's buffer.
        accepted: bool,
    },
    /// Bytes of a write are in the owner's memory.
    Landed {
        /// The connection.
        connection: u64,
        /// First byte, relative to the start of the request.
        from: u64,
        /// One past the last byte.
        to: u64,
    },
    /// Bytes of a read were taken from the owner's memory and sent.
    Left {
        /// The connection.
        connection: u64,
        /// First byte, relative to the start of the request.
        from: u64,
        /// One past the last byte.
        to: u64,
    },
    /// The connection is gone.
    Closed {
        /// The connection.
        connection: u64,
        /// How it ended.
        how: ClosedHow,
        /// Bytes of the last request that had moved.
        moved: u64,
        /// Bytes of the last request that never did.
        missing: u64,
    },
}

/// The log of one owner.
#[derive(Debug, Default)]
pub(crate) struct OwnerLog {
    state: Mutex<LogState>,
}

#[derive(Debug, Default)]
struct LogState {
    events: Vec<OwnerEvent>,
    /// Connections that have not been closed: bytes moved and missing of their last request.
    open: BTreeMap<u64, (u64, u64)>,
    next_connection: u64,
}

impl OwnerLog {
    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn accepted(&self) -> u64 {
        let mut state = self.state();
        state.next_connection += 1;
        let connection = state.next_connection;
        state.open.insert(connection, (0, 0));
        connection
    }

    pub(crate) fn opened(&self, event: OwnerEvent) {
        let mut state = self.state();
        let OwnerEvent::Opened { connection, size, .. } = event else {
            return;
        };
        if let Some(open) = state.open.get_mut(&connection) {
            *open = (0, size);
            state.events.push(event);
        }
    }

    pub(crate) fn moved(&self, connection: u64, write: bool, from: u64, to: u64) {
        let mut state = self.state();
        let Some((moved, missing)) = state.open.get_mut(&connection) else {
            return;
        };
        *missing = (*moved + *missing).saturating_sub(to);
        *moved = to;
        state.events.push(if write {
            OwnerEvent::Landed { connection, from, to }
        } else {
            OwnerEvent::Left { connection, from, to }
        });
    }

    /// Notes the end of a connection, once.
    pub(crate) fn closed(&self, connection: u64, how: ClosedHow) {
        let mut state = self.state();
        if let Some((moved, missing)) = state.open.remove(&connection) {
            state.events.push(OwnerEvent::Closed {
                connection,
                how,
                moved,
                missing,
            });
        }
    }

    /// Notes that everything ended with the owner, in the order of the connections. Nothing is noted of them afterwards.
    pub(crate) fn killed(&self) {
        let mut state = self.state();
        for (connection, (moved, missing)) in std::mem::take(&mut state.open) {
            let how = ClosedHow::Killed;
            state.events.push(OwnerEvent::Closed {
                connection,
                how,
                moved,
                missing,
            });
        }
    }

    pub(crate) fn open_connections(&self) -> usize {
        self.state().open.len()
    }

    pub(crate) fn drain(&self) -> Vec<OwnerEvent> {
        std::mem::take(&mut self.state().events)
    }
}
