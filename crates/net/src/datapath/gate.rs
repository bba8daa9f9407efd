//! What lets an owner tell this process's transfers from a stranger's, and move them byte by byte.

use super::log::ClosedHow;
use crate::freeze::Freeze;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How far the owner is with a transfer of ours. Only the owner writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The number of the connection in the owner's log.
    pub(crate) connection: Option<u64>,
    /// The header was read; whether the range was accepted.
    pub(crate) accepted: Option<bool>,
    /// Bytes of the payload that landed at the owner or left it.
    pub(crate) moved: u64,
    /// The last thing the owner says of this connection.
    pub(crate) closed: Option<ClosedHow>,
}

/// One transfer of ours: the initiator grants bytes, the owner moves exactly so many and reports.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) granted: watch::Sender<u64>,
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) freeze: Freeze,
}

impl Gate {
    fn new(freeze: Freeze) -> Gate {
        Gate {
            granted: watch::Sender::new(0),
            progress: watch::Sender::new(Progress::default()),
            freeze,
        }
    }

    pub(crate) fn grant(&self, bytes: u64) {
        self.granted
            .send_modify(|granted| *granted = granted.saturating_add(bytes));
    }
}

/// The transfers and the owners of this process.
#[derive(Debug, Default)]
pub(crate) struct OwnConnections {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    /// Daemons and data listeners of our owners.
    listeners: BTreeMap<SocketAddr, Freeze>,
    /// Transfers of ours by the address of their own end.
    gates: BTreeMap<SocketAddr, Arc<Gate>>,
}

impl OwnConnections {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add_listener(&self, listener: SocketAddr, freeze: Freeze) {
        self.tables().listeners.insert(listener, freeze);
    }

    pub(crate) fn remove_listener(&self, listener: SocketAddr) {
        self.tables().listeners.remove(&listener);
    }

    /// The switch of our owner that listens there, if one does.
    pub(crate) fn owner_at(&self, listener: SocketAddr) -> Option<Freeze> {
        self.tables().listeners.get(&listener).cloned()
    }

    /// A gate for the transfer whose own end is `initiator`, to an owner of ours. To be called before the transfer
    /// sends its header, since that is when the owner looks.
    pub(crate) fn register(&self, initiator: SocketAddr, freeze: Freeze) -> Arc<Gate> {
        let gate = Arc::new(Gate::new(freeze));
        self.tables().gates.insert(initiator, gate.clone());
        gate
    }

    /// The gate of a connection; a stranger's has none.
    pub(crate) fn take(&self, initiator: SocketAddr) -> Option<Arc<Gate>> {
        self.tables().gates.remove(&initiator)
    }
}
